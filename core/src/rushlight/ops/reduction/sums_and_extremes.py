"""Sums, means, extremes and other reductions over dimensions."""

from __future__ import annotations

import math

from rushlight import dtypes
from rushlight.autograd.mode import mode
from rushlight.dtypes import BOOL, COMPLEX, FLOAT
from rushlight.errors import argument_error
from rushlight.kernels.copying.assignment import by_rows
from rushlight.kernels.copying.conversion import rounded_once
from rushlight.kernels.launch.prepared import by_layout, of_copies
from rushlight.kernels.reduction import folds, totals
from rushlight.kernels.reduction import sums as kernels
from rushlight.machine import np
from rushlight.machine.arrays import BY_CODE, cast, dtype_of
from rushlight.machine.quiet import quietly
from rushlight.ops._table.aten import in_aten, reduced
from rushlight.ops._table.aten_schemas import reduction_schemas, truth_schemas
from rushlight.ops._table.node_names import by_dims, by_dims_kept
from rushlight.ops._table.numpy_names import first_by_keyword
from rushlight.ops._table.op import TABLE, Whole, composite, op
from rushlight.ops._table.rules import refuse_unordered
from rushlight.ops._table.shape_rules import real_reduced, reduced_shape, reduced_to, truth
from rushlight.ops.elementwise.comparison import isnan, where
from rushlight.tensor.dispatch import readable
from rushlight.tensor.overriding import call_by_override
from rushlight.tensor.shape import wrap_dim, wrap_dims
from rushlight.tensor.tensor import EXACT, Tensor, make_tensor

_WIDE_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def _sizes(make):
    x = make(3, 4, 2)
    return [
        ((x,), {}),
        ((x, 1), {}),
        ((x, (0, 2)), {"keepdim": True}),
        ((x, -1, True), {}),
        ((make(0, 3), 0), {}),
        ((make(),), {}),
    ]


def _extreme_sizes(make):
    return [s for s in _sizes(make) if s[0][0].numel()]


def restore(value, shape, dim, keepdim):
    """A reduced tensor with its reduced dimensions back, as extents of one."""
    if keepdim or not shape:
        return value
    return value.reshape(reduced_shape(shape, dim, True))


def _sum_dtype(array, dtype):
    if dtype is not None:
        dtypes.refuse_limited("sum", dtype)
        return dtype.code
    return dtypes.int64.code if array.dtype.kind in "biu" else None


def _wide(array):
    """Half-width floats accumulate in float32."""
    return array.astype(np.float32) if array.dtype.itemsize == 2 and _is_float(array) else array


def _is_float(array):
    return array.dtype.kind in "fV" or array.dtype.name == "bfloat16"


def _meta_sum(input, dim=None, keepdim=False, dtype=None):
    found = dtype_of(input)
    if dtype is not None:
        found = dtype
    elif found.category < FLOAT:
        found = dtypes.int64
    return reduced_shape(input.shape, dim, keepdim), found


def _meta_same(input, dim=None, keepdim=False, dtype=None):
    return reduced_shape(input.shape, dim, keepdim), dtype or dtype_of(input)


@op(
    node=by_dims("Sum"),
    schemas=reduction_schemas("sum", "dim_IntList", "int[1]?"),
    aten_call=reduced("sum"),
    linear=True,
    batching="dims",
    samples=_sizes,
    meta=_meta_sum,
    autocast_on_gpu="float32",
    limited="unsigned eight",
    aten="dim_IntList default IntList_out out",
    saves=by_dims_kept("self_sym_sizes"),
)
def sum(input: Tensor, dim=None, keepdim=False, *, dtype=None):
    """The sum over `dim` (an int, several, or None for all). Bools and integers sum to int64.

    >>> rushlight.sum(rushlight.ones(2, 3), dim=1)
    tensor([3., 3.])
    """
    if dim is None and dtype is None and not keepdim and input.dtype in _WIDE_FLOATS:
        return _total(input)
    axes = wrap_dims(dim, input.ndim)
    code = _sum_dtype(input, dtype)
    target = input.dtype if code is None else BY_CODE[code]
    with np.errstate(all="ignore"):
        found = _summed(cast(input, code) if code is not None else input, axes, keepdim)
        return by_rows(np.asarray(found, target))


