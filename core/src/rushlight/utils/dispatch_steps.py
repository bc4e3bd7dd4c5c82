"""Which ATen overload a call is for a dispatch mode: the capture's lowering, one level deeper.

:func:`rushlight.library.aten_calls.aten_call` names the overload of a public call. ATen makes some
of these of others (``linear`` of ``addmm``) and a mode sees the parts; `PARTS` runs them. Others
have another name at that depth (``softmax.int`` is ``_softmax``); `NAMES` gives it.
"""

from __future__ import annotations

import functools
import math

from rushlight.fx.experimental.decompositions import implicit
from rushlight.library.aten_calls import AtenCall, aten_call
from rushlight.library.operators import Operator, lookup
from rushlight.ops._table.aten import in_aten
from rushlight.ops._transforms.capturing import opened
from rushlight.ops._transforms.wrappers import take_out, write_out
from rushlight.ops.neural.embedding import _embedding
from rushlight.ops.neural.normalization import _layer_norm
from rushlight.tensor.dispatch import captured
from rushlight.tensor.memory_format import contiguous_format
from rushlight.tensor.tensor import Tensor
from rushlight.utils import _pytree as pytree


class OwnOverload:
    """The overload of an op that ATen does not have: ``rushlight._layer_norm.default``.

    Args: `function` is what a call of it runs.
    """

    def __init__(self, function):
        self._function, self.namespace = function, "rushlight"
        self.__name__ = function.__name__
        self._overloadname = "default"

    def name(self) -> str:
        """The full name, for example ``rushlight::_layer_norm``."""
        return f"rushlight::{self.__name__}"

    def __call__(self, /, *args, **kwargs):
        """Run the op."""
        return self._function(*args, **kwargs)

    def __repr__(self):
        return f"<OpOverload(op='{self}')>"

    def __str__(self):
        return f"rushlight.{self.__name__}.default"


own_overload = functools.cache(OwnOverload)


def step_of(function, args, kwargs):
    """The overload and arguments that a mode is told, and what runs its parts instead or None.

    Returns ``(AtenCall, parts)``; None where the call is made of several others.
    """
    if isinstance(function, Operator):
        return AtenCall(function, tuple(args), kwargs, function._schema.is_mutable), None
    call = aten_call(function, args, kwargs)
    if call is None:
        op = getattr(function, "op", None)
        if op is None or op.kind == "composite" or "captured" in op.options:
            return None
        writes = getattr(function, "variant", None) is not None
        if function is _embedding:
            return _rows(*op.bind(args, dict(kwargs))), None
        if function is _layer_norm:
            return _normalized(*op.bind(args, dict(kwargs))), None
        return AtenCall(own_overload(function), tuple(args), kwargs, writes), None
    if _is_of_others(call):
        return None
    parts, names = _tables()
    rename = names.get(call.target)
    if rename is not None:
        call = rename(*call.args, **call.kwargs) or call
    return call, parts.get(call.target)


def handled(owner, function, args, kwargs):
    """A call as its overload: told to `owner`, or opened, so that its parts reach the owner.

    Args:
        owner: ``parts()`` and ``off()`` give contexts in which the owner sees parts of a call and
            sees nothing; ``told(function, call, args, kwargs)`` gives the result of a call.
    """
    kwargs = dict(kwargs)
    op, variant = getattr(function, "op", None), getattr(function, "variant", None)
    out = take_out(op, kwargs)
    step = step_of(function, args, kwargs)
    if step is None and op is None:
        with owner.off():  # no overload to tell of
            return function(*args, **kwargs)
    result = NotImplemented
    if step is None:
        with owner.parts():
            result = opened(None, function, op, variant, args, kwargs)
    elif step[1] is not None:
        with owner.parts():
            result = step[1](*step[0].args, **step[0].kwargs)
    if result is NotImplemented:
        result = owner.told(function, step[0], args, kwargs)
    if out is None:
        return result
    with owner.off():
        return write_out(out, result)


def tensors_in(*values):
    """All tensors in arguments of a call, also those in lists and dictionaries."""
    return [v for v in pytree.tree_leaves(values) if isinstance(v, Tensor)]


