"""One elementwise op out of several: its body, its gradients and its declaration.

A chain is a list of calls whose arguments are inputs of the chain, numbers, or results of earlier
calls. Its body and the formula of every gradient are written out as Python source, in terms of the
ops' own functions and formulas: called with the compiler's symbols they trace to one kernel,
called with tensors (under ``create_graph``) they are recorded as if written by hand.
"""

from __future__ import annotations

import itertools

from rushlight.autograd.mode import mode
from rushlight.compiler import compile_kernel
from rushlight.dtypes import float32
from rushlight.machine import np
from rushlight.machine.generated_python import function_of
from rushlight.ops._table.op import ATTRIBUTE, TABLE, Op
from rushlight.ops._table.rules import same
from rushlight.tensor.tensor import make_tensor

_made: dict = {}
_numbers = itertools.count()
_MOST_MADE = 512


def chain_op(calls, inputs, needs_gradient):
    """The op of a chain.

    `calls` are ``(op, references)`` with one reference for every argument: ``("input", i)``,
    ``("call", i)``, ``("number", i)`` for a number given at each call, or ``("text", value)`` for
    one that is part of the code. `inputs` is how many tensors the chain takes. Chains that look
    alike share an op.
    """
    key = (inputs, needs_gradient, tuple((op.name, references) for op, references in calls))
    found = _made.get(key)
    if found is None:
        if len(_made) >= _MOST_MADE:
            _made.clear()
        found = _made[key] = _declare(calls, inputs, needs_gradient)
    return found


def _declare(calls, inputs, needs_gradient):
    name = f"_chain_{next(_numbers)}"
    numbers = 1 + max(
        (value for _, references in calls for kind, value in references if kind == "number"),
        default=-1,
    )
    tensors = [f"x{i}" for i in range(inputs)]
    scalars = [f"c{i}" for i in range(numbers)]
    signature = ", ".join([*tensors, *(f"{name}=None" for name in scalars)])
    space = {f"op_{i}": op.function for i, (op, _) in enumerate(calls)}
    forward = [f"    v{i} = {_call(i, *call)}" for i, call in enumerate(calls)]
    last = f"v{len(calls) - 1}"
    lines = [f"def {name}({signature}):", *forward, f"    return {last}"]
    body = function_of("\n".join(lines), name, f"{name[1:]} forward", space, lasting=False)
    body.__doc__ = "A chain of elementwise operations: " + ", ".join(op.name for op, _ in calls)
    op = Op(body, "elementwise", same, name=name, method=False)
    del TABLE[name]  # it is no op of the table: nothing but its chain calls it
    from rushlight.ops._table import bindings as _bindings

    _bindings.public_function(op)
    if needs_gradient:
        op.joint = tensors, _joint_function(name, calls, tensors, scalars, forward, space)
    return op


def _joint_function(name, calls, tensors, scalars, forward, space):
    """The function that gives the gradients of all inputs, with the signature of joint formulas."""
    backward = _backward(calls, space)
    parameters = ", ".join(["grad", *tensors, *scalars])
    known = [f"d_{tensor}" if f"d_{tensor}" in backward.known else "None" for tensor in tensors]
    lines = [f"def gradients({parameters}):", *forward, *backward.lines]
    text = "\n".join([*lines, f"    return ({', '.join(known)},)"])
    title = f"{name[1:]} gradients"
    gradients = function_of(text, "gradients", title, space, lasting=False)
    known = tuple(tensor != "None" for tensor in known)
    space["together"] = Gradients(gradients, tensors, scalars, known)
    lines = [f"def joint({parameters}, needs):", f"    return together(needs, {parameters})"]
    title = f"{name[1:]} backward"
    return function_of("\n".join(lines), "joint", title, space, lasting=False)


