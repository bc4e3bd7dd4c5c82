"""What a network of optical flow computes, measured the same way by torchvision and by Rushlight,
in float32: its coordinates have this dtype whatever the network."""

from __future__ import annotations

import importlib
from typing import Any

import measured
import numpy as np
import trained
from measured import SEED, Arrays

UPDATES = 3
SIZE = (2, 3, 128, 136)


def draw_weights(torch: Any, model: Any, name: str) -> np.random.Generator:
    """Weights that both libraries draw from NumPy, so small that flows stay inside of images."""
    draw = measured.draw_weights(torch, model, name)
    head = model.update_block.flow_head.conv2
    head.weight.data.mul_(0.2)
    return draw


def measure(torch: Any, models: Any, name: str) -> Arrays:
    """Everything that is compared of a builder."""
    torch.manual_seed(SEED)
    model = models.get_model_builder(name)(weights=None)
    found = {
        "state": np.array(measured.fingerprint(model.state_dict())),
        "init": measured.first_weights(model),
    }
    draw = draw_weights(torch, model, name)
    pair = [torch.tensor(draw.uniform(-1, 1, SIZE).astype(np.float32)) for _ in range(2)]
    model.train()
    flows = model(*pair, num_flow_updates=UPDATES)
    sum(flow.abs().mean() for flow in flows).backward()
    found["flow in training"] = np.stack([trained.sampled(flow) for flow in flows]).astype(
        np.float32
    )
    grads = [parameter.grad for parameter in model.parameters()]
    rows = [0.0 if grad is None else float((grad.double() ** 2).sum().sqrt()) for grad in grads]
    found["slope"] = np.array(rows, np.float32)
    model.eval()
    with torch.no_grad():
        flow = model(*pair, num_flow_updates=UPDATES)[-1]
    found["flow"] = trained.sampled(flow).astype(np.float32)
    return found


NAMES = ("parts",)


def parts(torch: Any, models: Any, name: str) -> Arrays:
    """Coordinates, looking them up, and finer flows."""
    flow = importlib.import_module(f"{models.__name__}.optical_flow._utils")
    draw = np.random.default_rng(SEED)

    def given(*shape: int) -> Any:
        return torch.tensor(draw.uniform(0.0, 5.0, shape).astype(np.float32))

    results = [
        flow.make_coords_grid(2, 3, 4),
        flow.grid_sample(given(2, 3, 6, 7), given(2, 4, 5, 2), align_corners=True),
        flow.grid_sample(given(2, 3, 1, 7), given(2, 4, 5, 2), align_corners=True),
        flow.upsample_flow(given(2, 2, 4, 5)),
        flow.upsample_flow(given(2, 2, 4, 5), given(2, 9 * 16, 4, 5), factor=4),
    ]
    return {f"part {number}": np.array(each.numpy()) for number, each in enumerate(results)}
