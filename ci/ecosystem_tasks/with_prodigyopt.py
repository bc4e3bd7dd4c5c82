"""prodigyopt: an optimizer that finds its own rate, with its options, saved and loaded."""

import copy

import torch
from common import report
from prodigyopt import Prodigy


def fit(**options):
    """Losses, rates and weights of a small network."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    optimizer, losses, rates = Prodigy(net.parameters(), lr=1.0, **options), [], []
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=12)
    for step in range(12):
        optimizer.zero_grad()
        loss = (net(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(float(loss.detach()))
        rates.append(float(optimizer.param_groups[0]["d"]))
        if step == 5:
            state = copy.deepcopy(optimizer.state_dict())
            optimizer = Prodigy(net.parameters(), lr=1.0, **options)
            optimizer.load_state_dict(state)
    return {"losses": losses, "rates": rates, "weights": dict(net.named_parameters())}


def main():
    report(
        plain=fit(d0=1e-3),
        guarded=fit(d0=1e-3, safeguard_warmup=True, use_bias_correction=True, weight_decay=0.1),
        coupled=fit(d0=1e-3, decouple=False, weight_decay=0.1, slice_p=2),
    )


main()
