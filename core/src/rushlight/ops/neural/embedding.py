"""Rows of a table by index, one by one or in bags."""

from __future__ import annotations

import warnings

from rushlight import dtypes
from rushlight.autograd.mode import mode as recording
from rushlight.autograd.mode import no_grad
from rushlight.kernels.gemm import vectors
from rushlight.kernels.indexing import embedding as kernels
from rushlight.kernels.indexing import indices as index_kernels
from rushlight.kernels.launch.prepared import Remembered
from rushlight.ops._calls.direct import arrays_of, is_plain_float, on_cpu, tensor_of, unrecorded
from rushlight.ops._table.aten import in_aten, name_in
from rushlight.ops._table.op import op
from rushlight.ops._table.recording import note
from rushlight.ops._table.rules import refuse_complex
from rushlight.ops._table.shape_rules import bags_of, indexed_numbers, rows_of, table_gradient
from rushlight.ops.creation.tensors import arange
from rushlight.ops.elementwise.comparison import where
from rushlight.tensor.dispatch import STATE, readable, stack
from rushlight.tensor.overriding import by_override, overridable
from rushlight.tensor.tensor import EXACT, Tensor


@op(
    linear=True,
    meta=rows_of,
    method=False,
    samples=lambda make: [
        ((make(5, 3), make.integers(0, 5, (2, 4)), -1, False), {}),
        ((make(5, 3), make.integers(0, 5, (6,)), -1, False), {}),
    ],
    limited="unsigned complex eight",
    batching="embedding",
    saves="indices padding_idx scale_grad_by_freq sparse: weight_sym_argsize_0:",
    saves_as={"sparse": False, "weight_sym_argsize_0": lambda read: read("weight_sym_sizes")[0]},
)
def _embedding(weight: Tensor, indices: Tensor, padding_idx, scale_grad_by_freq):
    """Rows of `weight`."""
    return kernels.embedding_forward(weight, indices)


@op(
    linear=True,
    meta=table_gradient,
    method=False,
    tested_by="_embedding",
    samples=lambda make: [],
    batching="embedding_backward",
)
def _embedding_backward(output: Tensor, indices: Tensor, count, padding_idx, scale_grad_by_freq):
    """Gradients of rows added up at their indices."""
    return kernels.embedding_backward(output, indices, count, padding_idx, scale_grad_by_freq)


def _prepared_rows(weight, indices):
    return (
        index_kernels.take_rows(weight, indices, 0) if weight.ndim == 2 and indices.ndim else None
    )


_rows = index_kernels.checked(_prepared_rows, kernels.embedding_forward, 2)
_rows.short.others = True  # what the gradient is made with


def _rows_kernel(weight, indices, padding_idx, scale_grad_by_freq):
    """Rows of a dense table by one call."""
    return _rows(weight, indices)


_rows_kernel.general = _embedding.op.body
_known_rows = _rows_kernel.short = _rows.short
_embedding.cpu(_rows_kernel)
_embedding.gradient(
    weight=lambda grad, indices, weight_shape, padding_idx, scale_grad_by_freq: _embedding_backward(
        grad, indices, weight_shape[0], padding_idx, scale_grad_by_freq
    )
)


def _double(grad, indices, padding_idx, scale_grad_by_freq):
    """Transpose of the (linear) accumulation: gather rows, scaled and masked likewise."""
    from rushlight.machine import np
    from rushlight.ops.creation.tensors import beside

    rows = _embedding(grad, indices, padding_idx, False)
    if scale_grad_by_freq:
        numbers = indices._array
        counts = np.bincount(numbers.reshape(-1), minlength=grad.shape[0])
        scale = (1.0 / np.maximum(counts, 1))[numbers][..., None]
        rows = rows * beside(grad, scale).to(grad.dtype)
    if padding_idx >= 0:
        rows = rows * (indices != padding_idx).unsqueeze(-1).to(grad.dtype)
    return rows


_embedding_backward.gradient(output=_double)


