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
from rushlight.library.operators import lookup
from rushlight.ops.neural.embedding import _embedding
from rushlight.ops.neural.normalization import _layer_norm


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
    parts, names = _tables()
    rename = names.get(call.target)
    if rename is not None:
        call = rename(*call.args, **call.kwargs) or call
    return call, parts.get(call.target)


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
    }
    # a convolution of an example without batch has no deeper name
    for n, overload in enumerate((aten.conv1d, aten.conv2d, aten.conv3d), 1):
        names[overload.default] = _convolution(n, aten.convolution.default)
    return {k: v for k, v in implicit().items() if k not in names}, names


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


def _reshape(target):
    def rename(self, shape):
        # others than these are a copy and a view of it in ATen; the op stays whole here
        return AtenCall(target, (self, shape), {}) if self.is_contiguous() else None

    return rename


def _chunk(target):
    def rename(self, chunks, dim=0):
        extent = self.shape[dim]
        size = -(-extent // chunks)
        # ATen splits an empty dimension by split_with_sizes
        return AtenCall(target, (self, size, dim) if dim else (self, size), {}) if extent else None

    return rename
