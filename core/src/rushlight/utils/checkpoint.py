"""Trading time for memory: a part of a model whose intermediate values are computed again in
backward instead of being kept (Chen et al., 2016, "Training deep nets with sublinear memory cost").

Without reentrance the part runs recorded, but of what its graph saves only the positions are kept;
see :mod:`rushlight.utils.recomputation`. So closures, keywords, nested structures, hooks and second
derivatives work. Inside of function transforms, which know no hooks on saved tensors, the graph is
dropped instead, and backward differentiates a second run by what the first one read from outside.
With reentrance the first run is not recorded and backward runs a whole backward pass of its own.
"""

from __future__ import annotations

import contextlib
import warnings
from typing import TYPE_CHECKING

from rushlight import cuda, refusals
from rushlight.amp.mode import restore as restore_autocast
from rushlight.amp.mode import snapshot as autocast_snapshot
from rushlight.autograd import saving
from rushlight.autograd.engine import backward as run_backward
from rushlight.autograd.engine import grad
from rushlight.autograd.function import Function
from rushlight.autograd.mode import enable_grad, mode
from rushlight.autograd.node import Node, gradient_edge, next_sequence
from rushlight.dtypes import float32
from rushlight.machine import np
from rushlight.random import fork_rng, get_rng_state, set_rng_state
from rushlight.tensor.dispatch import stack
from rushlight.tensor.tensor import Tensor, make_tensor
from rushlight.utils import _pytree
from rushlight.utils.recomputation import CheckpointError, Part
from rushlight.utils.selective_checkpoint import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    from rushlight.nn.containers import Sequential

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]


class DefaultDeviceType:
    """The device whose random state is kept where no argument is on one."""

    _name = "cuda"

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Choose it."""
        DefaultDeviceType._name = device

    @staticmethod
    def get_device_type() -> str:
        """Its name."""
        return DefaultDeviceType._name


def get_device_states(*args) -> tuple[list[int], list[Tensor]]:
    """The numbers of the GPUs that tensors in nested arguments are on, and their random states."""
    found = [a for a in _pytree.tree_leaves(args) if isinstance(a, Tensor) and a.is_cuda]
    devices = sorted({a.device.index or 0 for a in found})
    return devices, [cuda.get_rng_state(n) for n in devices]


def set_device_states(
    devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = None
) -> None:
    """Set the random states of GPUs, as :func:`get_device_states` gave them."""
    if device_type not in (None, "cuda", "cpu", "meta"):
        raise NotImplementedError(f"set_device_states: random states of {device_type!r} devices")
    if device_type in (None, "cuda"):
        for device, state in zip(devices, states, strict=True):
            cuda.set_rng_state(state, device)


class _Debugging:  # also whether second runs stop early
    wanted: bool | None = None


_debugging, _stopping = _Debugging(), _Debugging()


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None):
    """Inside, `enabled` takes the place of every checkpoint's own `debug` unless it is None."""
    previous, _debugging.wanted = _debugging.wanted, enabled
    try:
        yield
    finally:
        _debugging.wanted = previous


