"""What programs do with the graph itself: hooks on what it keeps, on nodes, on several gradients.

``saved_tensors_hooks`` hands every tensor that is kept for backward to a function, and asks another
one for it again: move it to a disk, compress it, keep half of its bits.
"""

from __future__ import annotations

import importlib
import threading
import typing
import weakref
from collections.abc import Callable, Iterable, Sequence

from rushlight.autograd import saving
from rushlight.autograd.handle import RemovableHandle
from rushlight.autograd.mode import _Decorator
from rushlight.autograd.mode import mode as recording
from rushlight.autograd.node import (
    GradientEdge,
    Node,
    as_function,
    gradient_edge,
)
from rushlight.tensor.storage import storage_of
from rushlight.tensor.tensor import Tensor

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Where the gradient of a tensor that requires one goes."""
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients"
        )
    edge, number = gradient_edge(tensor)
    return GradientEdge(as_function(edge), number)


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count a write to the memory of a tensor, or of several, that nobody else has counted."""
    if not isinstance(tensor, Iterable):
        raise RuntimeError(
            "increment_version expects a tensor or an iterable of tensors, but got "
            f"{type(tensor).__name__}"
        )
    for item in (tensor,) if isinstance(tensor, Tensor) else tensor:
        if not isinstance(item, Tensor):
            raise RuntimeError(
                "increment_version expects each element of the iterable to be a tensor, but got "
                f"{type(item).__name__}"
            )
        if not item.is_inference():
            storage_of(item).version += 1


# --------------------------------------------------------------------------------- saved tensors
class saved_tensors_hooks:  # noqa: N801 - PyTorch's name
    """Inside, ``pack_hook(tensor)`` is called with every tensor that is saved for backward, and
    what it gives is kept; ``unpack_hook`` gets that and gives a tensor with the same contents.

    The innermost pair counts. The tensors have no history, and are not to be written to.

    >>> with rushlight.autograd.graph.saved_tensors_hooks(
    ...     lambda x: x.half(), lambda packed: packed.float()
    ... ):
    ...     y = rushlight.ones(3, requires_grad=True).exp()
    >>> y.sum().backward()
    """

    def __init__(self, pack_hook: Callable, unpack_hook: Callable):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self):
        saving.push((self.pack_hook, self.unpack_hook))
        return self

    def __exit__(self, *exc):
        saving.pop()


class save_on_cpu(saved_tensors_hooks):  # noqa: N801 - PyTorch's name
    """Inside, what is saved for backward is kept in the memory of the CPU and brought back to its
    device when backward needs it. `pin_memory` is for copies from a GPU."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda"):
        def pack(tensor):
            kept = tensor.cpu()
            pinned = pin_memory and tensor.device.type != "cpu"
            return tensor.device, kept.pin_memory() if pinned else kept

        def unpack(packed):
            device, kept = packed
            return kept.to(device, non_blocking=pin_memory)

        super().__init__(pack, unpack)


class disable_saved_tensors_hooks(_Decorator):  # noqa: N801 - PyTorch's name
    """Inside, setting hooks on saved tensors is an error with the given message."""

    def __init__(self, error_message: str):
        self.message = error_message

    def clone(self):
        """A manager with the same message."""
        return type(self)(self.message)

    def __enter__(self):
        if saving.current() is not None:
            raise RuntimeError(self.message)
        self.previous, saving.hooks.refusal = saving.hooks.refusal, self.message
        return self

    def __exit__(self, *exc):
        saving.hooks.refusal = self.previous


class _Mutations:
    """The copies that stand for saved tensors in a region that may write to them."""

    def __init__(self):
        self.copies: dict = {}
        self.time = object()  # until the next `clear`

    def clear(self) -> None:
        """Drop the copies; backward through what was recorded here is over."""
        self.copies.clear()
        self.time = object()

    def pack(self, tensor):
        """Keep a copy, one for all who save the same contents."""
        storage = storage_of(tensor)
        key = (id(storage), storage.version, tensor.data_ptr(), tuple(tensor.shape),
               tuple(tensor.stride()), tensor.dtype)  # fmt: skip
        found = self.copies.get(key)
        if found is None or found[0]() is not storage:
            found = self.copies[key] = (weakref.ref(storage), tensor.clone())
        return self.time, found[1]

    def unpack(self, kept):
        """The copy, while it may be used."""
        time, copy = kept
        if time is not self.time:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in "
                "which the graph was originally recorded."
            )
        return copy


class _Mutable(threading.local):
    now = False  # whether this thread is in such a region


_mutable = _Mutable()


class allow_mutation_on_saved_tensors:  # noqa: N801 - PyTorch's name
    """Inside, tensors that are saved for backward may be written to: gradients are those of what
    they held when they were saved. Copies are made when tensors are saved.

    >>> with rushlight.autograd.graph.allow_mutation_on_saved_tensors():
    ...     x = rushlight.ones(2, requires_grad=True)
    ...     y = x.clone()
    ...     z = y.sin()
    ...     _ = y.mul_(2)
    ...     z.sum().backward()
    """

    def __enter__(self):
        if _mutable.now:
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        self.context = _Mutations()
        saving.push((self.context.pack, self.context.unpack))
        _mutable.now = True
        return self.context

    def __exit__(self, *exc):
        _mutable.now = False
        saving.pop()
        self.context.clear()


# ------------------------------------------------------------------------- several gradients
def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable, *, mode: typing.Literal["all", "any"] = "all"
) -> RemovableHandle | _Handles:
    """Call ``fn(grads)`` in each backward pass when the gradients of all `tensors` that take part
    in it are there (None for the others); with mode "any" ``fn(grad)`` with the first of them."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    lock = threading.Lock()
    # Of each pass: the gradients still to come, and those there.
    passes: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()

    def watch(index):
        def hook(grad):
            run = recording.runs[-1]
            with lock:
                state = passes.get(run)
                if state is None:
                    coming = sum(run.reaches(*gradient_edge(t)) for t in tensors)
                    state = passes[run] = [coming, [None] * len(tensors)]
                    first = True
                else:
                    first = False
                state[1][index] = grad
                state[0] -= 1
                last = not state[0]
            if mode == "any" and first:
                fn(grad)
            elif mode == "all" and last:
                fn(state[1])

        return hook

    return _Handles([t.register_hook(watch(i)) for i, t in enumerate(tensors)])


class _Handles(RemovableHandle):
    """Removes several hooks; also a context manager that does so at its end."""

    def __init__(self, handles):
        self.handles = tuple(handles)

    def remove(self) -> None:
        """Remove the hooks."""
        for handle in self.handles:
            handle.remove()

    def __getstate__(self):
        return self.handles

    def __setstate__(self, state):
        self.handles = state


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Nothing: gradients are accumulated on the stream that their backward pass runs on, so there
    is no mismatch to warn of."""


def __getattr__(name):
    """Names that PyTorch has here and that refuse their use."""
    refusals = importlib.import_module("rushlight.refusals")
    return refusals.some_of(
        __name__, "region_activation_memory_budget set_override_stale_capture_stream"
    )(name)
