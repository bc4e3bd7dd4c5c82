"""Transforms that take parts of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rushlight as rl
from rushlight_vision import ops, tv_tensors
from rushlight_vision.transforms.functional.padding import border_widths
from rushlight_vision.transforms.geometry import random_part
from rushlight_vision.transforms.interpolation import InterpolationMode, interpolation_mode
from rushlight_vision.transforms.sampling import integer, rand
from rushlight_vision.transforms.v2 import functional as F
from rushlight_vision.transforms.v2._arguments import Fill, fill_of, fills, two
from rushlight_vision.transforms.v2._transform import (
    PICTURES,
    Transform,
    get_bounding_boxes,
    has_any,
    query_size,
)
from rushlight_vision.tv_tensors._base import plain

Mode = InterpolationMode | int
BILINEAR = InterpolationMode.BILINEAR


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


class RandomCrop(Transform):
    """A part of `size` at a random position, after padding if asked for or needed."""

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: Fill = 0,
        padding_mode: str = "constant",
        *,
        generator: rl.Generator | None = None,
        per_sample: bool = False,
    ) -> None:
        super().__init__(generator=generator, per_sample=per_sample)
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

    def _transform_samples(self, inpt: Any, params: list[dict[str, Any]]) -> Any:
        # The padding is the same for all. Views that `stack` copies take an eighth of the time of
        # gathering by an index for every pixel.
        padded = plain(self.transform(inpt, {**params[0], "crop": False}))
        height, width = self.size
        parts = [
            sample[..., top : top + height, left : left + width]
            for sample, (top, left) in zip(
                padded.unbind(0), (p["corner"] for p in params), strict=True
            )
        ]
        return tv_tensors.wrap(rl.stack(parts), like=inpt)


class RandomResizedCrop(Transform):
    """A part of random size, shape and position, resized to `size`."""

    def __init__(
        self,
        size: int | Sequence[int],
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: Mode = BILINEAR,
        antialias: bool | None = True,
        *,
        generator: rl.Generator | None = None,
        per_sample: bool = False,
    ) -> None:
        super().__init__(generator=generator, per_sample=per_sample)
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
        *,
        generator: rl.Generator | None = None,
    ) -> None:
        super().__init__(generator=generator)
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
            least = self.options[integer(len(self.options))]
            if least >= 1.0:
                return {}
            for _ in range(self.trials):
                found = self._trial(size, edges, least)
                if found is not None:
                    return found

    def _trial(self, size: tuple[int, int], edges: rl.Tensor, least: float) -> Any:
        height, width = size
        share = self.min_scale + (self.max_scale - self.min_scale) * rand((2,))
        new_width, new_height = int(width * share[0]), int(height * share[1])
        if not self.min_aspect_ratio <= new_width / new_height <= self.max_aspect_ratio:
            return None
        at = rand((2,))
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