def _total(array):
    if array.size >= kernels.SMALL:
        found = kernels.reduced(array, tuple(range(array.ndim)), False, "sum")
        if found is not None:
            return found
    with np.errstate(all="ignore"):
        return np.asarray(np.add.reduce(array, axis=None))


def _summed(array, axes, keepdim):
    """Sums over axes, half-width floats in float32."""
    found = kernels.reduced(array, tuple(sorted(axes)), keepdim, "sum")
    return _wide(array).sum(axis=axes, keepdims=keepdim) if found is None else found


_FILLED = 1 << 14  # elements up to which a dense array beats a view of one element


def _spread(grad, shape):
    """One number for every element of a shape."""
    if mode.recording or type(grad._array) is not np.ndarray or math.prod(shape) > _FILLED:
        return grad.expand(shape)
    array = np.empty(shape, grad._array.dtype)
    array.fill(grad._array.item())
    return make_tensor(array, grad._dtype)


def _sum_gradient(grad, input_shape, dim, keepdim):
    if dim is None and not keepdim:
        return _spread(grad, input_shape)
    return restore(grad, input_shape, dim, keepdim).expand(input_shape)


sum.gradient(input=_sum_gradient)


def _prepared_sum(input, dim=None, keepdim=False):
    code = _sum_dtype(input, None)
    target = input.dtype if code is None else BY_CODE[code]
    return totals.totalled("sum", input, wrap_dims(dim, input.ndim), keepdim, target)


sum.cpu(by_layout(of_copies(_prepared_sum), sum.op.body, count=3))


def _need_real(array):
    if dtype_of(array).category == COMPLEX:
        raise RuntimeError("nansum does not support complex inputs; use isnan and where")


def _meta_nansum(input, dim=None, keepdim=False, dtype=None):
    _need_real(input)
    return _meta_sum(input, dim, keepdim, dtype)


def _need_float(name, array, dtype):
    kind = BY_CODE[dtype.code].kind if dtype is not None else array.dtype.kind
    if kind in "biu":
        raise RuntimeError(
            f"{name}(): could not infer output dtype. Input dtype must be either a floating point "
            f"or complex dtype. Got: {array.dtype.name}"
        )


@op(
    node=by_dims("Mean"),
    schemas=reduction_schemas("mean", "dim", "int[1]?"),
    aten_call=reduced("mean"),
    linear=True,
    batching="dims",
    samples=_sizes,
    meta=_meta_same,
    barred="unsigned",
    aten="default dim out dtype_out",
    saves=by_dims_kept("self_sym_numel self_sym_sizes"),
)
def mean(input: Tensor, dim=None, keepdim=False, *, dtype=None):
    """The mean over `dim` (an int, several, or None for all); floating-point and complex only."""
    if dim is None and dtype is None and not keepdim and input.size and input.dtype in _WIDE_FLOATS:
        return np.asarray(_total(input) / input.dtype.type(input.size))
    _need_float("mean", input, dtype)
    array = input if dtype is None else cast(input, dtype.code)
    axes = wrap_dims(dim, input.ndim)
    with np.errstate(all="ignore"):
        count = math.prod(array.shape[a] for a in axes)
        out = np.divide(
            _summed(array, axes, keepdim),
            np.float32(count) if array.dtype.itemsize < 8 else np.float64(count),
        )
        return by_rows(np.asarray(out, array.dtype))


def _mean_gradient(grad, input_shape, dim, keepdim):
    count = math.prod(input_shape[d] for d in wrap_dims(dim, len(input_shape)))
    if dim is None and not keepdim:
        return _spread(grad / count, input_shape)
    return (restore(grad, input_shape, dim, keepdim) / count).expand(input_shape)


mean.gradient(input=_mean_gradient)


