"""julius: resampling, windowed filters, bands, convolution by transforms, with gradients."""

import julius
import torch
from common import report, train


def main():
    torch.manual_seed(0)
    sound = torch.randn(2, 1, 1600, dtype=torch.float64)
    window = torch.randn(3, 1, 65, dtype=torch.float64)
    found = {
        "resampled": julius.resample_frac(sound, 4, 5),
        "full": julius.ResampleFrac(16, 11).double()(sound, full=True),
        "low": julius.lowpass_filter(sound, 0.1),
        "several": julius.lowpass_filters(sound, [0.05, 0.2]),
        "high": julius.highpass_filter(sound, 0.1, stride=2),
        "band": julius.bandpass_filter(sound, 0.1, 0.3),
        "plain": julius.lowpass_filter(sound, 0.1, fft=False),
        "bands": julius.split_bands(sound, 16000, n_bands=4),
        "convolved": julius.fft_conv1d(sound, window, padding=8),
        "unfolded": julius.core.unfold(sound, 128, 50),
        "mels": julius.core.mel_frequencies(6, 20.0, 8000.0),
    }  # fmt: skip
    torch.manual_seed(1)
    layer = julius.FFTConv1d(1, 2, 33, stride=4)
    sound = sound.float().requires_grad_()
    found["losses"] = train(layer, sound, lambda m, x: m(x).square().mean())
    found["gradient"] = sound.grad
    report(**found)


main()
