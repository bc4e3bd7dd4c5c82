"""Between PIL images and tensors, between dtypes, and normalisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from PIL import Image

import rushlight as rl
from rushlight_vision.transforms.functional.images import is_pil, is_tensor_image, largest_value

if TYPE_CHECKING:
    from numpy import ndarray

# The dtype in which Pillow stores a band of a mode; the other modes are bytes.
DTYPE_OF_MODE = {"I": rl.int32, "I;16": rl.uint16, "F": rl.float32}
MODE_OF_DTYPE = {
    rl.uint8: "L",
    rl.int16: "I;16",
    rl.uint16: "I;16",
    rl.int32: "I",
    rl.float32: "F",
}
MODES_OF_CHANNELS = {
    2: ("LA",),
    3: ("RGB", "YCbCr", "HSV"),
    4: ("RGBA", "CMYK", "RGBX"),
}


def is_array(value: Any) -> bool:
    """Whether this is a NumPy array (or says so by its interface) and neither image nor tensor."""
    return hasattr(value, "__array_interface__") and hasattr(value, "ndim")


def _pixels(image: Image.Image) -> rl.Tensor:
    """A copy of a PIL image's pixels, shape (height, width, bands)."""
    if image.mode == "1":
        image = image.convert("L")  # Pillow packs eight pixels of mode "1" into a byte
    dtype = DTYPE_OF_MODE.get(image.mode, rl.uint8)
    shape = (image.height, image.width, len(image.getbands()))
    data = bytearray(image.tobytes()) if 0 not in shape else bytearray()
    if len(data) != shape[0] * shape[1] * shape[2] * dtype.itemsize:
        raise TypeError(f"PIL images of mode {image.mode!r} have no dtype; convert the image first")
    if not data:
        return rl.empty(shape, dtype=dtype)
    return rl.frombuffer(data, dtype=dtype).reshape(shape)


def pil_to_tensor(pic: Image.Image) -> rl.Tensor:
    """A PIL image as a tensor of shape (channels, height, width), values and dtype as stored.

    Bytes give uint8, mode "I" int32, "I;16" uint16, "F" float32, and mode "1" bool.
    """
    if not is_pil(pic):
        raise TypeError(f"pil_to_tensor: pic should be a PIL image; got {type(pic).__name__}")
    tensor = _pixels(pic).permute(2, 0, 1).contiguous()
    return tensor > 0 if pic.mode == "1" else tensor


def to_tensor(pic: Image.Image | ndarray) -> rl.Tensor:
    """A PIL image or an array (height, width[, channels]) as a tensor (channels, height, width).

    Bytes are divided by 255 and become the default floating dtype, in 0 ... 1; other values and
    dtypes stay as they are. The tensor never shares memory with the image.
    """
    if is_pil(pic):
        tensor = _pixels(pic)
    elif is_array(pic):
        if pic.ndim not in (2, 3):
            raise ValueError(
                f"to_tensor: an array image has 2 or 3 dimensions; got shape {tuple(pic.shape)}"
            )
        tensor = rl.tensor(pic)
        if tensor.ndim == 2:
            tensor = tensor.unsqueeze(2)
    else:
        raise TypeError(
            f"to_tensor: pic should be a PIL image or an array; got {type(pic).__name__}"
        )
    tensor = tensor.permute(2, 0, 1).contiguous()
    if tensor.dtype is rl.uint8:
        return tensor.to(rl.get_default_dtype()).div(255)
    return tensor


def _as_planes(pic: Any) -> rl.Tensor:
    """A tensor or array as a tensor (height, width, channels), or an error that says why not."""
    if isinstance(pic, rl.Tensor):
        if pic.ndim not in (2, 3):
            raise ValueError(
                f"to_pil_image: pic should have 2 or 3 dimensions; got shape {tuple(pic.shape)}"
            )
        planes = pic.detach().cpu()
        planes = planes.unsqueeze(0) if planes.ndim == 2 else planes
        if planes.shape[0] > 4:
            raise ValueError(
                f"to_pil_image: pic should have at most 4 channels; got {planes.shape[0]} "
                f"(shape {tuple(pic.shape)})"
            )
        return planes.permute(1, 2, 0)
    if is_array(pic):
        if pic.ndim not in (2, 3):
            raise ValueError(
                f"to_pil_image: pic should have 2 or 3 dimensions; got shape {tuple(pic.shape)}"
            )
        planes = rl.tensor(pic)
        planes = planes.unsqueeze(2) if planes.ndim == 2 else planes
        if planes.shape[2] > 4:
            raise ValueError(
                f"to_pil_image: pic should have at most 4 channels; got {planes.shape[2]} "
                f"(shape {tuple(pic.shape)})"
            )
        return planes
    raise TypeError(f"to_pil_image: pic should be a tensor or an array; got {type(pic).__name__}")


def _picture(planes: rl.Tensor, mode: str) -> Image.Image:
    """The PIL image of a mode with these pixels, (height, width, channels)."""
    size = (planes.shape[1], planes.shape[0])
    if 0 in size:
        return Image.new(mode, size)
    return Image.frombytes(mode, size, planes.contiguous().numpy().tobytes())


