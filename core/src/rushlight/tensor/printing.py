"""How tensors print: PyTorch's layout, precision and summaries."""

from __future__ import annotations

import math

from rushlight import dtypes
from rushlight.autograd.node import LEAF
from rushlight.dtypes import COMPLEX, FLOAT, default
from rushlight.machine import np
from rushlight.settings import print_options
from rushlight.tensor.subclasses import of_package


class _Formatter:
    """Chooses one number format for all elements of a tensor."""

    def __init__(self, values):
        self.integral, self.width, self.scientific = True, 1, False
        self.precision = print_options.precision
        if values.dtype.kind in "biu":
            self.kind = "int"
            self.width = max((len(self._whole(v)) for v in values.flat), default=1)
            return
        self.kind = "float"
        finite = values[np.isfinite(values) & (values != 0)].astype(np.float64)
        if finite.size:
            self._choose(np.abs(finite))
        self.width = max((len(self.text(v, False)) for v in finite), default=1)

    def _choose(self, magnitudes):
        low, high = magnitudes.min(), magnitudes.max()
        self.integral = bool((magnitudes == np.ceil(magnitudes)).all())
        if self.integral:
            self.scientific = high / low > 1000.0 or high > 1e8
        else:
            self.scientific = high / low > 1000.0 or high > 1e8 or low < 1e-4
        if print_options.sci_mode is not None:
            self.scientific = print_options.sci_mode

    @staticmethod
    def _whole(value):
        return str(bool(value)) if isinstance(value, (bool, np.bool_)) else str(int(value))

    def text(self, value, pad=True):
        """One element."""
        if self.kind == "int":
            found = self._whole(value)
        elif self.scientific:
            found = f"{value:.{self.precision}e}"
        elif self.integral:
            found = f"{value:.0f}" + ("." if math.isfinite(value) else "")
        else:
            found = f"{value:.{self.precision}f}"
        return found.rjust(self.width) if pad else found


class _ComplexFormatter:
    def __init__(self, values):
        self.real, self.imag = _Formatter(values.real), _Formatter(values.imag)
        self.width = self.real.width + self.imag.width + 1

    def text(self, value):
        """One element, as ``a+bj``."""
        sign = "-" if value.imag < 0 or (value.imag == 0 and np.signbit(value.imag)) else "+"
        return self.real.text(value.real) + sign + self.imag.text(abs(value.imag)).lstrip() + "j"


def _lines(array, formatter, indent, cut):
    """The text of an array; `cut` says for each axis whether its middle is left out."""
    if array.ndim == 0:
        return formatter.text(array[()])
    if array.ndim == 1:
        return _row(array, formatter, indent, cut[0])
    parts = [_lines(a, formatter, indent + 1, cut[1:]) for a in array]
    if cut[0]:
        parts.insert(print_options.edgeitems, "...")
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def _row(array, formatter, indent, cut):
    per_line = max(1, (print_options.linewidth - indent) // (formatter.width + 2))
    texts = [formatter.text(v) for v in array]
    if cut:
        texts.insert(print_options.edgeitems, " ...")
    lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _summary(array):
    """The elements that a summarised print shows, which alone choose the format, and for each axis
    whether it is cut. Nothing else is read: a tensor may be expanded beyond all memory."""
    edge = print_options.edgeitems
    cut = [size > 2 * edge for size in array.shape]
    if not any(cut):
        return array, cut
    places = [
        np.r_[:edge, size - edge : size] if is_cut else np.arange(size)
        for size, is_cut in zip(array.shape, cut, strict=True)
    ]
    return array[np.ix_(*places)], cut


def usual_complex():
    """The complex dtype that goes without saying."""
    return dtypes.complex128 if default.float is dtypes.float64 else dtypes.complex64


def tensor_text(tensor, prefix="tensor("):
    """The representation of a tensor, with what cannot be seen from its elements behind it."""
    suffixes = []
    dtype, array = tensor._dtype, tensor._array
    if tensor._device.type != "cpu":
        suffixes.append(f"device='{tensor._device}'")
    usual = (default.float, dtypes.int64, dtypes.bool_, usual_complex())
    if tensor._device.type == "meta":
        suffixes.append(f"size={tuple(array.shape)}")
        body = "..."
    elif array.size == 0:
        if array.ndim != 1:
            suffixes.append(f"size={tuple(array.shape)}")
        body = "[]"
    else:
        body = _body(array if isinstance(array, np.ndarray) else array.get(), dtype, len(prefix))
    if dtype not in usual or (array.size == 0 and dtype is not default.float):
        suffixes.append(f"dtype={dtype}")
    history = _history(tensor)
    if history is not None:
        suffixes.append(f"grad_fn=<{history}>")
    elif tensor._node is LEAF:
        suffixes.append("requires_grad=True")
    return _join(prefix + body, suffixes, len(prefix))


def text_of_class(tensor, is_parameter):
    """The representation of a tensor, under the name of its class where a program defined that."""
    cls = type(tensor)
    if of_package(cls):
        return tensor_text(tensor)
    text = tensor_text(tensor, cls.__name__ + "(")
    return f"Parameter({text})" if is_parameter else text


def _history(tensor):
    try:
        node = tensor.grad_fn
    except RuntimeError:  # a view whose history is unknown since its base was written to
        return "Invalid"
    return None if node is None else node.name()


def _body(array, dtype, indent):
    cut = [False] * array.ndim
    if array.size > print_options.threshold:
        array, cut = _summary(array)
    if dtype.category == FLOAT and dtype.itemsize == 2:
        array = array.astype(np.float32)
    elif dtype is dtypes.complex32:
        array = array.astype(np.complex64)
    formatter = _ComplexFormatter(array) if dtype.category == COMPLEX else _Formatter(array)
    return _lines(array, formatter, indent, cut)


def _join(text, suffixes, indent):
    """Append the suffixes, breaking the line where it would be too long."""
    out, last = text, len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if last + len(suffix) + 2 > print_options.linewidth:
            out, last = out + ",\n" + " " * indent + suffix, indent + len(suffix)
        else:
            out, last = out + ", " + suffix, last + len(suffix) + 2
    return out + ")"


def set_printoptions(
    precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None
):
    """Change how tensors print; `profile` is ``"default"``, ``"short"`` or ``"full"``."""
    profiles = {
        "default": (4, 1000, 3, 80),
        "short": (2, 1000, 2, 80),
        "full": (4, math.inf, 3, 80),
    }
    names = ("precision", "threshold", "edgeitems", "linewidth")
    if profile is not None:
        if profile not in profiles:
            raise ValueError(f"set_printoptions: unknown profile {profile!r}")
        for name, value in zip(names, profiles[profile], strict=True):
            setattr(print_options, name, value)
    for name, value in zip(names, (precision, threshold, edgeitems, linewidth), strict=True):
        if value is not None:
            setattr(print_options, name, value)
    print_options.sci_mode = sci_mode
