"""Forward mode: dual tensors, a primal and its tangent, and how ops move tangents along.

The rule of an op comes from its declaration: an elementwise gradient formula ``grad * f'(x)`` is
its own transpose, a linear op applies itself to the tangent, composites run their body, and
otherwise the recorded backward pass is transposed: the derivative of ``<vjp(v), t>`` by ``v``.
"""

from __future__ import annotations

from rushlight.autograd.engine import grad
from rushlight.dtypes import FLOAT
from rushlight.ops._table.op import TENSORS
from rushlight.ops._table.recording import _parameters
from rushlight.ops._transforms import wrapped_writes as writes
from rushlight.ops._transforms.wrappers import (
    Level,
    Wrapped,
    below,
    call_op,
    in_form,
    replace,
    shed,
    wrap,
)
from rushlight.ops.creation.tensors import ones_like, zeros_like
from rushlight.tensor.tensor import Tensor


def _zeros(tensor):
    return zeros_like(tensor.detach())


class Dual(Wrapped):
    """A primal (``_inner``) and its tangent."""

    __slots__ = ()

    @staticmethod
    def complete(tensor):
        """A tensor written to: its tangent is zero so far."""
        tensor._tangent = _zeros(tensor._inner)

    def rebind(self, new):
        """Take the value and tangent of another tensor."""
        if getattr(new, "_level", None) is self._level:
            self._inner, self._tangent = new._inner, new._tangent
        else:
            self._inner, self._tangent = new, _zeros(new)

    @property
    def requires_grad(self):
        """True: what only serves values must not be chosen."""
        return True

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Gradients of the primal, in a level of :mod:`rushlight.autograd.forward_ad`."""
        level = self._level
        if not level.of_user:
            super().backward()
        with below(level):
            self._inner.backward(
                None if gradient is None else shed(gradient, level),
                retain_graph,
                create_graph,
                inputs,
            )

    def detach(self):
        """The primal alone, outside of what is recorded."""
        return self._inner.detach()

    def _rewrapped(self, inner):
        return inner

    @staticmethod
    def gradients(level, outputs, inputs, gradients, options):
        """Gradients as dual tensors: the tangent of ``vjp(y, v)`` by the inputs is the sum of
        ``vjp(tangent of y, v)`` and ``vjp(y, tangent of v)``."""
        outs = [shed(o, level) for o in outputs]
        wanted = [shed(x, level) for x in inputs]
        given = [None if g is None else shed(g, level) for g in gradients]
        kept = {**options, "retain_graph": True}
        primals = grad(outs, wanted, given, **kept)
        pairs = [(tangent_of(o, level), g) for o, g in zip(outputs, given, strict=True)]
        pairs += [(o, tangent_of(g, level)) for o, g in zip(outs, gradients, strict=True)
                  if g is not None and tangent_of(g, level) is not None]  # fmt: skip
        pairs = [(t, _one(o) if g is None else g)
                 for (t, g), o in zip(pairs, (*outs, *outs), strict=False)
                 if t is not None and t.requires_grad]  # fmt: skip
        if not pairs:
            return primals
        moves = grad(*_columns(pairs, wanted), **{**kept, "allow_unused": True})
        return tuple(
            p if p is None or t is None else dual(p, t, level)
            for p, t in zip(primals, moves, strict=True)
        )


def _one(output):
    return ones_like(output.detach())


def _columns(pairs, wanted):
    return [t for t, _ in pairs], wanted, [v for _, v in pairs]


class DualLevel(Level):
    """One forward-mode derivative in progress."""

    __slots__ = ("of_user",)
    wrapper = Dual

    def __init__(self, of_user=False):
        super().__init__("jvp", process)
        self.of_user = of_user  # made by forward_ad, around which there may be backward passes


def dual(primal, tangent, level):
    """A dual tensor."""
    out = wrap(Dual, primal, level)
    out._tangent = tangent
    return out


def tangent_of(tensor, level):
    """The tangent at a level, or None."""
    return tensor._tangent if getattr(tensor, "_level", None) is level else None


def process(level, function, args, kwargs):
    """Run a call on primals and tangents."""
    return writes.process(level, function, args, kwargs, _call)


def _call(level, op, values):
    primals = [replace(v, lambda t: shed(t, level)) for v in values]
    if op.options.get("differentiable", True) is False:
        return call_op(op, primals)
    result = call_op(op, primals)
    many = isinstance(result, tuple)
    results = result if many else (result,)
    floats = [isinstance(r, Tensor) and r._dtype.category >= FLOAT for r in results]
    if not any(floats):
        return result
    tangents = _tangents(level, op, values, primals, results)
    outs = [
        dual(r, t, level) if ok and t is not None else r
        for r, t, ok in zip(results, tangents, floats, strict=True)
    ]
    if op.kind == "view" and isinstance(values[0], Dual):
        views = [o for o in outs if isinstance(o, Dual) and o._level is level]
        writes.link_views(op, views, values, many)
    return in_form(result, outs) if many else outs[0]


def _tangents(level, op, values, primals, results):
    """The tangents of the results."""
    if "linear" in op.options and all(r is None or r._dtype.category >= FLOAT for r in results):
        found = _linear(level, op, values, primals)
        return found if isinstance(found, tuple) else (found,)
    if op.kind == "elementwise" and _own_transpose(op, values, results):
        return (_elementwise(level, op, values, primals, results[0]),)
    return _transposed(level, op, values, primals, results)


def _fitted(tangent, result):
    if tangent._dtype is not result._dtype:
        tangent = tangent.to(result._dtype)
    if tangent._array.shape != result._array.shape:
        tangent = tangent.expand(result._array.shape)
    return tangent


# -------------------------------------------------------------------------------------- linear ops
def _linear(level, op, values, primals):
    """The tangent of an op that is linear in one argument, the first (``linear=True`` in its
    declaration), in all named ones together (``"+input,src"``), or in each of the named ones for
    itself (``"*input,weight"``)."""
    text = op.options["linear"]
    names = () if text is True else text[1:].split(",")
    if names and text[0] == "*":
        return _multilinear(level, op, values, primals, names)
    positions = [op.index[n] for n in names] if names else [op.tensor_positions[0]]
    found = list(primals)
    for position in positions:
        if op.kinds[position] == TENSORS:
            found[position] = [
                _or_zero(tangent_of(t, level), p)
                for t, p in zip(values[position], primals[position], strict=True)
            ]
        else:
            found[position] = _or_zero(tangent_of(values[position], level), primals[position])
    if "fills" in op.options:  # the number it writes has no tangent
        found[op.index["value"]] = 0.0
    return call_op(op, found)


def _or_zero(tangent, primal):
    return _zeros(primal) if tangent is None else tangent


def _multilinear(level, op, values, primals, names):
    total = None
    for name in names:
        position = op.index[name]
        tangent = tangent_of(values[position], level)
        if tangent is None:
            continue
        found = list(primals)
        found[position] = tangent
        if "bias" in op.index:
            found[op.index["bias"]] = None
        part = call_op(op, found)
        total = part if total is None else total + part
    if "bias" in op.index:
        tangent = tangent_of(values[op.index["bias"]], level)
        if tangent is not None:
            shape = call_op(op, primals)
            row = tangent.reshape((-1, *(1,) * (shape._array.ndim - 2)))
            part = row.expand(shape._array.shape)
            total = part if total is None else total + part
    return total


# ------------------------------------------------------------------------------------- elementwise
def _own_transpose(op, values, results):
    """Whether the formulas are real multiples of the gradient, element by element."""
    tensors = [values[p] for p in op.tensor_positions if isinstance(values[p], Tensor)]
    plain = not any(t._dtype.is_complex for t in (*tensors, *results))
    return plain and op.joint is None and op.outputs == 1


def _elementwise(level, op, values, primals, result):
    total = None
    for position in op.tensor_positions:
        tangent = tangent_of(values[position], level)
        formula = op.formulas.get(op.names[position])
        if tangent is None or formula is None:
            continue
        part = formula(
            *[
                _argument(op, name, _fitted(tangent, result), primals, result)
                for name in _parameters(formula)
            ]
        )
        part = _fitted(part, result)
        total = part if total is None else total + part
    return total


def _argument(op, name, tangent, primals, result):
    """What a formula asks for by name."""
    if name == "grad":
        return tangent
    if name == "out":
        return result
    if name in op.index:
        return primals[op.index[name]]
    return tuple(primals[op.index[name.removesuffix("_shape")]].shape)


# ----------------------------------------------------------------------------------------- general
def _transposed(level, op, values, primals, results):
    """The transpose of the backward pass, which is linear in what it starts from."""
    from rushlight.ops._transforms.differentiation import pullback

    places, inputs, tangents = [], [], []
    for position in op.tensor_positions:
        listed = op.kinds[position] == TENSORS
        for number, value in enumerate(values[position] if listed else (values[position],)):
            tangent = tangent_of(value, level)
            if tangent is not None:
                places.append((position, number if listed else None))
                inputs.append(shed(value, level))
                tangents.append(tangent)

    def forward(*fresh):
        given = [list(v) if type(v) in (tuple, list) and i == op.list_position else v
                 for i, v in enumerate(primals)]  # fmt: skip
        for (position, number), tensor in zip(places, fresh, strict=True):
            if number is None:
                given[position] = tensor
            else:
                given[position][number] = tensor
        found = call_op(op, given)
        found = found if isinstance(found, tuple) else (found,)
        return tuple(r for r in found if isinstance(r, Tensor) and r._dtype.category >= FLOAT)

    outs, pull = pullback(forward, inputs)
    # linear, so anywhere will do; at zero the formula of logcumsumexp has no derivative
    starts = [_one(o) for o in outs]
    _, transpose = pullback(lambda *vs: pull(vs), starts)
    found = iter(transpose([_fitted(t, p) for t, p in zip(tangents, inputs, strict=True)]))
    return tuple(
        next(found) if isinstance(r, Tensor) and r._dtype.category >= FLOAT else None
        for r in results
    )
