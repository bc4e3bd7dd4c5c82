"""How a call without writes names what an operator writes to: by views of a list of tensors.

Of an argument ``x`` the number of the tensor in that list is ``_x_base_index``, None where the
argument is None. If it is not that tensor itself, ``_x_alias`` says that it is a view of the same
form, ``_x_slice_dim``, ``_x_slice_start`` and ``_x_slice_end`` name a slice, and ``_x_size``,
``_x_stride`` and ``_x_storage_offset`` any other view. The tensors of a list ``xs`` of length
``_xs_length`` are ``_xs_0``, ``_xs_1`` and so on.
"""

from __future__ import annotations

from rushlight.library.operators import lookup
from rushlight.ops.indexing.slicing import as_strided
from rushlight.tensor.tensor import Tensor

SLICED = ("slice_dim", "slice_start", "slice_end")
STRIDED = ("size", "stride", "storage_offset")
VIEWS = (("alias",), STRIDED, SLICED)


# ------------------------------------------------------------------------------------------ writing
def viewed(arguments, named):
    """Take the values of the `arguments` that an operator writes to out of `named`: the tensors
    whose memory they have, and what says which views of them they are, by name."""
    bases: list[Tensor] = []
    views: dict = {}
    for argument in arguments:
        prefix, value = f"_{argument.name}", named.pop(argument.name)
        if not argument.is_tensor_list:
            views |= _described(prefix, value, bases)
            continue
        views[f"{prefix}_length"] = None if value is None else len(value)
        for i, item in enumerate(value or ()):
            views |= _described(f"{prefix}_{i}", item, bases)
    return bases, views


def _described(prefix, tensor, bases):
    if tensor is None:
        return {f"{prefix}_base_index": None}
    base = tensor if tensor._base is None else tensor._base
    index = next((i for i, known in enumerate(bases) if known is base), None)
    if index is None:
        index = len(bases)
        bases.append(base)
    view = {} if base is tensor else _view(_layout(base), _layout(tensor))
    return {f"{prefix}_base_index": index} | {f"{prefix}_{k}": v for k, v in view.items()}


def _layout(tensor):
    """Shape, strides and offset of the memory of a tensor of a program."""
    while (inner := getattr(tensor, "_inner", None)) is not None:
        tensor = inner
    return tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset()


def _view(base, view):
    """What tells a view of one layout from a tensor of another."""
    if base == view:
        return {"alias": True}
    found = _slice(base, view)
    return dict(
        zip(STRIDED, view, strict=True) if found is None else zip(SLICED, found, strict=True)
    )


def _slice(base, view):
    """Dimension, start and end of a slice; None for another view."""
    (outer, steps, _), (sizes, strides, offset) = base, view
    if steps != strides or len(outer) != len(sizes):
        return None
    differing = [dim for dim, (a, b) in enumerate(zip(outer, sizes, strict=True)) if a != b]
    if len(differing) != 1:
        return None
    (dim,) = differing
    if not strides[dim] or offset % strides[dim]:
        return None
    start = offset // strides[dim]
    return dim, start, start + sizes[dim]


# ------------------------------------------------------------------------------------------ reading
def rebuilt(arguments, named, bases):
    """The arguments by name, with the views of `bases` that `named` describes instead of the
    descriptions. KeyError where one lacks, IndexError for a number that `bases` does not have."""
    named = dict(named)
    for argument in arguments:
        prefix = f"_{argument.name}"
        if not argument.is_tensor_list:
            named[argument.name] = _rebuilt(prefix, named, bases)
            continue
        length = named.pop(f"{prefix}_length")
        items = None
        if length is not None:
            items = [_rebuilt(f"{prefix}_{i}", named, bases) for i in range(length)]
        named[argument.name] = items
    return named


def _rebuilt(prefix, named, bases):
    index = named.pop(f"{prefix}_base_index")
    if index is None:
        return None
    base = bases[index]
    for words, view in zip(VIEWS, (_alias, as_strided, _sliced), strict=True):
        if f"{prefix}_{words[-1]}" in named:
            return view(base, *[named.pop(f"{prefix}_{word}") for word in words])
    return base


def _alias(base, said):
    return lookup("aten").alias.default(base)


def _sliced(base, dim, start, end):
    return lookup("aten").slice.Tensor(base, dim, start, end)


def described(arguments, named, count):
    """The names in `named` that describe views of `count` tensors, for :func:`rebuilt`.
    KeyError where one lacks, IndexError for a number that is none of a tensor."""
    found: list[str] = []
    for argument in arguments:
        prefixes = [f"_{argument.name}"]
        if argument.is_tensor_list:
            found.append(f"_{argument.name}_length")
            prefixes = [f"_{argument.name}_{i}" for i in range(named[found[-1]] or 0)]
        for prefix in prefixes:
            found += _names(prefix, named, count)
    return found


def _names(prefix, named, count):
    key = f"{prefix}_base_index"
    index = named[key]
    if index is not None and not (type(index) is int and 0 <= index < count):
        raise IndexError(key)
    for words in VIEWS if index is not None else ():
        names = [f"{prefix}_{word}" for word in words]
        if names[-1] in named:
            return [key, *(name for name in names if named[name] is not None)]
    return [key]
