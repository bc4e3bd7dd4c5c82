"""Summaries: one value with a tag, by kind, as bytes of TensorFlow's `Summary` message."""

from __future__ import annotations

import importlib
import json
import math
import struct
import zlib

from rushlight.dtypes import bfloat16, float32
from rushlight.machine import np
from rushlight.tensor.tensor import Tensor
from rushlight.utils.tensorboard.records import block, double, doubles, integer, single, singles

_FLOAT, _STRING = 1, 7  # TensorFlow's numbers of dtypes


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


def _value(tag, *fields, plugin=None, content=b"", title=None):
    """A summary of one value."""
    about = b""
    if plugin is not None:
        about = block(1, block(1, plugin) + block(2, content))
        about += block(2, title) if title else b""
        about = block(9, about)
    return block(1, block(1, tag) + about + b"".join(fields))


def _tensor(kind, shape, *fields):
    dims = b"".join(block(2, integer(1, size)) for size in shape)
    return block(8, integer(1, kind) + block(2, dims) + b"".join(fields))


def scalar(tag, value, new_style=False, double_precision=False) -> bytes:
    """A number."""
    if not new_style:
        return _value(tag, single(2, value))
    if double_precision:
        return _value(tag, _tensor(2, (), doubles(6, [value])), plugin="scalars")
    return _value(tag, _tensor(_FLOAT, (), singles(5, [value])), plugin="scalars")


def tensor(tag, value) -> bytes:
    """A tensor as it is."""
    found = array_of(value)
    return _value(tag, _tensor(_FLOAT, found.shape, singles(5, found.reshape(-1))), plugin="tensor")


def text(tag, content) -> bytes:
    """A text, in Markdown."""
    body = _tensor(_STRING, (1,), block(8, content))
    return _value(tag + "/text_summary", body, plugin="text")


# -------------------------------------------------------------------------------------- histograms
def _default_bins():
    limits, at = [], 1e-12
    while at < 1e20:
        limits.append(at)
        at *= 1.1
    return np.array([-v for v in reversed(limits)] + [0.0] + limits)


def histogram_raw(tag, low, high, count, total, squares, limits, counts) -> bytes:
    """A histogram of which everything is known."""
    body = b"".join(double(n, v) for n, v in enumerate((low, high, count, total, squares), 1))
    return _value(tag, block(5, body + doubles(6, limits) + doubles(7, counts)))


def histogram(tag, values, bins="tensorflow", max_bins=None) -> bytes:
    """How values are distributed, by exponentially growing bins or by NumPy's rules."""
    values = array_of(values).reshape(-1).astype(np.float64)
    if not values.size:
        raise ValueError("The input has no element.")
    counts, limits = np.histogram(values, _default_bins() if bins == "tensorflow" else bins)
    if max_bins is not None and len(counts) > max_bins:
        step = len(counts) // max_bins
        rest = -len(counts) % step
        counts = np.pad(counts, (0, rest)).reshape(-1, step).sum(-1)
        limits = np.append(limits[:-1][::step], limits[-1])
    used = np.flatnonzero(counts)
    if not used.size:
        raise ValueError("The histogram is empty, please file a bug report.")
    first, last = used[0], used[-1] + 1
    counts = counts[first - 1 : last] if first else np.append(0, counts[:last])
    limits = limits[first : last + 1]
    squares = float(values @ values)
    return histogram_raw(
        tag, values.min(), values.max(), values.size, values.sum(), squares, limits, counts
    )


# ------------------------------------------------------------------------------------------ images
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
    return np.clip(_grid(found) * scale, 0, 255).astype(np.uint8)


def _grid(images, columns=8):
    count, height, width, channels = images.shape
    columns = min(count, columns)
    rows = math.ceil(count / columns)
    whole = np.zeros((rows * columns, height, width, channels), images.dtype)
    whole[:count] = images
    whole = whole.reshape(rows, columns, height, width, channels).transpose(0, 2, 1, 3, 4)
    return whole.reshape(rows * height, columns * width, channels)


def image(tag, pixels, encoded=None) -> bytes:
    """A picture ``(H, W, C)`` of bytes."""
    height, width, channels = pixels.shape
    body = integer(1, height) + integer(2, width) + integer(3, channels)
    return _value(tag, block(4, body + block(4, encoded or png(pixels))))


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


def video(tag, frames, fps=4) -> bytes:
    """Films ``(N, T, C, H, W)`` side by side as an animated GIF."""
    from io import BytesIO

    Image = optional("PIL.Image", "films")
    found = array_of(frames)
    if found.ndim != 5:
        raise ValueError(f"add_video: expected (N, T, C, H, W), got shape {found.shape}")
    scale = 1.0 if found.dtype == np.uint8 else 255.0
    pixels = np.clip(found * scale, 0, 255).astype(np.uint8).transpose(1, 0, 3, 4, 2)
    pixels = pixels.repeat(3, 4) if pixels.shape[4] == 1 else pixels
    pictures = [Image.fromarray(_grid(batch)) for batch in pixels]
    file = BytesIO()
    pictures[0].save(
        file, "GIF", save_all=True, append_images=pictures[1:], duration=1000 / fps, loop=0
    )
    return image(tag, np.asarray(pictures[0]), file.getvalue())


