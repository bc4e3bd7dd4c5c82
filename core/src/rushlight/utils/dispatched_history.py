"""The history of calls that ``__torch_dispatch__`` of a subclass of Tensor answered.

Nodes hold the tensors of the class, and their formulas run as they are written, by ops, not as
kernels for arrays: the tensors may have none.
"""

from __future__ import annotations

from types import FunctionType

from rushlight.autograd import saving
from rushlight.ops._table.fusion import FusedFormula
from rushlight.ops._table.inplace import check_writable, take_history
from rushlight.ops._table.op import TENSORS
from rushlight.ops._table.recording import record
from rushlight.ops._transforms.tracking import _LevelOp
from rushlight.ops._transforms.wrapped_writes import alias, gives_views
from rushlight.ops.creation.conversion import _copy, _fill, _transfer, copy_, fill_
from rushlight.ops.indexing.captured_items import put
from rushlight.ops.indexing.items import _index_put
from rushlight.ops.indexing.items import put as value_put
from rushlight.tensor.dispatch import is_dispatching
from rushlight.tensor.storage import storage_of
from rushlight.tensor.tensor import Tensor

# Writes that are no ops of the table: which op has their gradient formula.
_WRITES = {copy_: _copy.op, fill_: _fill.op, put: _index_put.op, value_put: _index_put.op}


class _Pass:
    """What a formula of :class:`_LevelOp` asks of a level."""

    stripping = False


_PASS = _Pass()


class _ByOps(_LevelOp):
    """The op of a recorded call, as the engine calls it."""

    __slots__ = ()
    pulls: dict = {}

    def _pull(self, plan):
        """The plan's formulas as they are written, whatever compiled form they have there."""
        found = self.pulls.get(plan)
        if found is None:
            pull = plan.pull
            space = {k: _written(v) for k, v in pull.__globals__.items()}
            found = self.pulls[plan] = FunctionType(pull.__code__, space)
        return found

    def _saved(self, node, create):
        if node.saved is None:
            return super()._saved(node, create)
        found = []
        for item in node.saved:
            if type(item) is tuple:
                item, number = item
                if create:
                    item = bare(item)
                    item._node, item._index = node, number
            found.append(item)
        return found


def _written(value):
    """The formula that a compiled form stands for; other values as they are."""
    general = getattr(value, "__globals__", {}).get("general")
    found = general if isinstance(general, FusedFormula) else value
    return found.formula if isinstance(found, FusedFormula) else found


def op_of(function, written):
    """The op whose formula a call has; None where there is none."""
    if written is not None and getattr(function, "op", None) is None:
        return _WRITES.get(function)
    return getattr(function, "op", None)


def bare(tensor):
    """The same tensor without history."""
    out = alias(tensor)
    out._node = None
    out._index = 0
    return out


def recorded(op, tensors, args, kwargs, result):
    """`result` of a call of `op`, with the history of the call."""
    if op.options.get("differentiable", True) is False:
        return result
    _check_views(tensors)
    many = isinstance(result, tuple | list)
    outs = [_own(r, tensors) for r in (result if many else (result,))]
    if any(isinstance(r, Tensor) for r in outs):
        values = op.bind(args, dict(kwargs))
        slots = [r if isinstance(r, Tensor) else None for r in outs]
        _node(op, _flat(op, values), values, slots)
    if not many:
        return outs[0]
    return type(result)(*outs) if hasattr(result, "_fields") else type(result)(outs)


def recorded_copy(result, source, kwargs):
    """A copy of another dtype or on another device, with the history of one."""
    op, device = _transfer.op, kwargs.get("device", source.device)
    return recorded(op, [source], (source, source.device, device), {}, result)


def _own(value, tensors):
    """A result that may get a history: no argument, nor what somebody else may hold."""
    if not isinstance(value, Tensor):
        return value
    if is_dispatching(value):
        return bare(value) if value._node is not None or any(value is t for t in tensors) else value
    return value.detach()


def _flat(op, values):
    """The tensor arguments in declared order, None where there is none."""
    found = []
    for position in op.tensor_positions:
        value = values[position]
        for item in value if op.kinds[position] == TENSORS else (value,):
            found.append(item if isinstance(item, Tensor) else None)
    return found


def _node(op, tensors, values, outs, complete=True):
    if saving.active.count and saving.current() is not None:
        raise NotImplementedError(
            f"saved_tensors_hooks: {op.name} of a class with __torch_dispatch__ saves its tensors "
            "as they are; leave the hooks out, or use checkpoint"
        )
    attributes = [None if isinstance(v, Tensor) else v for v in values]
    node = record(op, tensors, attributes, outs, complete)
    plan, node.plan = node.plan, None  # an ordinary pass would run it on arrays
    node.op = _ByOps(op, _PASS, plan)
    _keep_outputs(node, plan, outs)
    return node


def _keep_outputs(node, plan, outs):
    """Have saved results be tensors of their class, without a cycle of references."""
    for i in range(len(plan.inputs), len(node.saved)):
        number = node.saved[i][-1]
        node.saved[i] = (bare(outs[number]), number)


def linked(op, base, result):
    """`result` of a view op, noted as a view of `base`, where both are of such classes."""
    if op is None or not gives_views(op) or not is_dispatching(base):
        return result
    for view in result if isinstance(result, tuple | list) else (result,):
        if is_dispatching(view) and view is not base and view._base is None:
            view._storage = storage_of(base)
            view._base = base if base._base is None else base._base
            view._taken_at = view._storage.version
    return result


def _check_views(tensors):
    """Refuse views whose history is another since their base was written to."""
    for tensor in tensors:
        base = tensor._base if is_dispatching(tensor) else None
        if base is not None and base._node is not None:
            if tensor.__dict__.get("_taken_at", 0) != storage_of(base).version:
                raise NotImplementedError(
                    f"{type(tensor).__name__}: a view of a tensor with a history that was written "
                    "to is not available for gradients; take the view after the write"
                )


def write(op, target, wanted, args, kwargs, run):
    """``target.op_(...)``: what `run` gives, and the history of the write where it is `wanted`."""
    check_writable(target, wanted)
    if wanted and is_dispatching(target) and target._base is not None:
        raise NotImplementedError(
            f"{type(target).__name__}: writing to a view is not available for gradients of classes "
            "with __torch_dispatch__; clone the view, or write to its base"
        )
    node = None
    if wanted:
        values = op.bind(args, dict(kwargs)) if op.inplace is not None else _plainly(op, args)
        node = _node(op, _flat(op, values), values, [bare(target)], complete=False)
        _keep_original(node, target)
    result = run()
    storage_of(target).version += 1
    if node is not None:
        _keep_outputs(node, node.op.plan, [target])
        if is_dispatching(target):
            target._node, target._index = node, 0
        else:
            take_history(target, node, 0)
    return target if isinstance(result, Tensor) else result


def _plainly(op, args):
    """The arguments of a write that is no op, as those of the op with its formula."""
    if op is _index_put.op:
        target, index, values, *accumulate = args
        index = tuple(slice(None) if i is None else i._array for i in index)
        return [target, values, index, *(accumulate or [False])]
    return list(args[: len(op.names)])


def _keep_original(node, target):
    """Where a formula needs what the target held before the write, save a copy of that."""
    inputs = node.op.plan.inputs
    if 0 in inputs:
        original = bare(target).clone()
        original._node, original._index = target._node, target._index
        node.saved[inputs.index(0)] = original
