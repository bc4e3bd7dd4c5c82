"""FullyShardedDataParallel: a module around another, whose parameters are divided among ranks."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable
from typing import Any

from rushlight import nn
from rushlight.autograd.mode import no_grad
from rushlight.devices import device
from rushlight.distributed import collectives
from rushlight.distributed.device_mesh import DeviceMesh
from rushlight.distributed.fsdp import flat_parameters
from rushlight.distributed.fsdp import optimizer_states as states
from rushlight.distributed.fsdp.api import *  # noqa: F403
from rushlight.distributed.fsdp.api import (
    BackwardPrefetch,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    LocalOptimStateDictConfig,
    LocalStateDictConfig,
    MixedPrecision,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictSettings,
    StateDictType,
)
from rushlight.distributed.fsdp.api import __all__ as _SETTINGS
from rushlight.distributed.fsdp.meshes import KEEPING, kind_of, mesh_of
from rushlight.distributed.fsdp.module import (
    MixedPrecisionPolicy,
    cast,
    computed_whole,
    is_outermost,
    unsharded_parameters,
)
from rushlight.distributed.fsdp.preparing import (
    ignored_of,
    keep_precision,
    ready_module,
    refuse_what_is_not_there,
)
from rushlight.distributed.fsdp.sharded_parameters import ShardedParameters
from rushlight.distributed.fsdp.whole_parameters import whole_parameters
from rushlight.distributed.fsdp.wrap import (
    CustomPolicy,
    ModuleWrapPolicy,
    _or_policy,
    _Policy,
    _wrap_module_cls_individually,
    wrap_inside,
)
from rushlight.distributed.process_group import ProcessGroup
from rushlight.distributed.tensor.dtensor import DTensor
from rushlight.distributed.wrappers import SHARDED, Wrapper, clean_name

__all__ = ["FullyShardedDataParallel", *_SETTINGS]

FSDP_WRAPPED_MODULE = SHARDED


class FullyShardedDataParallel(Wrapper):
    """A module whose parameters, gradients and optimizer's states are divided among ranks.

    Each rank holds its rows of every parameter; forward and backward make those of one unit whole
    at a time. The result is that of DistributedDataParallel. Parameters keep their names and are
    DTensors, as with ``use_orig_params=True`` in PyTorch: make the optimizer after the wrapping.

    Args:
        module: on the CPU or a GPU, or on meta, the same on every rank.
        process_group: the ranks; all by default. Or `device_mesh`, a mesh of one dimension.
        sharding_strategy: FULL_SHARD (the default) or SHARD_GRAD_OP, of
            :class:`~rushlight.distributed.fsdp.ShardingStrategy`.
        cpu_offload: of consequence on GPUs alone, where it is refused.
        auto_wrap_policy: which modules inside become units of their own; see
            :mod:`rushlight.distributed.fsdp.wrap`.
        mixed_precision: a :class:`~rushlight.distributed.fsdp.MixedPrecision`.
        ignored_modules: whose parameters every rank keeps whole; or `ignored_states`, modules or
            parameters.
        param_init_fn: called for each module with parameters on meta; by default they get memory
            and ``reset_parameters()``.
        device_id: device that the module is moved to.
        sync_module_states: take parameters and buffers of rank 0 first.
        use_orig_params, backward_prefetch, forward_prefetch, limit_all_gathers: of no consequence.

    Raises NotImplementedError for offloading on GPUs; ValueError for a module that is sharded
    already under a policy, and for groups or meshes that do not fit the strategy.
    (Zhao et al., 2023.)
    """

    _inner_name = SHARDED

    def __init__(
        self,
        module: nn.Module,
        process_group: ProcessGroup | None = None,
        sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: CPUOffload | None = None,
        auto_wrap_policy: Callable[..., bool] | ModuleWrapPolicy | CustomPolicy | None = None,
        backward_prefetch: BackwardPrefetch | None = None,
        mixed_precision: MixedPrecision | None = None,
        ignored_modules: Iterable[nn.Module] | None = None,
        param_init_fn: Callable[[nn.Module], object] | None = None,
        device_id: int | device | None = None,
        sync_module_states: bool = False,
        forward_prefetch: bool = False,
        limit_all_gathers: bool = True,
        use_orig_params: bool = False,
        ignored_states: Iterable[nn.Parameter] | Iterable[nn.Module] | None = None,
        device_mesh: DeviceMesh | None = None,
    ) -> None:
        super().__init__()
        self.sharding_strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        self.mixed_precision = mixed_precision
        self._use_orig_params, self._is_summoned = use_orig_params, False
        refuse_what_is_not_there(cpu_offload, mixed_precision, module)
        modules, parameters = ignored_of(ignored_modules, ignored_states)
        by_policy = auto_wrap_policy is not None
        kind = kind_of(module, device_id)
        mesh = mesh_of(kind, self.sharding_strategy, process_group, device_mesh, by_policy)
        if auto_wrap_policy is not None:
            given: dict = {
                "device_mesh": mesh, "sharding_strategy": sharding_strategy,
                "cpu_offload": cpu_offload, "mixed_precision": mixed_precision,
                "param_init_fn": param_init_fn, "device_id": device_id,
                "sync_module_states": sync_module_states, "use_orig_params": use_orig_params,
                "ignored_states": parameters or None,
            }  # fmt: skip
            _wrap_units(module, auto_wrap_policy, given, (modules, parameters))
        self._fsdp_wrapped_module = module
        ready_module(module, param_init_fn, device_id, FullyShardedDataParallel)
        self.process_group = mesh.get_group(mesh.ndim - 1)
        if sync_module_states:
            for dim in reversed(range(mesh.ndim)):
                _take_from_rank_0(module, mesh.get_group(dim), parameters)
        self._shard(mesh, parameters)
        self._state_settings = StateDictSettings(
            StateDictType.FULL_STATE_DICT, FullStateDictConfig(), FullOptimStateDictConfig()
        )

    def _shard(self, mesh, ignored):
        precision = self.mixed_precision
        policy = MixedPrecisionPolicy(
            getattr(precision, "param_dtype", None), getattr(precision, "reduce_dtype", None)
        )
        chosen = unsharded_parameters(self._fsdp_wrapped_module, ignored)
        divides = self.sharding_strategy is not ShardingStrategy.NO_SHARD
        self.__dict__["_sharded"] = ShardedParameters(chosen, mesh, policy, divides)
        self._reshards = False if self.sharding_strategy in KEEPING else None
        self._buffer_dtypes = {}
        dtype = getattr(precision, "buffer_dtype", None)
        if dtype is None:
            return
        for name, buffer in self._fsdp_wrapped_module.named_buffers():
            if buffer.is_floating_point() and buffer.dtype is not dtype:
                self._buffer_dtypes[clean_name(name)] = buffer.dtype
                buffer.data = buffer.data.to(dtype)

    # -- running -----------------------------------------------------------------------------------

    @property
    def module(self):
        """The module inside."""
        return self._fsdp_wrapped_module

    def forward(self, *args, **kwargs):
        """The module's forward, with its parameters whole."""
        precision = self.mixed_precision
        if precision is not None and precision.param_dtype is not None:
            root = precision.cast_root_forward_inputs and is_outermost()
            if precision.cast_forward_inputs or root:
                args, kwargs = cast((args, kwargs), precision.param_dtype)
        return computed_whole(
            self._sharded, self._reshards, self._fsdp_wrapped_module, args, kwargs
        )

    def check_is_root(self) -> bool:
        """Whether no forward of another unit goes on around this one."""
        return is_outermost()

    @contextlib.contextmanager
    def no_sync(self):
        """Inside, backward averages no gradients: they add up, whole, on each rank."""
        units = self.fsdp_modules(self)
        before = [unit._sharded.synchronizes for unit in units]
        try:
            for unit in units:
                unit._sharded.synchronizes = False
            yield
        finally:
            for unit, synchronizes in zip(units, before, strict=True):
                unit._sharded.synchronizes = synchronizes

    def clip_grad_norm_(self, max_norm, norm_type=2.0):
        """Scale all gradients so that their norm over all ranks is at most `max_norm`; the norm
        before, an ordinary tensor. All ranks call it."""
        return nn.utils.clip_grad_norm_(self.parameters(), max_norm, norm_type)

    def register_comm_hook(self, state, hook):
        """Refused: gradients are averaged by the group's own operations."""
        raise NotImplementedError(
            "FullyShardedDataParallel.register_comm_hook is not available; use "
            "MixedPrecision(reduce_dtype=...), or DistributedDataParallel's hooks"
        )

    # -- names and parameters ----------------------------------------------------------------------

    def named_parameters(self, *args, **kwargs):
        """Parameters by name; inside of :meth:`summon_full_params` by the names without the
        wrapping."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield (clean_name(name) if self._is_summoned else name), parameter

    def named_buffers(self, *args, **kwargs):
        """Buffers by name; see :meth:`named_parameters`."""
        for name, buffer in super().named_buffers(*args, **kwargs):
            yield (clean_name(name) if self._is_summoned else name), buffer

    def apply(self, fn):
        """Call a function for every module, with parameters whole; what it writes is kept."""
        with self.summon_full_params(self):
            return super().apply(fn)

    @staticmethod
    def summon_full_params(
        module, recurse=True, writeback=True, rank0_only=False, offload_to_cpu=False,
        with_grads=False,
    ):  # fmt: skip
        """Inside, parameters are whole ordinary ones; all ranks enter and leave it.

        Args:
            recurse: those of units inside of `module`, too.
            writeback: keep what is written to them.
            rank0_only: on rank 0 alone; with ``writeback=False``.
            offload_to_cpu: they are in memory of the CPU.
            with_grads: their gradients are whole, too.
        """
        if rank0_only and writeback:
            raise NotImplementedError(
                "summon_full_params: writeback=True and rank0_only=True is not supported, since "
                "other ranks would not get what is written; pass one of them"
            )
        if with_grads and offload_to_cpu:
            raise NotImplementedError(
                "summon_full_params: with_grads=True with offload_to_cpu=True"
            )
        own = [module] if isinstance(module, FullyShardedDataParallel) else []
        units = FullyShardedDataParallel.fsdp_modules(module) if recurse else own
        return whole_parameters(units, writeback, rank0_only, offload_to_cpu, with_grads)

    @staticmethod
    def fsdp_modules(module, root_only=False) -> list:
        """The units in a module, itself included; with `root_only` those in no other unit."""
        units = [m for m in module.modules() if isinstance(m, FullyShardedDataParallel)]
        if not root_only:
            return units
        inner = {m for unit in units for m in unit._fsdp_wrapped_module.modules()}
        return [unit for unit in units if unit not in inner]

    # -- state dicts -------------------------------------------------------------------------------

    @staticmethod
    def set_state_dict_type(
        module, state_dict_type, state_dict_config=None, optim_state_dict_config=None
    ) -> StateDictSettings:
        """What state dicts of all units in a module hold from now on; the settings before."""
        settings = _settings(state_dict_type, state_dict_config, optim_state_dict_config)
        before = FullyShardedDataParallel.get_state_dict_type(module)
        for unit in FullyShardedDataParallel.fsdp_modules(module):
            unit._state_settings = settings
        return before

    @staticmethod
    def get_state_dict_type(module) -> StateDictSettings:
        """What state dicts of the units in a module hold."""
        units = FullyShardedDataParallel.fsdp_modules(module)
        if not units:
            return _settings(StateDictType.FULL_STATE_DICT, None, None)
        return units[0]._state_settings

    @staticmethod
    @contextlib.contextmanager
    def state_dict_type(
        module, state_dict_type, state_dict_config=None, optim_state_dict_config=None
    ):
        """:meth:`set_state_dict_type` inside."""
        before = FullyShardedDataParallel.set_state_dict_type(
            module, state_dict_type, state_dict_config, optim_state_dict_config
        )
        try:
            yield
        finally:
            for unit in FullyShardedDataParallel.fsdp_modules(module):
                unit._state_settings = before

    @staticmethod
    def settings_of_parts() -> StateDictSettings:
        """The settings of ``SHARDED_STATE_DICT``."""
        return _settings(StateDictType.SHARDED_STATE_DICT, None, None)

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """The module's state dict, by the names without the wrapping; all ranks call it."""
        values = [*args, *(destination, prefix, keep_vars)[len(args) :]]
        destination, prefix, keep_vars = values
        self._sharded.reshard()
        before = set() if destination is None else set(destination)
        found = self._fsdp_wrapped_module.state_dict(
            destination=destination, prefix=prefix, keep_vars=keep_vars
        )
        for name, dtype in self._buffer_dtypes.items():
            if prefix + name in found:
                found[prefix + name] = found[prefix + name].to(dtype)
        settings = self._state_settings
        if settings.state_dict_type is StateDictType.FULL_STATE_DICT:
            self._make_whole(found, before, settings.state_dict_config.rank0_only)
        elif settings.state_dict_type is StateDictType.LOCAL_STATE_DICT:
            flat_parameters.flatten(self, found, prefix)
        if settings.state_dict_config.offload_to_cpu:
            whole = settings.state_dict_type is StateDictType.FULL_STATE_DICT
            for key in [key for key in found if key not in before]:
                if whole or isinstance(found[key], DTensor):  # buffers stay beside parts
                    found[key] = found[key].cpu()
        return found

    def _rename_loaded(self, state_dict, prefix, *args):
        if self._state_settings.state_dict_type is StateDictType.LOCAL_STATE_DICT:
            flat_parameters.unflatten(self, state_dict, prefix)
        super()._rename_loaded(state_dict, prefix, *args)

    def _make_whole(self, found, before, rank0_only):
        for key in [key for key in found if key not in before]:
            if isinstance(found[key], DTensor):
                found[key] = found[key].full_tensor()
            if rank0_only and self.process_group.rank() != 0:
                del found[key]

    optim_state_dict = staticmethod(states.optim_state_dict)
    optim_state_dict_to_load = staticmethod(states.optim_state_dict_to_load)
    full_optim_state_dict = staticmethod(states.full_optim_state_dict)
    sharded_optim_state_dict = staticmethod(states.sharded_optim_state_dict)
    shard_full_optim_state_dict = staticmethod(states.shard_full_optim_state_dict)
    scatter_full_optim_state_dict = staticmethod(states.scatter_full_optim_state_dict)
    flatten_sharded_optim_state_dict = staticmethod(states.shard_full_optim_state_dict)
    rekey_optim_state_dict = staticmethod(states.rekey_optim_state_dict)


