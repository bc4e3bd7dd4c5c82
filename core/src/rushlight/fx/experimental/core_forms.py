"""Calls as PyTorch's core ATen graphs have them, where that set has the same call under another
name or with other arguments: ``t`` is ``permute``, ``zeros`` is ``full``.

A form takes the arguments of an overload and gives what a graph has instead, ``(target, args,
kwargs)``, or NotImplemented. What is computed stays the same, so that a capture runs the call as
it is, and writes down the form.
"""

from __future__ import annotations

from rushlight.dtypes import get_default_dtype
from rushlight.library.operators import lookup
from rushlight.tensor.memory_format import contiguous_format
from rushlight.tensor.shape import wrap_dim

_POOLED_DIMS = [-1, -2]


class WrittenAs:
    """What a table of decompositions has for a form: called, it runs what the form gives."""

    def __init__(self, form):
        self.form = form

    def __call__(self, *args, **kwargs):
        """The result of the call that the form is; NotImplemented where there is none."""
        found = self.form(*args, **kwargs)
        if found is NotImplemented:
            return found
        target, args, kwargs = found
        return target(*args, **kwargs)


def _permuted(input, dims):
    return lookup("aten").permute.default, (input, dims), {}


def _t(input):
    return _permuted(input, list(range(input.dim()))[::-1])


def _transposed(input, dim0, dim1):
    dims = list(range(input.dim()))
    if not dims:
        return NotImplemented
    dim0, dim1 = wrap_dim(dim0, len(dims)), wrap_dim(dim1, len(dims))
    dims[dim0], dims[dim1] = dims[dim1], dims[dim0]
    return _permuted(input, dims)


def _squeezed(input, dim=None):
    if dim is None:
        dim = [i for i, size in enumerate(input.shape) if size == 1]
    return lookup("aten").squeeze.dims, (input, dim if isinstance(dim, list) else [dim]), {}


def _narrowed(input, dim, start, length):
    if not isinstance(start, int) or start < 0:
        return NotImplemented
    return lookup("aten").slice.Tensor, (input, dim, start, start + length), {}


def _parted(input, split_size, dim=0):
    size = input.shape[dim]
    if not size or not split_size:
        return NotImplemented
    sizes = [min(split_size, size - start) for start in range(0, size, split_size)]
    given = (input, sizes) if dim == 0 else (input, sizes, dim)
    return lookup("aten").split_with_sizes.default, given, {}


def _softmax_of(packet):
    def form(input, dim, dtype=None):
        if dtype is not None and dtype is not input.dtype:
            input = input.to(dtype)
        return packet.default, (input, dim, False), {}

    return form


def _sum(input, *, dtype=None):
    named = {} if dtype is None else {"dtype": dtype}
    return lookup("aten").sum.dim_IntList, (input, []), named


def _mean_of_planes(input, output_size):
    if list(output_size) != [1, 1]:
        return lookup("aten")._adaptive_avg_pool2d.default, (input, list(output_size)), {}
    return lookup("aten").mean.dim, (input, _POOLED_DIMS, True), {}


def _filled(value):
    def form(size, **named):
        # full() would take the dtype of its number
        named = {"dtype": get_default_dtype()} | named
        return lookup("aten").full.default, (size, value), named

    return form


def _filled_like(value):
    def form(input, **named):
        return lookup("aten").full_like.default, (input, value), named

    return form


def _unset(input, **named):
    """Memory in the order of dimensions; where a format is named, ``empty`` of that."""
    named = {"dtype": input.dtype, "device": input.device} | named
    aten, shape = lookup("aten"), list(input.shape)
    if named.get("memory_format") is contiguous_format:
        return aten.empty.memory_format, (shape,), named
    named.pop("memory_format", None)
    return aten.empty_permuted.default, (shape, list(range(len(shape)))), named


def _fill(input, value):
    return lookup("aten").full_like.default, (input, value), {}


def _range(end, **named):
    return lookup("aten").arange.start_step, (0, end), named


def _range_from(start, end, **named):
    return lookup("aten").arange.start_step, (start, end), named


def _converted(input, dtype, non_blocking=False, copy=False, memory_format=None):
    if input.dtype is dtype or memory_format is not None:
        return NotImplemented
    return lookup("aten")._to_copy.default, (input,), {"dtype": dtype}


