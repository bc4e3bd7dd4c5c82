"""How sparse tensors print: indices, values, size and layout."""

from __future__ import annotations

import re

from rushlight import dtypes
from rushlight.dtypes import default
from rushlight.ops.sparse.patterns import NAMES
from rushlight.ops.sparse.tensors import COO, _tensor
from rushlight.tensor.printing import tensor_text, usual_complex


def _indented(name, tensor):
    """``name=tensor(...)`` with its lines below each other."""
    text = tensor_text(tensor.detach())
    for suffix in (", dtype=rushlight.int32", ",\n       dtype=rushlight.int32"):
        text = text.replace(suffix, "")
    if not tensor.numel():
        text = f"tensor([], size={tuple(tensor.shape)})"
    return f"{name}=" + text


def sparse_text(tensor):
    """The representation of a sparse tensor, as PyTorch lays it out."""
    pattern = tensor._pattern
    elements = tensor._values()
    tail = []
    sizes = f"size={tuple(tensor.shape)}, nnz={pattern.count}"
    usual = (default.float, dtypes.int64, dtypes.bool_, usual_complex())
    if tensor.dtype not in usual:
        tail.append(f"dtype={tensor.dtype}")
    tail.append(f"layout={pattern.layout}")
    if tensor.grad_fn is not None:
        tail.append(f"grad_fn=<{tensor.grad_fn.name()}>")
    elif tensor.requires_grad:
        tail.append("requires_grad=True")
    if pattern.layout == COO:
        parts = [_indented("indices", _tensor(pattern.indices))]
    else:
        names = NAMES[pattern.layout]
        parts = [
            _indented(names[0], _tensor(pattern.starts)),
            _indented(names[1], _tensor(pattern.columns)),
        ]
    parts.append(_without_dtype(_indented("values", elements)))
    lines = []
    for part in parts:
        name = part.split("=", 1)[0]
        pad = " " * (len(name) + 8)
        lines.append(re.sub(r"\n(?!\n)", "\n" + pad, part))  # empty lines stay empty
    # COO tensors have the size in the last line, CSR tensors behind the values.
    head, last = ",\n       ".join(lines), ", ".join(tail)
    gap, then = (",\n       ", ", ") if pattern.layout == COO else (", ", ",\n       ")
    return f"tensor({head}{gap}{sizes}{then}{last})"


def _without_dtype(text):
    """The dtype is shown once, behind all."""
    head, found, rest = text.rpartition("dtype=rushlight.")
    return head.rstrip().rstrip(",") + ")" if found else text
