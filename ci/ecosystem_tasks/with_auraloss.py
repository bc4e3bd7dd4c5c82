"""auraloss, torch-stoi: losses of sounds in time and frequency, and their gradients."""

import auraloss
import torch
from common import report
from torch_stoi import NegSTOILoss


def main():
    torch.manual_seed(0)
    x = torch.randn(2, 1, 4096, requires_grad=True)
    y = torch.randn(2, 1, 4096)
    kinds = {
        "esr": auraloss.time.ESRLoss(),
        "dc": auraloss.time.DCLoss(),
        "logcosh": auraloss.time.LogCoshLoss(),
        "snr": auraloss.time.SNRLoss(),
        "sisdr": auraloss.time.SISDRLoss(),
        "sdsdr": auraloss.time.SDSDRLoss(),
        "stft": auraloss.freq.STFTLoss(),
        "multi": auraloss.freq.MultiResolutionSTFTLoss([512, 256], [128, 64], [512, 256]),
        "perceptual": auraloss.freq.STFTLoss(perceptual_weighting=True, sample_rate=16000),
        "fir": auraloss.perceptual.FIRFilter(filter_type="aw", fs=16000),
    }
    found = {}
    for name, loss in kinds.items():
        value = loss(x, y)
        value = sum(v.sum() for v in value) if isinstance(value, tuple) else value
        found[name] = [value, torch.autograd.grad(value, x)[0]]
    z = torch.randn(2, 2, 4096, requires_grad=True)
    value = auraloss.freq.SumAndDifferenceSTFTLoss([512], [128], [512])(z, torch.randn(2, 2, 4096))
    found["stereo"] = [value, torch.autograd.grad(value, z)[0]]
    stoi = NegSTOILoss(sample_rate=10000)
    s = torch.randn(2, 8000, requires_grad=True)
    value = stoi(s, torch.randn(2, 8000)).mean()
    found["stoi"] = [value, torch.autograd.grad(value, s)[0]]
    report(**found)


main()