def _renormalize(weight, indices, max_norm, norm_type):
    """Scale the rows that are looked up and too long, in place."""
    from rushlight.machine import np

    with no_grad():
        used = np.unique(indices._array)
        rows = weight._array[used]
        lengths = (np.abs(rows) ** norm_type).sum(1) ** (1.0 / norm_type)
        factor = np.where(lengths > max_norm, max_norm / (lengths + 1e-7), 1.0)
        weight._array[used] = rows * factor[:, None].astype(rows.dtype)


_INDICES = dtypes.int64, dtypes.int32


def _check_indices(name, input, weight):
    if input._dtype not in _INDICES:
        raise RuntimeError(
            f"{name}: Expected tensor for argument 'indices' to have one of the following scalar "
            f"types: Long, Int; but got {input._dtype} instead"
        )
    if weight._array.ndim != 2:
        raise RuntimeError(f"{name}: 'weight' must be 2-D, got shape {list(weight.shape)}")


def _padding(padding_idx, weight):
    if padding_idx is None:
        return -1
    count = weight.shape[0]
    if not -count <= padding_idx < count:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx % count


def _unwritable(name):
    return NotImplementedError(
        f"{name}() with max_norm, which writes to the table, cannot be captured: renormalise the "
        "table outside of the program"
    )


def _embedding_form(input, weight, padding_idx=None, max_norm=None, norm_type=2.0,
                    scale_grad_by_freq=False, sparse=False):  # fmt: skip
    if max_norm is not None:
        raise _unwritable("embedding")
    if padding_idx is None:
        padding_idx = -1
    elif padding_idx < 0:
        padding_idx += weight.shape[0]
    return "embedding", {
        "weight": weight, "indices": input, "padding_idx": padding_idx,
        "scale_grad_by_freq": scale_grad_by_freq, "sparse": sparse,
    }  # fmt: skip


@in_aten(
    "embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, "
    "bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
    call=_embedding_form,
)
def embedding(
    input,
    weight,
    padding_idx=None,
    max_norm=None,
    norm_type=2.0,
    scale_grad_by_freq=False,
    sparse=False,
):
    """Rows of `weight` (V, E) at the integers in `input` (*): (*, E).

    The row `padding_idx` gets no gradient; with `max_norm` the rows looked up are first scaled to
    at most that norm, in place; `scale_grad_by_freq` divides gradients by how often a row occurs.
    """
    if max_norm is None and not sparse and not STATE.modes:
        # Machine code first: the layouts it knows have passed what follows.
        rows = _known_rows.call(weight, input)
        if rows is not NotImplemented:
            padding = -1 if padding_idx is None else _padding(padding_idx, weight)
            if STATE.inference and recording.inference:
                rows._inference = True
            if weight._node is not None and recording.recording:
                values = [None, None, padding, scale_grad_by_freq]
                note(_embedding.op, (weight, input), values, (rows,))
            return rows
    if type(input) not in EXACT or type(weight) not in EXACT:
        found = by_override(embedding, locals())
        if found is not NotImplemented:
            return found
    _check_indices("embedding", input, weight)
    if input.is_nested:
        rows = embedding(
            input._elements, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse
        )
        return input.with_elements(rows)
    padding = _padding(padding_idx, weight)
    if max_norm is not None:
        _renormalize(weight, input, max_norm, norm_type)
    if sparse and weight.requires_grad:
        from rushlight.ops.sparse.gradients import lookup

        return lookup(weight, input, padding, scale_grad_by_freq)
    return _embedding(weight, input, padding, scale_grad_by_freq)


@op(
    meta=bags_of,
    method=False,
    samples=lambda make: [
        ((make(6, 3), make.integers(0, 6, (4, 3)), None, "mean", None, False, -1, False), {}),
        ((make(6, 3), make.integers(0, 6, (7,)), _offsets(), "sum", None, False, 2, False), {}),
        ((make(6, 3), make.integers(0, 6, (4, 3)), None, "max", None, False, -1, False), {}),
    ],
    barred="unsigned complex",
)
def _embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor | None,
    mode,
    per_sample_weights: Tensor | None,
    include_last_offset,
    padding_idx,
    scale_grad_by_freq,
):
    """Bags of rows reduced to one row each; where bags start (B + 1,), how many rows count in each
    (B,), and of maxima whose rows they are (B, E)."""
    refuse_complex("embedding_bag", weight)
    out, saved = kernels.embedding_bag_forward(
        weight, indices, offsets, mode, per_sample_weights, include_last_offset, padding_idx
    )
    return out, *saved[1:]


