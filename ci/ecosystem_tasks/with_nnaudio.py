"""nnAudio: spectra of sounds as layers, constant-Q and cochlear ones too, trained, and inverted."""

import torch
from common import report, train
from nnAudio import features
from torch import nn

RATE = 8000
OPTIONS = {"sr": RATE, "verbose": False}


def layers():
    """The layers by name."""
    window = {"n_fft": 256, "hop_length": 128}
    cq = {"hop_length": 128, "fmin": 110, "n_bins": 36, "bins_per_octave": 12}
    return {
        "stft": features.STFT(**window, **OPTIONS),
        "stft complex": features.STFT(**window, output_format="Complex", **OPTIONS),
        "stft phase": features.STFT(
            **window, freq_scale="log", fmin=50, fmax=3000, output_format="Magnitude", **OPTIONS
        ),
        "mel": features.MelSpectrogram(n_mels=24, **window, **OPTIONS),
        "mel htk": features.MelSpectrogram(n_mels=24, htk=True, power=1.0, **window, **OPTIONS),
        "mfcc": features.MFCC(n_mfcc=12, n_mels=24, **window, **OPTIONS),
        "gammatone": features.Gammatonegram(n_bins=16, **window, **OPTIONS),
        "cqt 1992": features.CQT1992v2(**cq, **OPTIONS),
        "cqt 2010": features.CQT2010v2(**cq, **OPTIONS),
        "cqt complex": features.CQT1992v2(output_format="Complex", **cq, **OPTIONS),
        "vqt": features.VQT(gamma=5, **cq, **OPTIONS),
    }


def inverses(sound, found):
    stft = features.STFT(n_fft=256, hop_length=64, iSTFT=True, output_format="Complex", **OPTIONS)
    spectrum = stft(sound)
    found["inverse"] = stft.inverse(spectrum, onesided=True, length=sound.shape[1])


def main():
    torch.manual_seed(0)
    time = torch.arange(4096) / RATE
    sound = torch.stack([torch.sin(6.28 * f * time) for f in (220.0, 330.5)])
    sound = sound + 0.1 * torch.randn(2, 4096)
    found = {}
    for name, layer in layers().items():
        x = sound.clone().requires_grad_()
        out = layer(x)
        out = out[0] if isinstance(out, tuple) else out
        out.square().mean().backward()
        found[name] = [list(out.shape), out, out.mean((0, -1)), x.grad]
    inverses(sound, found)
    net = nn.Sequential(
        features.MelSpectrogram(
            n_fft=256, hop_length=128, n_mels=16, trainable_mel=True, trainable_STFT=True,
            **OPTIONS,
        ),
        nn.Flatten(), nn.Linear(16 * 33, 2),
    )  # fmt: skip
    labels = torch.tensor([0, 1])
    found["trained"] = train(net, sound, lambda m, x: nn.functional.cross_entropy(m(x), labels))
    found["kernels"] = [p for p in net[0].parameters()]
    report(**found)


main()
