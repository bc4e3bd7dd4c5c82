"""torchcrepe: the network of pitches, its frames, decoding by Viterbi's and other ways, filters."""

import numpy as np
import torch
import torchcrepe
from common import report, train


def main():
    torch.manual_seed(0)
    net = torchcrepe.Crepe("tiny")
    time = torch.arange(8000) / 16000
    sound = torch.sin(2 * torch.pi * 220 * time)[None]
    frames = next(torchcrepe.preprocess(sound, 16000, 160, None, "cpu"))[:12]
    target = torch.zeros(12, 360)
    target[:, 100] = 1
    loss = torch.nn.functional.binary_cross_entropy
    found = {"frames": frames}
    found["losses"] = train(net, frames, lambda m, x: loss(m(x), target))
    chances = net.eval()(frames)
    found["chances"] = chances
    found["embedded"] = net(frames, embed=True)
    grid = chances.detach().T[None]
    for name in ("argmax", "weighted_argmax", "viterbi"):
        decoder = getattr(torchcrepe.decode, name)
        np.random.seed(1)  # noqa: NPY002 - the library's own source
        bins, pitch = decoder(grid.clone())[:2]
        found[name] = [bins.float(), pitch]
    periodicity = torch.rand(1, 30)
    pitch = 200 + 20 * torch.rand(1, 30)
    found["filtered"] = [torchcrepe.filter.mean(pitch, 3), torchcrepe.filter.median(pitch, 5)]
    found["threshold"] = torchcrepe.threshold.At(0.5)(pitch, periodicity).nan_to_num()
    np.random.seed(2)  # noqa: NPY002
    cents = torchcrepe.convert.frequency_to_cents(pitch)
    found["converted"] = [cents, torchcrepe.convert.bins_to_frequency(torch.arange(0, 360, 60))]
    report(**found)


main()
