"""The loop that trains each network."""

from __future__ import annotations

from collections.abc import Callable

import rushlight as rl
from rushlight import nn, optim


def fit(network: nn.Module, loss_of: Callable[[], rl.Tensor], steps: int, lr: float) -> None:
    """Adam; the rate falls along half a cosine."""
    optimizer = optim.Adam(network.parameters(), lr=lr)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    network.train()
    shown = 0.0
    for step in range(1, steps + 1):
        loss = loss_of()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 5.0)
        optimizer.step()
        schedule.step()
        shown = loss.item() if step == 1 else 0.98 * shown + 0.02 * loss.item()
        if step % 50 == 0:
            print(f"step {step} of {steps}: loss {shown:.3f}", flush=True)
    network.eval()