def audio(tag, sound, sample_rate=44100) -> bytes:
    """A sound between -1 and 1 as 16-bit WAV."""
    samples = np.clip(array_of(sound).squeeze().astype(np.float64), -1, 1)
    if samples.ndim != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    data = (samples * 32767.0).astype("<i2").tobytes()
    form = struct.pack("<IHHIIHH", 16, 1, 1, sample_rate, sample_rate * 2, 2, 16)
    size = struct.pack("<I", 36 + len(data))
    wav = b"RIFF" + size + b"WAVEfmt " + form + b"data" + struct.pack("<I", len(data)) + data
    body = single(1, sample_rate) + integer(2, 1) + integer(3, samples.size)
    return _value(tag, block(6, body + block(4, wav) + block(5, "audio/wav")))


# ------------------------------------------------------------------------------------------ curves
def pr_curve_raw(tag, true_pos, false_pos, true_neg, false_neg, precision, recall, thresholds):
    """A precision-recall curve of which everything is known."""
    rows = (true_pos, false_pos, true_neg, false_neg, precision, recall)
    data = np.stack([array_of(row).reshape(-1).astype(np.float32) for row in rows])
    content = integer(1, 0) + integer(2, thresholds)
    body = _tensor(_FLOAT, data.shape, singles(5, data.reshape(-1)))
    return _value(tag, body, plugin="pr_curves", content=content)


def pr_curve(tag, labels, predictions, thresholds=127, weights=None) -> bytes:
    """A precision-recall curve of predictions in [0, 1]."""
    thresholds = min(thresholds, 127)
    labels = array_of(labels).reshape(-1).astype(np.float64)
    predictions = array_of(predictions).reshape(-1)
    weights = 1.0 if weights is None else array_of(weights).reshape(-1)
    places = np.floor(predictions * (thresholds - 1)).astype(np.int64)
    bounds = (0, thresholds - 1)
    hits, _ = np.histogram(places, thresholds, bounds, weights=labels * weights)
    misses, _ = np.histogram(places, thresholds, bounds, weights=(1.0 - labels) * weights)
    true_pos, false_pos = np.cumsum(hits[::-1])[::-1], np.cumsum(misses[::-1])[::-1]
    true_neg, false_neg = false_pos[0] - false_pos, true_pos[0] - true_pos
    precision = true_pos / np.maximum(1e-7, true_pos + false_pos)
    recall = true_pos / np.maximum(1e-7, true_pos + false_neg)
    return pr_curve_raw(
        tag, true_pos, false_pos, true_neg, false_neg, precision, recall, thresholds
    )


def custom_scalars(layout) -> bytes:
    """How the page of custom scalars is laid out: category -> chart -> ``[kind, tags]``."""
    categories = b""
    for title, charts in layout.items():
        parts = block(1, title)
        for name, (kind, tags) in charts.items():
            if kind == "Margin":
                if len(tags) != 3:
                    raise AssertionError(f"expected 3 tags for a margin chart, got {len(tags)}")
                series = b"".join(block(n, t) for n, t in enumerate(tags, 1))
                chart = block(3, block(1, series))
            else:
                chart = block(2, b"".join(block(1, t) for t in tags))
            parts += block(2, block(1, name) + chart)
        categories += block(2, parts)
    body = _tensor(_STRING, (), block(8, categories))
    return _value("custom_scalars__config__", body, plugin="custom_scalars")


def mesh(tag, vertices, colors=None, faces=None, config=None, title=None) -> bytes:
    """Points or triangles in space, ``(N, points, 3)`` each."""
    parts = [(1, vertices), (2, faces), (3, colors)]
    kinds = sum(1 << kind for kind, value in parts if value is not None)
    names = {1: "VERTEX", 2: "FACE", 3: "COLOR"}
    found = b""
    for kind, value in parts:
        if value is None:
            continue
        data = array_of(value)
        if data.ndim != 3 or data.shape[2] != 3:
            raise ValueError(f"add_mesh: expected (N, points, 3), got shape {data.shape}")
        content = block(2, tag) + integer(3, kind) + block(5, json.dumps(config or {}))
        content += b"".join(integer(6, size) for size in data.shape) + integer(7, kinds)
        body = _tensor(_FLOAT, data.shape, singles(5, data.reshape(-1)))
        found += _value(f"{tag}_{names[kind]}", body, plugin="mesh", content=content,
                        title=title or tag)  # fmt: skip
    return found


# --------------------------------------------------------------------------------- hyper-parameters
def _hparams_value(value):
    if isinstance(value, bool):
        return 2, integer(4, value)
    if isinstance(value, int | float):
        return 3, double(2, value)
    if isinstance(value, str):
        return 1, block(3, value)
    if isinstance(value, Tensor):
        return 3, double(2, number_of(value))
    if value is None:
        return 1, block(3, "None")
    raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")


def hparams(settings, metrics, discrete=None) -> tuple[bytes, bytes, bytes]:
    """The experiment, the start of its session and the end."""
    if not isinstance(settings, dict) or not isinstance(metrics, dict):
        raise TypeError("hparam_dict and metric_dict should be dictionary.")
    infos, start = b"", b""
    for name, value in settings.items():
        kind, encoded = _hparams_value(value)
        domain = b""
        for choice in (discrete or {}).get(name, ()):
            domain += block(1, _hparams_value(choice)[1])
        infos += block(4, block(1, name) + integer(4, kind) + (block(5, domain) if domain else b""))
        start += block(1, block(1, name) + block(2, encoded))
    for name in metrics:
        infos += block(5, block(1, block(2, name)))

    def made(tag, content):
        return _value("_hparams_/" + tag, plugin="hparams", content=integer(1, 0) + content)

    return (
        made("experiment", block(2, infos)),
        made("session_start_info", block(3, start)),
        made("session_end_info", block(4, integer(1, 1))),
    )