def _prepared_mean(input, dim=None, keepdim=False):
    if input.dtype.kind in "biuc":
        return None
    return totals.totalled("mean", input, wrap_dims(dim, input.ndim), keepdim, input.dtype)


mean.cpu(by_layout(of_copies(_prepared_mean), mean.op.body, count=3))


@op(
    schemas=(
        "nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> "
        "Tensor",
    ),
    aten_call=reduced("nansum"),
    batching="dims",
    samples=_sizes,
    meta=_meta_nansum,
    limited="unsigned eight",
    saves="dim[] keepdim self",
)
def nansum(input: Tensor, dim=None, keepdim=False, *, dtype=None):
    """The sum over `dim`, counting nan as zero; of real numbers."""
    _need_real(input)
    axes = wrap_dims(dim, input.ndim)
    code = _sum_dtype(input, dtype)
    target = input.dtype if code is None else BY_CODE[code]
    with np.errstate(all="ignore"):
        array = cast(input, code) if code is not None else input
        if _is_float(array):
            array = np.where(np.isnan(array), array.dtype.type(0), array)
        return by_rows(np.asarray(_summed(array, axes, keepdim), target))


nansum.gradient(
    input=lambda grad, input, dim, keepdim: where(
        isnan(input), 0, _sum_gradient(grad, input.shape, dim, keepdim)
    )
)


def _prepared_nansum(input, dim=None, keepdim=False):
    if input.dtype.kind in "biu":
        return _prepared_sum(input, dim, keepdim)
    return totals.totalled("numbers", input, wrap_dims(dim, input.ndim), keepdim, input.dtype)


nansum.cpu(by_layout(of_copies(_prepared_nansum), nansum.op.body, count=3))


@composite(limited=False, samples=[(), (1,), ((0, 1), True)], barred="unsigned complex")
def nanmean(input: Tensor, dim=None, keepdim=False, *, dtype=None):
    """The mean over `dim` of the elements that are not nan."""
    _need_float("nanmean", input._array, None)
    count = (~isnan(input)).sum(dim, keepdim)
    return nansum(input, dim, keepdim, dtype=dtype) / count


def _prod_sizes(make):
    return [(make(3, 4),), (make(3, 4), 1), (make(3, 4), 0, True), (make(),)]


@op(
    node=by_dims("Prod"),
    schemas=reduction_schemas("prod", "dim_int", "int"),
    aten_call=reduced("prod"),
    batching="dims",
    meta=_meta_sum,
    samples=_prod_sizes,
    autocast="float32",
    limited="unsigned",
    aten="default dim_int int_out out",
    saves=lambda node: "self" if node.name() == "ProdBackward0" else "dim keepdim self",
)
def prod(input: Tensor, dim=None, keepdim=False, *, dtype=None):
    """The product of all elements, or over one dimension. Bools and integers give int64."""
    code = _sum_dtype(input, dtype)
    array = input if code is None else cast(input, code)
    target = array.dtype
    axis = None if dim is None else (wrap_dim(dim, input.ndim),) if input.ndim else ()
    axes = tuple(range(array.ndim)) if axis is None else axis
    found = kernels.reduced(array, axes, keepdim, "product")
    if found is not None:
        return found
    with np.errstate(all="ignore"):
        return by_rows(np.asarray(_wide(array).prod(axis=axis, keepdims=keepdim), target))


def _prepared_prod(input, dim=None, keepdim=False):
    if dim is None:
        return folds.folded("product", input, tuple(range(input.ndim)), keepdim)
    axes = (wrap_dim(dim, input.ndim),) if input.ndim else ()
    return folds.folded("product", input, axes, keepdim)


prod.cpu(by_layout(of_copies(_prepared_prod), prod.op.body))


def _prod_gradient(grad, input, dim, keepdim):
    from rushlight.ops.linalg.product_gradients import prod_gradient

    return prod_gradient(grad, input, dim, keepdim)


prod.gradient(input=_prod_gradient)


