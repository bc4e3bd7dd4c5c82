"""schedulefree: optimizers without a schedule, their train and eval modes, saved and loaded."""

import schedulefree
import torch
from common import report


def fit(kind, **options):
    """Losses in both modes of an optimizer, and the weights after its state went through a file."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    optimizer, losses = kind(net.parameters(), **options), []

    def closure():
        optimizer.zero_grad()
        loss = (net(x) - y).square().mean()
        loss.backward()
        return loss

    for epoch in range(4):
        modes = hasattr(optimizer, "train")  # those with a closure change the mode themselves
        if modes:
            optimizer.train()
        for _ in range(3):
            if modes:
                loss = closure()
                optimizer.step()
            else:
                loss = optimizer.step(closure)
            losses.append(float(loss.detach()))
        if modes:
            optimizer.eval()
        with torch.no_grad():
            losses.append(float((net(x) - y).square().mean()))
        if epoch == 1:
            state = optimizer.state_dict()
            optimizer = kind(net.parameters(), **options)
            optimizer.load_state_dict(state)
    return {"losses": losses, "weights": dict(net.named_parameters())}


def main():
    found = {
        "adamw": fit(schedulefree.AdamWScheduleFree, lr=0.01, warmup_steps=3),
        "adamw, one tensor at a time": fit(
            schedulefree.AdamWScheduleFree, lr=0.01, foreach=False, weight_decay=0.1
        ),
        "sgd": fit(schedulefree.SGDScheduleFree, lr=0.1, momentum=0.9),
        "radam": fit(schedulefree.RAdamScheduleFree, lr=0.01),
        "adamw, closure": fit(schedulefree.AdamWScheduleFreeClosure, lr=0.01),
        "sgd, closure": fit(schedulefree.SGDScheduleFreeClosure, lr=0.1),
    }
    report(**found)


main()
