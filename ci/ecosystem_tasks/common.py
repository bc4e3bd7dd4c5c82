"""What the tasks share: training, saving, and the figures that are compared.

A task is a program over one library as its users write it. It imports `torch` and the library,
and prints figures that PyTorch gives too: it does not know which of the two it runs on.
"""

from __future__ import annotations

import io
import json

import torch


def figures(value):
    """A tensor, or what holds tensors, as a few numbers: the sum, the sum of squares, the first."""
    if isinstance(value, torch.Tensor):
        flat = value.detach().double().reshape(-1)
        if value.is_complex():
            flat = torch.view_as_real(value.detach()).double().reshape(-1)
        return [float(flat.sum()), float((flat * flat).sum()), *flat[:3].tolist()]
    if isinstance(value, dict):
        return {key: figures(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [figures(item) for item in value]
    return value


def train(model, batch, loss_of, steps=3, rate=1e-3, optimizer=None):
    """The losses of a few steps of Adam."""
    optimizer = optimizer or torch.optim.Adam(model.parameters(), lr=rate)
    model.train()
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model, batch)
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


def reloaded(model, make):
    """A new model, of `make`, with the state of another that went through a file."""
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    again = make()
    again.load_state_dict(torch.load(file))
    return again


def report(**found):
    """Print the figures, as the last line."""
    print(json.dumps({name: figures(value) for name, value in found.items()}))
