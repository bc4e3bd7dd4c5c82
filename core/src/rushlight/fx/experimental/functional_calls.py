"""Calls of operators that write to their arguments, as calls that give the new values instead."""

from __future__ import annotations

from rushlight import inspection
from rushlight.fx.experimental.inner_graphs import HigherOrder
from rushlight.fx.experimental.recorder import Step
from rushlight.fx.experimental.written_views import rebuilt, viewed
from rushlight.library.operators import Operator
from rushlight.ops._transforms import capturing
from rushlight.ops.indexing.slicing import as_strided
from rushlight.tensor.dispatch import asked, call_overrides, stack


class FunctionalCall(HigherOrder):
    """``rushlight.ops.higher_order.auto_functionalized_v2`` and its older form.

    A call has the operator and all of its arguments by name; the result is a tuple of the
    operator's results, None for one without, and the new values of what it writes to.
    """

    def __call__(self, /, _mutable_op, **kwargs):
        """The results and the new values; a node in a captured program."""
        if stack.overrides:
            found = [v for v in asked((), kwargs) if getattr(v, "_level", None) is None]
            if found:
                return call_overrides(self, found, (_mutable_op,), kwargs)
        if not can_be_functional(_mutable_op):
            raise AssertionError(f"Cannot auto-functionalize op {_mutable_op}")
        recorder = inspection.recorder_of(list(_leaves(kwargs.values())))
        if recorder is None:
            return self._function(_mutable_op, **kwargs)
        step = Step(self, (_mutable_op,), kwargs)
        with recorder.calling(self):
            return capturing.run(recorder.level, step, self._function, step.args, step.kwargs)

    def again(self, recorder, args, kwargs, function_of):
        """Record it in another program."""
        return self(*args, **kwargs)


def _leaves(values):
    for value in values:
        yield from value if isinstance(value, list | tuple) else (value,)


def can_be_functional(operator) -> bool:
    """Whether an operator is the user's, writes, and gives tensors that are views of nothing."""
    return (
        isinstance(operator, Operator)
        and operator._schema.is_mutable
        and all(kind == "Tensor" for kind in operator._schema.returns)
    )


def written_arguments(operator):
    """The arguments of an operator's schema that it writes to."""
    return [a for a in operator._schema.arguments if a.is_write]


def copied(tensor):
    """A copy with the strides of a tensor, and as much memory before its first element."""
    if tensor.is_contiguous() and not tensor.storage_offset():
        return tensor.clone()
    shape, strides, start = tuple(tensor.shape), tensor.stride(), tensor.storage_offset()
    reach = sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
    length = start + reach + 1 if tensor.numel() else 0
    return as_strided(as_strided(tensor, (length,), (1,), 0).clone(), shape, strides, start)


def _with_results(found, values):
    return (*found, *values) if isinstance(found, tuple) else (found, *values)


def _of_values(operator, _only_clone_these_tensors=None, **kwargs):
    """The results of an operator and the new values of the arguments that it writes to. Of these
    `_only_clone_these_tensors` names those that are not written to themselves, None for all."""
    for name in (argument.name for argument in written_arguments(operator)):
        if _only_clone_these_tensors is None or name in _only_clone_these_tensors:
            kwargs[name] = _each_copied(kwargs[name])
    found = operator(**kwargs)
    return _with_results(found, [kwargs[a.name] for a in written_arguments(operator)])


def _each_copied(value):
    if isinstance(value, list | tuple):
        return [_each_copied(item) for item in value]
    return None if value is None else copied(value)


def _of_bases(operator, _only_clone_these_bases=None, **kwargs):
    """The results of an operator and the new values of `_all_bases`, the tensors whose memory it
    writes to. Further arguments say which view of which of them an argument is, see
    ``written_views.py``; `_only_clone_these_bases` has the indices of the tensors that are not
    written to themselves, None for all."""
    bases = kwargs.pop("_all_bases", [])
    chosen = range(len(bases)) if _only_clone_these_bases is None else _only_clone_these_bases
    new = [copied(base) if i in chosen else base for i, base in enumerate(bases)]
    return _with_results(operator(**rebuilt(written_arguments(operator), kwargs, new)), new)


auto_functionalized = FunctionalCall("auto_functionalized", _of_values)
auto_functionalized_v2 = FunctionalCall("auto_functionalized_v2", _of_bases)


def functional_call(operator, values):
    """A call of `operator` with the values of all its arguments, without writes: its arguments by
    name, and the tensors whose memory the operator writes to, among these arguments too."""
    if not can_be_functional(operator):
        raise RuntimeError(
            "Found a custom (non-ATen) operator whose output has alias annotations, or is no "
            f"tensor: {operator._schema}. A program without writes has calls of operators that "
            "write and give nothing, or tensors that share no memory with their arguments"
        )
    named = dict(zip((a.name for a in operator._schema.arguments), values, strict=True))
    bases, views = viewed(written_arguments(operator), named)
    return {**named, **views, "_all_bases": bases}, bases


def results_of(operator, found):
    """What `operator` gives, of what the call without writes gave; and the new values."""
    count = len(operator._schema.returns)
    if count > 1:
        return found[:count], found[count:]
    return found[0], found[1:]
