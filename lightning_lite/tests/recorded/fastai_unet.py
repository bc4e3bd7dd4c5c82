"""U-Nets with given weights that `test_unet.py` compares with fastai's.

`python fastai_unet.py` runs them with fastai and writes `fastai_unet.json`.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

WAYS = {
    "plain": {},
    "blurred": {"blur": True},
    "not at the end": {"blur": True, "blur_final": False, "last_cross": False},
    "bounded": {"y_range": (-1.0, 2.0)},
}
SIZES = [(16, 24), (18, 20)]


def encoder(nn, first=2):
    """Three layers that make pictures smaller, and one that does not."""
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, stride=first, padding=1),
        nn.Sequential(nn.Conv2d(4, 6, 3, stride=2, padding=1), nn.ReLU()),
        nn.Sequential(nn.Conv2d(6, 6, 3, padding=1), nn.ReLU()),
        nn.Conv2d(6, 8, 3, stride=2, padding=1),
    )


def waves(of, shape, start):
    """Numbers between -0.5 and 0.5 of a shape."""
    count = math.prod(shape)
    values = [0.5 * math.sin(1.3 * start + 0.61 * place) for place in range(count)]
    return of.tensor(values, dtype=of.float32).reshape(shape)


def fill(of, model):
    """Give every weight a value by its name's rank."""
    state = model.state_dict()
    for number, name in enumerate(sorted(state)):
        if state[name].dtype == of.float32:
            values = waves(of, tuple(state[name].shape), number)
            state[name] = values.abs() + 0.5 if "running_var" in name else values
    model.load_state_dict(state)
    return {name: list(value.shape) for name, value in state.items()}


def outputs(of, unet, nn):
    """Outputs and shapes of weights of each U-Net on pictures of two sizes."""
    found = {}
    for name, options in WAYS.items():
        for first in (1, 2):
            model = unet(encoder(nn, first), 2, SIZES[0], **options)
            shapes = fill(of, model)
            model.eval()
            answers = []
            for size in SIZES:
                with of.no_grad():
                    out = model(waves(of, (2, 3, *size), 0) + 0.5)
                answers.append([round(float(each), 4) for each in out.reshape(-1)[::7].tolist()])
            found[f"{name} {first}"] = {"shapes": shapes, "outputs": answers}
    return found


def main():
    """Record fastai's answers."""
    import torch
    from fastai.vision.models.unet import DynamicUnet

    found = outputs(torch, DynamicUnet, torch.nn)
    Path(__file__).with_suffix(".json").write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
