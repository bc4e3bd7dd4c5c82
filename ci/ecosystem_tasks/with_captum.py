"""captum: attributions of a small network by nine methods."""

import numpy as np
import torch
from captum.attr import (
    DeepLift,
    FeatureAblation,
    GradientShap,
    GuidedBackprop,
    InputXGradient,
    IntegratedGradients,
    LayerConductance,
    LayerGradCam,
    NoiseTunnel,
    Occlusion,
    Saliency,
)
from common import report


class Net(torch.nn.Module):
    """A convolution and a line."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 4, 3, padding=1)
        self.relu = torch.nn.ReLU()
        self.pool = torch.nn.AdaptiveAvgPool2d(2)
        self.line = torch.nn.Linear(16, 3)

    def forward(self, x):
        return self.line(self.pool(self.relu(self.conv(x))).flatten(1))


def main():
    torch.manual_seed(0)
    net, x = Net().eval(), torch.rand(2, 1, 6, 6, requires_grad=True)
    found = {}
    for kind in (Saliency, InputXGradient, IntegratedGradients, DeepLift, GuidedBackprop,
                 FeatureAblation):  # fmt: skip
        found[kind.__name__] = kind(net).attribute(x, target=1)
    found["occlusion"] = Occlusion(net).attribute(x, (1, 3, 3), target=0, strides=(1, 3, 3))
    torch.manual_seed(1)
    np.random.seed(1)  # noqa: NPY002 - captum draws from it
    found["shap"] = GradientShap(net).attribute(x, torch.zeros(4, 1, 6, 6), target=2, n_samples=5)
    torch.manual_seed(2)
    found["noise"] = NoiseTunnel(Saliency(net)).attribute(x, nt_samples=4, target=1)
    found["cam"] = LayerGradCam(net, net.conv).attribute(x, target=1)
    found["layer"] = LayerConductance(net, net.conv).attribute(x, target=1, n_steps=10)
    value, delta = IntegratedGradients(net).attribute(x, target=1, return_convergence_delta=True)
    found["delta"] = delta.abs().max() < 0.02
    report(**{k: bool(v) if k == "delta" else v for k, v in found.items()})


main()