def _difference(self, other, alpha=1):
    if alpha != 1:
        return NotImplemented
    return lookup("aten").sub.Tensor, (other, self), {}


def _square(input):
    return lookup("aten").pow.Tensor_Scalar, (input, 2), {}


def _rectified(input):
    return lookup("aten").hardtanh.default, (input, 0, 6), {}


def _at_least(input, min):
    return lookup("aten").clamp.default, (input, min), {}


_TRANSPOSED = {"stride": 1, "padding": 0, "output_padding": 0, "groups": 1, "dilation": 1}


def _transposed_convolution(input, weight, bias=None, *numbers, **named):
    n = weight.dim() - 2
    given = _TRANSPOSED | dict(zip(_TRANSPOSED, numbers, strict=False)) | named
    lists = {name: _each(value, n) for name, value in given.items() if name != "groups"}
    args = (input, weight, bias, lists["stride"], lists["padding"], lists["dilation"], True)
    return _convolution(n, *args, lists["output_padding"], given["groups"])


def _convolution_by_word(input, weight, bias=None, stride=1, padding="valid", dilation=1, groups=1):
    n = weight.dim() - 2
    strides, gaps = _each(stride, n), _each(dilation, n)
    around = [gap * (size - 1) for gap, size in zip(gaps, weight.shape[2:], strict=True)]
    pads = [total // 2 if padding == "same" else 0 for total in around]
    if padding == "same" and any(total % 2 for total in around):
        # where more is added behind than before, it is padded first
        behind = [side for total in reversed(around) for side in (0, total % 2)]
        input = lookup("aten").constant_pad_nd.default(input, behind)
    return _convolution(n, input, weight, bias, strides, pads, gaps, False, [0] * n, groups)


def _convolution(n, input, *rest):
    """A convolution of `n` dimensions; of input without a batch, of a batch of one."""
    convolution, squeeze = lookup("aten").convolution.default, lookup("aten").squeeze.dims
    if input.dim() == n + 2:
        return convolution, (input, *rest), {}
    return squeeze, (convolution(input.unsqueeze(0), *rest), [0]), {}


def _each(value, n):
    value = [value] if isinstance(value, int) else list(value)
    return value * n if len(value) == 1 else value


def _of_views(aten):
    return {
        aten.t.default: _t,
        aten.transpose.int: _transposed,
        aten.squeeze.default: _squeezed,
        aten.squeeze.dim: _squeezed,
        aten.narrow.default: _narrowed,
        aten.split.Tensor: _parted,
    }


def _of_makers(aten):
    return {
        aten.zeros.default: _filled(0),
        aten.ones.default: _filled(1),
        aten.zeros_like.default: _filled_like(0),
        aten.ones_like.default: _filled_like(1),
        aten.fill.Scalar: _fill,
        aten.empty_like.default: _unset,
        aten.arange.default: _range,
        aten.arange.start: _range_from,
        aten.to.dtype: _converted,
    }


def _of_values(aten):
    return {
        aten.softmax.int: _softmax_of(aten._softmax),
        aten.log_softmax.int: _softmax_of(aten._log_softmax),
        aten.sum.default: _sum,
        aten.adaptive_avg_pool2d.default: _mean_of_planes,
        aten.square.default: _square,
        aten.rsub.Scalar: _difference,
        aten.rsub.Tensor: _difference,
        aten.relu6.default: _rectified,
        aten.clamp_min.default: _at_least,
    }


def _of_convolutions(aten):
    transposed = aten.conv_transpose1d.default, aten.conv_transpose2d.input
    by_word = aten.conv1d.padding, aten.conv2d.padding, aten.conv3d.padding
    return dict.fromkeys((*transposed, aten.conv_transpose3d.input), _transposed_convolution) | (
        dict.fromkeys(by_word, _convolution_by_word)
    )


def forms() -> dict:
    """Overloads -> functions that run their forms."""
    aten = lookup("aten")
    kinds = _of_views(aten), _of_makers(aten), _of_values(aten), _of_convolutions(aten)
    return {overload: WrittenAs(form) for kind in kinds for overload, form in kind.items()}
