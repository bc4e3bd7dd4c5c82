"""Transforms that choose sizes, parts and room around images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rushlight as rl
from rushlight_vision import ops, tv_tensors
from rushlight_vision.transforms.functional.padding import border_widths
from rushlight_vision.transforms.geometry import random_part
from rushlight_vision.transforms.interpolation import InterpolationMode, interpolation_mode
from rushlight_vision.transforms.v2 import functional as F
from rushlight_vision.transforms.v2._arguments import Fill, fill_of, fills, two
from rushlight_vision.transforms.v2._transform import (
    PICTURES,
    RandomApplyTransform,
    Transform,
    get_bounding_boxes,
    has_any,
    integer,
    query_size,
)

Mode = InterpolationMode | int
BILINEAR = InterpolationMode.BILINEAR


class _Resizing(Transform):
    """A transform whose parameters are arguments of `resize`."""

    def __init__(self, interpolation: Mode, antialias: bool | None) -> None:
        super().__init__()
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
    ) -> None:
        super().__init__(interpolation, antialias)
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
    ) -> None:
        super().__init__(interpolation, antialias)
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
    ) -> None:
        super().__init__(interpolation, antialias)
        self.target_size, self.scale_range = target_size, scale_range

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The size (height, width)."""
        height, width = query_size(flat_inputs)
        low, high = self.scale_range
        scale = low + rl.rand(1) * (high - low)
        fit = min(self.target_size[0] / height, self.target_size[1] / width)
        ratio = fit * scale
        return {"size": (int(height * ratio), int(width * ratio))}


class RandomResizedCrop(Transform):
    """A part of random size, shape and position, resized to `size`."""

    def __init__(
        self,
        size: int | Sequence[int],
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: Mode = BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.size = two(size, "RandomResizedCrop")
        for name, pair in (("scale", scale), ("ratio", ratio)):
            if not isinstance(pair, Sequence) or len(pair) != 2:
                raise TypeError(f"RandomResizedCrop: {name} {pair!r}; expected two numbers")
        self.scale, self.ratio, self.antialias = scale, ratio, antialias
        self.interpolation = interpolation_mode(interpolation, "RandomResizedCrop")

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """Corner and size of the part."""
        part = random_part(*query_size(flat_inputs), self.scale, self.ratio)
        return dict(zip(("top", "left", "height", "width"), part, strict=True))

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The resized part."""
        options = {"interpolation": self.interpolation, "antialias": self.antialias}
        return self._call_kernel(F.resized_crop, inpt, **params, size=self.size, **options)


class CenterCrop(Transform):
    """The middle; zeros around it where the image is smaller."""

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = two(size, "CenterCrop")

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The middle."""
        return self._call_kernel(F.center_crop, inpt, output_size=self.size)


class FiveCrop(Transform):
    """The four corners and the middle of images, as a tuple; boxes and masks are refused."""

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = two(size, "FiveCrop")

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        """Refuse what has no five parts."""
        kinds = (tv_tensors.BoundingBoxes, tv_tensors.KeyPoints, tv_tensors.Mask)
        if has_any(flat_inputs, *kinds):
            raise TypeError(f"{type(self).__name__}: boxes, key points and masks are not supported")

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """Five images."""
        return self._call_kernel(F.five_crop, inpt, self.size)


class TenCrop(FiveCrop):
    """`FiveCrop` of images and of their mirror images."""

    def __init__(self, size: int | Sequence[int], vertical_flip: bool = False) -> None:
        super().__init__(size)
        self.vertical_flip = vertical_flip

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """Ten images."""
        return self._call_kernel(F.ten_crop, inpt, self.size, vertical_flip=self.vertical_flip)


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
        self, fill: Fill = 0, side_range: Sequence[float] = (1.0, 4.0), p: float = 0.5
    ) -> None:
        super().__init__(p=p)
        self.fill, self._fills = fill, fills(fill)
        if not 1.0 <= side_range[0] <= side_range[1]:
            raise ValueError(f"RandomZoomOut: side_range {side_range!r}; expected 1 <= a <= b")
        self.side_range = side_range

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The padding."""
        height, width = query_size(flat_inputs)
        low, high = self.side_range
        ratio = low + rl.rand(1) * (high - low)
        wider, higher = int(width * ratio) - width, int(height * ratio) - height
        at = rl.rand(2)
        left, top = int(wider * at[0]), int(higher * at[1])
        return {"padding": [left, top, wider - left, higher - top]}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The input on the canvas."""
        return self._call_kernel(F.pad, inpt, **params, fill=fill_of(self._fills, inpt))


