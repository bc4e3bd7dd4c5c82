"""Losses and optimizers that `test_losses_and_optimizers.py` compares with fastai's.

`python fastai_losses.py` runs them with fastai and writes `fastai_losses.json`.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

STEPS = 14


def losses(rl, of):
    """Values by loss and reduction, and gradients of the mean."""
    x = (rl.arange(24.0).reshape(4, 3, 2) * 0.7).sin()
    labels, numbers = rl.tensor([[0, 2], [1, 1], [2, 0], [1, 2]]), (rl.arange(8.0) % 2)
    weight = rl.tensor([1.0, 3.0, 0.5])
    cases = {
        "focal": (partial(of.FocalLossFlat, axis=1), labels, x),
        "focal 1": (partial(of.FocalLossFlat, gamma=0.5, axis=1, weight=weight), labels, x),
        "smooth": (partial(of.LabelSmoothingCrossEntropyFlat, axis=1), labels, x),
        "smooth 3": (partial(of.LabelSmoothingCrossEntropyFlat, eps=0.3, axis=1), labels, x),
        "logits": (of.BCEWithLogitsLossFlat, numbers.reshape(8, 1), x[:, 0]),
        "shares": (of.BCELossFlat, numbers.long(), x[:, 0].sigmoid()),
        "absolute": (of.L1LossFlat, numbers.long(), x[:, 0]),
    }
    found = {}
    for name, (kind, target, output) in cases.items():
        for reduction in ("mean", "sum", "none"):
            given = output.clone().detach().requires_grad_()
            value = kind(reduction=reduction)(given, target)
            value.sum().backward()
            both = (value.reshape(-1), given.grad.reshape(-1))
            found[f"{name}, {reduction}"] = [each.tolist() for each in both]
    return found


def optimizers(rl, of):
    """Parameters after some steps, whose momentum changes on the way."""
    kinds = {
        "radam": (partial(of.RAdam, lr=0.05), "mom"),
        "radam, all": (partial(of.RAdam, lr=0.05, mom=0.8, sqr_mom=0.95, wd=0.1, beta=20.0), "mom"),
        "qhadam": (partial(of.QHAdam, lr=0.05, wd=0.1, nu_2=0.8), "mom"),
        "lamb": (partial(of.Lamb, lr=0.05, wd=0.1), "mom"),
        "larc": (partial(of.Larc, lr=0.05, wd=0.1), "mom"),
        "lars": (partial(of.Larc, lr=2.0, mom=0.0, clip=False), None),
        "ranger": (partial(of.ranger, lr=0.05, k=4), "mom"),
    }
    found = {}
    for name, (kind, mom) in kinds.items():
        weights = [rl.nn.Parameter((rl.arange(6.0) * n).cos()) for n in (1, 2)]
        optimizer, rows = kind(weights), []
        for number in range(STEPS):
            if mom and number == STEPS // 2:
                of.set_mom(optimizer, 0.7)
            for n, each in enumerate(weights):
                each.grad = (each.detach() * (n + 1) + number * 0.3).sin()
            optimizer.step()
            rows.append([value for each in weights for value in each.detach().tolist()])
        found[name] = rows
    return found


def main():
    """Record fastai's answers."""
    import fastai.losses
    import fastai.optimizer
    import torch

    class Of:
        @staticmethod
        def set_mom(optimizer, value):
            optimizer.set_hyper("mom", value)

    for module in (fastai.losses, fastai.optimizer):
        for name in module.__all__:
            setattr(Of, name, getattr(module, name))
    found = {"losses": losses(torch, Of), "optimizers": optimizers(torch, Of)}
    short = json.loads(json.dumps(found), parse_float=lambda text: float(f"{float(text):.7g}"))
    Path(__file__).with_suffix(".json").write_text(json.dumps(short) + "\n")


if __name__ == "__main__":
    main()
