"""User-defined `autograd.Function`s inside of function transforms.

At a recording level the call becomes a node of that level; in forward mode the class's ``jvp``
moves the tangents; in `vmap` its ``vmap`` is called, or, with ``generate_vmap_rule``, its forward,
backward and jvp run on batched tensors. Captured and traced programs have its forward's calls.
"""

from __future__ import annotations

from typing import NamedTuple

from rushlight.autograd.function import Function, FunctionCtx
from rushlight.autograd.mode import mode, no_grad
from rushlight.dtypes import FLOAT
from rushlight.ops._transforms.batching import VmapLevel, batched, is_batched
from rushlight.ops._transforms.forward import dual, tangent_of
from rushlight.ops._transforms.tracking import lifted
from rushlight.ops._transforms.wrappers import below, shed, wrappers_in
from rushlight.ops.creation.tensors import zeros_like
from rushlight.tensor.tensor import Tensor


class VmapInfo(NamedTuple):
    """What a ``vmap`` staticmethod learns of the transform around it."""

    batch_size: int
    randomness: str


def apply(cls, args):
    """``cls.apply(*args)`` with wrapped tensors among the arguments."""
    level = max((w._level for w in wrappers_in(args)), key=lambda x: x.depth)
    if level.kind in ("capture", "tracing"):
        return _opened(cls, args)
    if level.kind != "jvp" and "setup_context" not in dir(cls):
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, "
            "jacrev, ...), it must override the setup_context staticmethod. For more details, "
            "please see https://pytorch.org/docs/main/notes/extending.func.html"
        )
    return {"vmap": _batch, "jvp": _forward, "grad": _record}[level.kind](cls, args, level)


def _opened(cls, args):
    """The calls of its forward, which a captured or traced program has instead."""
    if "setup_context" in dir(cls):
        return cls.forward(*args)
    context = FunctionCtx()
    context.needs_input_grad = (False,) * len(args)
    return cls.forward(context, *args)


def _flat(result):
    return result if isinstance(result, tuple) else (result,)


def _like(result, items):
    return tuple(items) if isinstance(result, tuple) else items[0]


# ------------------------------------------------------------------------------------ reverse mode
def _record(cls, args, level):
    with below(level):
        result = cls.apply(*[shed(a, level) for a in args])
    given = [lifted(a, level) if isinstance(a, Tensor) else a for a in args]
    outs = [
        lifted(r, level) if isinstance(r, Tensor) and r._dtype.category >= FLOAT else r
        for r in _flat(result)
    ]
    context = FunctionCtx()
    context.needs_input_grad = tuple(isinstance(a, Tensor) and a._node is not None for a in given)
    with no_grad():
        cls.setup_context(context, tuple(given), _like(result, outs))
    if not (mode.recording and any(context.needs_input_grad)):
        context._freeze(outs, None)
        return _like(result, outs)
    tensors = [(i, a) for i, a in enumerate(given) if isinstance(a, Tensor)]
    outs = cls._attach(context, given, tensors, outs)
    outs[0]._node.op = _LevelFunctionOp(cls, level) if _noded(outs[0]) else None
    return _like(result, outs)


def _noded(tensor):
    return isinstance(tensor, Tensor) and tensor._node is not None


class _LevelFunctionOp:
    """The node of a custom function at a recording level: its gradients belong below the level
    when the level's own transform asks for them."""

    def __init__(self, kind, level):
        self.kind, self.level, self.inner = kind, level, kind._op
        self.node_name = self.inner.node_name
        self.name = kind.__name__

    def backward(self, node, grads, create):
        """Run the user's backward."""
        found = self.inner.backward(node, grads, create)
        if not self.level.stripping:
            return found
        return [None if g is None else shed(g, self.level) for g in found]


# ------------------------------------------------------------------------------------ forward mode
def _forward(cls, args, level):
    primals = [shed(a, level) for a in args]
    tangents = [tangent_of(a, level) if isinstance(a, Tensor) else None for a in args]
    context = FunctionCtx()
    context.needs_input_grad = tuple(isinstance(p, Tensor) and p.requires_grad for p in primals)
    with below(level):
        if "setup_context" in dir(cls):
            result = cls.apply(*primals)
            with no_grad():
                cls.setup_context(context, tuple(primals), result)
        else:
            result = cls.apply(*primals, _context=context)
        outs = list(_flat(result))
        moves = [
            zeros_like(p.detach())
            if t is None and isinstance(p, Tensor) and context._materialize
            and p._dtype.category >= FLOAT
            else t
            for p, t in zip(primals, tangents, strict=True)
        ]  # fmt: skip
        context._freeze(outs, None)
        forward = getattr(context, "_forward_saved", None)
        if forward is not None:
            context._saved = tuple(forward)
            context._versions = tuple(0 if t is None else t._writes for t in forward)
        found = _flat(cls.jvp(context, *moves))
    if len(found) != len(outs):
        raise RuntimeError(
            f"{cls.__name__}.jvp returned {len(found)} tangents; expected one for each of the "
            f"{len(outs)} outputs"
        )
    for out, tangent in zip(outs, found, strict=True):
        if isinstance(tangent, Tensor) and tangent.shape != out.shape:
            raise RuntimeError(
                f"{cls.__name__}.jvp returned a tangent of size {list(tangent.shape)} for an "
                f"output of size {list(out.shape)}"
            )
    return _like(
        result,
        [
            dual(o, t, level) if isinstance(o, Tensor) and isinstance(t, Tensor) else o
            for o, t in zip(outs, found, strict=True)
        ],
    )