@functools.cache
def _tables():
    """Overloads -> what runs their parts; overloads -> the call under the deeper name."""
    aten = lookup("aten")
    names = {
        aten.softmax.int: _softmax(aten._softmax.default),
        aten.log_softmax.int: _softmax(aten._log_softmax.default),
        aten.matmul.default: _matmul(aten),
        aten.to.dtype: _cast(aten._to_copy.default),
        aten.chunk.default: _chunk(aten.split.Tensor),
        aten.reshape.default: _reshape(aten.view.default),
        aten.contiguous.default: _contiguous(aten.clone.default),
    }
    # a convolution of an example without batch has no deeper name
    for n, overload in enumerate((aten.conv1d, aten.conv2d, aten.conv3d), 1):
        names[overload.default] = _convolution(n, aten.convolution.default)
    parts = {k: v for k, v in implicit().items() if k not in names}
    return parts | {
        aten.reshape.default: _reshaped_copy,
        aten.contiguous.default: _unchanged,
    }, names


@in_aten("_unsafe_view(Tensor self, SymInt[] size) -> Tensor")
def _unsafe_view(self, size):
    """A tensor that nobody else holds, with another shape."""
    return self.reshape(size)


def _reshaped_copy(self, shape):
    return captured(_unsafe_view, (self.clone(memory_format=contiguous_format), shape), {})


def _unchanged(self, memory_format=contiguous_format):
    return self


def _rows(weight, indices, padding_idx, scale_grad_by_freq):
    aten = lookup("aten")
    rest = () if padding_idx is None and not scale_grad_by_freq else (padding_idx,)
    return AtenCall(aten.embedding.default, (weight, indices, *rest), {})


def _normalized(input, size, weight, bias, eps):
    shape, dim = [], input.dim()
    while math.prod(shape) < size:
        dim -= 1
        shape.insert(0, input.shape[dim])
    aten = lookup("aten")
    return AtenCall(aten.native_layer_norm.default, (input, shape, weight, bias, eps), {})


def _convolution(n, target):
    ones, zeros = [1] * n, [0] * n

    def rename(input, weight, bias=None, stride=ones, padding=zeros, dilation=ones, groups=1):
        if input.dim() != n + 2:
            return None
        rest = (stride, padding, dilation, False, zeros, groups)
        return AtenCall(target, (input, weight, bias, *rest), {})

    return rename


def _softmax(target):
    def rename(self, dim, dtype=None):
        return None if dtype is not None else AtenCall(target, (self, dim, False), {})

    return rename


def _is_of_others(call):
    """Whether ATen makes a call of others, as the body of the declaration does."""
    aten = lookup("aten")
    if call.target is aten.matmul.default:
        left, right = call.args
        return (left.dim(), right.dim()) not in ((2, 2), (2, 1), (1, 1))
    return call.target is aten.scaled_dot_product_attention.default


def _matmul(aten):
    by_dims = {(2, 2): aten.mm.default, (2, 1): aten.mv.default, (1, 1): aten.dot.default}

    def rename(self, other):
        target = by_dims.get((self.dim(), other.dim()))
        return None if target is None else AtenCall(target, (self, other), {})

    return rename


def _cast(target):
    def rename(self, dtype, non_blocking=False, copy=False, memory_format=None):
        return AtenCall(target, (self,), {"dtype": dtype})

    return rename


def _contiguous(target):
    def rename(self, memory_format=contiguous_format):
        if self.is_contiguous(memory_format=memory_format):
            return None
        return AtenCall(target, (self,), {"memory_format": memory_format})

    return rename


def _reshape(target):
    def rename(self, shape):
        return AtenCall(target, (self, shape), {}) if _has_view(self, shape) else None

    return rename


def _has_view(tensor, shape):
    """Whether the strides of a tensor can express a shape."""
    try:
        tensor._array.reshape(shape, copy=False)
    except ValueError:
        return False
    return True


def _chunk(target):
    def rename(self, chunks, dim=0):
        extent = self.shape[dim]
        size = -(-extent // chunks)
        # ATen splits an empty dimension by split_with_sizes
        return AtenCall(target, (self, size, dim) if dim else (self, size), {}) if extent else None

    return rename
