"""A drawn picture: bytes of a PNG that notebooks show."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Picture", "figure"]


@dataclass(frozen=True)
class Picture:
    """A PNG; as the last value of a notebook's cell it is shown.

    Attributes:
        png: the bytes of the file.
    """

    png: bytes

    def save(self, path: str | os.PathLike) -> None:
        """Write the file."""
        Path(path).write_bytes(self.png)

    def _repr_png_(self) -> bytes:
        return self.png

    def __repr__(self) -> str:
        width, height = (int.from_bytes(self.png[at : at + 4], "big") for at in (16, 20))
        return f"Picture({width} x {height}, {len(self.png)} bytes)"


def figure(rows: int, width: float, height: float, title: str | None) -> tuple[Any, list[Any]]:
    """A figure with so many plots, one above the other over the same time; inches each."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "show() and report() need Matplotlib: pip install rushlight-audio[pictures]"
        ) from error
    drawn = Figure(figsize=(width, height * rows + 0.4), dpi=100, layout="constrained")
    FigureCanvasAgg(drawn)
    plots = drawn.subplots(rows, 1, squeeze=False, sharex=True)[:, 0]
    if title:
        drawn.suptitle(title, fontsize=11)
    return drawn, list(plots)


def finished(drawn: Any) -> Picture:
    """The PNG of a figure."""
    buffer = io.BytesIO()
    drawn.savefig(buffer, format="png", metadata={"Software": None})
    return Picture(buffer.getvalue())
