"""Samples of a batch as pictures with their targets. Needs matplotlib (the extra `plot`)."""

from __future__ import annotations

from typing import Any

from lightning_lite.easy.data.coordinates import in_pixels


def pyplot(what: str) -> Any:
    """matplotlib's pyplot. ModuleNotFoundError that says what to install for `what`."""
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{what} needs matplotlib: pip install rushlight-lightning-lite[plot]"
        ) from error
    return plt


def title_of(value: Any) -> str:
    """A target in words."""
    if isinstance(value, list):
        parts = [f"{each:.3g}" if isinstance(each, float) else str(each) for each in value]
        return ";".join(parts)
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def grid(what: str, count: int, columns: int) -> tuple[Any, list[Any]]:
    """A figure of `count` axes without frames."""
    rows = -(-count // columns)
    figure, axes = pyplot(what).subplots(
        rows, columns, squeeze=False, figsize=(2.4 * columns, 2.6 * rows), layout="constrained"
    )
    for each in axes.flat:
        each.axis("off")
    return figure, list(axes.flat)


def draw(ax: Any, picture: Any, kind: str, shown: Any, title: str = "") -> None:
    """A picture `(C, H, W)` with its target: a mask over it, or words above it."""
    picture = picture.clamp(0, 1).permute(1, 2, 0)
    grey = picture.shape[-1] == 1
    ax.imshow((picture[..., 0] if grey else picture).numpy(), cmap="gray" if grey else None)
    if kind == "mask":
        # One scale for all masks: the same class has the same colour.
        ax.imshow(shown.numpy(), alpha=0.5, cmap="tab20", vmin=0, vmax=19, interpolation="nearest")
    if kind == "points":
        x, y = in_pixels(shown, (picture.shape[1], picture.shape[0])).unbind(-1)
        ax.scatter(x.tolist(), y.tolist(), s=12, c="red")
    if kind == "boxes":
        pixels = in_pixels(shown.reshape(-1, 2, 2), (picture.shape[1], picture.shape[0]))
        for (left, top), (right, bottom) in pixels.tolist():
            ax.plot([left, right, right, left, left], [top, top, bottom, bottom, top], c="red")
    drawn = kind in ("mask", "points", "boxes")
    ax.set_title(title or ("" if drawn else title_of(shown)), fontsize=9)
