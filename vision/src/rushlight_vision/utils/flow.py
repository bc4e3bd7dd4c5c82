"""Optical flow as colours."""

from __future__ import annotations

from typing import Any

import rushlight as rl

# The wheel of colours of Baker et al., "A Database and Evaluation Methodology for Optical Flow",
# 2007: how many steps lead from each colour to the next.
_STEPS = {
    ("red", "yellow"): 15,
    ("yellow", "green"): 6,
    ("green", "cyan"): 4,
    ("cyan", "blue"): 11,
    ("blue", "magenta"): 13,
    ("magenta", "red"): 6,
}
_COLORS = {
    "red": (255, 0, 0),
    "yellow": (255, 255, 0),
    "green": (0, 255, 0),
    "cyan": (0, 255, 255),
    "blue": (0, 0, 255),
    "magenta": (255, 0, 255),
}


def _wheel() -> rl.Tensor:
    """The colours of all directions, (55, 3)."""
    rows = []
    for (start, end), count in _STEPS.items():
        for step in range(count):
            share = 255 * step // count
            pairs = zip(_COLORS[start], _COLORS[end], strict=True)
            rows.append([a + share if b > a else a - share if b < a else a for a, b in pairs])
    return rl.tensor(rows, dtype=rl.float32)


@rl.no_grad()
def flow_to_image(flow: rl.Tensor) -> rl.Tensor:
    """Optical flow as an image: the colour is the direction, its strength the speed, beside the
    fastest.

    `flow` is float32, (2, H, W) or (N, 2, H, W), x and y; the result is uint8, (3, H, W) or (N, 3,
    H, W).

    >>> flow_to_image(rl.tensor([[[0.0, 1.0]], [[0.0, 0.0]]])).tolist()
    [[[255, 255]], [[255, 0]], [[255, 0]]]

    """
    if flow.dtype is not rl.float32 or flow.ndim not in (3, 4) or flow.shape[-3] != 2:
        raise ValueError(
            f"flow must be float32 of shape (2, H, W) or (N, 2, H, W), got {flow.dtype} of shape "
            f"{tuple(flow.shape)}"
        )
    batch: Any = flow if flow.ndim == 4 else flow[None]
    fastest = batch.square().sum(1).sqrt().max()
    x, y = (batch / (fastest + rl.finfo(rl.float32).eps)).unbind(1)
    colors = _colors_of(x, y)
    return colors if flow.ndim == 4 else colors[0]


def _colors_of(x: rl.Tensor, y: rl.Tensor) -> rl.Tensor:
    """The colours of flows no longer than 1, (N, 3, H, W)."""
    wheel = _wheel().to(x.device) / 255.0
    place = (rl.atan2(-y, -x) / rl.pi + 1) / 2 * (len(wheel) - 1)
    low = place.floor().long()
    high = (low + 1) % len(wheel)
    share = (place - low)[:, None]
    first, second = wheel[low].permute(0, 3, 1, 2), wheel[high].permute(0, 3, 1, 2)
    mixed = (1 - share) * first + share * second
    speed = (x.square() + y.square()).sqrt()[:, None]
    return (255 * (1 - speed * (1 - mixed))).floor().to(rl.uint8)
