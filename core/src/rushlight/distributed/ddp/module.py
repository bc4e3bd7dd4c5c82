"""DistributedDataParallel: a module whose gradients are the averages over all ranks."""

from __future__ import annotations

import contextlib

from rushlight.autograd.mode import is_grad_enabled, no_grad
from rushlight.devices import device
from rushlight.distributed import collectives, objects
from rushlight.distributed.algorithms.join import GroupJoinable, Join, JoinHook
from rushlight.distributed.ddp.reducer import Reducer
from rushlight.distributed.groups import default_group
from rushlight.distributed.reduce_op import ReduceOp
from rushlight.nn.module import Module
from rushlight.ops.creation.tensors import tensor as make
from rushlight.tensor.tensor import Tensor
from rushlight.utils._pytree import tree_leaves, tree_map


class DistributedDataParallel(Module, GroupJoinable):
    """A module that is trained by several processes, each with its own part of the batch.

    Parameters and buffers become those of rank 0. Every backward averages the gradients over the
    ranks: the last layers' while those of earlier ones are still computed.

    Args:
        module: has parameters that require gradients, the same on every rank.
        device_ids: ``[n]`` or None: the GPU that the module is on, to which inputs are moved. None
            for modules on the CPU, which take their inputs as they come.
        output_device, dim: of no consequence: None (or that GPU) and 0.
        broadcast_buffers: whether each forward begins with rank 0's buffers (True).
        init_sync: whether to compare the ranks' modules and take over rank 0's (True).
        process_group: the ranks; all by default.
        bucket_cap_mb: the size of buckets of gradients that are reduced together (25).
        find_unused_parameters: whether parameters may be without part in the outputs (False).
        gradient_as_bucket_view: whether ``.grad`` are views of the buckets, which saves a copy.
        static_graph: whether every iteration uses the same parameters equally often; reentrant
            checkpoints need it.

    >>> import rushlight.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> model = rushlight.nn.parallel.DistributedDataParallel(rushlight.nn.Linear(2, 1))
    >>> model(rushlight.ones(3, 2)).sum().backward()
    >>> model.module.bias.grad
    tensor([3.])
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        module,
        device_ids=None,
        output_device=None,
        dim=0,
        broadcast_buffers=None,
        init_sync=True,
        process_group=None,
        bucket_cap_mb=None,
        find_unused_parameters=False,
        check_reduction=False,
        gradient_as_bucket_view=False,
        static_graph=False,
        delay_all_reduce_named_params=None,
        param_to_hook_all_reduce=None,
        mixed_precision=None,
        device_mesh=None,
        **options,
    ):
        super().__init__()
        _refuse(mixed_precision=mixed_precision,
                delay_all_reduce_named_params=delay_all_reduce_named_params, **options)  # fmt: skip
        self.process_group = _group(process_group, device_mesh)
        self.module, self.dim = module, dim
        self.device_ids = _devices(module, device_ids, output_device)
        self.output_device = self.device_ids and self.device_ids[0]
        self.broadcast_buffers = True if broadcast_buffers is None else broadcast_buffers
        self.find_unused_parameters = find_unused_parameters
        self.gradient_as_bucket_view, self.static_graph = gradient_as_bucket_view, static_graph
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self.bucket_bytes_cap = int((25 if bucket_cap_mb is None else bucket_cap_mb) * (1 << 20))
        self._divides_by_all = True
        names, parameters = self._trained()
        if init_sync:
            self._compare(names, parameters)
            self._take_over()
        self.reducer = Reducer(
            names, parameters, self.process_group, self.bucket_bytes_cap, gradient_as_bucket_view,
            find_unused_parameters, static_graph,
        )  # fmt: skip

    # -- the start --------------------------------------------------------------------------------

    def _trained(self):
        ignored = set(getattr(self.module, "_ddp_params_and_buffers_to_ignore", ()))
        self.parameters_to_ignore = ignored
        found = [
            (name, parameter)
            for name, parameter in self.module.named_parameters()
            if parameter.requires_grad and name not in ignored
        ]
        if not found:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter "
                "that requires a gradient."
            )
        return [name for name, _ in found], [parameter for _, parameter in found]

    def _compare(self, names, parameters):
        pairs = zip(names, parameters, strict=True)
        mine = [(name, tuple(p.shape), str(p.dtype)) for name, p in pairs]
        every = [None] * self.process_group.size()
        objects.all_gather_object(every, mine, self.process_group)
        for rank, other in enumerate(every):
            if len(other) != len(every[0]):
                raise RuntimeError(
                    f"DDP expects same model across all ranks, but Rank 0 has {len(every[0])} "
                    f"params, while rank {rank} has inconsistent {len(other)} params."
                )
            for first, second in zip(every[0], other, strict=True):
                if first != second:
                    raise RuntimeError(
                        f"DDP expects same model across all ranks, but Rank 0 has {first}, while "
                        f"rank {rank} has {second}."
                    )

    def _take_over(self):
        """Parameters and buffers of rank 0."""
        tensors = [*self.module.named_parameters(), *self.module.named_buffers()]
        self._broadcast([t for name, t in tensors if name not in self.parameters_to_ignore])

    def _broadcast(self, tensors, root=0):
        with no_grad():
            works = [
                collectives.broadcast(
                    each.detach(), group=self.process_group, group_src=root, async_op=True
                )
                for each in tensors
            ]
            for work in works:
                work.wait()

    # -- forward and backward ---------------------------------------------------------------------

    def forward(self, *inputs, **kwargs):
        """The module's forward; its backward is reduced."""
        if is_grad_enabled() and self.require_backward_grad_sync:
            work = Join.notify_join_context(self)
            if work is not None and not self._divides_by_all:
                self.reducer.divisor = int(work.result()[0])
        if self.require_forward_param_sync and self.broadcast_buffers:
            self._sync_buffers()
        if self.device_ids:
            inputs, kwargs = _moved((inputs, kwargs), device("cuda", self.device_ids[0]))
        output = self.module(*inputs, **kwargs)
        if is_grad_enabled() and self.require_backward_grad_sync:
            self.require_forward_param_sync = True
            self.reducer.prepare([t for t in tree_leaves(output) if isinstance(t, Tensor)])
        else:
            self.require_forward_param_sync = False
            self.reducer.skip()
        return output

    def _buffers_to_send(self):
        ignored = self.parameters_to_ignore
        return [b for name, b in self.module.named_buffers() if name not in ignored]

    def _sync_buffers(self):
        buffers = self._buffers_to_send()
        if not buffers:
            return
        root = 0
        if self._join_config.enable:
            root = self._find_root(True)
        self._broadcast(buffers, root)

    def _find_root(self, mine):
        """The highest rank of the group that still has data."""
        found = make([self.process_group.rank() if mine else -1])
        collectives.all_reduce(found, ReduceOp.MAX, group=self.process_group)
        return int(found)

    @contextlib.contextmanager
    def no_sync(self):
        """Within it, backward adds up gradients of this rank alone; the first forward after it
        has them reduced together with its own."""
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state, hook) -> None:
        """Reduce buckets by ``hook(state, bucket)``, which returns a future of the flat tensor.

        Hooks divide by the number of ranks themselves.
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self.reducer.hook is not None:
            raise RuntimeError(
                "register_comm_hook or register_builtin_comm_hook can only be called once."
            )
        self.reducer.hook = (state, hook)

    def _set_static_graph(self):
        """As ``static_graph=True``."""
        self.static_graph = self.reducer.static = True

    def train(self, mode: bool = True):
        """As the module's."""
        super().train(mode)
        return self

    def __getstate__(self):
        state = dict(self.__dict__)
        for name in ("process_group", "reducer"):
            del state[name]
        return state

    def __setstate__(self, state):
        self.process_group = default_group()
        super().__setstate__(state)
        names, parameters = self._trained()
        self.reducer = Reducer(
            names, parameters, self.process_group, self.bucket_bytes_cap,
            self.gradient_as_bucket_view, self.find_unused_parameters, self.static_graph,
        )  # fmt: skip

    # -- uneven numbers of batches ----------------------------------------------------------------

    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ):
        """A context in which ranks may run out of batches at different times; those that have
        take part in the others' reductions with zeros."""
        return Join(
            [self], enable, throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size,
        )  # fmt: skip

    def join_hook(self, **kwargs) -> JoinHook:
        """What a rank does that has no more batches."""
        self._divides_by_all = kwargs.get("divide_by_initial_world_size", True)
        self.reducer.divisor = self.process_group.size()
        return _Shadow(self)


