"""Convolutions by cuDNN's graphs, through the package ``cudnn`` (nvidia-cudnn-frontend).

A graph of one node is built per shape and kept. What cuDNN does not support is remembered and left
to our own kernels.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import ml_dtypes
import numpy as np

DATA_TYPES = {
    np.dtype(np.float32): "FLOAT",
    np.dtype(np.float16): "HALF",
    np.dtype(ml_dtypes.bfloat16): "BFLOAT16",
}
KINDS = ("forward", "input", "weight")


@dataclass(frozen=True)
class Matter:
    """Shape and strides, in elements, of an array (N, C, *S)."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @classmethod
    def of(cls, array) -> Matter:
        """Those of an array."""
        return cls(array.shape, tuple(s // array.itemsize for s in array.strides))

    def flat(self) -> Matter:
        """One spatial dim as two: cuDNN counts from two."""
        if len(self.shape) != 3:
            return self
        (n, c, s), (a, b, d) = self.shape, self.strides
        return Matter((n, c, 1, s), (a, b, d * s, d))


@dataclass(frozen=True)
class Convolution:
    """What is asked: ``forward`` of (image, weight), the gradient with respect to the ``input``
    of (gradient, weight), or to the ``weight`` of (gradient, image)."""

    kind: str
    dtype: np.dtype
    first: Matter
    second: Matter
    result: Matter
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    tf32: bool = True
    deterministic: bool = False

    def setting(self, values, neutral) -> list[int]:
        """A setting with as many numbers as cuDNN counts spatial dims."""
        return [neutral, *values] if len(values) == 1 else list(values)

    def plan(self, cudnn, handle):
        """The graph, built."""
        return _Plan(cudnn, handle, self)


def begun(cudnn, kind, handle):
    """An empty graph over arrays of a type, which computes in float32."""
    return cudnn.pygraph(
        io_data_type=kind,
        intermediate_data_type=cudnn.data_type.FLOAT,
        compute_data_type=cudnn.data_type.FLOAT,
        handle=handle,
    )


def returned(tensor, matter, kind):
    """Make a tensor of a graph one of its results."""
    tensor.set_output(True).set_data_type(kind)
    tensor.set_dim(list(matter.shape)).set_stride(list(matter.strides))


def prepared(cudnn, graph, unwanted) -> int:
    """Build a graph without engines of the `unwanted` notes; the bytes of workspace it needs."""
    graph.validate()
    graph.build_operation_graph()
    graph.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
    if unwanted:
        graph.deselect_numeric_notes(unwanted)
    graph.check_support()
    graph.build_plans()
    return graph.get_workspace_size()


def launcher(graph, operands, handle):
    """A function of the operands' addresses and that of the workspace, which launches a graph.

    The package's `execute` looks at every operand again in Python, 100 microseconds a call; where
    its compiled graph can be reached that is called, which takes 10.
    """
    try:
        if graph.selected_engine is not None:  # written in Python: it has no compiled graph
            raise AttributeError
        index = graph._materialize_backend_plan(graph._plan_index).cpp_index
        uids, native = [tensor.get_uid() for tensor in operands], handle.backend_handle
        execute = graph._lowered_graph._execute_plan_at_index
    except AttributeError:
        index = None
    if index is None:
        return lambda places, space: graph.execute(
            dict(zip(operands, places, strict=True)), space, handle=handle
        )
    return lambda places, space: execute(dict(zip(uids, places, strict=True)), space, index, native)


class _Plan:
    """One graph, built, with its operands and the bytes of workspace it needs."""

    def __init__(self, cudnn, handle, asked):
        kind = getattr(cudnn.data_type, DATA_TYPES[asked.dtype])
        self.graph = graph = begun(cudnn, kind, handle)
        self.operands = [
            graph.tensor(name=name, dim=list(m.shape), stride=list(m.strides), data_type=kind)
            for name, m in (("first", asked.first.flat()), ("second", asked.second.flat()))
        ]
        self.operands.append(self._node(graph, asked, *self.operands))
        returned(self.operands[2], asked.result.flat(), kind)
        notes = []
        if asked.dtype == np.float32 and not asked.tf32:
            notes += [cudnn.numerical_note.TENSOR_CORE, cudnn.numerical_note.DOWN_CONVERT_INPUTS]
        if asked.deterministic:
            notes.append(cudnn.numerical_note.NONDETERMINISTIC)
        self.workspace = prepared(cudnn, graph, notes)
        self.launch = launcher(graph, self.operands, handle)

    @staticmethod
    def _node(graph, asked, first, second):
        settings = {
            "padding": asked.setting(asked.padding, 0),
            "stride": asked.setting(asked.stride, 1),
            "dilation": asked.setting(asked.dilation, 1),
        }
        if asked.kind == "forward":
            return graph.conv_fprop(image=first, weight=second, **settings)
        if asked.kind == "input":
            return graph.conv_dgrad(loss=first, filter=second, **settings)
        return graph.conv_wgrad(image=second, loss=first, **settings)


class Library:
    """cuDNN with a handle per device and the plans made so far."""

    def __init__(self):
        import cudnn

        self.cudnn = cudnn
        self.handles, self.streams, self.plans, self.refused = {}, {}, {}, {}
        self.lock = threading.Lock()

    def run(self, device, asked, places, stream, allocate) -> bool:
        """Launch a :class:`Convolution` or an `Attention` over the addresses of its operands;
        False where cuDNN does not have it."""
        key = (device, asked)
        if asked.dtype not in DATA_TYPES or key in self.refused:
            return False
        with self.lock:
            if device not in self.handles:
                self.handles[device] = self.cudnn.create_handle()
            handle = self.handles[device]
            if self.streams.get(device) != stream:
                self.cudnn.set_stream(handle, stream)
                self.streams[device] = stream
            plan = self.plans.get(key)
            if plan is None:
                try:
                    plan = self.plans[key] = asked.plan(self.cudnn, handle)
                except Exception as error:  # the package has many; each means "not by cuDNN"
                    self.refused[key] = f"{type(error).__name__}: {error}"
                    return False
            space = allocate(plan.workspace) if plan.workspace else None
            plan.launch(places, space.address if space else 0)
        return True
