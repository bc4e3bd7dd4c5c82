"""Tensors, films and figures as pixels, and pixels as files."""

from __future__ import annotations

import importlib
import math
import struct
import zlib

from rushlight.dtypes import bfloat16, float32
from rushlight.machine import np
from rushlight.tensor.tensor import Tensor


def optional(name, purpose):
    """A module of a library that only this needs."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        library = {"PIL": "pillow"}.get(name.partition(".")[0], name.partition(".")[0])
        raise ImportError(f"SummaryWriter: {purpose} need the package {library!r}") from error


def array_of(value):
    """A tensor, number, list or array as a NumPy array."""
    if isinstance(value, Tensor):
        value = value.detach().cpu()
        return (value.to(float32) if value.dtype is bfloat16 else value).resolve_conj().numpy()
    found = np.asarray(value)
    if found.dtype.kind not in "biufc":
        raise NotImplementedError(
            f"Got {type(value).__name__}, but numpy array, torch tensor, or caffe2 blob name are "
            "expected."
        )
    return found


def number_of(value, name="scalar_value"):
    """A value of one element as a float."""
    found = array_of(value).reshape(-1)
    if found.size != 1:
        raise AssertionError(f"{name} should be 0D, got {found.size} elements")
    return float(found[0])


def png(pixels) -> bytes:
    """Pixels ``(H, W, C)`` of bytes as a PNG file."""
    height, width, channels = pixels.shape
    rows = np.zeros((height, 1 + width * channels), np.uint8)
    rows[:, 1:] = pixels.reshape(height, -1)

    def chunk(kind, data):
        checked = kind + data
        return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))

    color = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    head = struct.pack(">IIBBBBB", width, height, 8, color, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows.tobytes()))
        + chunk(b"IEND", b"")
    )  # fmt: skip


def pixels_of(value, dataformats):
    """An image tensor as ``(H, W, C)`` bytes; batches are laid out eight in a row."""
    found = array_of(value)
    letters = dataformats.upper()
    if len(set(letters)) != len(letters) or not set(letters) <= set("NCHW"):
        raise AssertionError(
            f"You can not use the same dimension shordhand twice.         dataformat: {dataformats}"
        )
    if found.ndim != len(letters):
        raise AssertionError(
            "size of input tensor and input format are different.         tensor shape: "
            f"{found.shape}, input_format: {dataformats}"
        )
    scale = 1.0 if found.dtype == np.uint8 else 255.0
    for letter in "NHWC":  # so that every one is there
        if letter not in letters:
            found, letters = found[None], letter + letters
    found = found.transpose([letters.index(letter) for letter in "NHWC"])
    if found.shape[3] == 1:
        found = found.repeat(3, 3)
    return np.clip(in_rows(found) * scale, 0, 255).astype(np.uint8)


def in_rows(images, columns=8):
    """Pictures ``(N, H, W, C)`` in one, so many in a row."""
    count, height, width, channels = images.shape
    columns = min(count, columns)
    rows = math.ceil(count / columns)
    whole = np.zeros((rows * columns, height, width, channels), images.dtype)
    whole[:count] = images
    whole = whole.reshape(rows, columns, height, width, channels).transpose(0, 2, 1, 3, 4)
    return whole.reshape(rows * height, columns * width, channels)


def with_boxes(pixels, boxes, labels=None):
    """A picture with red frames around ``(left, top, right, bottom)`` boxes."""
    pixels = pixels.copy()
    height, width, _ = pixels.shape
    for box in array_of(boxes).reshape(-1, 4):
        left, top, right, bottom = (int(v) for v in box)
        columns = slice(max(left, 0), min(right, width - 1) + 1)
        rows = slice(max(top, 0), min(bottom, height - 1) + 1)
        for row in (top, bottom):
            if 0 <= row < height:
                pixels[row, columns] = (255, 0, 0)
        for column in (left, right):
            if 0 <= column < width:
                pixels[rows, column] = (255, 0, 0)
    if labels is None:
        return pixels
    Image, ImageDraw = optional("PIL.Image", "labels"), optional("PIL.ImageDraw", "labels")
    picture = Image.fromarray(pixels)
    draw = ImageDraw.Draw(picture)
    for box, label in zip(array_of(boxes).reshape(-1, 4), labels, strict=True):
        draw.text((int(box[0]) + 2, int(box[1]) + 1), str(label), fill=(255, 0, 0))
    return np.asarray(picture)


def figure_pixels(figures, close=True):
    """Matplotlib figures as one batch ``(N, H, W, 4)`` of bytes."""
    canvas_of = optional("matplotlib.backends.backend_agg", "figures").FigureCanvasAgg
    found = []
    for figure in figures if isinstance(figures, list | tuple) else [figures]:
        canvas = canvas_of(figure)
        canvas.draw()
        found.append(np.array(canvas.buffer_rgba()))
        if close:
            optional("matplotlib.pyplot", "figures").close(figure)
    return np.stack(found)


def film(frames):
    """Films ``(N, T, C, H, W)`` as Pillow's pictures, those of one time side by side."""
    Image = optional("PIL.Image", "films")
    found = array_of(frames)
    if found.ndim != 5:
        raise ValueError(f"add_video: expected (N, T, C, H, W), got shape {found.shape}")
    scale = 1.0 if found.dtype == np.uint8 else 255.0
    pixels = np.clip(found * scale, 0, 255).astype(np.uint8).transpose(1, 0, 3, 4, 2)
    pixels = pixels.repeat(3, 4) if pixels.shape[4] == 1 else pixels
    return [Image.fromarray(in_rows(batch)) for batch in pixels]


def resized(pixels, scale):
    """A picture `scale` times as large, by Lanczos' filter."""
    if scale == 1:
        return pixels
    Image = optional("PIL.Image", "pictures of another size")
    size = int(pixels.shape[1] * scale), int(pixels.shape[0] * scale)
    return np.asarray(Image.fromarray(pixels).resize(size, Image.Resampling.LANCZOS))
