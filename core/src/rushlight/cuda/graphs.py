"""CUDA graphs: GPU work recorded once and launched again as a whole.

While work is recorded nothing runs and nothing may wait for the GPU. A replay reads and writes the
same memory: copy new inputs into the tensors that were used, read results from those that came out.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rushlight.cuda import is_available
from rushlight.cuda.streams import Stream, StreamContext, _require, current_stream
from rushlight.machine.cuda import runtime
from rushlight.ops.random import sampling as generators

if TYPE_CHECKING:
    from rushlight.tensor.tensor import Tensor


class CUDAGraph:
    """A recorded sequence of GPU work."""

    def __init__(self, keep_graph=False):
        _require("CUDAGraph")
        self._recorded, self._stream, self._kept = None, None, []

    def capture_begin(self, pool=None, capture_error_mode="global") -> None:
        """Record the work of the current stream from now on. `pool`: a graph, or what its
        :meth:`pool` gave, whose memory may be shared."""
        stream = current_stream()
        shared = getattr(pool, "_recorded", None)
        for generator in generators._on_devices.values():
            generator.engine.state()  # its state is memory outside of the graph
        runtime.current().graph_begin(stream.stream_id, shared)
        self._stream = stream

    def capture_end(self) -> None:
        """Stop recording."""
        if self._stream is None:
            raise RuntimeError("capture_end: no capture has been begun on this graph")
        self._recorded = runtime.current().graph_end(self._stream.stream_id)
        self._stream = None

    def replay(self) -> None:
        """Do the recorded work again, on the current stream."""
        if self._recorded is None:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        self._recorded.launch(current_stream().stream_id)

    def reset(self) -> None:
        """Forget what was recorded and free its memory."""
        self._recorded, self._stream = None, None

    def pool(self):
        """What other graphs take as `pool` to share this one's memory."""
        return self


def graph_pool_handle() -> None:
    """A memory pool that several graphs share: None, each first graph's own."""


def is_current_stream_capturing() -> bool:
    """Whether the current stream's work is being recorded."""
    if not is_available():
        return False
    return runtime.current().is_capturing(current_stream().stream_id)


class graph:  # noqa: N801 - PyTorch's name
    """Records into a :class:`CUDAGraph` what is computed inside, on a stream of its own."""

    default_capture_stream = None
    _runtime = None

    def __init__(
        self,
        cuda_graph: CUDAGraph,
        pool: CUDAGraph | None = None,
        stream: Stream | None = None,
        capture_error_mode="global",
    ):
        _require("graph")
        if stream is None:
            if graph.default_capture_stream is None or graph._runtime is not runtime.current():
                graph.default_capture_stream, graph._runtime = Stream(), runtime.current()
            stream = graph.default_capture_stream
        self.cuda_graph, self.pool, self.stream = cuda_graph, pool, stream
        self._mode = capture_error_mode

    def __enter__(self):
        runtime.current().synchronize(self.stream.device.index)
        gc.collect()
        self._context = StreamContext(self.stream)
        self._context.__enter__()
        try:
            self.cuda_graph.capture_begin(self.pool, self._mode)
        except BaseException:  # nobody will leave the context, so the stream would stay current
            self._context.__exit__()
            raise
        return self

    def __exit__(self, kind, *exc):
        try:
            self.cuda_graph.capture_end()
            if kind is not None:
                self.cuda_graph.reset()
        finally:
            self._context.__exit__(kind, *exc)
        return False


def make_graphed_callables(
    callables: Callable[..., Any] | tuple[Callable[..., Any], ...],
    sample_args: tuple[Tensor, ...] | tuple[tuple[Tensor, ...], ...],
    num_warmup_iters=3,
    allow_unused_input=False,
    pool: CUDAGraph | None = None,
) -> Callable[..., Any] | tuple[Callable[..., Any], ...]:
    """Functions or modules whose forward and backward passes are replayed graphs.

    Arguments must be tensors of the shapes of `sample_args`; parameters of modules are used where
    they are. Each call copies its arguments into the graph's tensors.
    """
    single = not isinstance(callables, tuple)
    functions: Any = (callables,) if single else callables
    samples: Any = (sample_args,) if single else sample_args
    made = [
        _graphed(function, tuple(args), num_warmup_iters, allow_unused_input, pool)
        for function, args in zip(functions, samples, strict=True)
    ]
    return made[0] if single else tuple(made)


def _graphed(function, args, warmups, allow_unused, pool):
    from rushlight.autograd.engine import grad as gradients
    from rushlight.nn.module import Module
    from rushlight.ops.creation.tensors import empty_like

    parameters = tuple(function.parameters()) if isinstance(function, Module) else ()
    forward = function.forward if isinstance(function, Module) else function
    inputs = tuple(a.detach().clone().requires_grad_(a.requires_grad) for a in args)
    watched = [t for t in (*inputs, *parameters) if t.requires_grad]
    side = Stream()
    side.wait_stream(current_stream())
    with StreamContext(side):
        for _ in range(warmups):
            found = _many(forward(*inputs))
            live = [o for o in found if o.requires_grad]
            if live:
                given = [empty_like(o).zero_() for o in live]
                gradients(live, watched, given, allow_unused=allow_unused)
    current_stream().wait_stream(side)
    first, second = CUDAGraph(), CUDAGraph()
    with graph(first, pool):
        outputs = forward(*inputs)
    found = _many(outputs)
    live = [o for o in found if o.requires_grad]
    given, results = [], []
    if live:
        given = [empty_like(o) for o in live]
        with graph(second, first.pool()):
            results = gradients(live, watched, given, allow_unused=True)
    return _wrapped(function, forward, parameters, inputs, outputs, live, watched, given, results,
                    first, second)  # fmt: skip


def _many(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _wrapped(function, forward, parameters, inputs, outputs, live, watched, given, results,
             first, second):  # fmt: skip
    """The callable that replays the graphs, as a function with a gradient."""
    from rushlight.autograd.function import Function
    from rushlight.nn.module import Module

    found = _many(outputs)
    order = {id(t): i for i, t in enumerate(watched)}
    places = {id(o): i for i, o in enumerate(live)}

    class Graphed(Function):
        """Replays both graphs."""

        @staticmethod
        def forward(context, *values):
            """Copy the inputs in, replay."""
            for own, value in zip(inputs, values, strict=False):
                if own.data_ptr() != value.data_ptr():
                    own.detach().copy_(value.detach())
            first.replay()
            return tuple(o.detach() for o in found)

        @staticmethod
        def backward(context, *grads):
            """Copy the gradients in, replay."""
            for o, g in zip(found, grads, strict=True):
                at = places.get(id(o))
                if at is not None and g is not None:
                    given[at].copy_(g)
            second.replay()
            pieces = [
                None if id(t) not in order else results[order[id(t)]]
                for t in (*inputs, *parameters)
            ]
            return tuple(None if p is None else p.detach() for p in pieces)

    def call(*args):
        made = Graphed.apply(*args, *parameters)
        return made if isinstance(outputs, (tuple, list)) else made[0]

    if not isinstance(function, Module):
        return call
    training = function.training

    def chosen(*args, **kwargs):
        return call(*args) if function.training == training else forward(*args, **kwargs)

    function.forward = chosen
    return function


__all__ = [
    "CUDAGraph",
    "graph",
    "graph_pool_handle",
    "is_current_stream_capturing",
    "make_graphed_callables",
]
