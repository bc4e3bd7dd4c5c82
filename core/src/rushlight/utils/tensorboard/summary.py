"""Summaries: one value with a tag, by kind; what `SummaryWriter` writes and `FileWriter` takes.

Each is TensorFlow's `Summary` message as its bytes.
"""

from __future__ import annotations

import json
import struct
from io import BytesIO

from rushlight.machine import np
from rushlight.tensor.tensor import Tensor
from rushlight.utils.tensorboard.pictures import (
    array_of,
    film,
    number_of,
    pixels_of,
    png,
    resized,
    with_boxes,
)
from rushlight.utils.tensorboard.records import (
    block,
    double,
    doubles,
    integer,
    single,
    singles,
    varint,
)

_FLOAT, _STRING = 1, 7  # TensorFlow's numbers of dtypes


class Summary(bytes):
    """A `Summary` message, encoded."""

    def SerializeToString(self) -> bytes:  # noqa: N802 - as messages of protocol buffers have it
        """The message's bytes."""
        return bytes(self)


def _value(tag, *fields, plugin=None, content=b"", title=None, description=None):
    """A summary of one value."""
    about = b""
    if plugin is not None:
        about = block(1, block(1, plugin) + (block(2, content) if content else b""))
        about += block(2, title) if title else b""
        about += block(3, description) if description else b""
        about = block(9, about)
    return Summary(block(1, block(1, tag) + b"".join(fields) + about))


def _tensor(kind, shape, *fields):
    """A tensor's dtype, shape (None for a number's) and values."""
    sizes = b"" if shape is None else block(2, b"".join(block(2, integer(1, n)) for n in shape))
    return block(8, integer(1, kind) + sizes + b"".join(fields))


def scalar(name, tensor, collections=None, new_style=False, double_precision=False) -> Summary:
    """A number, of a tensor of one element or a number; `collections` is not used."""
    value = number_of(tensor)
    if not new_style:
        return _value(name, single(2, value))
    if double_precision:
        return _value(name, _tensor(2, None, doubles(6, [value])), plugin="scalars")
    return _value(name, _tensor(_FLOAT, None, singles(5, [value])), plugin="scalars")


def tensor_proto(tag, tensor) -> Summary:
    """A tensor as it is."""
    found = array_of(tensor)
    return _value(tag, _tensor(_FLOAT, found.shape, singles(5, found.reshape(-1))), plugin="tensor")


def text(tag, text) -> Summary:
    """A text, in Markdown."""
    body = _tensor(_STRING, (1,), block(8, text))
    return _value(tag + "/text_summary", body, plugin="text")


# -------------------------------------------------------------------------------------- histograms
def _default_bins():
    limits, at = [], 1e-12
    while at < 1e20:
        limits.append(at)
        at *= 1.1
    return np.array([-v for v in reversed(limits)] + [0.0] + limits)


def histogram_raw(name, min, max, num, sum, sum_squares, bucket_limits, bucket_counts) -> Summary:
    """A histogram of which everything is known."""
    known = enumerate((min, max, num, sum, sum_squares), 1)
    body = b"".join(double(n, v) for n, v in known if v)  # absent fields are 0
    return _value(name, block(5, body + doubles(6, bucket_limits) + doubles(7, bucket_counts)))


def histogram(name, values, bins="tensorflow", max_bins=None) -> Summary:
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
        name, values.min(), values.max(), values.size, values.sum(), squares, limits, counts
    )


# ------------------------------------------------------------------------------------------ images
def _picture(tag, pixels, encoded=None):
    height, width, channels = pixels.shape
    body = integer(1, height) + integer(2, width) + integer(3, channels)
    return _value(tag, block(4, body + block(4, encoded or png(pixels))))


def image(tag, tensor, rescale=1, dataformats="NCHW") -> Summary:
    """A picture, of bytes or of floats between 0 and 1; batches are laid out eight in a row."""
    return _picture(tag, resized(pixels_of(tensor, dataformats), rescale))


def image_boxes(
    tag, tensor_image, tensor_boxes, rescale=1, dataformats="CHW", labels=None
) -> Summary:
    """A picture with red frames around ``(left, top, right, bottom)`` boxes, then resized."""
    pixels = with_boxes(pixels_of(tensor_image, dataformats), tensor_boxes, labels)
    return _picture(tag, resized(pixels, rescale))


def video(tag, tensor, fps=4) -> Summary:
    """Films ``(N, T, C, H, W)`` side by side as an animated GIF."""
    pictures, file = film(tensor), BytesIO()
    pictures[0].save(
        file, "GIF", save_all=True, append_images=pictures[1:], duration=1000 / fps, loop=0
    )
    return _picture(tag, np.asarray(pictures[0]), file.getvalue())


