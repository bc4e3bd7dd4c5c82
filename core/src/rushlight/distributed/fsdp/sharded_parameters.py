"""The parameters of one module that ranks share: whole while they are used, else each rank's part.

A graph does not keep whole parameters: what it would save of one is noted by its position, and the
parameter is gathered again when backward needs it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from rushlight.autograd import engine
from rushlight.autograd.mode import no_grad
from rushlight.distributed import collectives
from rushlight.distributed.reduce_op import ReduceOp
from rushlight.distributed.tensor.dtensor import DTensor
from rushlight.distributed.tensor.placements import Replicate, Shard, bounds
from rushlight.machine import np
from rushlight.machine.arrays import BY_CODE, strided
from rushlight.machine.meta_array import MetaArray
from rushlight.tensor.storage import _root
from rushlight.tensor.tensor import Parameter, Tensor, make_tensor


class Layout(NamedTuple):
    """Among which ranks the rows of parameters are: `group` divides them into `size` parts (None:
    each rank has all of them), and `replicas` hold the same ones (None: no others)."""

    mesh: Any
    placements: tuple
    group: Any
    size: int
    rank: int
    replicas: Any

    @staticmethod
    def of(mesh, divides) -> Layout:
        """That of a mesh whose last dimension divides the rows."""
        if not divides:
            return Layout(mesh, (Replicate(),), None, 1, 0, mesh.get_group(0))
        last = mesh.ndim - 1
        placements = (*(Replicate() for _ in range(last)), Shard(0))
        replicas = mesh.get_group(0) if last else None
        ranks = mesh.get_group(last), mesh.size(last), mesh.get_local_rank(last)
        return Layout(mesh, placements, *ranks, replicas)


class ShardedParameter:
    """One parameter: ``shard``, what optimizers see, and ``whole``, what the module computes with.

    Parts have equally many rows, the last ones filled up with zeros that nobody sees: so they are
    gathered, and gradients scattered, without a copy.
    """

    def __init__(self, owners, parameter, layout, compute_dtype):
        self.owners, self.layout = owners, layout  # owners: (module, name) pairs
        self.shape, self.dtype = tuple(parameter.shape), parameter.dtype
        self.compute_dtype = compute_dtype or parameter.dtype
        rows = self.shape[0]
        self.step = -(-rows // layout.size)
        start, end = bounds(rows, layout.size, layout.rank)
        array = parameter._array
        self.padded = np.zeros_like(array, shape=(self.step, *self.shape[1:]))
        values = array.reshape(rows, *self.shape[1:])
        self.padded[: end - start] = values[start:end]
        local = make_tensor(self.padded[: end - start], self.dtype)
        self.shard = DTensor.over(local, layout.mesh, layout.placements, self.shape)
        self.shard.requires_grad_(parameter.requires_grad)
        nothing = np.empty_like(array, BY_CODE[self.compute_dtype.code], shape=(0,))
        empty = make_tensor(nothing, self.compute_dtype)
        # One object for good: the leaf of every graph, whose memory comes and goes.
        self.whole = Parameter(empty, parameter.requires_grad)
        self.work: Any = None
        self.buffer: Any = None
        self.reducing: Any = None
        self.part: Any = None

    def show(self, parameter) -> None:
        """Let the modules have the shard, or the whole."""
        for module, name in self.owners:
            module._parameters[name] = parameter

    def start_gathering(self) -> None:
        """Begin to bring all ranks' parts together."""
        sent = make_tensor(self.padded, self.dtype).to(self.compute_dtype)
        rows = self.step * self.layout.size
        self.buffer = np.empty_like(sent._array, shape=(rows, *self.shape[1:]))
        if self.layout.group is None:
            self.buffer[...] = sent._array
            return
        received = make_tensor(self.buffer, self.compute_dtype)
        self.work = collectives.all_gather_into_tensor(received, sent, self.layout.group, True)

    def finish_gathering(self) -> None:
        """The whole parameter is there."""
        if self.work is not None:
            self.work.wait()
        rows = self.shape[0]
        self.whole._array = self.buffer[:rows].reshape(self.shape)
        self.whole._storage = None
        self.work = None

    def free(self) -> None:
        """Give up the memory of the whole parameter."""
        self.whole._array = np.empty_like(self.whole._array, shape=(0,))
        self.whole._storage = self.buffer = None

    def scatter_gradient(self, reduce_dtype) -> None:
        """Begin to average the whole gradient over the ranks, each of which gets its part."""
        dtype = reduce_dtype or self.compute_dtype
        whole: Any = self.whole
        grad, whole._grad = whole._grad.to(dtype), None
        rows, all_rows = self.shape[0], self.step * self.layout.size
        elements = grad._array.reshape(rows, *self.shape[1:])
        if rows != all_rows:
            filled = np.zeros_like(elements, shape=(all_rows, *self.shape[1:]))
            filled[:rows] = elements
            elements = filled
        sent = make_tensor(elements, dtype).contiguous()
        if self.layout.group is None:
            self.part = sent.clone()
            return
        self.part = make_tensor(np.empty_like(self.padded, dtype=elements.dtype), dtype)
        self.reducing = collectives.reduce_scatter_tensor(
            self.part, sent, ReduceOp.AVG, self.layout.group, async_op=True
        )

    def average_replicas(self) -> None:
        """Begin to average this rank's part of the gradient over those that hold the same one."""
        replicas = self.layout.replicas
        if replicas is not None:
            if self.reducing is not None:
                self.reducing.wait()
            self.reducing = collectives.all_reduce(self.part, ReduceOp.AVG, replicas, async_op=True)

    def take_gradient(self) -> None:
        """Add this rank's part of the averaged gradient to the shard's."""
        self.reducing.wait()
        local = self.part.to(self.dtype)[: len(self.shard._array)].contiguous()
        old = self.shard._grad
        if old is not None:
            old._array += local._array
        else:
            layout = self.layout
            self.shard._grad = DTensor.over(local, layout.mesh, layout.placements, self.shape)
        self.reducing = self.part = None


