"""How gradients reach sparse tensors that are leaves, or were made of leaves by linear operations.

Such a tensor has a node of its own, and its gradient is of the layout that PyTorch gives it: dense
after a product with a dense matrix, in the positions of another tensor after a product with that
one. Every other op reads the elements (`elements`), and its gradient has the tensor's own
positions. Sparse tensors made of elements that require gradients have no node: the elements have.
"""

from __future__ import annotations

import functools

from rushlight.autograd.function import Function
from rushlight.autograd.mode import mode
from rushlight.tensor.tensor import Tensor


def recorded(tensor):
    """Whether a tensor is a sparse one with a node of its own, in a region that records."""
    return isinstance(tensor, Tensor) and hasattr(tensor, "_held") and tensor._node is not None


def same_kind(args):
    """Whether nodes of sparse tensors are all that an operation on `args` has to record."""
    found = False
    for value in args:
        if recorded(value):
            found = True
        elif isinstance(value, Tensor) and value.requires_grad:
            return False
    return found


class _Elements(Function):
    """The elements of a sparse tensor; their gradient in its positions."""

    _node_name = "ValuesBackward0"

    @staticmethod
    def forward(ctx, tensor, adjacent):
        ctx.tensor, ctx.adjacent = tensor.detach(), adjacent
        return tensor._held.detach()

    @staticmethod
    def backward(ctx, grad):
        found = ctx.tensor.with_elements(grad.contiguous() if ctx.adjacent else grad)
        if found._pattern.coalesced:
            return found, None
        from rushlight.ops.sparse.tensors import first_of_each

        return first_of_each(found), None


def elements(tensor, adjacent=True):
    """The elements of a sparse tensor, with the way to its gradient where one is recorded, whose
    elements are one behind the other if `adjacent`."""
    if tensor._node is None or not mode.recording:
        return tensor._held
    return _Elements.apply(tensor, adjacent)


class _Whole(Function):
    """A call on whole tensors: `pull(grad, args, options)` gives a gradient for each argument."""

    @staticmethod
    def forward(ctx, function, pull, options, *args):
        ctx.save_for_backward(*[a if isinstance(a, Tensor) else None for a in args])
        ctx.call = function, pull, options, [None if isinstance(a, Tensor) else a for a in args]
        return function(*args, **options)

    @staticmethod
    def backward(ctx, grad):
        _, pull, options, others = ctx.call
        saved = ctx.saved_tensors
        args = [o if t is None else t for t, o in zip(saved, others, strict=True)]
        needs = ctx.needs_input_grad[3:]
        return None, None, None, *pull(grad, args, options, needs)


def whole(pull, dense=False, node=None):
    """Decorate a function of sparse tensors: where one of them has a node, the call is recorded as
    one on whole tensors. `pull(grad, args, options, needs)` gives the gradients of its arguments.
    `node` is the name of what is recorded, as PyTorch has it.

    Dense arguments that require gradients leave it to the elements unless `pull` knows `dense`
    ones, too.
    """

    kind = _Whole if node is None else type("_Whole", (_Whole,), {"_node_name": node})

    def decorate(function):
        @functools.wraps(function)
        def call(*args, **options):
            if not mode.recording or not any(map(recorded, args)):
                return function(*args, **options)
            if not dense and not same_kind(args):
                return function(*args, **options)
            return kind.apply(function, pull, options, *args)

        return call

    return decorate


def only_first(pull):
    """A `pull` for the first argument alone, from ``pull(grad, *args, **options)``."""

    def call(grad, args, options, needs):
        return pull(grad, *args, **options), *(None for _ in args[1:])

    return call


unchanged = only_first(lambda grad, *args, **options: grad)