class _Shadow(JoinHook):
    """The part that a rank without batches takes in those of the others."""

    def __init__(self, model):
        self.model = model

    def main_hook(self):
        """One forward and backward of the others."""
        model = self.model
        if model.broadcast_buffers and model._buffers_to_send():
            root = model._find_root(False)
            model._broadcast(model._buffers_to_send(), root)
        model.reducer.zero_round()

    def post_hook(self, is_last_joiner):
        """Take over the model of a rank that came last."""
        model = self.model
        root = model._find_root(is_last_joiner)
        tensors = [*model.module.parameters(), *model.module.buffers()]
        model._broadcast([t for t in tensors if isinstance(t, Tensor)], root)


def _group(process_group, device_mesh):
    if device_mesh is None:
        return default_group() if process_group is None else process_group
    if process_group is not None:
        raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
    if device_mesh.ndim != 1:
        raise RuntimeError(
            f"Only 1D device mesh is supported, but got {device_mesh.ndim} dimensions."
        )
    return device_mesh.get_group(0)


def _devices(module, device_ids, output_device):
    """The number of the GPU in a list, or None."""
    numbers = [_number(each) for each in device_ids or ()]
    if len(numbers) > 1:
        raise ValueError(
            f"device_ids can only be None or contain a single element, but got {device_ids}"
        )
    if output_device is not None and [_number(output_device)] != numbers:
        raise ValueError(
            f"DistributedDataParallel: output_device {output_device!r} needs device_ids with it "
            "alone; leave it out and move the output"
        )
    if numbers:
        _check_place(module, numbers[0])
    return numbers or None


def _check_place(module, number):
    found = {parameter.device for parameter in module.parameters()}
    if found != {device("cuda", number)}:
        raise ValueError(
            "DistributedDataParallel device_ids and output_device arguments only work with modules "
            f"on that GPU, but got device_ids [{number}], and parameters on "
            f"{sorted(map(str, found))}: move the module there first"
        )


def _number(given):
    return given if isinstance(given, int) else device(given).index


def _moved(values, to):
    return tree_map(lambda v: v.to(to) if isinstance(v, Tensor) else v, values)


def _refuse(**options):
    for name, value in options.items():
        if value not in (None, False):
            raise NotImplementedError(
                f"DistributedDataParallel: {name}={value!r} is not available; leave it out"
            )
