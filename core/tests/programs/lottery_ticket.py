"""Prune the smallest weights of all layers, rewind the rest to their first values, train again."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import prune


class Half(prune.BasePruningMethod):
    """every second weight that is left, by position"""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        mask = default_mask.clone()
        mask.view(-1)[::2] = 0
        return mask


def net():
    return nn.Sequential(
        nn.Linear(16, 60), nn.ReLU(), nn.Linear(60, 40), nn.ReLU(), nn.Linear(40, 5)
    )


def linears(model):
    return [m for m in model if isinstance(m, nn.Linear)]


def sparsity(model):
    zeros = sum(int((m.weight == 0).sum()) for m in linears(model))
    return zeros / sum(m.weight.nelement() for m in linears(model))


def train(model, x, y, steps, first):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    generator = torch.Generator().manual_seed(3)
    for step in range(first, first + steps):
        idx = torch.randint(len(x), (40,), generator=generator)
        loss = F.cross_entropy(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"loss {step} {loss.item():.8f}")


def accuracy(model, x, y):
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


torch.manual_seed(44)
y = torch.randint(5, (500,))
x = 1.6 * torch.randn(5, 16)[y] + torch.randn(500, 16)
model = net()
first = copy.deepcopy(model.state_dict())
train(model, x[:400], y[:400], 25, 0)
dense = accuracy(model, x[400:], y[400:])
for round in range(3):
    prune.global_unstructured(
        [(m, "weight") for m in linears(model)],
        pruning_method=prune.L1Unstructured,
        amount=0.4,
    )
    with torch.no_grad():
        for k, m in enumerate(linears(model)):
            m.weight_orig.copy_(first[f"{2 * k}.weight"])
            m.bias.copy_(first[f"{2 * k}.bias"])
    train(model, x[:400], y[:400], 15, 25 + 15 * round)
    print(f"round {round} sparsity {sparsity(model):.3f}")
print(
    prune.is_pruned(model),
    [n for n, _ in model[0].named_buffers()],
    len(model[0]._forward_pre_hooks),
)
ticket = accuracy(model, x[400:], y[400:])
prune.ln_structured(model[2], name="weight", amount=0.25, n=2, dim=0)
prune.random_unstructured(model[4], "bias", amount=2)
Half.apply(model[0], "weight")
print(f"rows {int((model[2].weight.abs().sum(1) == 0).sum())} {sparsity(model):.3f}")
for m in linears(model):
    prune.remove(m, "weight")
print(sorted(model.state_dict()))
print(f"quality dense {dense:.2f} ticket {ticket:.2f} sparsity {sparsity(model):.3f}")
