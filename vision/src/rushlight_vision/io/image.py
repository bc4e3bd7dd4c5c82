"""Images in files and in memory as tensors, by Pillow and libjpeg-turbo."""

from __future__ import annotations

import importlib
import os
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

from PIL import Image, ImageOps, ImageSequence, UnidentifiedImageError

import rushlight as rl
from rushlight_vision._image_errors import DAMAGE, said_of
from rushlight_vision.io import jpeg, sixteen_bits
from rushlight_vision.transforms.functional import pil_to_tensor, to_pil_image

Location = str | os.PathLike[str]
# One tensor, or a list of them.
Files = TypeVar("Files", rl.Tensor, list[rl.Tensor])


class ImageReadMode(Enum):
    """Channels to decode to; `UNCHANGED` takes the file's own."""

    UNCHANGED = 0
    GRAY = 1
    GRAY_ALPHA = 2
    RGB = 3
    RGB_ALPHA = 4


PILLOW_MODES = {
    ImageReadMode.GRAY: "L",
    ImageReadMode.GRAY_ALPHA: "LA",
    ImageReadMode.RGB: "RGB",
    ImageReadMode.RGB_ALPHA: "RGBA",
}
# What Pillow may find in a file that has no tensor of its own -> what it becomes.
PLAIN_MODES = {"1": "L", "PA": "RGBA", "YCbCr": "RGB", "LAB": "RGB", "HSV": "RGB"}


def _read_mode(mode: ImageReadMode | str) -> ImageReadMode:
    if isinstance(mode, ImageReadMode):
        return mode
    if isinstance(mode, str) and mode.upper() in ImageReadMode.__members__:
        return ImageReadMode[mode.upper()]
    names = list(ImageReadMode.__members__)
    raise ValueError(f"decode_image: mode {mode!r}; expected an ImageReadMode or one of {names}")


def _frames(image: Image.Image, mode: ImageReadMode) -> rl.Tensor:
    """A GIF's only frame (C, H, W), or all of them (N, C, H, W); RGB for `UNCHANGED`."""
    wanted = PILLOW_MODES.get(mode, "RGB")
    _check_film(image)
    frames = []
    for frame in ImageSequence.Iterator(image):
        if wanted not in ("RGB", "RGBA"):
            frame = frame.convert("RGB")
        frames.append(pil_to_tensor(frame.convert(wanted)))
    return frames[0] if len(frames) == 1 else rl.stack(frames)


def _check_film(image: Image.Image) -> None:
    """Pillow looks at the size of one frame; a small file may have thousands of large ones."""
    count, limit = getattr(image, "n_frames", 1), Image.MAX_IMAGE_PIXELS
    if limit is not None and count * image.width * image.height > 2 * limit:
        raise Image.DecompressionBombError(
            f"{count} frames of {image.width} x {image.height} pixels exceed the limit of "
            f"{2 * limit} pixels"
        )


def _tensor(image: Image.Image, mode: ImageReadMode, upright: bool) -> rl.Tensor:
    if image.format == "GIF":
        return _frames(image, mode)
    # Pillow inverts the inks of a JPEG file; `UNCHANGED` gives the numbers that the file holds.
    inverted = image.mode == "CMYK" and image.format in ("JPEG", "MPO")
    if upright:
        image = ImageOps.exif_transpose(image)
    if image.mode in sixteen_bits.MODES:
        planes = pil_to_tensor(sixteen_bits.native(image))
        return sixteen_bits.with_channels(planes, PILLOW_MODES.get(mode))
    if mode is not ImageReadMode.UNCHANGED:
        image = image.convert(PILLOW_MODES[mode])
    elif image.mode == "P":
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    elif image.mode in PLAIN_MODES:
        image = image.convert(PLAIN_MODES[image.mode])
    elif inverted:
        return pil_to_tensor(image).bitwise_not()
    return pil_to_tensor(image)


def _decode(data: bytes, name: str, mode: ImageReadMode | str, upright: bool) -> rl.Tensor:
    chosen = _read_mode(mode)
    try:
        with Image.open(BytesIO(data)) as image:
            if rawmode := sixteen_bits.wide_colours(image):
                planes = sixteen_bits.planes(data, rawmode, upright)
                return sixteen_bits.with_channels(planes, PILLOW_MODES.get(chosen))
            wanted = PILLOW_MODES.get(chosen)
            if (pixels := jpeg.planes(data, image, wanted, upright)) is not None:
                return pixels
            if chosen is ImageReadMode.GRAY:
                image.draft("L", None)  # a JPEG's own brightness, as libjpeg-turbo gives it
            image.load()
            return _tensor(image, chosen, upright)
    except UnidentifiedImageError:
        raise RuntimeError(f"{name} is not an image that Pillow can read") from None
    except DAMAGE as error:
        raise RuntimeError(said_of(name, error)) from None


