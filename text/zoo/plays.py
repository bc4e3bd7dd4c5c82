"""A GPT-2 of characters: data, network and recipe as nanoGPT gives them for a processor.

Four layers and heads, width 128, windows of 64 characters, 12 a batch, 2,000 steps without dropout
(github.com/karpathy/nanoGPT, README).
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

import rushlight as rl
from rushlight import nn, optim
from rushlight_text.datasets import Shakespeare
from rushlight_text.models.pretrained import build_model

WINDOW, BATCH, STEPS, WARM = 64, 12, 2000, 100
HIGH, LOW = 1e-3, 1e-4  # learning rates


def texts(path: str) -> dict[str, str]:
    """Every tenth text is held out; rare characters that are no part of the plays are dropped."""
    found = [text for _, text in Shakespeare(path)]
    train = "\n\n".join(text for number, text in enumerate(found) if number % 10)
    known = {c for c in set(train) if train.count(c) >= 50}
    parts = {"train": train, "test": "\n\n".join(found[::10])}
    return {name: "".join(c for c in text if c in known) for name, text in parts.items()}


def network(characters: int) -> Any:
    """The network with weights as nanoGPT draws them."""
    sizes = {"n_layer": 4, "n_head": 4, "n_embd": 128, "n_positions": WINDOW}
    free = {"attn_pdrop": 0.0, "resid_pdrop": 0.0, "embd_pdrop": 0.0, "activation_function": "gelu"}
    ends = {"bos_token_id": None, "eos_token_id": None}
    model = build_model("gpt2", "causal-lm", vocab_size=characters, **sizes, **free, **ends)
    with rl.no_grad():
        for name, value in model.named_parameters():
            if name.endswith("c_proj.weight"):
                value.normal_(0.0, 0.02 / math.sqrt(2 * sizes["n_layer"]))
    return model


def batches(ids: rl.Tensor, seed: int = 0) -> Iterator[tuple[rl.Tensor, rl.Tensor]]:
    """Endless windows from random positions, and the same one character on."""
    pick = random.Random(seed)
    while True:
        starts = [pick.randrange(len(ids) - WINDOW) for _ in range(BATCH)]
        rows = rl.stack([ids[start : start + WINDOW + 1] for start in starts])
        yield rows[:, :-1], rows[:, 1:]


def rate(step: int) -> float:
    """The learning rate of a step: it rises, then falls along half a cosine."""
    if step < WARM:
        return HIGH * (step + 1) / (WARM + 1)
    share = (step - WARM) / (STEPS - WARM)
    return LOW + 0.5 * (1 + math.cos(math.pi * share)) * (HIGH - LOW)


def groups(named: Any) -> list[dict[str, Any]]:
    """Parameters for AdamW: matrices decay, vectors do not."""
    values = [value for _, value in named]
    return [
        {"params": [v for v in values if v.dim() >= 2], "weight_decay": 0.1},
        {"params": [v for v in values if v.dim() < 2], "weight_decay": 0.0},
    ]


def fit(model: Any, ids: rl.Tensor) -> None:
    """Learn from ids of a text."""
    optimizer = optim.AdamW(groups(model.named_parameters()), HIGH, betas=(0.9, 0.99))
    source = batches(ids)
    model.train()
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = rate(step)
        inputs, targets = next(source)
        logits = model(inputs).logits
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 200 == 199:
            print(f"step {step + 1}: loss {loss.item():.4f}", flush=True)
    model.eval()


@rl.no_grad()
def loss_on(model: Any, ids: rl.Tensor) -> float:
    """The mean loss of all windows of a text that follow one another."""
    count = (len(ids) - 1) // WINDOW
    inputs = ids[: count * WINDOW].view(count, WINDOW)
    targets = ids[1 : count * WINDOW + 1].view(count, WINDOW)
    total = 0.0
    for start in range(0, count, 256):
        logits = model(inputs[start : start + 256]).logits
        wanted = targets[start : start + 256].flatten()
        total += nn.functional.cross_entropy(logits.flatten(0, 1), wanted, reduction="sum").item()
    return total / (count * WINDOW)