_BAG_MODES = ("sum", "mean", "max")  # by their numbers in ATen
_BAG_ARGUMENTS = (
    "Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, "
    "bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False"
)


def _offsets():
    from rushlight.ops.creation.tensors import tensor

    return tensor([0, 2, 5])


def _bag_table_gradient(
    grad, weight_shape, indices, offsets, mode, per_sample_weights, include_last_offset,
    padding_idx, scale_grad_by_freq, out1, out2, out3,
):  # fmt: skip
    """By one kernel, or by gathers and index sums on tensors under ``create_graph``."""
    count = weight_shape[0]
    if not recording.recording:
        return _embedding_bag_backward(
            grad, indices, count, out1, out2, out3, mode, per_sample_weights, padding_idx,
            scale_grad_by_freq,
        )  # fmt: skip
    if scale_grad_by_freq:
        raise NotImplementedError(
            "embedding_bag: second derivatives are not available with scale_grad_by_freq=True"
        )
    if mode == "max":  # each element to the row that held its column's maximum
        kept = where(out3 >= 0, grad, 0.0)
        return grad.new_zeros(tuple(weight_shape)).scatter_add(0, out3.clamp(min=0), kept)
    places, flat = _bag_places(indices, offsets, include_last_offset), indices.reshape(-1)
    by_row = grad.index_select(0, places)
    if per_sample_weights is not None:
        by_row = by_row * per_sample_weights.reshape(-1, 1)
    if mode == "mean":
        by_row = by_row * _bag_scale(flat, places, padding_idx, grad)
    return _embedding_backward(by_row, flat, count, padding_idx, False)


def _bag_weights_gradient(
    grad, weight, indices, offsets, include_last_offset, padding_idx, out1, out2, out3
):
    """By one kernel, or by gathers and sums on tensors under ``create_graph``."""
    if not recording.recording:
        return _embedding_bag_weights_backward(grad, weight, indices, out1, out2, out3, padding_idx)
    places, flat = _bag_places(indices, offsets, include_last_offset), indices.reshape(-1)
    products = grad.index_select(0, places) * weight.index_select(0, flat)
    weights = products.sum(1).reshape(tuple(indices.shape))
    if padding_idx >= 0:  # padding does not count, so its weight has no effect
        weights = weights * (indices != padding_idx).to(weights.dtype)
    return weights


_embedding_bag.gradient(weight=_bag_table_gradient, per_sample_weights=_bag_weights_gradient)


def _is_of_program(*values):
    """Whether a program is captured, and no transform inside of it comes first."""
    return {getattr(getattr(v, "_level", None), "kind", None) for v in values} - {None} == {
        "capture"
    }


def _bag_places(indices, offsets, include_last_offset):
    """The bag of every flat index."""
    from rushlight.machine import np
    from rushlight.ops.creation.tensors import beside

    if indices.dim() == 2:
        return beside(indices, np.repeat(np.arange(indices.shape[0]), indices.shape[1]))
    if offsets.is_cuda:  # by search: nothing waits for how long the bags are
        from rushlight.ops.reduction.sorting import searchsorted

        starts = offsets[:-1] if include_last_offset else offsets
        places = arange(indices.numel(), device=indices._device, dtype=starts._dtype)
        return searchsorted(starts, places, right=True) - 1
    starts = offsets._array[:-1] if include_last_offset else offsets._array
    lengths = np.diff(np.append(starts, indices.numel()))
    return beside(indices, np.repeat(np.arange(len(starts)), lengths))


_BAG_DEFAULTS = {
    "scale_grad_by_freq": False, "mode": 0, "sparse": False, "per_sample_weights": None,
    "include_last_offset": False, "padding_idx": None,
}  # fmt: skip


def _options(options, named):
    """The options behind weight, indices and offsets that a call gives, by ATen's names."""
    return dict(zip(_BAG_DEFAULTS, options, strict=False)) | named


