"""torch-optimizer: every optimizer of the package on a small network."""

import torch
import torch_optimizer
from common import report


def fit(name):
    """Losses and weights of a few steps."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    x, y = torch.randn(8, 6), torch.randn(8, 1)
    if name == "Lookahead":
        optimizer = torch_optimizer.Lookahead(torch_optimizer.Yogi(net.parameters(), lr=1e-2), k=2)
    else:
        optimizer = getattr(torch_optimizer, name)(net.parameters(), lr=1e-3)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = (net(x) - y).square().mean()
        loss.backward(create_graph=name == "Adahessian")
        optimizer.step()
        losses.append(float(loss.detach()))
    return {"losses": losses, "weights": [p.detach() for p in net.parameters()]}


def main():
    names = [name for name in torch_optimizer.__all__ if name[0].isupper()]
    report(**{name: fit(name) for name in sorted(names)})


main()
