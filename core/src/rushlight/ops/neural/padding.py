"""Padding in its modes."""

from __future__ import annotations

from rushlight.dtypes import held, refuse_limited
from rushlight.errors import argument_error, shape_text
from rushlight.kernels.copying.assignment import by_rows
from rushlight.kernels.launch.prepared import Remembered
from rushlight.kernels.resampling import padding as kernels
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.ops._table.aten import in_aten
from rushlight.ops._table.node_names import arguments
from rushlight.ops._table.op import op
from rushlight.ops._table.rules import number_dtype
from rushlight.ops._table.second_order import with_history
from rushlight.ops._table.shape_rules import padded
from rushlight.ops.shape.copying import in_format_of
from rushlight.tensor.dispatch import STATE
from rushlight.tensor.overriding import by_override
from rushlight.tensor.tensor import EXACT, Tensor

_ndarray = np.ndarray


@op(
    node="ConstantPadNd",
    aten_call=lambda input, pad, value: (
        "constant_pad_nd",
        {"self": input, "pad": list(pad), "value": value},
    ),
    linear=True,
    batching="trailing",
    keeps_format=(4, 5),
    meta=padded,
    method=False,
    samples=lambda make: [
        ((make(2, 3), (1, 2, 0, 1), 0.5), {}),
        ((make(2, 5), (-1, 2), 0.0), {}),
    ],
    limited="unsigned complex eight",
    fills=True,
)
def _constant_pad(input: Tensor, pad, value):
    """A constant around the last dimensions; negative amounts crop."""
    widths = [(0, 0)] * (input.ndim - len(pad) // 2)
    widths += [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]
    kept = tuple(
        slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(widths, input.shape, strict=True)
    )
    inner = input[kept]
    grown = [(max(a, 0), max(b, 0)) for a, b in widths]
    shape = [n + a + b for n, (a, b) in zip(inner.shape, grown, strict=True)]
    out = np.empty(shape, input.dtype)
    out.fill(value)
    out[tuple(slice(a, a + n) for n, (a, _) in zip(inner.shape, grown, strict=True))] = inner
    return out


_prepared_pads = Remembered()


def _pad_kernel(input, pad, value):
    """Floats around a dense array by one call."""
    key = input.shape, input.strides, input.dtype, pad
    try:
        found = _prepared_pads[key]
    except KeyError:
        found = _prepared_pads.keep(key, kernels.surrounded(input, pad))
    except TypeError:
        found = None
    if found is not None and (type(value) is float or type(value) is int):
        result = found(input, float(value))
        if result is not NotImplemented:
            return result
    return _pad_in_format(input, pad, value)


_pad_in_format = _pad_kernel.general = _constant_pad.op.cpu_kernel
_constant_pad.cpu(_pad_kernel)
_constant_pad.gradient(input=lambda grad, pad: _constant_pad(grad, tuple(-p for p in pad), 0.0))


def _continued_name(node):
    _, pad, mode = arguments(node)
    word = {"reflect": "Reflection", "replicate": "Replication"}.get(mode, "Circular")
    return f"{word}Pad{len(pad) // 2}DBackward0"


@op(
    second_zero=("input",),
    second_if=lambda input, pad, mode: mode != "circular",
    linear=True,
    batching="trailing",
    meta=padded,
    method=False,
    samples=lambda make: [((make(2, 3, 4), (1, 2, 0, 1), "reflect"), {})],
    node=_continued_name,
    saves="padding:pad",
)
def _continued(input: Tensor, pad, mode):
    """The last dimensions continued by elements of their own."""
    for i in range(0, len(pad), 2):
        dim = input.ndim - 1 - i // 2
        index = kernels.source_places(mode, input.shape[dim], *pad[i : i + 2])
        input = np.take(input, index, dim)
    return input


@op(
    linear=True,
    batching="trailing",
    meta=lambda input, sizes, pad, mode: ((*input.shape[: -len(sizes)], *sizes), dtype_of(input)),
    method=False,
    samples=lambda make: [((make(2, 4, 7), (3, 4), (1, 2, 0, 1), "reflect"), {})],
)
def _collected(input: Tensor, sizes, pad, mode):
    """The transpose of :func:`_continued` of last dimensions of these sizes: what was taken several
    times is added up."""
    for i in range(0, len(pad), 2):
        dim, size = input.ndim - 1 - i // 2, sizes[-1 - i // 2]
        index = kernels.source_places(mode, size, *pad[i : i + 2])
        moved = np.moveaxis(input, dim, 0)
        out = np.zeros((size, *moved.shape[1:]), input.dtype)
        np.add.at(out, index, moved)
        input = np.moveaxis(out, 0, dim)
    return by_rows(input)


def _kernel_or(compiled, general):
    """A kernel of the arrays that it takes; others take the general path."""

    def call(input, *settings):
        if kernels.is_compiled(input, settings[-2]):
            return compiled(input, *settings)
        return general(input, *settings)

    call.general = general
    return call


_continued.cpu(_kernel_or(kernels.continued, _continued.op.cpu_kernel))
_collected.cpu(_kernel_or(kernels.collected, _collected.op.cpu_kernel))
_continued.gradient(
    input=lambda grad, input_shape, pad, mode: _collected(
        grad, tuple(input_shape[-(len(pad) // 2) :]), pad, mode
    )
)
_collected.gradient(input=lambda grad, pad, mode: _continued(grad, pad, mode))


def _is_plain(input, pad):
    """Whether the kernels take the tensor."""
    plain = not STATE.levels and type(input._array) is _ndarray
    return plain and kernels.is_compiled(input._array, pad)


def _too_large(name, pad, input):
    return RuntimeError(
        f"pad: padding {list(pad)} is too large for mode '{name}' and input of shape "
        f"{shape_text(input.shape)}"
    )


def _circular(input, dim, before, after):
    """One dimension continued periodically; negative amounts crop, and what is copied to the other
    side comes from what the crop left, as in PyTorch."""
    from rushlight.ops.shape.joining import cat

    size = input.shape[dim]
    kept = input.narrow(dim, max(-before, 0), size - max(-before, 0) - max(-after, 0))
    size = kept.shape[dim]
    parts = [kept]
    if before > 0:
        parts.insert(0, kept.narrow(dim, size - before, before))
    if after > 0:
        parts.append(kept.narrow(dim, 0, after))
    return cat(tuple(parts), dim) if len(parts) > 1 else kept


def _check_circular(input, pad):
    """PyTorch takes the last one to three dimensions of input with one or two more."""
    if len(pad) not in (2, 4, 6) or input.dim() not in (len(pad) // 2 + 1, len(pad) // 2 + 2):
        raise NotImplementedError(
            f"pad: padding of size {len(pad)} is not supported for {input.dim()}D input in mode "
            "'circular'; 2D or 3D input takes 2 numbers, 3D or 4D input 4, 4D or 5D input 6"
        )


def _padding_value(input, value):
    """What is put around: zero unless a real number is given."""
    if value is None:
        return 0.0
    if type(value) is not int and (isinstance(value, complex) or number_dtype(value) is None):
        raise argument_error("pad", "value", "float", value)
    return held(float(value), input._dtype)


@in_aten(
    'pad(Tensor self, SymInt[] pad, str mode="constant", float? value=None) -> Tensor',
    call=lambda input, pad, mode="constant", value=None: (
        "pad", {"self": input, "pad": list(pad), "mode": mode, "value": value},
    ),
)  # fmt: skip
def pad(input, pad, mode="constant", value=None):
    """Padding of the last dimensions: ``(before, after)`` of the last, then of the one before it.

    Modes ``"constant"`` (with `value`), ``"reflect"``, ``"replicate"`` and ``"circular"``.
    """
    if STATE.modes or type(input) not in EXACT:
        found = by_override(_padded, locals())
        if found is not NotImplemented:
            return found
    pad = tuple(int(p) for p in pad)
    if mode == "circular":
        _check_circular(input, pad)
    if len(pad) % 2 or len(pad) // 2 > input.dim():
        raise RuntimeError(
            f"pad: padding must have an even length of at most twice the input's dimensions; got "
            f"{list(pad)} for input of shape {shape_text(input.shape)}"
        )
    if mode == "constant":
        return _constant_pad(input, pad, _padding_value(input, value))
    if mode in ("reflect", "replicate"):
        refuse_limited(f"pad, mode {mode}", input._dtype)
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value:  # zero is what callers pass on that know no other mode
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode != "circular" and 0 in input.shape[input.dim() - len(pad) // 2 - 1 :]:
        raise RuntimeError(
            f"pad, mode {mode}: only the batch dimension may be of size 0, got input of shape "
            f"{shape_text(input.shape)}"
        )
    for i in range(0, len(pad), 2):
        size = input.shape[input.dim() - 1 - i // 2]
        limit = {"reflect": size - 1, "circular": size}.get(mode)
        if limit is not None and max(pad[i : i + 2]) > limit:
            raise _too_large(mode, pad, input)
    if any(pad) and min(pad) >= 0 and _is_plain(input, pad):
        return _formatted(input, _continued(input, pad, mode), mode)
    return _formatted(input, _composed(input, pad, mode), mode)


_padded = pad  # in its body, `pad` is an argument


def _formatted(input, result, mode):
    return result.contiguous() if mode == "circular" else in_format_of(input, result)


def _composed(input, pad, mode):
    """:func:`pad` in the table's ops, dimension by dimension."""
    from rushlight.ops.creation.tensors import beside

    input = input if mode == "circular" else with_history(input)
    for i in range(0, len(pad), 2):
        dim = input.dim() - 1 - i // 2
        before, after = pad[i : i + 2]
        if mode == "circular" and (before < 0 or after < 0):
            input = _circular(input, dim, before, after)
        elif before or after:
            index = kernels.source_places(mode, input.shape[dim], before, after)
            input = input.index_select(dim, beside(input, index.astype(np.int64)))
    return input