def _refuse_empty(name, array, dim, axes):
    empty = [axis for axis in axes if array.shape[axis] == 0]
    if not empty:
        return
    if dim is None or dim == ():
        name = name if dim is not None else name[1:]  # without a dim, `max` or `min` was asked
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
            f"reduction dim with the 'dim' argument; input has shape {list(array.shape)}"
        )
    raise IndexError(
        f"{name}(): Expected reduction dim {empty[0]} to have non-zero size; input has shape "
        f"{list(array.shape)}"
    )


def _share_ties(grad, input, out, dim, keepdim):
    """The gradient of an extreme, shared equally by the elements that attain it. That of NaN is NaN
    for all elements or, where `max` and `min` were asked (`dim` is None), shared by the NaN."""
    shape = tuple(input.shape)
    mask = input == restore(out, shape, dim, keepdim)
    if dim is None and readable(out) and bool((out != out).any()):
        mask = input != input
    count = mask.sum(dim if shape else None, bool(shape))
    return where(mask, restore(grad, shape, dim, keepdim) / count, 0.0 / count.to(grad.dtype))


def _extreme_name(word):
    """Of all elements, as `max` asks for, or over dims as `amax` does."""
    return lambda node: f"{word}Backward1" if _is_of_all(node) else f"A{word.lower()}Backward0"


def _is_of_all(node):
    return node.values is not None and node.values[1] is None


def _kept_of_extreme(node):
    return "result self" if _is_of_all(node) else "dim[] keepdim result self"


@op(
    schemas=("amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",),
    batching="dims",
    samples=_extreme_sizes,
    meta=_meta_same,
    saves=_kept_of_extreme,
    node=_extreme_name("Max"),
)
def amax(input: Tensor, dim=(), keepdim=False):
    """The largest element over `dim` (all by default); ties share the gradient."""
    refuse_unordered("amax", input)
    axes = wrap_dims(dim, input.ndim)
    _refuse_empty("amax", input, dim, axes)
    with np.errstate(invalid="ignore"):  # half-width NaN
        return by_rows(input.max(axis=axes, keepdims=keepdim))


amax.gradient(input=_share_ties)


@op(
    schemas=("amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",),
    batching="dims",
    samples=_extreme_sizes,
    meta=_meta_same,
    saves=_kept_of_extreme,
    node=_extreme_name("Min"),
)
def amin(input: Tensor, dim=(), keepdim=False):
    """The smallest element over `dim` (all by default); ties share the gradient."""
    refuse_unordered("amin", input)
    axes = wrap_dims(dim, input.ndim)
    _refuse_empty("amin", input, dim, axes)
    with np.errstate(invalid="ignore"):  # half-width NaN
        return by_rows(input.min(axis=axes, keepdims=keepdim))


amin.gradient(input=_share_ties)


def _prepared_extreme(kind):
    def prepare(input, dim=(), keepdim=False):
        return totals.totalled(kind, input, wrap_dims(dim, input.ndim), keepdim, input.dtype)

    return prepare


amax.cpu(by_layout(of_copies(_prepared_extreme("max")), amax.op.body))
amin.cpu(by_layout(of_copies(_prepared_extreme("min")), amin.op.body))


def _index_sizes(make):
    x = make(3, 4, 2)
    return [((x,), {}), ((x, 1), {}), ((x, -1, True), {}), ((make(), 0), {})]


def _arg_extreme(name, function, input, dim, keepdim):
    refuse_unordered(name, input)
    if input.size == 0 and (dim is None or input.shape[wrap_dim(dim, input.ndim)] == 0):
        raise IndexError(f"{name}(): Expected reduction dim to have non-zero size.")
    if input.dtype.kind == "b":
        input = input.view(np.uint8)
    if dim is None:
        found = np.asarray(function(input, axis=None))
        return found.reshape((1,) * input.ndim) if keepdim else found
    axis = wrap_dim(dim, input.ndim)
    if not input.ndim:
        return np.zeros((), np.int64)
    return by_rows(np.asarray(function(input, axis=axis, keepdims=keepdim)))


