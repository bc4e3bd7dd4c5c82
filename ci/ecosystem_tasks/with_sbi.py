"""sbi: neural posteriors and likelihoods of a small simulator, sampled."""

import logging

import torch
from common import report
from sbi.inference import NLE, NPE, NRE
from sbi.utils import BoxUniform


def main():
    logging.disable(logging.WARNING)
    torch.manual_seed(0)
    prior = BoxUniform(-2 * torch.ones(2), 2 * torch.ones(2))
    theta = prior.sample((120,))
    x = theta + 0.3 * torch.randn(120, 2)
    seen, found = torch.tensor([0.5, -0.5]), {"theta": theta}
    options = {
        "training_batch_size": 40, "max_num_epochs": 2, "show_train_summary": False,
        "validation_fraction": 0.2,
    }  # fmt: skip
    for kind, estimator in ((NPE, "maf"), (NPE, "mdn"), (NLE, "maf"), (NRE, "mlp")):
        torch.manual_seed(1)
        named = {"classifier" if kind is NRE else "density_estimator": estimator}
        inference = kind(prior, show_progress_bars=False, **named)
        net = inference.append_simulations(theta, x).train(**options)
        found[f"{kind.__name__} {estimator}"] = [p.detach() for p in list(net.parameters())[:3]]
        if kind is NPE:
            posterior = inference.build_posterior(net)
            found[f"{estimator} samples"] = posterior.sample(
                (20,), x=seen, show_progress_bars=False
            )
            found[f"{estimator} log_prob"] = posterior.log_prob(theta[:5], x=seen)
        else:
            posterior = inference.build_posterior(net)
            found[f"{kind.__name__} potential"] = posterior.potential(theta[:5], x=seen)
    report(**found)


main()
