"""Gradient formulas of elementwise ops as compiled kernels.

A formula is written in tensor language. Called with the compiler's symbols, the ops in it trace
their bodies, so the whole formula becomes one kernel. What cannot be traced, and every call under
``create_graph``, runs on tensors.
"""

from __future__ import annotations

from rushlight.autograd.mode import mode
from rushlight.backends import np
from rushlight.dtypes import FLOAT
from rushlight.settings import kernels_mode
from rushlight.tensor.tensor import Tensor, make_tensor

_new = object.__new__
_ndarray = np.ndarray


class FusedFormula:
    """Calls like the formula it stands for."""

    __slots__ = ("formula", "identity", "kernels", "name", "op", "parameters", "tensors")

    def __init__(self, op, name, formula, parameters, tensors):
        self.op, self.name, self.formula = op, name, formula
        self.parameters, self.tensors, self.kernels = parameters, tensors, {}
        self.identity = parameters == ("grad",) and _is_identity(formula)

    def __call__(self, grad, *args):
        if mode.recording or type(grad._array) is not _ndarray:
            return self._elsewhere(grad, args)
        if self.identity:
            return grad
        dtype = grad._dtype
        arrays, key = [grad._array], [dtype.code]
        scalars = []
        for value, tensor in zip(args, self.tensors[1:], strict=True):
            if tensor:
                if value._dtype is not dtype:
                    return self.formula(grad, *args)
                arrays.append(value._array)
            elif type(value) is float or type(value) is int:
                scalars.append(value)
                key.append(type(value))
            else:
                key.append(value)
        try:
            entry = self.kernels.get(tuple(key))
        except TypeError:
            return self.formula(grad, *args)
        if entry is None:
            entry = self.kernels[tuple(key)] = self._build(dtype, args)
        kernel, fast = entry
        if kernel is None:
            return self.formula(grad, *args)
        array = fast(*arrays, *scalars) if fast is not None else NotImplemented
        if array is NotImplemented:
            array = kernel(*arrays, *scalars)
        out = _new(Tensor)
        out._array, out._dtype, out._node, out._storage = array, dtype, None, None
        return out

    def _elsewhere(self, grad, args):
        """Recorded, on the meta device, or on a GPU, where one kernel does it too."""
        if mode.recording or grad._device.type != "cuda" or self.identity:
            return grad if self.identity and not mode.recording else self.formula(grad, *args)
        from rushlight.ops._cuda import fused

        array = fused(self, grad, args)
        return self.formula(grad, *args) if array is None else make_tensor(array, grad._dtype)

    def _build(self, dtype, args, compile=None):
        """``(kernel, door)`` for one dtype and pattern of attributes, or ``(None, None)``."""
        if kernels_mode() == "reference" or dtype.category != FLOAT:
            return None, None
        if compile is None:
            from rushlight.compiler import compile

        inputs, scalars, static = {"grad": dtype.short}, {}, {}
        for name, tensor, value in zip(self.parameters[1:], self.tensors[1:], args, strict=True):
            if tensor:
                inputs[name] = dtype.short
            elif type(value) is float or type(value) is int:
                scalars[name] = "f64" if type(value) is float else "i64"
            else:
                static[name] = value
        formula, parameters = self.formula, self.parameters

        def body(**named):
            return formula(*[named[p] for p in parameters])

        try:
            kernel = compile(body, inputs, dict(inputs), scalars, static, (dtype.short,))
        except Exception as error:  # the formula uses something that only tensors can do
            if not isinstance(error, (TypeError, AttributeError, NotImplementedError)):
                raise
            return None, None
        return kernel, kernel.fast


def _is_identity(formula):
    mark = object()
    try:
        return formula(mark) is mark
    except Exception:  # the formula computes with its argument, so it is no identity
        return False