_CONFIGURATIONS: dict[StateDictType, tuple[type, type]] = {
    StateDictType.FULL_STATE_DICT: (FullStateDictConfig, FullOptimStateDictConfig),
    StateDictType.LOCAL_STATE_DICT: (LocalStateDictConfig, LocalOptimStateDictConfig),
    StateDictType.SHARDED_STATE_DICT: (ShardedStateDictConfig, ShardedOptimStateDictConfig),
}


def _settings(kind, config, optim_config):
    """Settings with the configurations of a kind where none are given."""
    model, optimizer = _CONFIGURATIONS[kind]
    for given, expected in ((config, model), (optim_config, optimizer)):
        if given is not None and type(given) is not expected:
            raise RuntimeError(f"Expected {expected} but got {type(given)}")
    return StateDictSettings(kind, config or model(), optim_config or optimizer())


def _wrap_units(module, policy, given, ignored):
    """Make units of the modules inside that a policy chooses."""
    if FullyShardedDataParallel.fsdp_modules(module):
        raise ValueError(
            "FullyShardedDataParallel: auto_wrap_policy of a module that has sharded modules "
            "inside already; wrap those by the policy, too, or leave it out"
        )
    precision = given["mixed_precision"]
    kinds: Any = tuple(getattr(precision, "_module_classes_to_ignore", None) or ())
    if kinds:
        policy = keep_precision(module, kinds, policy, (_Policy, _or_policy,
                                functools.partial(_wrap_module_cls_individually,
                                                  module_classes=kinds)))  # fmt: skip

    def wrapper(child, **options):
        if isinstance(child, kinds):
            options["mixed_precision"] = None
        return FullyShardedDataParallel(child, **options)

    wrap_inside(module, policy, wrapper, given, *ignored)


def _take_from_rank_0(module, group, ignored):
    with no_grad():
        for tensor in (*module.parameters(), *module.buffers()):
            if not isinstance(tensor, DTensor) and tensor not in ignored:
                collectives.broadcast(tensor.detach(), group=group, group_src=0)
