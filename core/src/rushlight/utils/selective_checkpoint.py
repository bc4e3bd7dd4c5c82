"""Checkpointing that keeps the results of chosen ops: what is costly is kept, the rest recomputed.

Both runs of a checkpointed part are watched. The first keeps what the policy says; the second gives
it back, with the history it would have, instead of computing it.
"""

from __future__ import annotations

import enum
from collections import defaultdict

from rushlight.autograd.mode import mode
from rushlight.ops._table.arrays import collect, record_outputs
from rushlight.ops._table.elementwise import Call
from rushlight.ops.linalg.products import linear
from rushlight.tensor.dispatch import Interpreter, pop, push
from rushlight.tensor.storage import storage_of
from rushlight.tensor.tensor import Tensor, make_tensor
from rushlight.utils.flop_counter import opens

__all__ = ["CheckpointPolicy", "SelectiveCheckpointContext", "create_selective_checkpoint_contexts"]


class CheckpointPolicy(enum.Enum):
    """What is done with the result of an op: keep it, or compute it again. What must and what had
    better be done is the same here; memory on the CPU is where results are kept anyway."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_KEPT = frozenset(
    (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE,
     CheckpointPolicy.MUST_CPU_OFFLOAD, CheckpointPolicy.PREFER_CPU_OFFLOAD)
)  # fmt: skip


class SelectiveCheckpointContext:
    """What a policy is told. It decides in the first run, so `is_recompute` is False there; the
    result of the op is there if it is known by then."""

    def __init__(self, *, is_recompute: bool, op_output: object = None):
        self.is_recompute, self.op_output = is_recompute, op_output


def _runs_as(function):
    """ATen's names of the ops that PyTorch runs for an op (``runs_as=``)."""
    op = getattr(function, "op", None)
    return () if op is None else op.options.get("runs_as", "").split()


def _policy_of_list(chosen):
    names = {getattr(item, "__name__", str(item)) for item in chosen}

    def policy(context, op, *args, **kwargs):
        kept = op.__name__ in names or not names.isdisjoint(_runs_as(op))
        return CheckpointPolicy.MUST_SAVE if kept else CheckpointPolicy.PREFER_RECOMPUTE

    return policy, False


def _as_aten(function, args, kwargs):
    """The ATen operator that stands for a call in PyTorch, ours where there is none."""
    from rushlight import ops

    name, others = function.__name__, _runs_as(function)
    if function is linear:
        bias = args[2] if len(args) > 2 else kwargs.get("bias")
        name = others[bias is not None]
    elif others and name.startswith("_"):  # ATen has no op of that name
        name = others[0]
    try:
        return getattr(ops.aten, name).default
    except AttributeError:
        return function


class _Watch(Interpreter):
    """One of the two runs."""

    def __init__(self, kept, policy, by_aten, second, mutable):
        self.kept, self.policy, self.by_aten, self.mutable = kept, policy, by_aten, mutable
        self.context = SelectiveCheckpointContext(is_recompute=second)
        self.places: dict = {}

    def __enter__(self):
        self.places = defaultdict(int)
        if not self.context.is_recompute:
            self.kept.clear()
        return super().__enter__()

    def process(self, function, types, args, kwargs):
        """Run an op, or find its result."""
        op = getattr(function, "op", None)
        if op is None or op.kind == "view" or not opens(function, args, kwargs):
            return function(*args, **kwargs)
        if op.kind == "composite":
            return self._open(op, args, kwargs)
        if self.context.is_recompute:
            return self._again(op, function, args, kwargs)
        named = _as_aten(function, args, kwargs) if self.by_aten else function
        found = self.policy(self.context, named, *args, **kwargs)
        if isinstance(found, bool):
            found = CheckpointPolicy.MUST_SAVE if found else CheckpointPolicy.PREFER_RECOMPUTE
        if found not in _KEPT:
            self.kept[op.name].append(None)
            return function(*args, **kwargs)
        result = function(*args, **kwargs)
        many = isinstance(result, tuple)
        self.kept[op.name].append(
            [(r.detach(), r._version) if isinstance(r, Tensor) else (r, 0)
             for r in (result if many else (result,))]
        )  # fmt: skip
        return result

    def _open(self, op, args, kwargs):
        push(self)
        try:
            return op.run(op.bind(args, dict(kwargs)))
        finally:
            pop(self)

    def _again(self, op, function, args, kwargs):
        """The kept result of a call, recorded as if it were computed; or what the call gives."""
        place = self.places[op.name]
        if place >= len(self.kept[op.name]):
            if not any(self.kept[op.name]):
                return function(*args, **kwargs)
            from rushlight.utils.checkpoint import CheckpointError

            raise CheckpointError(
                f"selective checkpoint: the second run calls {op.name} more often than the first; "
                "it must compute the same each time"
            )
        self.places[op.name] = place + 1
        if self.kept[op.name][place] is None:
            return function(*args, **kwargs)
        outs = [self._fresh(op, *item) for item in self.kept[op.name][place]]
        values = op.bind(args, dict(kwargs))
        if op.kind == "elementwise":
            call = Call(op, values)
            tensors, attributes = call.tensors, call.attributes
        else:
            tensors, _ = collect(op, values)
            attributes = [None if isinstance(v, Tensor) else v for v in values]
        if mode.recording and any(t is not None and t._node is not None for t in tensors):
            record_outputs(op, tensors, attributes, outs)
        result = op.options.get("result")
        if result is not None and len(outs) > 1:
            return result(*outs)
        return tuple(outs) if len(outs) > 1 else outs[0]

    def _fresh(self, op, kept, version):
        if not isinstance(kept, Tensor):
            return kept
        if kept._version != version and not self.mutable:
            raise RuntimeError(
                f"Tensor cached during selective activation checkpoint has been mutated: a result "
                f"of {op.name} was written to"
            )
        out = make_tensor(kept._array, kept._dtype, kept._device)
        out._storage = storage_of(kept)
        return out


def create_selective_checkpoint_contexts(policy_fn_or_list, allow_cache_entry_mutation=False):
    """The two contexts of a checkpoint that keeps some results: for `context_fn`.

    `policy_fn_or_list`: the operators whose results are kept (``rushlight.ops.aten.mm.default``,
    ``rushlight.mm``), or a function ``(context, op, *args, **kwargs)`` that gives a
    :class:`CheckpointPolicy`. Layers and products count as the products that PyTorch makes of them.
    Kept results must not be written to, unless `allow_cache_entry_mutation`.

    >>> kept = functools.partial(
    ...     create_selective_checkpoint_contexts, [rushlight.ops.aten.mm.default]
    ... )  # doctest: +SKIP
    >>> checkpoint(function, x, use_reentrant=False, context_fn=kept)  # doctest: +SKIP
    """
    if isinstance(policy_fn_or_list, list | tuple):
        policy, by_aten = _policy_of_list(policy_fn_or_list)
    elif callable(policy_fn_or_list):
        policy, by_aten = policy_fn_or_list, True
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    kept: defaultdict = defaultdict(list)
    return tuple(
        _Watch(kept, policy, by_aten, second, allow_cache_entry_mutation)
        for second in (False, True)
    )