class ShardedParameters:
    """All parameters of one module that are shared together."""

    def __init__(self, parameters, mesh, policy, divides=True):
        layout, self.policy = Layout.of(mesh, divides), policy
        self.parameters = [
            ShardedParameter(owners, parameter, layout, policy.param_dtype)
            for owners, parameter in parameters
        ]
        self.is_whole = False
        self.synchronizes = True
        self.reducing: list = []
        self.missing: set = set()
        self.by_id = {id(each.whole): each for each in self.parameters}
        for each in self.parameters:
            each.show(each.shard)
            if each.whole.requires_grad:
                each.whole.register_post_accumulate_grad_hook(self._arrived)

    def unshard(self) -> None:
        """Make the parameters whole."""
        if self.is_whole:
            return
        with no_grad():
            for each in self.parameters:
                each.start_gathering()
            for each in self.parameters:
                each.finish_gathering()
                each.show(each.whole)
        self.is_whole = True

    def reshard(self) -> None:
        """Keep this rank's parts alone."""
        if not self.is_whole:
            return
        for each in self.parameters:
            each.free()
            each.show(each.shard)
        self.is_whole = False

    def unshard_again(self) -> None:
        """Make the parameters whole for a second run of a part of forward, until backward ends."""
        self.unshard()
        engine.queue_callback(self.reshard)

    # -- what graphs keep -------------------------------------------------------------------------

    def pack(self, tensor: Tensor):
        """A saved tensor, or where it is in a whole parameter."""
        array = tensor._array
        if isinstance(array, MetaArray) or tensor.layout != "strided" or not array.size:
            return tensor
        root = _root(array)
        for each in self.parameters:
            if each.buffer is not None and np.may_share_memory(each.buffer, root):
                start = array.ctypes.data - each.buffer.ctypes.data
                return each, start, array.shape, array.strides, tensor._dtype
        return tensor

    def unpack(self, kept):
        """The saved tensor; gathers the parameters anew where they are not whole."""
        if isinstance(kept, Tensor):
            return kept
        each, start, shape, strides, dtype = kept
        self.unshard()
        kind = BY_CODE[dtype.code]
        span = kind.itemsize + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
        elements = each.buffer.reshape(-1).view(np.uint8)[start : start + span].view(kind)
        return make_tensor(strided(elements, shape, strides), dtype)

    # -- backward ---------------------------------------------------------------------------------

    def _arrived(self, whole):
        """The gradient of a whole parameter is complete in this pass."""
        if not self.synchronizes:
            engine.queue_callback(self.reshard)
            return
        each = self.by_id[id(whole)]
        if each in self.reducing:  # of a pass inside of the pass, such as a reentrant checkpoint's
            each.average_replicas()
            each.take_gradient()
            self.reducing.remove(each)
        with no_grad():
            each.scatter_gradient(self.policy.reduce_dtype)
        if not self.reducing:
            engine.queue_callback(self._backward_ended)
        self.reducing.append(each)
        trained = sum(one.whole.requires_grad for one in self.parameters)
        # All gradients are there: most graphs need the parameters no more.
        if len(self.reducing) == trained:
            self.reshard()

    def _backward_ended(self):
        for each in self.reducing:
            each.average_replicas()
        for each in self.reducing:
            each.take_gradient()
        self.reducing = []
        self.reshard()
