"""Gradient formulas of elementwise ops as compiled kernels.

A formula is written in tensor language. Called with the compiler's symbols, the ops in it trace
their bodies, so the whole formula becomes one kernel. What cannot be traced, and every call under
``create_graph``, runs on tensors.
"""

from __future__ import annotations

from rushlight.autograd.mode import mode
from rushlight.dtypes import ALL, FLOAT
from rushlight.machine import np
from rushlight.machine.generated_python import function_of
from rushlight.settings import kernels_mode
from rushlight.tensor import construction as make
from rushlight.tensor.tensor import make_tensor

_ndarray = np.ndarray
_COUNT = len(ALL)


class FusedFormula:
    """Calls like the formula it stands for."""

    __slots__ = ("doors", "formula", "identity", "identity_by_default", "kernels", "name", "op",
                 "parameters", "tensors")  # fmt: skip

    def __init__(self, op, name, formula, parameters, tensors):
        self.op, self.name, self.formula = op, name, formula
        self.parameters, self.tensors, self.kernels = parameters, tensors, {}
        # Built-in functions by dtype code, for attributes that are all floats, or all ints.
        self.doors = {float: [None] * _COUNT, int: [None] * _COUNT}
        self.identity = parameters == ("grad",) and _is_identity(formula)
        # Whether it is one where the attributes have their defaults.
        self.identity_by_default = not any(tensors[1:]) and _is_identity(
            formula, *(op.defaults[op.index[p]] for p in parameters[1:] if p in op.index)
        )

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
            self._offer(dtype, key[1:], entry[1])
        kernel, fast = entry
        if kernel is None:
            return self.formula(grad, *args)
        array = fast(*arrays, *scalars) if fast is not None else NotImplemented
        if array is NotImplemented:
            array = kernel(*arrays, *scalars)
        return make.made(array, dtype)

    def _offer(self, dtype, attributes, fast):
        """Let the short way use a built-in function that has been made."""
        for kind, doors in self.doors.items():
            if all(a is kind for a in attributes):
                doors[dtype.code] = fast

    def short(self):
        """A function that calls like this object, written for its parameters: plain arrays of one
        dtype, attributes that are floats or are ints."""
        if self.identity:
            text = ["def short(grad):", "    return general(grad) if mode.recording else grad"]
            return _written(text, self)
        names = [f"a{i}" for i in range(len(self.parameters) - 1)]
        tensors = [n for n, t in zip(names, self.tensors[1:], strict=True) if t]
        numbers = [n for n, t in zip(names, self.tensors[1:], strict=True) if not t]
        tests = ["type(array) is ndarray", "not mode.recording"]
        tests += [f"{n}._dtype is dtype" for n in tensors]
        lines = ["    array, dtype = grad._array, grad._dtype", f"    if {' and '.join(tests)}:"]
        if numbers:
            lines.append(f"        kind = type({numbers[0]})")
            same = "".join(f" and type({n}) is kind" for n in numbers[1:])
            lines.append(f"        door = kinds[kind][dtype.code] if kind in kinds{same} else None")
        else:
            lines.append("        door = doors[dtype.code]")
        arrays = ["array", *(f"{n}._array" for n in tensors), *numbers]
        lines += [
            "        if door is not None:",
            f"            result = door({', '.join(arrays)})",
            "            if result is not NO: return make.made(result, dtype)",
        ]
        head = ", ".join(["grad", *names])
        return _written([f"def short({head}):", *lines, f"    return general({head})"], self)

    def _elsewhere(self, grad, args):
        """Recorded, on the meta device, or on a GPU, where one kernel does it too."""
        if mode.recording or grad._device.type != "cuda" or self.identity:
            return grad if self.identity and not mode.recording else self.formula(grad, *args)
        from rushlight.ops._table.cuda import fused

        array = fused(self, grad, args)
        return self.formula(grad, *args) if array is None else make_tensor(array, grad._dtype)

    def _build(self, dtype, args, compile_kernel=None):
        """``(kernel, door)`` for one dtype and pattern of attributes, or ``(None, None)``."""
        if kernels_mode() == "reference" or dtype.category != FLOAT:
            return None, None
        if compile_kernel is None:
            from rushlight.compiler import compile_kernel

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
            kernel = compile_kernel(body, inputs, dict(inputs), scalars, static, (dtype.short,))
        except Exception as error:  # the formula uses something that only tensors can do
            if not isinstance(error, (TypeError, AttributeError, NotImplementedError)):
                raise
            return None, None
        return kernel, kernel.fast


def _written(lines, fused):
    space = {
        "general": fused, "mode": mode, "ndarray": _ndarray, "make": make, "NO": NotImplemented,
        "doors": fused.doors[float], "kinds": fused.doors,
    }  # fmt: skip
    title = f"{fused.op.name} gradient of {fused.name}"
    return function_of("\n".join(lines), "short", title, space)


def _is_identity(formula, *attributes):
    mark = object()
    try:
        return formula(mark, *attributes) is mark
    except Exception:  # the formula computes with its argument, so it is no identity
        return False