# -------------------------------------------------------------------------------------------- vmap
def _batch(cls, args, level):
    custom = "vmap" in cls.__dict__ or any("vmap" in c.__dict__ for c in cls.__mro__[:-1]
                                           if c is not Function)  # fmt: skip
    if cls.generate_vmap_rule and custom:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and "
            "an overriden vmap staticmethod. Please set generate_vmap_rule=False or delete the "
            "overriden vmap staticmethod to avoid ambiguity."
        )
    inner = [shed(a, level) for a in args]
    if custom:
        dims = tuple(0 if is_batched(a, level) else None for a in args)
        with below(level):
            found = cls.vmap(VmapInfo(level.size, level.randomness), dims, *inner)
        result, places = _places(found)
        return _like(result, [
            r if d is None else batched(r.movedim(d, 0), level)
            for r, d in zip(_flat(result), places, strict=True)
        ])  # fmt: skip
    if not cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please "
            "override and implement the vmap staticmethod or set generate_vmap_rule=True. For more "
            "details, please see https://pytorch.org/docs/main/notes/extending.func.html"
        )
    mapped = tuple(is_batched(a, level) for a in args)
    rule = _generated(cls, mapped, level.size, level.randomness)
    with below(level):
        result = rule.apply(*inner)
    return _like(result, [batched(r, level) if isinstance(r, Tensor) else r for r in _flat(result)])


def _places(found):
    """What a ``vmap`` staticmethod gave: the outputs, and the mapped dimension of each."""
    if not isinstance(found, tuple) or len(found) != 2:
        raise RuntimeError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with "
            f"pytree structure compatible with the output. Got a {type(found)} instead"
        )
    result, out_dims = found
    many = len(_flat(result))
    if not isinstance(out_dims, (tuple, list)):
        return result, (out_dims,) * many
    if not isinstance(result, tuple) or len(out_dims) != many:
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) "
            f"tuple: out_dims={out_dims} for an output that is "
            f"{f'a tuple of {many}' if isinstance(result, tuple) else type(result).__name__}"
        )
    return result, out_dims


def _generated(cls, mapped, size, randomness):
    """A function of whole batches whose forward, backward and jvp are those of `cls`, batched."""

    def enter(values, marks, level):
        return [
            batched(v, level) if m and isinstance(v, Tensor) else v
            for v, m in zip(values, marks, strict=True)
        ]

    def leave(values, level):
        return [_whole(v, level) if isinstance(v, Tensor) else v for v in values]

    class Batch(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(*args):
            with VmapLevel(size, randomness) as level:
                result = cls.forward(*enter(args, mapped, level))
                return _like(result, leave(_flat(result), level))

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.inner, ctx.marks = FunctionCtx(), mapped
            ctx.inner.needs_input_grad = ctx.needs_input_grad
            with VmapLevel(size, randomness) as level:
                outs = enter(_flat(output), [True] * len(_flat(output)), level)
                cls.setup_context(ctx.inner, tuple(enter(inputs, mapped, level)),
                                  _like(output, outs))  # fmt: skip
                saved = getattr(ctx.inner, "_to_save", ())
                ctx.saved_marks = [is_batched(t, level) for t in saved]
                ctx.save_for_backward(*[shed(t, level) for t in saved])
                forward = getattr(ctx.inner, "_forward_saved", None)
                if forward is not None:
                    ctx.save_for_forward(*[shed(t, level) for t in forward])

        @staticmethod
        def backward(ctx, *grads):
            with VmapLevel(size, randomness) as level:
                _restore(ctx, level, enter)
                found = _flat(cls.backward(ctx.inner, *enter(grads, [True] * len(grads), level)))
                return tuple(
                    None if g is None else _whole(g, level) if m else _total(g, level)
                    for g, m in zip(found, ctx.marks, strict=False)
                )

        @staticmethod
        def jvp(ctx, *tangents):
            with VmapLevel(size, randomness) as level:
                _restore(ctx, level, enter)
                found = cls.jvp(ctx.inner, *enter(tangents, mapped, level))
                return _like(found, leave(_flat(found), level))

    Batch.__name__ = Batch.__qualname__ = cls.__name__
    return Batch


def _restore(ctx, level, enter):
    """Give the inner context its saved tensors, as this level sees them."""
    ctx.inner._saved = tuple(enter(ctx.saved_tensors, ctx.saved_marks, level))
    ctx.inner._versions = tuple(0 for _ in ctx.inner._saved)


def _whole(value, level):
    """All examples, in dimension 0."""
    if is_batched(value, level):
        return value._inner
    return value.expand((level.size, *value.shape))


def _total(value, level):
    """The gradient of what all examples share."""
    return value._inner.sum(0) if is_batched(value, level) else value * level.size
