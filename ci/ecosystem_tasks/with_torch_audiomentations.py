"""torch-audiomentations: changes of sounds, composed, one of several, with their targets."""

import random

import torch
import torch_audiomentations as ta
from common import report

OPTIONS = {"p": 1.0, "output_type": "dict"}
CHANGES = {
    "gain": lambda: ta.Gain(-6, 6, **OPTIONS),
    "polarity": lambda: ta.PolarityInversion(**OPTIONS),
    "peak": lambda: ta.PeakNormalization(**OPTIONS),
    "shift": lambda: ta.Shift(-0.3, 0.3, **OPTIONS),
    "low": lambda: ta.LowPassFilter(500, 2000, **OPTIONS),
    "high": lambda: ta.HighPassFilter(500, 2000, **OPTIONS),
    "band": lambda: ta.BandPassFilter(500, 2000, **OPTIONS),
    "stop": lambda: ta.BandStopFilter(500, 2000, **OPTIONS),
    "reversed": lambda: ta.TimeInversion(**OPTIONS),
    "channels": lambda: ta.ShuffleChannels(**OPTIONS),
    "coloured": lambda: ta.AddColoredNoise(**OPTIONS),
    "higher": lambda: ta.PitchShift(sample_rate=8000, **OPTIONS),
    "identity": lambda: ta.Identity(**OPTIONS),
    "spliced": lambda: ta.SpliceOut(2, 400, **OPTIONS),
}


def seeded(seed):
    torch.manual_seed(seed)
    random.seed(seed)


def main():
    seeded(0)
    sounds = torch.rand(3, 2, 8000) - 0.5
    found = {}
    for name, make in CHANGES.items():
        seeded(1)
        found[name] = make()(sounds, sample_rate=8000).samples
    seeded(2)
    chain = ta.Compose([
        ta.Gain(p=0.5, output_type="dict"),
        ta.OneOf([ta.PolarityInversion(**OPTIONS), ta.TimeInversion(**OPTIONS)],
                 output_type="dict"),
        ta.SomeOf((1, 2), [ta.Shift(**OPTIONS), ta.Gain(**OPTIONS)], output_type="dict"),
    ], output_type="dict")  # fmt: skip
    out = chain(sounds, sample_rate=8000, targets=torch.rand(3, 2, 100, 1))
    found["chain"] = [out.samples, out.targets]
    report(**found)


main()