class RandomCrop(Transform):
    """A part of `size` at a random position, after padding if asked for or needed."""

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: Fill = 0,
        padding_mode: str = "constant",
    ) -> None:
        super().__init__()
        self.size = two(size, "RandomCrop")
        self.padding = None if padding is None else list(border_widths(padding, "RandomCrop"))
        self.pad_if_needed, self.padding_mode = pad_if_needed, padding_mode
        self.fill, self._fills = fill, fills(fill)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """Padding and corner."""
        sizes = list(query_size(flat_inputs))
        padding = list(self.padding or [0, 0, 0, 0])
        corner = []
        for axis, first in ((0, 1), (1, 0)):  # height, then width
            sizes[axis] += padding[first] + padding[first + 2]
            lacking = self.size[axis] - sizes[axis]
            if lacking > 0 and self.pad_if_needed:
                padding[first] += lacking
                padding[first + 2] += lacking
                sizes[axis] += 2 * lacking
        if sizes[0] < self.size[0] or sizes[1] < self.size[1]:
            raise ValueError(f"RandomCrop: {self.size} is larger than the padded image {sizes}")
        for axis in (0, 1):
            room = sizes[axis] - self.size[axis]
            corner.append(integer(room + 1) if room > 0 else 0)
        return {"padding": padding, "corner": corner, "crop": tuple(sizes) != self.size}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The part."""
        if any(params["padding"]):
            fill = fill_of(self._fills, inpt)
            inpt = self._call_kernel(
                F.pad, inpt, padding=params["padding"], fill=fill, padding_mode=self.padding_mode
            )
        if not params["crop"]:
            return inpt
        top, left = params["corner"]
        return self._call_kernel(F.crop, inpt, top, left, self.size[0], self.size[1])


class RandomIoUCrop(Transform):
    """A part that overlaps a box by at least a random share (Liu et al., SSD, 2016).

    Boxes whose centre is outside of it become zeros; put `SanitizeBoundingBoxes` after it.
    """

    def __init__(
        self,
        min_scale: float = 0.3,
        max_scale: float = 1.0,
        min_aspect_ratio: float = 0.5,
        max_aspect_ratio: float = 2.0,
        sampler_options: list[float] | None = None,
        trials: int = 40,
    ) -> None:
        super().__init__()
        self.min_scale, self.max_scale = min_scale, max_scale
        self.min_aspect_ratio, self.max_aspect_ratio = min_aspect_ratio, max_aspect_ratio
        self.options = sampler_options or [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0]
        self.trials = trials

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        """Refuse samples without an image or without boxes."""
        if not (
            has_any(flat_inputs, tv_tensors.BoundingBoxes)
            and has_any(flat_inputs, *PICTURES, F.is_pure_tensor)
        ):
            raise TypeError("RandomIoUCrop: a sample needs an image or video and bounding boxes")

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """Corner, size and the boxes inside; nothing where the whole image is chosen."""
        size = query_size(flat_inputs)
        boxes = get_bounding_boxes(flat_inputs)
        edges = F.convert_bounding_box_format(
            boxes.as_subclass(rl.Tensor), boxes.format, tv_tensors.BoundingBoxFormat.XYXY
        )
        while True:
            least = self.options[int(rl.randint(0, len(self.options), size=(1,)))]
            if least >= 1.0:
                return {}
            for _ in range(self.trials):
                found = self._trial(size, edges, least)
                if found is not None:
                    return found

    def _trial(self, size: tuple[int, int], edges: rl.Tensor, least: float) -> Any:
        height, width = size
        share = self.min_scale + (self.max_scale - self.min_scale) * rl.rand(2)
        new_width, new_height = int(width * share[0]), int(height * share[1])
        if not self.min_aspect_ratio <= new_width / new_height <= self.max_aspect_ratio:
            return None
        at = rl.rand(2)
        left, top = int((width - new_width) * at[0]), int((height - new_height) * at[1])
        right, bottom = left + new_width, top + new_height
        if left == right or top == bottom:
            return None
        x, y = (0.5 * (edges[:, n] + edges[:, n + 2]) for n in (0, 1))
        inside = (left < x) & (x < right) & (top < y) & (y < bottom)
        if not inside.any():
            return None
        part = rl.tensor([[left, top, right, bottom]], dtype=edges.dtype)
        if ops.box_iou(edges[inside], part).max() < least:
            return None
        place = {"top": top, "left": left, "height": new_height, "width": new_width}
        return {"place": place, "inside": inside}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The part."""
        if not params:
            return inpt
        result = self._call_kernel(F.crop, inpt, **params["place"])
        if isinstance(result, tv_tensors.BoundingBoxes):
            result[~params["inside"]] = 0
        return result
