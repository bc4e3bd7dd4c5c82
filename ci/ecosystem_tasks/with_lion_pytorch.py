"""lion-pytorch: the optimizer Lion, plain and decoupled, saved and loaded."""

import copy

import torch
from common import report
from lion_pytorch import Lion


def fit(**options):
    """Losses and weights of a small network."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    optimizer, losses = Lion(net.parameters(), lr=1e-2, **options), []
    for step in range(6):
        optimizer.zero_grad()
        loss = (net(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
        if step == 2:
            state = copy.deepcopy(optimizer.state_dict())
            optimizer = Lion(net.parameters(), lr=1e-2, **options)
            optimizer.load_state_dict(state)
    return {"losses": losses, "weights": dict(net.named_parameters())}


def main():
    report(
        plain=fit(),
        decayed=fit(weight_decay=0.1),
        decoupled=fit(weight_decay=0.1, decoupled_weight_decay=True),
    )


main()