def audio(tag, tensor, sample_rate=44100) -> Summary:
    """A sound between -1 and 1 as 16-bit WAV."""
    samples = np.clip(array_of(tensor).squeeze().astype(np.float64), -1, 1)
    if samples.ndim != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    data = (samples * 32767.0).astype("<i2").tobytes()
    form = struct.pack("<IHHIIHH", 16, 1, 1, sample_rate, sample_rate * 2, 2, 16)
    size = struct.pack("<I", 36 + len(data))
    wav = b"RIFF" + size + b"WAVEfmt " + form + b"data" + struct.pack("<I", len(data)) + data
    body = single(1, sample_rate) + integer(2, 1) + integer(3, samples.size)
    return _value(tag, block(6, body + block(4, wav) + block(5, "audio/wav")))


# ------------------------------------------------------------------------------------------ curves
def pr_curve_raw(tag, tp, fp, tn, fn, precision, recall, num_thresholds=127) -> Summary:
    """A precision-recall curve of which everything is known."""
    rows = (tp, fp, tn, fn, precision, recall)
    return _curve(tag, [array_of(row).reshape(-1) for row in rows], min(num_thresholds, 127))


def _curve(tag, rows, thresholds):
    data = np.stack(rows).astype(np.float32)
    content = integer(2, thresholds)
    body = _tensor(_FLOAT, data.shape, singles(5, data.reshape(-1)))
    return _value(tag, body, plugin="pr_curves", content=content)


def pr_curve(tag, labels, predictions, num_thresholds=127, weights=None) -> Summary:
    """A precision-recall curve of predictions in [0, 1] for labels 0 and 1."""
    num_thresholds = min(num_thresholds, 127)
    return _curve(tag, compute_curve(labels, predictions, num_thresholds, weights), num_thresholds)


def compute_curve(labels, predictions, num_thresholds=127, weights=None):
    """Six rows: true and false positives, true and false negatives, precision and recall."""
    labels = array_of(labels).reshape(-1).astype(np.float64)
    predictions = array_of(predictions).reshape(-1)
    weights = 1.0 if weights is None else array_of(weights).reshape(-1)
    places = np.floor(predictions * (num_thresholds - 1)).astype(np.int64)
    bounds = (0, num_thresholds - 1)
    hits, _ = np.histogram(places, num_thresholds, bounds, weights=labels * weights)
    misses, _ = np.histogram(places, num_thresholds, bounds, weights=(1.0 - labels) * weights)
    tp, fp = np.cumsum(hits[::-1])[::-1], np.cumsum(misses[::-1])[::-1]
    tn, fn = fp[0] - fp, tp[0] - tp
    return np.stack(
        (tp, fp, tn, fn, tp / np.maximum(1e-7, tp + fp), tp / np.maximum(1e-7, tp + fn))
    )


def custom_scalars(layout) -> Summary:
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


def mesh(tag, vertices, colors, faces, config_dict, display_name=None, description=None) -> Summary:
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
        content = block(2, tag) + integer(3, kind) + block(5, json.dumps(config_dict or {}))
        content += block(6, b"".join(map(varint, data.shape))) + integer(7, kinds)
        body = _tensor(_FLOAT, data.shape, singles(5, data.reshape(-1)))
        found += _value(f"{tag}_{names[kind]}", body, plugin="mesh", content=content,
                        title=display_name or tag, description=description)  # fmt: skip
    return Summary(found)


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


def hparams(
    hparam_dict=None, metric_dict=None, hparam_domain_discrete=None
) -> tuple[Summary, Summary, Summary]:
    """The experiment, the start of its session and the end."""
    if not isinstance(hparam_dict, dict) or not isinstance(metric_dict, dict):
        raise TypeError("hparam_dict and metric_dict should be dictionary.")
    infos, start = b"", b""
    for name, value in hparam_dict.items():
        kind, encoded = _hparams_value(value)
        domain = b""
        for choice in (hparam_domain_discrete or {}).get(name, ()):
            domain += block(1, _hparams_value(choice)[1])
        infos += block(4, block(1, name) + integer(4, kind) + (block(5, domain) if domain else b""))
        start += block(1, block(1, name) + block(2, encoded))
    for name in metric_dict:
        infos += block(5, block(1, block(2, name)))

    def made(tag, content):
        return _value("_hparams_/" + tag, plugin="hparams", content=content)

    return (
        made("experiment", block(2, infos)),
        made("session_start_info", block(3, start)),
        made("session_end_info", block(4, integer(1, 1))),
    )
