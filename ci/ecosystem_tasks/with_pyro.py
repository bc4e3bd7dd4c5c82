"""pyro: variational inference, MCMC, and a guide of its own."""

import pyro
import pyro.distributions as dist
import torch
from common import report
from pyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO, TraceEnum_ELBO, config_enumerate
from pyro.infer.autoguide import AutoDiagonalNormal


def line(x, y=None):
    slope = pyro.sample("slope", dist.Normal(0.0, 2.0))
    offset = pyro.sample("offset", dist.Normal(0.0, 2.0))
    noise = pyro.sample("noise", dist.HalfNormal(1.0))
    with pyro.plate("data", len(x)):
        return pyro.sample("y", dist.Normal(slope * x + offset, noise + 0.1), obs=y)


@config_enumerate
def mixture(data):
    weights = pyro.sample("weights", dist.Dirichlet(torch.ones(2)))
    with pyro.plate("parts", 2):
        places = pyro.sample("places", dist.Normal(0.0, 5.0))
    with pyro.plate("data", len(data)):
        part = pyro.sample("part", dist.Categorical(weights))
        pyro.sample("x", dist.Normal(places[part], 1.0), obs=data)


def main():
    pyro.set_rng_seed(0)
    x = torch.linspace(-1, 1, 20)
    y = 1.5 * x - 0.5 + 0.1 * torch.randn(20)
    found = {}
    guide = AutoDiagonalNormal(line)
    steps = SVI(line, guide, pyro.optim.Adam({"lr": 0.05}), Trace_ELBO())
    pyro.set_rng_seed(1)
    found["elbo"] = [steps.step(x, y) for _ in range(20)]
    found["median"] = guide.median(x)
    pyro.set_rng_seed(2)
    found["predicted"] = Predictive(line, guide=guide, num_samples=5)(x)["y"]
    pyro.clear_param_store()
    pyro.set_rng_seed(3)
    data = torch.cat([torch.randn(10) - 3, torch.randn(10) + 3])
    enumerated = TraceEnum_ELBO(max_plate_nesting=1)
    parts = AutoDiagonalNormal(pyro.poutine.block(mixture, hide=["part"]))
    both = SVI(mixture, parts, pyro.optim.ClippedAdam({"lr": 0.05}), enumerated)
    found["mixture"] = [both.step(data) for _ in range(10)]
    pyro.set_rng_seed(4)
    chains = MCMC(NUTS(line), num_samples=30, warmup_steps=30, disable_progbar=True)
    chains.run(x, y)
    # Chains part from each other after a rounding: what they agree on is where the slope lies.
    found["slope"] = bool((chains.get_samples()["slope"].mean() - 1.5).abs() < 0.3)
    report(**found)


main()
