"""zennit: relevance of inputs by rules of layers, with composites and canonizers."""

import torch
from common import report
from zennit.attribution import Gradient, IntegratedGradients, SmoothGrad
from zennit.canonizers import SequentialMergeBatchNorm
from zennit.composites import (
    EpsilonGammaBox,
    EpsilonPlus,
    EpsilonPlusFlat,
    ExcitationBackprop,
    GuidedBackprop,
)


def main():
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 6, 3, padding=1),
        torch.nn.BatchNorm2d(6),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(6, 8, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(32, 4),
    ).eval()
    net[1].running_mean.normal_()
    net[1].running_var.uniform_(0.5, 2)
    x = torch.rand(2, 3, 8, 8)
    target = torch.eye(4)[[1, 2]]
    canonizers = [SequentialMergeBatchNorm()]
    composites = {
        "gamma box": EpsilonGammaBox(low=0.0, high=1.0, canonizers=canonizers),
        "plus": EpsilonPlus(canonizers=canonizers),
        "flat": EpsilonPlusFlat(canonizers=canonizers),
        "guided": GuidedBackprop(),
        "excitation": ExcitationBackprop(),
    }
    found = {"before": net(x)}
    for name, composite in composites.items():
        with Gradient(model=net, composite=composite) as attributor:
            found[name] = list(attributor(x, target))
    with IntegratedGradients(model=net, n_iter=5) as attributor:
        found["integrated"] = attributor(x, target)[1]
    with SmoothGrad(model=net, noise_level=0.1, n_iter=3) as attributor:
        found["smooth"] = attributor(x, target)[1]
    found["after"] = net(x)
    report(**found)


main()
