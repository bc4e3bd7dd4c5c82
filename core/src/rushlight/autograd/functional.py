"""Whole derivatives of functions: Jacobians, Hessians, and their products with vectors.

Products go by reverse mode: ``v J`` is one backward pass, ``J v`` two of them (the derivative of
``u J`` by ``u``, times ``v``), and products with the Hessian are those of the gradient's Jacobian.
"""

from __future__ import annotations

from rushlight.autograd.engine import grad
from rushlight.autograd.function import Function
from rushlight.autograd.later import later
from rushlight.autograd.mode import enable_grad
from rushlight.machine import np
from rushlight.tensor.tensor import Tensor, make_tensor

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


class _Stack(Function):
    """Rows of one shape as a tensor with a new first dimension."""

    @staticmethod
    def forward(ctx, *rows):
        return make_tensor(np.stack([row._array for row in rows]), rows[0].dtype)

    @staticmethod
    def backward(ctx, grad_output):
        return tuple(grad_output[i] for i in range(grad_output.shape[0]))


# -------------------------------------------------------------------------------------- arguments
def _as_tuple(value, what, function):
    """Whether it was one, and the tuple of tensors."""
    values = value if isinstance(value, tuple) else (value,)
    for number, item in enumerate(values):
        if not isinstance(item, Tensor):
            raise TypeError(
                f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but "
                f"the value at index {number} has type {type(item).__name__}"
            )
    return isinstance(value, tuple), values


def _recorded(inputs, create_graph):
    """Inputs that the function's value is computed from and nothing else."""
    if create_graph:
        return tuple(
            x.view_as(x) if x.requires_grad else x.detach().requires_grad_() for x in inputs
        )
    return tuple(x.detach().requires_grad_() for x in inputs)


def _call(func, inputs, function, strict):
    single, outputs = _as_tuple(func(*inputs), "outputs of the user-provided function", function)
    if strict:
        for number, out in enumerate(outputs):
            if not out.requires_grad:
                raise RuntimeError(
                    f"Output {number} of the user-provided function does not require gradients. "
                    "The outputs must be computed in a differentiable manner from the input when "
                    "running in strict mode."
                )
    return single, outputs


def _vectors(v, others, function, what):
    """The vectors to multiply by, one a tensor of `others`; ones for a single element."""
    if v is None:
        if len(others) != 1 or others[0].numel() != 1:
            raise RuntimeError(
                f"{function}: the vector v can only be None if the {what} is a single Tensor with "
                "a single element"
            )
        return (others[0].detach() * 0 + 1,)
    _, v = _as_tuple(v, "v", function)
    if len(v) != len(others):
        raise RuntimeError(f"{function}: v has {len(v)} tensors where the {what} has {len(others)}")
    for number, (a, b) in enumerate(zip(v, others, strict=True)):
        if a.shape != b.shape:
            raise RuntimeError(
                f"{function}: v[{number}] has shape {list(a.shape)}, expected that of the {what}, "
                f"{list(b.shape)}"
            )
    return v


def _gradients(outputs, inputs, vectors, create_graph, strict, function, retain=None):
    """Gradients of the outputs that depend on something, zeros for inputs they do not depend on."""
    pairs = [(o, v) for o, v in zip(outputs, vectors, strict=True) if o.requires_grad]
    found = [None] * len(inputs)
    if pairs:
        found = grad(
            [o for o, _ in pairs],
            inputs,
            [v for _, v in pairs],
            retain_graph=retain,
            create_graph=create_graph,
            allow_unused=True,
        )
    if strict and any(g is None for g in found):
        number = next(i for i, g in enumerate(found) if g is None)
        raise RuntimeError(
            f"{function}: the outputs of the user-provided function are independent of input "
            f"{number}. This is not allowed in strict mode."
        )
    if strict and create_graph and not all(g.requires_grad for g in found):
        number = next(i for i, g in enumerate(found) if not g.requires_grad)
        raise RuntimeError(
            f"{function}: the jacobian of the user-provided function is independent of input "
            f"{number}. This is not allowed in strict mode when create_graph=True."
        )
    return tuple(x.detach() * 0 if g is None else g for g, x in zip(found, inputs, strict=True))