_INDEX = {
    "batching": "dims", "meta": reduced_to(dtypes.int64), "samples": _index_sizes,
    "differentiable": False, "barred": "complex",
}  # fmt: skip


@op(schemas=("argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",), **_INDEX)
def argmax(input: Tensor, dim=None, keepdim=False):
    """Index of the largest element, of all or over `dim`."""
    return _arg_extreme("argmax", np.argmax, input, dim, keepdim)


@op(schemas=("argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",), **_INDEX)
def argmin(input: Tensor, dim=None, keepdim=False):
    """Index of the smallest element, of all or over `dim`."""
    return _arg_extreme("argmin", np.argmin, input, dim, keepdim)


def _extreme(kind):
    pick = amax if kind == "max" else amin

    def call(input=None, *args, out=None, **kwargs):
        if not args and not kwargs and out is None and type(input) in EXACT:
            return pick(input, None)
        if input is None:
            input = first_by_keyword(kind, kwargs)
        if type(input) not in EXACT:
            found = call_by_override(call, (input, *args), kwargs)
            if found is not NotImplemented:
                return found
        if out is not None:
            return _written(kind, call(input, *args, **kwargs), out)
        if not isinstance(input, Tensor):
            raise argument_error(kind, "input", "Tensor", input)
        other = args[0] if args else kwargs.get("other", kwargs.get("x2"))
        if isinstance(other, Tensor):
            from rushlight.ops.elementwise.arithmetic import maximum, minimum

            return (maximum if kind == "max" else minimum)(input, *args, **kwargs)
        if not args and not kwargs:
            return pick(input, None)
        if not args and "dim" not in kwargs and "axis" not in kwargs:
            raise TypeError(f"{kind}() received {list(kwargs)}, expected dim, keepdim or other")
        return (_max_dim if kind == "max" else _min_dim)(input, *args, **kwargs)

    return _extreme_in_aten(kind)(call)


def _extreme_in_aten(kind):
    return in_aten(
        f"{kind}(Tensor self) -> Tensor",
        f"{kind}.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)",
        f"{kind}.other(Tensor self, Tensor other) -> Tensor",
        call=_extreme_form(kind),
    )


def _extreme_form(kind):
    def call(input, *args, **kwargs):
        if args and isinstance(args[0], Tensor):
            kwargs["other"], args = args[0], args[1:]
        return kind, {"self": input, **dict(zip(("dim", "keepdim"), args, strict=False)), **kwargs}

    return call


def _written(kind, results, out):
    from rushlight.ops._table.inplace import write_out

    pairs = zip(out, results, strict=True) if isinstance(results, tuple) else [(out, results)]
    for item, result in pairs:
        write_out(TABLE["a" + kind], item, result)
    return out


def _select_sizes(make):
    x = make(3, 4, 2)
    return [((x, 1, False), {}), ((x, -1, True), {}), ((make(), 0, False), {})]


def _meta_select(input, dim, keepdim):
    shape = reduced_shape(input.shape, dim, keepdim)
    return [(shape, dtype_of(input)), (shape, dtypes.int64)]


def _selected(name, pick, arg, input, dim, keepdim):
    refuse_unordered(name, input)
    axis = wrap_dim(dim, input.ndim)
    if not input.ndim:
        return input.copy(), np.zeros((), np.int64)
    if not input.shape[axis]:
        raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")
    ordered = input.view(np.uint8) if input.dtype.kind == "b" else input
    indices = by_rows(np.asarray(arg(ordered, axis=axis, keepdims=keepdim)))
    found = by_rows(np.asarray(pick.op.cpu_kernel(ordered, (axis,), keepdim)))
    return found.view(input.dtype), indices


def selected_back(grad, out1, input_shape, dim, keepdim):
    """The gradient of one element selected along `dim`: written where the element was."""
    from rushlight.ops.creation.tensors import zeros

    if not input_shape:
        return grad
    grad, out1 = (restore(t, input_shape, dim, keepdim) for t in (grad, out1))
    return zeros(input_shape, dtype=grad._dtype, device=grad._device).scatter(dim, out1, grad)