def _bag_step(name):
    def call(weight, indices, offsets, *options, **named):
        tensors = {"weight": weight, "indices": indices, "offsets": offsets}
        return name, tensors | _options(options, named)

    return call


@overridable(as_given=True)
def _native_bags(weight, indices, offsets, *options, **named):
    """Bags of rows of flat `indices`; the bag of every index, how many rows count in each bag, and
    whose rows the maxima are, each where the mode needs it. Options are ATen's."""
    given = _options(options, named)
    padding = given.get("padding_idx")
    given["padding_idx"] = -1 if padding is None else _padding(padding, weight)
    return _bag_results(weight, indices, offsets, **given)


@overridable(as_given=True)
def _bag_results(weight, indices, offsets, *options, **named):
    """:func:`_native_bags`, in which a `padding_idx` below 0 is none."""
    given = _BAG_DEFAULTS | {"padding_idx": -1} | _options(options, named)
    mode, padding = given["mode"], max(given["padding_idx"], -1)
    last = given["include_last_offset"]
    out, _, counts, places = _embedding_bag(
        weight, indices, offsets, _BAG_MODES[mode], given["per_sample_weights"], last, padding,
        given["scale_grad_by_freq"],
    )  # fmt: skip
    if mode == 0:
        counts = counts.new_zeros(counts.shape)
    bag_of = indices.new_empty(0 if mode == 0 and padding < 0 else indices.shape)
    if bag_of.numel() and not bag_of.is_meta:
        bag_of = _bag_places(indices, offsets, last)
    return out, bag_of, counts, places.clamp(min=0) if mode == 2 else counts.clone()


def _declare(function, *texts):
    runs = dict.fromkeys(map(name_in, texts), function)
    in_aten(*texts, call=_bag_step(name_in(texts[0])), run=runs)(function)


_FOUR = "-> (Tensor, Tensor, Tensor, Tensor)"
_declare(
    _native_bags,
    f"embedding_bag({_BAG_ARGUMENTS}) {_FOUR}",
    "embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool "
    "scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, bool "
    f"include_last_offset, int? padding_idx) {_FOUR}",
)
_declare(
    _bag_results,
    f"_embedding_bag({_BAG_ARGUMENTS}, int padding_idx=-1) {_FOUR}",
    f"_embedding_bag_forward_only({_BAG_ARGUMENTS}, int padding_idx=-1) {_FOUR}",
)


def _bags_of_program(weight, input, offsets, scales, before, behind):
    """Bags in a program that is captured: one step, whose indices are flat; ATen's options stand
    before and behind the weights of samples."""
    if offsets is None:
        offsets = arange(0, input.numel(), input.shape[1], dtype=input._dtype, device=input.device)
        input = input.reshape(-1)
        scales = None if scales is None else scales.reshape(-1)
    return _native_bags(weight, input, offsets, *before, scales, *behind)[0]


def _bag_scale(flat, places, padding_idx, grad):
    counted = (flat != padding_idx).to(grad.dtype)
    counts = grad.new_zeros(grad.shape[0]).index_add(0, places, counted).clamp(min=1)
    return counts.reciprocal().index_select(0, places).unsqueeze(1)


@op(
    meta=table_gradient,
    method=False,
    differentiable=False,
    tested_by="_embedding_bag",
    samples=lambda make: [],
)
def _embedding_bag_backward(
    grad: Tensor,
    indices: Tensor,
    count,
    starts: Tensor,
    counts: Tensor,
    places: Tensor,
    mode,
    per_sample_weights: Tensor | None,
    padding_idx,
    scale_grad_by_freq,
):
    """The gradient of the table of `count` rows by one kernel."""
    saved = indices, starts, counts, places
    return kernels.embedding_bag_backward(
        grad, saved, count, mode, per_sample_weights, padding_idx, scale_grad_by_freq
    )


@op(
    meta=indexed_numbers,
    method=False,
    differentiable=False,
    tested_by="_embedding_bag",
    samples=lambda make: [],
)
def _embedding_bag_weights_backward(
    grad: Tensor,
    weight: Tensor,
    indices: Tensor,
    starts: Tensor,
    counts: Tensor,
    places: Tensor,
    padding_idx,
):
    """The gradient of a weight for each index by one kernel."""
    saved = indices, starts, counts, places
    found = kernels.embedding_bag_scale_gradient(grad, weight, saved, padding_idx)
    return found.reshape(indices.shape)