def _finish(values, create_graph, is_tuple):
    values = values if create_graph else tuple(v.detach() for v in values)
    return values if is_tuple else values[0]


def _check_vectorize(vectorize, strategy, strict, function):
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            f"{function}: expected strategy to be either 'forward-mode' or 'reverse-mode', got "
            f"{strategy!r}"
        )
    if strategy == "forward-mode" and strict:
        raise NotImplementedError(
            f"{function}: `strict=True` and forward mode are not supported together; use "
            "strict=False or strategy='reverse-mode'"
        )
    if strategy == "forward-mode" and not vectorize:
        raise NotImplementedError(
            f"{function}: forward mode is only implemented for `vectorize=True`"
        )
    if vectorize and strict:
        raise RuntimeError(
            f"{function}: `strict=True` and `vectorized=True` are not supported together. Please "
            "either set `strict=False` or `vectorize=False`."
        )


def _vectorized(func, inputs, create_graph, strategy):
    """The Jacobian by the transforms: all rows, or all columns, in one batched pass."""
    transforms = later("func")
    jacobian_of = transforms.jacfwd if strategy == "forward-mode" else transforms.jacrev
    many, tensors = _as_tuple(inputs, "inputs", "jacobian")
    tensors = _recorded(tensors, create_graph)
    if not create_graph:
        tensors = tuple(t.detach() for t in tensors)
    found = jacobian_of(func, tuple(range(len(tensors))) if many else 0)(*tensors)

    def finish(value):
        if isinstance(value, (tuple, list)):
            return tuple(finish(v) for v in value)
        return value if create_graph else value.detach()

    return finish(found)


# --------------------------------------------------------------------------------------- products
def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """``(func(inputs), v J)`` with the Jacobian J of `func` at `inputs`.

    `v` has the shapes of the outputs and may be left out for one output of one element. With
    `strict` an input that no output depends on is an error, else its product is zeros.
    """
    with enable_grad():
        many, inputs = _as_tuple(inputs, "inputs", "vjp")
        inputs = _recorded(inputs, create_graph)
        several, outputs = _call(func, inputs, "vjp", strict)
        vectors = _vectors(v, outputs, "vjp", "user-provided function's output")
        products = _gradients(outputs, inputs, vectors, create_graph, strict, "vjp")
    return _finish(outputs, create_graph, several), _finish(products, create_graph, many)


def _forward_products(outputs, inputs, vectors, create_graph, strict, function):
    """``J v``: what ``u J`` gives for a variable u, differentiated by u in the direction v."""
    dummies = tuple((o.detach() * 0).requires_grad_() for o in outputs)
    rows = _gradients(outputs, inputs, dummies, True, strict, function)
    return _gradients(rows, dummies, vectors, create_graph, False, function)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """``(func(inputs), J v)`` with the Jacobian J of `func` at `inputs`.

    `v` has the shapes of the inputs and may be left out for one input of one element.
    """
    with enable_grad():
        _, inputs = _as_tuple(inputs, "inputs", "jvp")
        inputs = _recorded(inputs, create_graph)
        vectors = _vectors(v, inputs, "jvp", "input to the user-provided function")
        several, outputs = _call(func, inputs, "jvp", strict)
        products = _forward_products(outputs, inputs, vectors, create_graph, strict, "jvp")
    return _finish(outputs, create_graph, several), _finish(products, create_graph, several)