def noop_context_fn() -> tuple[AbstractContextManager, AbstractContextManager]:
    """Two contexts that change nothing: for the first run and for the second."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args,
    use_reentrant: bool | None = None,
    context_fn: Callable[
        [], tuple[AbstractContextManager, AbstractContextManager]
    ] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs,
) -> Any:
    """``function(*args, **kwargs)``, keeping its inputs only; backward runs it a second time.

    `preserve_rng_state` (default True) makes the second run draw the same random numbers. With
    ``use_reentrant=False`` (recommended) everything can be differentiated; `context_fn` gives
    contexts for both runs and `determinism_check` ("default" or "none") says whether what the
    second run saves must have the shapes and dtypes of the first. With `early_stop` the second run
    ends when everything that backward needs is there. With `debug` an error about a second run that
    differs names the operations of both.
    """
    if use_reentrant is None:
        warnings.warn(
            "rushlight.utils.checkpoint: pass use_reentrant explicitly; use_reentrant=False is "
            "recommended, and True is what you get without it.",
            stacklevel=2,
        )
        use_reentrant = True
    keep_random = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError(f"Unexpected keyword arguments: {','.join(kwargs)}")
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError(
                "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
            )
        return _reentrant(function, keep_random, args)
    if determinism_check not in ("default", "none"):
        raise ValueError(
            f"checkpoint: determinism_check must be 'default' or 'none', got {determinism_check!r}"
        )
    debug = debug if _debugging.wanted is None else _debugging.wanted
    if debug and context_fn is not noop_context_fn:
        raise ValueError("checkpoint: debug=True does not go together with a context_fn")
    surroundings, (first, second) = _Surroundings(keep_random), context_fn()
    if not mode.recording:
        with first:
            return function(*args, **kwargs)
    check = determinism_check != "none"
    if stack.levels:
        return _Call(function, args, kwargs, surroundings, second, check).run(first)
    stops = early_stop if _stopping.wanted is None else _stopping.wanted
    part = Part(function, args, kwargs, surroundings, second, check, stops, debug)
    return part.run(args, first)


# Functions that the second run of a call under way calls first: modules whose parameters are not
# always there have them brought back.
BEFORE_SECOND_RUN: list = []


class _Surroundings:
    """What a call depends on beside its arguments: random numbers, autocast, parameters."""

    def __init__(self, keep_random):
        self.random = get_rng_state() if keep_random else None
        self.autocast = autocast_snapshot()
        self.before = tuple(BEFORE_SECOND_RUN)

    @contextlib.contextmanager
    def again(self):
        """Inside, everything is as it was when this was made."""
        for begin in self.before:
            begin()
        with fork_rng(enabled=self.random is not None), restore_autocast(self.autocast):
            if self.random is not None:
                set_rng_state(self.random)
            yield


# ------------------------------------------------------------------- inside of function transforms
class _Call:
    """One checkpointed call, and the op of the node that stands for it in the graph."""

    node_name = "CheckpointBackward"

    def __init__(self, function, args, kwargs, surroundings, second, check):
        self.function, self.args, self.kwargs = function, args, kwargs
        self.surroundings, self.second, self.check = surroundings, second, check

    def run(self, first):
        """The function's outputs, tied to the graph by one node."""
        start = next_sequence()
        with first, saving.suspended():  # what this run saves is dropped
            result = self.function(*self.args, **self.kwargs)
        values, structure = _pytree.tree_flatten(result)
        self.places = [i for i, value in enumerate(values) if _is_inside(value, start)]
        if not self.places:
            return result
        outputs = [values[i] for i in self.places]
        self.forms = [(tuple(o.shape), o.dtype) for o in outputs]
        boundary = _boundary(outputs, start)
        self.inputs = [x for x in _pytree.tree_leaves((self.args, self.kwargs)) if _is_tensor(x)]
        self.versions = [x._version for x in self.inputs]
        numbers = [number for _, number in boundary]
        node = Node(self, tuple(edge for edge, _ in boundary), numbers, len(outputs))
        node.saved = ()
        for number, place in enumerate(self.places):
            out = values[place].detach()
            out._node, out._index = node, number
            values[place] = out
        return _pytree.tree_unflatten(values, structure)

    def backward(self, node, grads, create):
        """Gradients by the node's edges: run the function again and differentiate it."""
        for number, (value, version) in enumerate(zip(self.inputs, self.versions, strict=True)):
            if value._version != version:
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an "
                    f"inplace operation: tensor {number} among the arguments of a checkpointed "
                    f"function is at version {value._version}; expected version {version}"
                )
        with enable_grad(), self.surroundings.again(), self.second:
            result = self.function(*self.args, **self.kwargs)
        outputs = self._outputs(_pytree.tree_leaves(result))
        grads = list(grads) if node.outputs > 1 else [grads]
        if any(gradient_edge(out)[0] is None for out in outputs):
            raise NotImplementedError(
                "checkpoint: forward mode over a mapped backward pass, as in hessian or "
                "jacfwd(jacrev(f)), is not available; use jacrev(jacrev(f)), or no checkpoint"
            )
        pairs = [(o, g) for o, g in zip(outputs, grads, strict=True) if g is not None]
        ends = [_end(*edge) for edge in zip(node.edges, node.numbers, strict=True)]
        with _without_hooks(node.edges):
            return list(
                grad(
                    [o for o, _ in pairs],
                    ends,
                    [g for _, g in pairs],
                    create_graph=create,
                    allow_unused=True,
                )
            )

    def _outputs(self, values):
        try:
            outputs = [values[i] for i in self.places]
            forms = [(tuple(o.shape), o.dtype) for o in outputs]
        except (IndexError, AttributeError):
            forms = outputs = None
        if outputs is None or self.check and forms != self.forms:
            raise CheckpointError(
                "checkpoint: the second run of the function gave other outputs than the first: "
                f"{forms} instead of {self.forms}; it must compute the same each time"
            )
        return outputs


def _is_tensor(value):
    return isinstance(value, Tensor)


def _is_inside(value, start):
    if not isinstance(value, Tensor) or not value.requires_grad:
        return False
    end, _ = gradient_edge(value)
    return isinstance(end, Node) and end.sequence > start


def _boundary(outputs, start):
    """The ends outside that a graph reads from: leaves and nodes made before `start`, each with
    its output number."""
    found, seen = {}, set()
    waiting = [gradient_edge(out)[0] for out in outputs]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        numbers = node.numbers or (0,) * len(node.edges)
        for edge, number in zip(node.edges, numbers, strict=True):
            if edge is None:
                continue
            if isinstance(edge, Node) and edge.sequence > start:
                waiting.append(edge)
            else:
                found[id(edge), number] = (edge, number)
    return list(found.values())