class Gradients:
    """The gradients of a chain: one kernel for those that are needed, or tensor by tensor."""

    def __init__(self, function, tensors, scalars, known):
        self.function, self.tensors, self.scalars, self.known = function, tensors, scalars, known
        self.kernels = {}

    def __call__(self, needs, grad, *arguments):
        """One gradient, or None where it is not needed, for every input."""
        wanted = tuple(a and b for a, b in zip(needs, self.known, strict=True))
        kernel = None
        on_gpu = grad._device.type == "cuda"
        if not mode.recording and grad._dtype is float32:
            if on_gpu or type(grad._array) is np.ndarray:
                key = wanted, on_gpu
                if key not in self.kernels:
                    self.kernels[key] = self._compile(wanted, on_gpu)
                kernel = self.kernels[key]
        if kernel is None:
            found = self.function(grad, *arguments)
            return [g if want else None for g, want in zip(found, wanted, strict=True)]
        count = len(self.tensors)
        arrays = [tensor._array for tensor in arguments[:count]]
        results = kernel(grad._array, *arrays, *arguments[count:])
        results = iter(results if isinstance(results, tuple) else (results,))
        return [make_tensor(next(results), float32) if want else None for want in wanted]

    def _compile(self, wanted, on_gpu):
        make = compile_kernel
        if on_gpu:
            from rushlight.compiler.cuda.compilation import compile_for_device as make
        names = ("grad", *self.tensors)

        def body(**named):
            found = self.function(*[named[name] for name in (*names, *self.scalars)])
            return tuple(g for g, want in zip(found, wanted, strict=True) if want)

        inputs = dict.fromkeys(names, "f32")
        scalars, outputs = dict.fromkeys(self.scalars, "f64"), ("f32",) * sum(wanted)
        try:
            return make(body, inputs, inputs, scalars, {}, outputs)
        except (TypeError, AttributeError, NotImplementedError):
            return None  # some formula uses what only tensors can do


def _text(reference):
    kind, value = reference
    return {"input": "x{}", "call": "v{}", "number": "c{}", "text": "{!r}"}[kind].format(value)


def _call(index, op, references):
    texts = [_text(reference) for reference in references]
    texts[op.positional :] = [
        f"{name}={text}"
        for name, text in zip(op.names[op.positional :], texts[op.positional :], strict=True)
    ]
    return f"op_{index}({', '.join(texts)})"


class _Backward:
    """Lines of source that carry a gradient from the result to every input."""

    def __init__(self):
        self.lines, self.known = [], set()

    def add(self, name, text):
        """Add a term to the gradient of a value."""
        self.lines.append(f"    {name} = {name} + ({text})" if name in self.known else
                          f"    {name} = {text}")  # fmt: skip
        self.known.add(name)


def _backward(calls, space):
    written = _Backward()
    last = len(calls) - 1
    written.lines.append(f"    d_v{last} = grad")
    written.known.add(f"d_v{last}")
    for index in range(last, -1, -1):
        if f"d_v{index}" not in written.known:
            continue
        op, references = calls[index]
        arguments = dict(zip(op.names, map(_text, references), strict=True))
        for argument, reference in zip(op.names, references, strict=True):
            if reference[0] not in ("input", "call") or argument not in op.formulas:
                continue
            formula = op.formulas[argument]
            space[f"formula_{index}_{argument}"] = formula
            given = {**arguments, "grad": f"d_v{index}", "out": f"v{index}"}
            values = ", ".join(given[name] for name in parameters_of(formula))
            written.add(f"d_{_text(reference)}", f"formula_{index}_{argument}({values})")
    return written


def parameters_of(formula):
    """Names of what a gradient formula asks for."""
    code = formula.__code__
    return code.co_varnames[: code.co_argcount]


def can_join(op):
    """Whether an op can be part of a chain: elementwise, one result, gradients by formulas."""
    known = op.__dict__.get("can_join")
    if known is None:
        known = op.__dict__["can_join"] = _examine(op)
    return known


def _examine(op):
    if op.kind != "elementwise" or op.outputs != 1 or op.joint is not None:
        return False
    if op.options.get("aside") or not op.options.get("differentiable", True):
        return False
    allowed = {"grad", "out", *op.names}
    tensors = [op.names[i] for i in op.tensor_positions]
    return all(
        name in op.formulas and set(parameters_of(op.formulas[name])) <= allowed for name in tensors
    )


def is_attribute(op, position):
    """Whether an argument is never a tensor."""
    return op.kinds[position] == ATTRIBUTE