def read_file(path: Location) -> rl.Tensor:
    """The bytes of a file as a uint8 tensor of one dimension."""
    data = bytearray(Path(path).read_bytes())
    return rl.frombuffer(data, dtype=rl.uint8) if data else rl.empty(0, dtype=rl.uint8)


def write_file(filename: Location, data: rl.Tensor) -> None:
    """Write a uint8 tensor of one dimension as the bytes of a file.

    Raises `OSError` with the file's name, also where the disk is full.
    """
    content = _bytes(data, "write_file")
    try:
        Path(filename).write_bytes(content)
    except OSError as error:  # what fails after the file is opened has no name
        raise OSError(error.errno, error.strerror, os.fspath(filename)) from None


def _bytes(data: Any, name: str) -> bytes:
    if not isinstance(data, rl.Tensor) or data.dtype is not rl.uint8 or data.ndim != 1:
        given = f"{data.dtype} of shape {tuple(data.shape)}" if rl.is_tensor(data) else type(data)
        raise TypeError(f"{name}: expected a uint8 tensor of one dimension; got {given}")
    return data.contiguous().numpy().tobytes()


def decode_image(
    input: rl.Tensor | Location,
    mode: ImageReadMode | str = ImageReadMode.UNCHANGED,
    apply_exif_orientation: bool = False,
) -> rl.Tensor:
    """The image in a file, or in a uint8 tensor of a file's bytes, as a tensor (C, H, W).

    Channels of one byte give uint8; those of 16 bits (PNG, TIFF) give uint16 in every mode. A GIF
    with several frames gives all of them, (N, C, H, W).

    `mode` says which channels; `UNCHANGED` takes those of the file: four for CMYK (in a JPEG as
    the file holds them, commonly 255 for no ink), RGB for a GIF or a palette.

    Raises `FileNotFoundError`, or `RuntimeError` naming the file if it holds no image, a damaged
    one, or one with more than twice `PIL.Image.MAX_IMAGE_PIXELS` pixels in all its frames.
    """
    if isinstance(input, (str, os.PathLike)):
        name = os.fspath(input)
        return _decode(Path(input).read_bytes(), name, mode, apply_exif_orientation)
    data = _bytes(input, "decode_image")
    return _decode(data, f"the tensor of {len(data)} bytes", mode, apply_exif_orientation)


def _decode_one(
    input: Any,
    format: str,
    mode: ImageReadMode | str = ImageReadMode.UNCHANGED,
    upright: bool = False,
) -> rl.Tensor:
    """An image that must be of one format."""
    function = "decode_heic" if format == "HEIF" else f"decode_{format.lower()}"
    data = _bytes(input, function)
    name = f"the tensor of {len(data)} bytes"
    try:
        with Image.open(BytesIO(data)) as image:
            found = "JPEG" if image.format == "MPO" else image.format
    except UnidentifiedImageError:
        raise RuntimeError(f"{name} is not an image that Pillow can read") from None
    except DAMAGE as error:
        raise RuntimeError(said_of(name, error)) from None
    if found != format:
        raise RuntimeError(f"{function}: {name} is a file of the format {found}")
    return _decode(data, name, mode, upright)


def decode_png(
    input: rl.Tensor,
    mode: ImageReadMode | str = ImageReadMode.UNCHANGED,
    apply_exif_orientation: bool = False,
) -> rl.Tensor:
    """The image in a uint8 tensor of a PNG file's bytes; see `decode_image`."""
    return _decode_one(input, "PNG", mode, apply_exif_orientation)


def decode_jpeg(
    input: Files,
    mode: ImageReadMode | str = ImageReadMode.UNCHANGED,
    device: Any = "cpu",
    apply_exif_orientation: bool = False,
) -> Files:
    """The image in a uint8 tensor of a JPEG file's bytes, or those in a list of such tensors,
    decoded side by side; see `decode_image`. They are moved to `device`."""
    if isinstance(input, (list, tuple)):
        images: Any = together(
            lambda one: decode_jpeg(one, mode, device, apply_exif_orientation), input
        )
        return images
    image: Any = _decode_one(input, "JPEG", mode, apply_exif_orientation).to(device)
    return image


