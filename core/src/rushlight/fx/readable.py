"""What readable source says beside the program: colours, types of values, lines it came from."""

from __future__ import annotations

import math
import re

import rushlight

_CODES = {"red": "\x1b[31m", "green": "\x1b[32m", "blue": "\x1b[34m", "dim": "\x1b[2m"}
_RESET = "\x1b[0m"
# Types whose short name is not their kind's letter and their number of bits.
_SHORT = {rushlight.bool: "b8", rushlight.bfloat16: "bf16"}
_LONGEST = 40  # characters of a value that a program noted


class Palette:
    """Escape sequences of terminals, or none."""

    def __init__(self, colored: bool):
        self.colored = colored

    def paint(self, text: str, *styles: str) -> str:
        """The text in a style, such as ``"dim", "blue"``."""
        if not self.colored:
            return text
        return "".join(_CODES[style] for style in styles) + text + _RESET


class Annotations:
    """Types of values as source shows them: ``"f32[2, 3]"`` with strides and device if asked."""

    def __init__(self, palette: Palette, strides: bool, device: bool):
        self.palette, self.strides, self.device = palette, strides, device

    def of(self, node) -> str | None:
        """The quoted type of a node's value; None where it is not known."""
        value = next(
            (node.meta[key] for key in ("val", "tensor_meta", "example_value") if key in node.meta),
            None,
        )
        # TensorMetadata of shape_prop, which imports this module
        if value is not None and hasattr(value, "qparams"):
            return f'"{short_dtype(value.dtype)}{_list(value.shape)}"'
        if isinstance(value, rushlight.Tensor):
            if value.layout in (rushlight.sparse_csc, rushlight.sparse_csr):
                return None
            text = self._tensor(value, node.meta)
            plain = type(value) is rushlight.Tensor
            return f'"{text}"' if plain else f'"{type(value).__name__}({text})"'
        return f'"Sym({value})"' if getattr(value, "depends_on_sizes", False) else None

    def _tensor(self, tensor, meta):
        """A tensor in a captured program has its sizes, strides and device beside it."""
        sizes = meta.get("sizes") or tensor.shape
        known = meta["tensor_meta"] if "val" in meta and "tensor_meta" in meta else None
        kept = tensor.stride() if known is None else known.stride
        strides = _list(_strides(kept, tensor.shape, sizes)) if self.strides else ""
        device = str(meta.get("device", tensor.device)) if self.device else ""
        paint = self.palette.paint
        return (
            paint(short_dtype(tensor.dtype), "red")
            + paint(_list(sizes), "blue")
            + paint(strides, "dim", "blue")
            + paint(device, "dim", "green")
        )


def short_dtype(dtype) -> str:
    """``f32`` for ``rushlight.float32``."""
    if dtype in _SHORT:
        return _SHORT[dtype]
    name = str(dtype).rpartition(".")[2]
    return re.sub("^(float|complex|uint|int)", lambda kind: kind[0][0], name).replace("_", "")


def _list(values):
    return f"[{', '.join(map(str, values))}]"


def _strides(strides, shape, sizes):
    """The strides; where they are those of dense memory, in terms of sizes that may differ."""
    found, number, inner = list(strides), 1, []
    for dim in sorted(range(len(strides)), key=lambda d: (strides[d], -d)):
        if strides[dim] != number:
            return strides
        found[dim] = _product(inner)
        number *= shape[dim]
        inner.append(sizes[dim])
    return found


def _product(sizes):
    """The text of a product: its number first, then the sizes that may differ."""
    free = [str(size) for size in sizes if type(size) is not int]
    number = math.prod(size for size in sizes if type(size) is int)
    factors = [text if text.isidentifier() else f"({text})" for text in free]
    return "*".join(factors if number == 1 and factors else [str(number), *factors])


def summary(node, additional_meta) -> str:
    """The comment on a node: what passes noted of it, and the line of the program it came from."""
    noted = ", ".join(f"{key}: {node.meta[key]}" for key in additional_meta if key in node.meta)
    custom = {key: _shortened(value) for key, value in (node.meta.get("custom") or {}).items()}
    where = _last_line(node.stack_trace) if node.stack_trace else None
    return (
        (f"# {noted} " if noted else "")
        + "#"
        + (f" Annotation: {custom}" if custom else "")
        + f" {where or 'No stacktrace found for following nodes'}"
    )


def _shortened(value):
    return value if len(str(value)) <= _LONGEST else f"{str(value)[:_LONGEST]}..."


def _last_line(trace):
    """Of a stack trace, the innermost file, line and source."""
    lines = [line.strip() for line in trace.strip().splitlines() if line.strip(" ^~")]
    found = [i for i, line in enumerate(lines) if line.startswith("File ")]
    if not found:
        return lines[-1] if lines else None
    where = re.match(r'File "(.*)", line (\d+), in (.*)', lines[found[-1]])
    code = lines[found[-1] + 1] if found[-1] + 1 < len(lines) else ""
    return f"File: {where[1]}:{where[2]} in {where[3]}, code: {code}" if where else lines[-1]
