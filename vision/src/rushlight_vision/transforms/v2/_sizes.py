"""Transforms that choose sizes and room around images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rushlight as rl
from rushlight_vision.transforms.functional.padding import border_widths
from rushlight_vision.transforms.interpolation import InterpolationMode, interpolation_mode
from rushlight_vision.transforms.sampling import integer, rand
from rushlight_vision.transforms.v2 import functional as F
from rushlight_vision.transforms.v2._arguments import Fill, fill_of, fills
from rushlight_vision.transforms.v2._transform import (
    RandomApplyTransform,
    Transform,
    query_size,
)

Mode = InterpolationMode | int
BILINEAR = InterpolationMode.BILINEAR


class _Resizing(Transform):
    """A transform whose parameters are arguments of `resize`."""

    def __init__(
        self, interpolation: Mode, antialias: bool | None, *, generator: rl.Generator | None = None
    ) -> None:
        super().__init__(generator=generator)
        self.interpolation = interpolation_mode(interpolation, type(self).__name__)
        self.antialias = antialias

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The resized input."""
        options = {"interpolation": self.interpolation, "antialias": self.antialias}
        return self._call_kernel(F.resize, inpt, **params, **options)


class Resize(_Resizing):
    """Another size: (height, width), the shorter edge, or None for a longer edge of `max_size`."""

    def __init__(
        self,
        size: int | Sequence[int] | None,
        interpolation: Mode = BILINEAR,
        max_size: int | None = None,
        antialias: bool | None = True,
    ) -> None:
        super().__init__(interpolation, antialias)
        if size is None and not isinstance(max_size, int):
            raise ValueError(f"Resize: size None needs an integer max_size, got {max_size!r}")
        if isinstance(size, Sequence) and len(size) not in (1, 2):
            raise ValueError(f"Resize: size {size!r}; expected one number or (height, width)")
        if not isinstance(size, (int, Sequence, type(None))):
            raise ValueError(f"Resize: size {size!r}; expected an integer, a sequence or None")
        self.size = [size] if isinstance(size, int) else size and list(size)
        self.max_size = max_size

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The given size."""
        return {"size": self.size, "max_size": self.max_size}


class RandomResize(_Resizing):
    """A random shorter edge of `min_size` ... `max_size` - 1."""

    def __init__(
        self,
        min_size: int,
        max_size: int,
        interpolation: Mode = BILINEAR,
        antialias: bool | None = True,
        *,
        generator: rl.Generator | None = None,
    ) -> None:
        super().__init__(interpolation, antialias, generator=generator)
        self.min_size, self.max_size = min_size, max_size

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The size."""
        return {"size": [integer(self.max_size, self.min_size)]}


class RandomShortestSize(_Resizing):
    """A random shorter edge of the list `min_size`, the longer at most `max_size`."""

    def __init__(
        self,
        min_size: int | Sequence[int],
        max_size: int | None = None,
        interpolation: Mode = BILINEAR,
        antialias: bool | None = True,
        *,
        generator: rl.Generator | None = None,
    ) -> None:
        super().__init__(interpolation, antialias, generator=generator)
        self.min_size = [min_size] if isinstance(min_size, int) else list(min_size)
        self.max_size = max_size

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The size (height, width)."""
        height, width = query_size(flat_inputs)
        shortest = self.min_size[integer(len(self.min_size))]
        ratio = shortest / min(height, width)
        if self.max_size is not None:
            ratio = min(ratio, self.max_size / max(height, width))
        return {"size": (int(height * ratio), int(width * ratio))}


class ScaleJitter(_Resizing):
    """`target_size` (height, width) times a random factor, keeping the aspect ratio."""

    def __init__(
        self,
        target_size: tuple[int, int],
        scale_range: tuple[float, float] = (0.1, 2.0),
        interpolation: Mode = BILINEAR,
        antialias: bool | None = True,
        *,
        generator: rl.Generator | None = None,
    ) -> None:
        super().__init__(interpolation, antialias, generator=generator)
        self.target_size, self.scale_range = target_size, scale_range

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The size (height, width)."""
        height, width = query_size(flat_inputs)
        low, high = self.scale_range
        scale = low + rand((1,)) * (high - low)
        fit = min(self.target_size[0] / height, self.target_size[1] / width)
        ratio = fit * scale
        return {"size": (int(height * ratio), int(width * ratio))}


class Pad(Transform):
    """Room around; `fill` may be a dict of fills by type, with "others" for the rest."""

    def __init__(
        self,
        padding: int | Sequence[int],
        fill: Fill = 0,
        padding_mode: str = "constant",
    ) -> None:
        super().__init__()
        border_widths(padding, "Pad")
        self.padding = [padding] if isinstance(padding, int) else list(padding)
        self.fill, self._fills, self.padding_mode = fill, fills(fill), padding_mode

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The padded input."""
        fill = fill_of(self._fills, inpt)
        return self._call_kernel(
            F.pad, inpt, padding=self.padding, fill=fill, padding_mode=self.padding_mode
        )


class RandomZoomOut(RandomApplyTransform):
    """The image at a random position of a larger canvas, with probability `p`.

    The canvas is `side_range` times as large.
    """

    def __init__(
        self,
        fill: Fill = 0,
        side_range: Sequence[float] = (1.0, 4.0),
        p: float = 0.5,
        *,
        generator: rl.Generator | None = None,
    ) -> None:
        super().__init__(p=p, generator=generator)
        self.fill, self._fills = fill, fills(fill)
        if not 1.0 <= side_range[0] <= side_range[1]:
            raise ValueError(f"RandomZoomOut: side_range {side_range!r}; expected 1 <= a <= b")
        self.side_range = side_range

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The padding."""
        height, width = query_size(flat_inputs)
        low, high = self.side_range
        ratio = low + rand((1,)) * (high - low)
        wider, higher = int(width * ratio) - width, int(height * ratio) - height
        at = rand((2,))
        left, top = int(wider * at[0]), int(higher * at[1])
        return {"padding": [left, top, wider - left, higher - top]}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The input on the canvas."""
        return self._call_kernel(F.pad, inpt, **params, fill=fill_of(self._fills, inpt))