def _value_and_gradient(func, inputs, function, strict):
    several, outputs = _call(func, inputs, function, strict)
    if several or outputs[0].numel() != 1:
        raise RuntimeError(
            f"{function}: the function must return a single Tensor with a single element; it "
            f"returned shapes {[list(o.shape) for o in outputs]}"
        )
    ones = (outputs[0].detach() * 0 + 1,)
    return outputs[0], _gradients(outputs, inputs, ones, True, strict, function)


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """``(func(inputs), v H)`` with the Hessian H of a scalar function."""
    with enable_grad():
        many, inputs = _as_tuple(inputs, "inputs", "vhp")
        inputs = _recorded(inputs, create_graph)
        vectors = _vectors(v, inputs, "vhp", "input to the user-provided function")
        value, slopes = _value_and_gradient(func, inputs, "vhp", strict)
        products = _gradients(slopes, inputs, vectors, create_graph, strict, "vhp")
    return _finish((value,), create_graph, False), _finish(products, create_graph, many)


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """``(func(inputs), H v)`` with the Hessian H of a scalar function; :func:`vhp` is cheaper and
    equal where H is symmetric."""
    with enable_grad():
        many, inputs = _as_tuple(inputs, "inputs", "hvp")
        inputs = _recorded(inputs, create_graph)
        vectors = _vectors(v, inputs, "hvp", "input to the user-provided function")
        value, slopes = _value_and_gradient(func, inputs, "hvp", strict)
        products = _forward_products(slopes, inputs, vectors, create_graph, strict, "hvp")
    return _finish((value,), create_graph, False), _finish(products, create_graph, many)


# --------------------------------------------------------------------------------- whole matrices
def jacobian(
    func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"
):
    """All derivatives of `func` at `inputs`: for an output of shape S and an input of shape T a
    tensor of shape ``(*S, *T)``; tuples where the outputs or the inputs are tuples.

    One backward pass per element of the outputs; with `vectorize` one batched pass, backward or,
    by the strategy "forward-mode", forward.
    """
    _check_vectorize(vectorize, strategy, strict, "jacobian")
    if vectorize:
        return _vectorized(func, inputs, create_graph, strategy)
    with enable_grad():
        many, inputs = _as_tuple(inputs, "inputs", "jacobian")
        inputs = _recorded(inputs, create_graph)
        several, outputs = _call(func, inputs, "jacobian", strict)
        found = tuple(_block_row(out, inputs, create_graph, strict) for out in outputs)
    rows = tuple(_finish(row, create_graph, many) for row in found)
    return rows if several else rows[0]


def _block_row(out, inputs, create_graph, strict):
    """The Jacobian of one output by every input."""
    rows = []
    for number in range(out.numel()):
        unit = out.detach() * 0
        unit.view(-1)[number] = 1
        rows.append(
            _gradients((out,), inputs, (unit,), create_graph, strict, "jacobian", retain=True)
        )
    if not rows:
        return tuple(x.new_zeros((*out.shape, *x.shape)) for x in inputs)
    return tuple(
        _Stack.apply(*column).reshape(*out.shape, *x.shape)
        for column, x in zip(zip(*rows, strict=True), inputs, strict=True)
    )


def hessian(
    func,
    inputs,
    create_graph=False,
    strict=False,
    vectorize=False,
    outer_jacobian_strategy="reverse-mode",
):
    """All second derivatives of a scalar function: for inputs of shapes S and T a tensor of shape
    ``(*S, *T)``; a tuple of tuples where the inputs are a tuple."""
    _check_vectorize(vectorize, outer_jacobian_strategy, strict, "hessian")
    many, tensors = _as_tuple(inputs, "inputs", "hessian")
    if vectorize:
        inner = later("func").grad(func, tuple(range(len(tensors))) if many else 0)
        return _vectorized(inner, inputs, create_graph, outer_jacobian_strategy)

    def slopes(*values):
        found = _value_and_gradient(func, values, "hessian", strict)[1]
        return found if many else found[0]

    return jacobian(slopes, tensors if many else tensors[0], create_graph, strict)