def decode_webp(input: rl.Tensor, mode: ImageReadMode | str = ImageReadMode.UNCHANGED) -> rl.Tensor:
    """The image in a uint8 tensor of a WebP file's bytes; see `decode_image`."""
    return _decode_one(input, "WEBP", mode)


def decode_avif(input: rl.Tensor, mode: ImageReadMode | str = ImageReadMode.UNCHANGED) -> rl.Tensor:
    """The image in a uint8 tensor of an AVIF file's bytes; see `decode_image`."""
    return _decode_one(input, "AVIF", mode)


def decode_gif(input: rl.Tensor) -> rl.Tensor:
    """The frames in a uint8 tensor of a GIF file's bytes: (3, H, W), or (N, 3, H, W) of several."""
    return _decode_one(input, "GIF")


def decode_heic(input: rl.Tensor, mode: ImageReadMode | str = ImageReadMode.UNCHANGED) -> rl.Tensor:
    """The image in a uint8 tensor of a HEIC file's bytes; needs `rushlight-vision[heic]`."""
    try:
        pillow_heif = importlib.import_module("pillow_heif")
    except ImportError:
        raise ImportError(
            "HEIC is read with pillow-heif, which is not installed: "
            "pip install 'rushlight-vision[heic]'"
        ) from None
    pillow_heif.register_heif_opener()
    return _decode_one(input, "HEIF", mode)


def together(function: Any, inputs: Any) -> list[Any]:
    """A function's results for several inputs, by a few threads: codecs let others run."""
    workers = min(len(inputs), os.cpu_count() or 1)
    if workers < 2:
        return [function(one) for one in inputs]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(function, inputs))


def read_image(
    path: Location,
    mode: ImageReadMode | str = ImageReadMode.UNCHANGED,
    apply_exif_orientation: bool = False,
) -> rl.Tensor:
    """The image in a file as a tensor (C, H, W); see `decode_image`."""
    return decode_image(os.fspath(path), mode, apply_exif_orientation)


def _encode(image: rl.Tensor, format: str, name: str, **options: Any) -> bytes:
    if not isinstance(image, rl.Tensor) or image.dtype is not rl.uint8:
        given = image.dtype if isinstance(image, rl.Tensor) else type(image).__name__
        raise TypeError(f"{name}: expected a uint8 tensor (C, H, W); got {given}")
    if image.ndim != 3 or image.shape[0] not in (1, 3):
        raise ValueError(
            f"{name}: expected the shape (1, H, W) or (3, H, W); got {tuple(image.shape)}"
        )
    buffer = BytesIO()
    to_pil_image(image).save(buffer, format, **options)
    return buffer.getvalue()


def encode_png(input: rl.Tensor, compression_level: int = 6) -> rl.Tensor:
    """The bytes of a PNG file of a uint8 tensor (1 or 3, H, W); level 0 (large) ... 9 (small)."""
    if not 0 <= compression_level <= 9:
        raise ValueError(f"encode_png: compression_level {compression_level}; expected 0 ... 9")
    data = _encode(input, "PNG", "encode_png", compress_level=compression_level)
    return rl.frombuffer(bytearray(data), dtype=rl.uint8)


def encode_jpeg(input: Files, quality: int = 75) -> Files:
    """The bytes of a JPEG file of a uint8 tensor (1 or 3, H, W); quality 1 ... 100. Of a list of
    tensors a list, encoded side by side."""
    if isinstance(input, (list, tuple)):
        files: Any = together(lambda one: encode_jpeg(one, quality), input)
        return files
    if not 1 <= quality <= 100:
        raise ValueError(f"encode_jpeg: quality {quality}; expected 1 ... 100")
    image: Any = input
    data: Any = _encode(image, "JPEG", "encode_jpeg", quality=quality)
    made: Any = rl.frombuffer(bytearray(data), dtype=rl.uint8)
    return made


def write_png(input: rl.Tensor, filename: Location, compression_level: int = 6) -> None:
    """Write a uint8 tensor (1 or 3, H, W) as a PNG file."""
    write_file(filename, encode_png(input, compression_level))


def write_jpeg(input: rl.Tensor, filename: Location, quality: int = 75) -> None:
    """Write a uint8 tensor (1 or 3, H, W) as a JPEG file."""
    write_file(filename, encode_jpeg(input, quality))
