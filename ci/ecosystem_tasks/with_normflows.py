"""normflows: a real NVP, planar and residual flows, spline flows, and a variational loss."""

import normflows as nf
import torch
from common import reloaded, report, train


def real_nvp():
    """Affine coupling blocks with activation normalization."""
    flows = []
    for _ in range(2):
        net = nf.nets.MLP([1, 16, 2], init_zeros=True)
        flows += [nf.flows.AffineCouplingBlock(net), nf.flows.Permute(2, mode="swap")]
        flows += [nf.flows.ActNorm(2)]
    return nf.NormalizingFlow(nf.distributions.DiagGaussian(2), flows)


def splines():
    """Autoregressive splines with LU layers."""
    flows = [nf.flows.AutoregressiveRationalQuadraticSpline(2, 1, 16), nf.flows.LULinearPermute(2)]
    return nf.NormalizingFlow(nf.distributions.DiagGaussian(2, trainable=False), flows)


def residual():
    """A residual flow of Lipschitz layers, its series cut at a fixed length."""
    net = nf.nets.LipschitzMLP([2, 16, 2], init_zeros=True, lipschitz_const=0.9)
    block = nf.flows.Residual(net, n_exact_terms=3, reduce_memory=False, geom_p=0.999)
    return nf.NormalizingFlow(nf.distributions.DiagGaussian(2), [block])


def main():
    torch.manual_seed(0)
    x, found = torch.randn(64, 2), {}
    for make in (real_nvp, splines):
        model = make()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
        found[make.__name__] = train(model, x, lambda m, b: m.forward_kld(b), optimizer=optimizer)
        found[make.__name__ + " sample"] = model.sample(4)
        found[make.__name__ + " again"] = reloaded(model, make).log_prob(x)
    target = nf.distributions.TwoMoons()
    planar = [nf.flows.Planar((2,), act="tanh") for _ in range(3)]
    model = nf.NormalizingFlow(nf.distributions.DiagGaussian(2), planar, target)
    found["planar"] = train(model, 64, lambda m, n: m.reverse_kld(n), rate=1e-2)
    model = residual()
    found["residual"] = train(model, x, lambda m, b: m.forward_kld(b), rate=1e-2)
    nf.utils.update_lipschitz(model, 5)
    found["lipschitz"] = model.log_prob(x)
    report(**found)


main()