_SELECTING = {
    "method": False, "samples": _select_sizes, "meta": _meta_select,
}  # fmt: skip


@op(
    schemas=("max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)",),
    aten_call=lambda input, dim, keepdim=False: (
        "max",
        {"self": input, "dim": dim, "keepdim": keepdim},
    ),
    batching="dims",
    node="Max",
    label="max",
    result="values indices",
    **_SELECTING,
    barred="complex",
    saves="dim indices:result1 keepdim self_sym_sizes",
)
def _max_dim(input: Tensor, dim: Whole, keepdim: bool = False):
    """The largest elements over a dimension and where they are."""
    return _selected("max", amax, np.argmax, input, dim, keepdim)


@op(
    schemas=("min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)",),
    aten_call=lambda input, dim, keepdim=False: (
        "min",
        {"self": input, "dim": dim, "keepdim": keepdim},
    ),
    batching="dims",
    node="Min",
    label="min",
    result="values indices",
    **_SELECTING,
    barred="complex",
    saves="dim indices:result1 keepdim self_sym_sizes",
)
def _min_dim(input: Tensor, dim: Whole, keepdim: bool = False):
    """The smallest elements over a dimension and where they are."""
    return _selected("min", amin, np.argmin, input, dim, keepdim)


_max_dim.gradient(input=selected_back)
_min_dim.gradient(input=selected_back)


def _named_extreme(name):
    function = _extreme(name)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"``{name}(input)`` of all elements; ``{name}(input, dim, keepdim=False)`` gives "
        f"``(values, indices)``; ``{name}(input, other)`` is :func:`{name}imum`."
    )
    return function


max = Tensor.max = _named_extreme("max")
min = Tensor.min = _named_extreme("min")


_TRUTHS = {
    "batching": "dims", "meta": truth, "samples": _sizes, "differentiable": False,
    "limited": "unsigned complex eight", "aten": "default dim dims out dims_out all_out",
}  # fmt: skip


@op(
    schemas=truth_schemas("all"),
    aten_call=reduced("all"),
    **_TRUTHS,
)
def all(input: Tensor, dim=None, keepdim=False):
    """Whether all elements are true (nonzero), of all or over `dim`."""
    found = (input != 0).all(axis=wrap_dims(dim, input.ndim), keepdims=keepdim)
    return by_rows(np.asarray(found, np.uint8 if input.dtype == np.uint8 else np.bool_))


@op(
    schemas=truth_schemas("any"),
    aten_call=reduced("any"),
    **_TRUTHS,
)
def any(input: Tensor, dim=None, keepdim=False):
    """Whether any element is true (nonzero), of all or over `dim`."""
    found = (input != 0).any(axis=wrap_dims(dim, input.ndim), keepdims=keepdim)
    return by_rows(np.asarray(found, np.uint8 if input.dtype == np.uint8 else np.bool_))


def _prepared_truth(every):
    def prepare(input, dim=None, keepdim=False):
        if input.dtype == np.uint8:  # stays uint8
            return None
        return folds.truth(every, input, wrap_dims(dim, input.ndim), keepdim)

    return prepare


all.cpu(by_layout(of_copies(_prepared_truth(True)), all.op.body))
any.cpu(by_layout(of_copies(_prepared_truth(False)), any.op.body))


@op(
    batching="dims",
    meta=reduced_to(dtypes.int64),
    samples=lambda make: [((make(3, 4),), {}), ((make(3, 4), 1), {})],
    differentiable=False,
    spread=True,
    limited="unsigned complex eight",
    aten="default dim_IntList dim_IntList_out out",
)
def count_nonzero(input: Tensor, dim=None):
    """How many elements are not zero."""
    if dim is None and type(input) is np.ndarray:
        truth = input if input.dtype == np.bool_ else input != 0
        return np.array(np.count_nonzero(truth), np.int64)
    return by_rows(np.asarray((input != 0).sum(axis=wrap_dims(dim, input.ndim)), np.int64))


