"""Conversions of types, formats and clamping; anything as a transform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import PIL.Image

import rushlight as rl
from rushlight_vision import tv_tensors
from rushlight_vision.transforms.functional.conversion import is_array
from rushlight_vision.transforms.v2 import functional as F
from rushlight_vision.transforms.v2._transform import Transform, is_pure_tensor
from rushlight_vision.tv_tensors._base import TVTensor, plain


class PILToTensor(Transform):
    """PIL images as plain tensors (C, H, W) with the values they are stored with."""

    _transformed_types = (PIL.Image.Image,)

    def transform(self, inpt: Any, params: dict[str, Any]) -> rl.Tensor:
        """The tensor."""
        return F.pil_to_tensor(inpt)


class ToImage(Transform):
    """Plain tensors, PIL images and arrays (H, W, C) as `tv_tensors.Image`."""

    _transformed_types = (is_pure_tensor, PIL.Image.Image, is_array)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The Image."""
        return inpt if isinstance(inpt, TVTensor) else F.to_image(inpt)


class ToPILImage(Transform):
    """Plain tensors, Images and arrays as PIL images, of a `mode` or by the channels."""

    _transformed_types = (is_pure_tensor, tv_tensors.Image, is_array)

    def __init__(self, mode: str | None = None) -> None:
        super().__init__()
        self.mode = mode

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The PIL image."""
        if isinstance(inpt, TVTensor) and not isinstance(inpt, tv_tensors.Image):
            return inpt
        return F.to_pil_image(plain(inpt) if isinstance(inpt, TVTensor) else inpt, mode=self.mode)


class ToPureTensor(Transform):
    """TVTensors as plain tensors."""

    _transformed_types = (TVTensor,)

    def transform(self, inpt: Any, params: dict[str, Any]) -> rl.Tensor:
        """The plain tensor, of the same memory."""
        return plain(inpt)


class ToTensor(Transform):
    """PIL images and arrays as tensors (C, H, W), bytes as floats in 0 ... 1.

    torchvision deprecates it in favour of `ToImage` and `ToDtype(float32, scale=True)`.
    """

    _transformed_types = (PIL.Image.Image, is_array)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The tensor."""
        return inpt if isinstance(inpt, rl.Tensor) else F.to_tensor(inpt)


class Lambda(Transform):
    """A function as a transform of all inputs of some types, by default of every input."""

    _transformed_types = (object,)

    def __init__(self, lambd: Callable[[Any], Any], *types: type) -> None:
        super().__init__()
        self.lambd = lambd
        self.types = types or (object,)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """What the function makes of the input."""
        return self.lambd(inpt) if isinstance(inpt, self.types) else inpt

    def _needs_transform_list(self, flat_inputs: list[Any]) -> list[bool]:
        return [True] * len(flat_inputs)

    def extra_repr(self) -> str:
        """The function's name and the types."""
        name = getattr(self.lambd, "__name__", "")
        return f"{name}, types={[each.__name__ for each in self.types]}"


class ConvertBoundingBoxFormat(Transform):
    """Bounding boxes in another format."""

    _transformed_types = (tv_tensors.BoundingBoxes,)

    def __init__(self, format: str | tv_tensors.BoundingBoxFormat) -> None:
        super().__init__()
        self.format = format

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The converted boxes."""
        return F.convert_bounding_box_format(inpt, new_format=self.format)


class ClampBoundingBoxes(Transform):
    """Bounding boxes cut off at the edges of the image."""

    _transformed_types = (tv_tensors.BoundingBoxes,)

    def __init__(self, clamping_mode: str | None = "auto") -> None:
        super().__init__()
        self.clamping_mode = clamping_mode

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The clamped boxes."""
        return F.clamp_bounding_boxes(inpt, clamping_mode=self.clamping_mode)


class ClampKeyPoints(Transform):
    """Key points moved into the image."""

    _transformed_types = (tv_tensors.KeyPoints,)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The clamped points."""
        return F.clamp_keypoints(inpt)


class SetClampingMode(Transform):
    """Bounding boxes that are cut off in another way from here on; ValueError for other modes."""

    _transformed_types = (tv_tensors.BoundingBoxes,)

    def __init__(self, clamping_mode: str | None) -> None:
        super().__init__()
        if clamping_mode not in (None, "soft", "hard"):
            raise ValueError(
                f"SetClampingMode: clamping_mode must be soft, hard or None, got {clamping_mode}"
            )
        self.clamping_mode = clamping_mode

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The boxes with that mode."""
        return tv_tensors.wrap(plain(inpt), like=inpt, clamping_mode=self.clamping_mode)