@overridable
def embedding_bag(
    input,
    weight,
    offsets=None,
    max_norm=None,
    norm_type=2,
    scale_grad_by_freq=False,
    mode="mean",
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    """Bags of rows of `weight` (V, E), reduced by ``"sum"``, ``"mean"`` or ``"max"``: (B, E).

    `input` is (B, L), or flat with `offsets` (B,) where each bag begins.
    """
    if weight._dtype is dtypes.int64 and input.is_floating_point():
        warnings.warn(
            "embedding_bag(): the weight stands second today; write embedding_bag(input, weight)",
            UserWarning,
            stacklevel=2,
        )
        input, weight = weight, input
    _check_indices("embedding_bag", input, weight)
    if per_sample_weights is not None and per_sample_weights.shape != input.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({list(per_sample_weights.shape)}) is not None, "
            f"then it must have the same shape as the input ({list(input.shape)})"
        )
    padding = _padding(padding_idx, weight)
    if stack.levels and _is_of_program(weight, input, offsets, per_sample_weights):
        if max_norm is not None:
            raise _unwritable("embedding_bag")
        before = scale_grad_by_freq, _BAG_MODES.index(mode), sparse
        behind = include_last_offset, padding_idx
        return _bags_of_program(weight, input, offsets, per_sample_weights, before, behind)
    if max_norm is not None:
        _renormalize(weight, input, max_norm, norm_type)
    if sparse and weight.requires_grad:
        from rushlight.ops.sparse.gradients import bags

        return bags(
            weight,
            input,
            offsets,
            mode,
            per_sample_weights,
            include_last_offset,
            padding,
            scale_grad_by_freq,
        )
    if is_plain_float(weight) and unrecorded(input, offsets, per_sample_weights):
        arrays = arrays_of(input, offsets), arrays_of(per_sample_weights)
        found = kernels.embedding_bag_forward(
            weight._array, *arrays[0], mode, *arrays[1], include_last_offset, padding
        )
        return tensor_of(found[0])
    return _embedding_bag(
        weight,
        input,
        offsets,
        mode,
        per_sample_weights,
        include_last_offset,
        padding,
        scale_grad_by_freq,
    )[0]


_hot_calls = Remembered()


def _hot(classes, count):
    """The rows by one call; None where that is not possible or a class is out of range."""
    key = classes.shape, classes.strides, count
    try:
        call = _hot_calls[key]
    except KeyError:
        call = _hot_calls.keep(key, vectors.one_hot(classes, count))
    if call is None:
        return None
    before = index_kernels.failures.value
    found = call(classes)
    return None if found is NotImplemented or index_kernels.failures.value != before else found


@in_aten(
    "one_hot(Tensor self, int num_classes=-1) -> Tensor",
    call=lambda tensor, num_classes=-1: ("one_hot", {"self": tensor, "num_classes": num_classes}),
)
@overridable
def one_hot(tensor, num_classes=-1):
    """Integers (*) as rows (*, num_classes) with a single one."""
    from rushlight.ops.creation.tensors import arange

    if tensor._dtype is not dtypes.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if type(num_classes) is int and type(tensor) is Tensor and on_cpu(tensor):
        found = _hot(tensor._array, num_classes)
        if found is not None:
            return tensor_of(found)
    if num_classes == -1 and getattr(tensor, "_level", None) is not None and not readable(tensor):
        raise RuntimeError(
            "one_hot: num_classes=-1 reads the largest class, which is not possible inside of "
            "vmap; please provide an explicit positive num_classes argument"
        )
    known = tensor.numel() and (num_classes == -1 or readable(tensor))
    if known and int(tensor.min()) < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        if not tensor.numel():
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        num_classes = int(tensor.max()) + 1
    elif known and int(tensor.max()) >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    places = tensor.contiguous().unsqueeze(-1)
    return (places == arange(num_classes, device=tensor._device)).long()