def to_pil_image(pic: rl.Tensor | ndarray, mode: str | None = None) -> Image.Image:
    """A tensor (channels, height, width) or an array (height, width, channels) as a PIL image.

    Floating tensors hold 0 ... 1 and become bytes (cut off, not rounded) unless `mode` is "F".
    Without `mode`, one channel becomes "L", "I;16", "I" or "F" by its dtype, two "LA", three "RGB",
    four "RGBA".
    """
    planes = _as_planes(pic)
    if isinstance(pic, rl.Tensor) and planes.is_floating_point() and mode != "F":
        planes = planes.mul(255).to(rl.uint8)
    channels = planes.shape[2]
    if channels == 1:
        expected = MODE_OF_DTYPE.get(planes.dtype)
        if expected is None or (mode is not None and mode != expected):
            raise ValueError(
                f"to_pil_image: mode {mode!r} for one channel of {planes.dtype}; "
                f"expected {expected!r}"
                if expected
                else f"to_pil_image: one channel of {planes.dtype} has no PIL mode; expected one "
                f"of {[str(dtype) for dtype in MODE_OF_DTYPE]}"
            )
        return _picture(planes, expected)
    allowed = MODES_OF_CHANNELS[channels]
    if mode is not None and mode not in allowed:
        raise ValueError(
            f"to_pil_image: mode {mode!r} for {channels} channels; expected one of {list(allowed)}"
        )
    if planes.dtype is not rl.uint8:
        raise TypeError(
            f"to_pil_image: {channels} channels of {planes.dtype}; PIL takes several channels as "
            "uint8 only"
        )
    return _picture(planes, mode or allowed[0])


def convert_image_dtype(image: rl.Tensor, dtype: Any = rl.float32) -> rl.Tensor:
    """The same image in another dtype, its values scaled from one dtype's range to the other's.

    Floats span 0 ... 1, integers 0 ... their largest value.

    Raises `RuntimeError` for float32 to int32 or int64 and for float64 to int64, where the largest
    values cannot be said exactly.
    """
    if not isinstance(image, rl.Tensor):
        raise TypeError(f"convert_image_dtype: expected a tensor, got {type(image).__name__}")
    if image.dtype is dtype:
        return image
    old, new = largest_value(image.dtype), largest_value(dtype)
    if image.dtype.is_floating_point:
        if dtype.is_floating_point:
            return image.to(dtype)
        if (image.dtype is rl.float32 and dtype in (rl.int32, rl.int64)) or (
            image.dtype is rl.float64 and dtype is rl.int64
        ):
            raise RuntimeError(
                f"convert_image_dtype: the cast from {image.dtype} to {dtype} cannot be done safely"
            )
        # 1 must become the largest value and every integer get a stretch of the same length.
        return image.mul(float(new) + 1.0 - 1e-3).to(dtype)
    if dtype.is_floating_point:
        return image.to(dtype) / old
    if old > new:
        return rl.div(image, (old + 1) // (new + 1), rounding_mode="floor").to(dtype)
    return image.to(dtype) * ((new + 1) // (old + 1))


def constant_like(tensor: rl.Tensor, values: Any) -> Any:
    """Numbers as a tensor of the dtype and on the device of `tensor`."""
    if tensor.device.type == "cpu" and isinstance(values, (list, tuple)):
        return rl.tensor(values, dtype=tensor.dtype)  # a fifth of the time that naming it takes
    return rl.as_tensor(values, dtype=tensor.dtype, device=tensor.device)


def normalize(
    tensor: rl.Tensor, mean: Sequence[float], std: Sequence[float], inplace: bool = False
) -> rl.Tensor:
    """`(tensor - mean) / std`, channel by channel, of a floating tensor (..., channels, H, W)."""
    if not is_tensor_image(tensor) or tensor.ndim < 3:
        shape = f"shape {tuple(tensor.shape)}" if isinstance(tensor, rl.Tensor) else type(tensor)
        kind = ValueError if isinstance(tensor, rl.Tensor) else TypeError
        raise kind(f"normalize: expected a tensor of shape (..., C, H, W); got {shape}")
    if not tensor.is_floating_point():
        raise TypeError(f"normalize: expected a floating tensor; got {tensor.dtype}")
    middle, width = constant_like(tensor, mean), constant_like(tensor, std)
    for name, values in (("mean", middle), ("std", width)):
        if values.ndim > 1 or values.numel() not in (1, tensor.shape[-3]):
            raise ValueError(
                f"normalize: {name} has shape {tuple(values.shape)}; expected one value or "
                f"{tensor.shape[-3]}, the channels of a tensor of shape {tuple(tensor.shape)}"
            )
    if bool((width == 0).any()):
        raise ValueError(
            f"normalize: std {std!r} holds a zero after conversion to {tensor.dtype}, which would "
            "divide by zero"
        )
    if not inplace:
        return tensor.sub(middle.reshape(-1, 1, 1)).div_(width.reshape(-1, 1, 1))
    return tensor.sub_(middle.reshape(-1, 1, 1)).div_(width.reshape(-1, 1, 1))