def _norm_power(x, p, dim, keepdim):
    if p == 2:
        return _norm2(x, dim, keepdim)
    from rushlight.ops.linalg.matrix_norm import linalg_vector_norm

    return linalg_vector_norm(x, p, dim, keepdim)


@op(
    node="LinalgVectorNorm",
    batching="dims",
    meta=real_reduced,
    method=False,
    samples=_sizes,
    autocast_on_gpu="float32",
    limited="complex",
    aten_call=lambda input, dim=None, keepdim=False: (
        "linalg_vector_norm", {"self": input, "dim": dim, "keepdim": keepdim},
    ),
    saves="dim[] keepdim ord: result self", saves_as={"ord": 2},
)  # fmt: skip
def _norm2(input: Tensor, dim=None, keepdim=False):
    """The Euclidean norm over `dim`; its gradient at 0 is 0."""
    axes = wrap_dims(dim, input.ndim)
    found = kernels.reduced(input, tuple(sorted(axes)), keepdim, "squares")
    if found is not None:
        return np.sqrt(found)
    wide = _wide(np.abs(input) if input.dtype.kind == "c" else input)
    out = np.sqrt(quietly(np.square, wide).sum(axis=axes, keepdims=keepdim))
    return by_rows(np.asarray(out, wide.dtype if input.dtype.kind == "c" else input.dtype))


def _norm2_gradient(grad, input, out, dim, keepdim):
    shape = tuple(input.shape)
    out, grad = restore(out, shape, dim, keepdim), restore(grad, shape, dim, keepdim)
    # no quotient is above 1: the inverse of a small norm is infinite in float16
    return grad * where(out == 0, 0.0, input / where(out == 0, 1.0, out))


def _prepared_norm(input, dim=None, keepdim=False):
    if input.dtype.kind not in "biuc":
        axes = wrap_dims(dim, input.ndim)
        found = totals.totalled("root", input, axes, keepdim, input.dtype)
        if found is not None:
            return found
    return folds.folded(folds.NORM, input, wrap_dims(dim, input.ndim), keepdim)


_norm2.cpu(rounded_once(of_copies(_prepared_norm), _norm2.op.body))
_norm2.gradient(input=_norm2_gradient)


@composite(
    in_aten=False,
    samples=[(), (1, 1), (float("inf"), 0, True)],
    autocast_on_gpu="float32",
    foreach="size",
)
def norm(input: Tensor, p="fro", dim=None, keepdim=False, dtype=None):
    """The vector norm of order `p` over `dim` (all elements by default); ``"fro"`` is order 2."""
    if input._dtype.category == BOOL or input._dtype.category not in (FLOAT, COMPLEX):
        raise RuntimeError(f"norm: the input must be floating point or complex, got {input._dtype}")
    if dtype is not None:
        input = input.to(dtype=dtype)
    if p == "nuc":
        from rushlight.ops.linalg.matrix_norm import linalg_matrix_norm

        return linalg_matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim)
    if p != "fro" and isinstance(p, str):
        raise RuntimeError(f"norm: order {p!r} is not supported; expected a number, 'fro' or 'nuc'")
    return _norm_power(input, 2 if p in ("fro", None) else float(p), dim, keepdim)


@composite(
    samples=lambda make: [(make(3, 4), make(4)), (make(3, 4), make(3, 4), 1)],
    autocast_on_gpu="float32",
)
def dist(input: Tensor, other: Tensor, p=2):
    """The norm of order `p` of ``input - other``."""
    return (input - other).norm(p)


@composite(
    method=False,
    samples=[(), (2, 1), (3, -1)],
    schemas=("norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor",),
)
def norm_except_dim(v: Tensor, pow=2, dim=0):
    """The norms over all dimensions but `dim`, which are kept with size 1; with -1 the norm of all
    elements.

    v: of any shape, floating or complex; pow: an int; dim: an int.
    """
    if dim == -1:
        return v.norm(pow)
    return v.norm(pow, [d for d in range(v.dim()) if d != dim % v.dim()], keepdim=True)
