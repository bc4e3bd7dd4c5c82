"""The text of a masked tensor: its elements in brackets, ``--`` for one that does not count."""

from __future__ import annotations

from rushlight.tensor.layout import strided

_NUMBER = "{:8.4f}"  # floats; what a mask hides is as wide
_INDENT = "  "


def text_of(data, mask) -> str:
    """What ``repr`` gives for the parts of a masked tensor."""
    if data.layout is not strided:
        data, mask = data.to_dense(), mask.to_dense()
    values, kept = data.tolist(), mask.tolist()
    if not data.dim():
        return f"MaskedTensor({_element(values) if kept else '--'}, {kept})"
    return f"MaskedTensor(\n{_indented(_rows(values, kept, data.dim()))}\n)"


def _element(value):
    return _NUMBER.format(value) if isinstance(value, float) else str(value)


def _rows(values, kept, dims):
    """Nested lists in brackets, the innermost on one line."""
    if dims > 1:
        parts = [_indented(_rows(v, k, dims - 1)) for v, k in zip(values, kept, strict=True)]
        return "[\n" + ",\n".join(parts) + "\n]"
    texts = [_element(value) for value in values]
    hidden = len(_NUMBER.format(0))
    width = max((len(t) if k else hidden for t, k in zip(texts, kept, strict=True)), default=0)
    shown = (t if k else "--".rjust(width) for t, k in zip(texts, kept, strict=True))
    return "[" + ", ".join(shown) + "]"


def _indented(text):
    return "\n".join(_INDENT + line for line in text.split("\n"))
