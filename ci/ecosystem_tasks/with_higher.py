"""higher: steps of an optimizer through which gradients flow, to weights and to rates."""

import higher
import torch
from common import report


def main():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    found = {}
    for name in ("SGD", "Adam", "RMSprop", "Adagrad", "Adadelta", "Adamax", "Rprop", "ASGD"):
        optimizer = getattr(torch.optim, name)(net.parameters(), lr=0.05)
        with higher.innerloop_ctx(net, optimizer, copy_initial_weights=False) as (inner, steps):
            losses = []
            for _ in range(3):
                loss = (inner(x) - y).square().mean()
                steps.step(loss)
                losses.append(float(loss.detach()))
            outer = (inner(x[:4]) - y[:4]).square().mean()
            grads = torch.autograd.grad(outer, list(net.parameters()), allow_unused=True)
        found[name] = {"losses": losses, "outer": outer, "grads": list(grads)}
    rate = torch.tensor(0.1, requires_grad=True)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    with higher.innerloop_ctx(net, optimizer, override={"lr": [rate]}) as (inner, steps):
        for _ in range(2):
            steps.step((inner(x) - y).square().mean())
        (inner(x) - y).square().mean().backward()
    found["rate"] = rate.grad
    functional = higher.patch.monkeypatch(net)
    weights = [p.detach() * 2 for p in net.parameters()]
    found["functional"] = functional(x, params=weights)
    report(**found)


main()