def _end(edge, number):
    """A tensor whose gradient is what flows along an edge."""
    if not isinstance(edge, Node):
        return edge
    tensor = make_tensor(np.empty(0, np.float32), float32)
    tensor._node, tensor._index = edge, number
    return tensor


@contextlib.contextmanager
def _without_hooks(edges):
    """The hooks of the ends run once: in the backward pass around this one."""
    kept = []
    for edge in edges:
        names = ("tensor_hooks",) if isinstance(edge, Node) else ("_hooks", "_post_hooks")
        for name in names:
            hooks = getattr(edge, name)
            if hooks:
                kept.append((edge, name, hooks))
                setattr(edge, name, None)
    try:
        yield
    finally:
        for edge, name, hooks in kept:
            setattr(edge, name, hooks)


# ---------------------------------------------------------------------------------- with reentrance
class CheckpointFunction(Function):
    """Checkpoints with reentrance: runs a function unrecorded; its backward runs it recorded, and
    backward through that."""

    @staticmethod
    def forward(ctx, function, keep_random, *args):
        """Call the function."""
        ctx.function, ctx.args = function, args
        ctx.surroundings = _Surroundings(keep_random)
        ctx.save_for_backward(*(a for a in args if isinstance(a, Tensor)))
        return function(*args)

    @staticmethod
    def backward(ctx, *grads):
        """Call it again, recorded, and go backward through that."""
        if mode.runs and mode.runs[-1].wanted is not None:
            raise RuntimeError(
                "checkpoint: with use_reentrant=True it is incompatible with grad() and with "
                "`inputs` of backward(): its own backward pass reaches everything. Pass "
                "use_reentrant=False, or call backward() without `inputs`."
            )
        saved = iter(ctx.saved_tensors)
        args = [next(saved) if isinstance(a, Tensor) else a for a in ctx.args]
        fresh = detach_variable(tuple(args))
        with enable_grad(), ctx.surroundings.again():
            result = ctx.function(*fresh)
        outputs = result if isinstance(result, tuple) else (result,)
        pairs = [
            (o, g)
            for o, g in zip(outputs, grads, strict=True)
            if isinstance(o, Tensor) and o.requires_grad
        ]
        if not pairs:
            raise RuntimeError(
                "none of output has requires_grad=True, this checkpoint() is not necessary"
            )
        run_backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *(a.grad if isinstance(a, Tensor) else None for a in fresh))


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn where no gradient can flow through a checkpoint: none of its inputs requires one."""
    if not any(x.requires_grad for x in inputs if isinstance(x, Tensor)):
        warnings.warn(
            "None of the inputs have requires_grad=True. Gradients will be None", stacklevel=3
        )


def detach_variable(inputs: tuple) -> tuple:
    """The inputs with their tensors detached, leaves that require gradients where those did."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            "Only tuple of tensors is supported. Got Unsupported input type: "
            f"{type(inputs).__name__}"
        )
    return tuple(
        x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs
    )


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool):
    """Inside, `enable` takes the place of every checkpoint's own `early_stop`: whether the second
    run ends with the last tensor that backward needs."""
    previous, _stopping.wanted = _stopping.wanted, enable
    try:
        yield
    finally:
        _stopping.wanted = previous


def _reentrant(function, keep_random, args):
    if stack.levels:
        raise RuntimeError(
            "checkpoint: pass use_reentrant=False inside of function transforms (vmap, grad, jvp, "
            "...): backward passes inside of backward passes are unknown to them"
        )
    if mode.recording:
        check_backward_validity(args)
    return CheckpointFunction.apply(function, keep_random, *args)


def checkpoint_sequential(
    functions: Sequential | Sequence[Callable[..., Any]],
    segments: int,
    input,
    use_reentrant: bool | None = None,
    **kwargs,
) -> Tensor:
    """A sequence of modules on `input`, all but the last of its `segments` checkpointed."""
    keep_random = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError(f"Unexpected keyword arguments: {','.join(kwargs)}")
    if use_reentrant is None:
        warnings.warn(
            "rushlight.utils.checkpoint: pass use_reentrant explicitly; use_reentrant=False is "
            "recommended, and True is what you get without it.",
            stacklevel=2,
        )
        use_reentrant = True
    modules = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(modules) // segments
    if size < 1:
        raise ValueError(
            f"checkpoint_sequential: {len(modules)} modules cannot make {segments} segments"
        )

    def part(start, stop):
        def run(value):
            for module in modules[start:stop]:
                value = module(value)
            return value

        return run

    last = size * (segments - 1)
    for start in range(0, last, size):
        input = checkpoint(
            part(start, start + size),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=keep_random,
        )
    return part(last, len(modules))(input)


__getattr__ = refusals.some_of(__name__, "GraphExecGroup SAC_IGNORED_OPS")
