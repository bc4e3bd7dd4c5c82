"""nflows: an autoregressive flow, a spline flow with coupling layers, samples of both."""

import torch
from common import reloaded, report, train
from nflows.distributions.normal import ConditionalDiagonalNormal, StandardNormal
from nflows.flows.base import Flow
from nflows.nn.nets import ResidualNet
from nflows.transforms.autoregressive import (
    MaskedAffineAutoregressiveTransform,
    MaskedPiecewiseRationalQuadraticAutoregressiveTransform,
)
from nflows.transforms.base import CompositeTransform
from nflows.transforms.coupling import PiecewiseRationalQuadraticCouplingTransform
from nflows.transforms.lu import LULinear
from nflows.transforms.normalization import BatchNorm
from nflows.transforms.permutations import ReversePermutation


def autoregressive():
    """Affine layers with permutations between them."""
    layers = []
    for _ in range(2):
        layers += [ReversePermutation(4), MaskedAffineAutoregressiveTransform(4, 16)]
    return Flow(CompositeTransform(layers), StandardNormal([4]))


def splines():
    """Splines, in coupling layers and autoregressive, with LU layers and normalization."""
    layers = [
        LULinear(4),
        PiecewiseRationalQuadraticCouplingTransform(
            torch.tensor([1, 0, 1, 0]),
            lambda features, out: ResidualNet(features, out, 16, num_blocks=1),
            tails="linear",
            tail_bound=3.0,
        ),
        BatchNorm(4),
        MaskedPiecewiseRationalQuadraticAutoregressiveTransform(
            4, 16, tails="linear", tail_bound=3.0
        ),
    ]
    return Flow(CompositeTransform(layers), StandardNormal([4]))


def main():
    torch.manual_seed(0)
    x, found = torch.randn(64, 4), {}
    for make in (autoregressive, splines):
        flow = make()
        found[make.__name__] = train(flow, x, lambda m, b: -m.log_prob(b).mean(), rate=1e-2)
        flow.eval()
        found[make.__name__ + " sample"] = flow.sample_and_log_prob(5)
        found[make.__name__ + " again"] = reloaded(flow, make).eval().log_prob(x)
    encoder = torch.nn.Linear(2, 8)
    conditional = Flow(
        MaskedAffineAutoregressiveTransform(4, 16, context_features=2),
        ConditionalDiagonalNormal([4], context_encoder=encoder),
    )
    context = torch.randn(64, 2)
    found["conditional"] = train(
        conditional, (x, context), lambda m, b: -m.log_prob(b[0], context=b[1]).mean()
    )
    report(**found)


main()
