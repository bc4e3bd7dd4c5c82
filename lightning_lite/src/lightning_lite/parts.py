"""The exchangeable parts of a trainer: what `strategy=`, `plugins=` and `precision=` mean."""

from __future__ import annotations

from typing import Any

from lightning_lite import strategies
from lightning_lite.accelerators import Accelerator
from lightning_lite.errors import MisconfigurationException
from lightning_lite.options import number_of_devices
from lightning_lite.plugins.io import CheckpointIO
from lightning_lite.precision import Precision
from lightning_lite.strategies import SingleDeviceStrategy, Strategy

# Names of strategies, with how the processes start.
_DDP = {"ddp": "popen", "ddp_spawn": "spawn", "ddp_fork": "fork", "ddp_notebook": "fork"}
_UNUSED = {"_find_unused_parameters_true": True, "_find_unused_parameters_false": False}


def make_strategy(given: Any, several: bool = False) -> Strategy:
    """What `Trainer(strategy=...)` means; `several` processes choose "ddp" for "auto".

    NotImplementedError for names that are not there.
    """
    if isinstance(given, Strategy):
        return given
    if given == "auto":
        return strategies.DDPStrategy() if several else SingleDeviceStrategy()
    if given == "single_device":
        return SingleDeviceStrategy()
    if given == "fsdp":
        return strategies.FSDPStrategy()
    if given == "dp":
        return strategies.DataParallelStrategy()
    options: dict[str, Any] = {}
    name = given if isinstance(given, str) else ""
    for ending, unused in _UNUSED.items():
        if name.endswith(ending):
            name, options = name.removesuffix(ending), {"find_unused_parameters": unused}
    if name in _DDP:
        return strategies.DDPStrategy(start_method=_DDP[name], **options)
    raise NotImplementedError(
        f"strategy={given!r}: there are 'auto', 'single_device', 'fsdp', {sorted(_DDP)} and those "
        "with '_find_unused_parameters_true' or '_false'"
    )


def start_strategy(
    strategy: Any, devices: Any, num_nodes: int, plugins: Any, device_type: str
) -> Strategy:
    """The strategy of so many devices and machines, with the environment among the plug-ins."""
    from lightning_lite.plugins.environments import ClusterEnvironment

    number = number_of_devices(devices, device_type)
    given = plugins if isinstance(plugins, list | tuple) else [plugins]
    strategy = _one_strategy(strategy, [each for each in given if isinstance(each, Strategy)])
    made = make_strategy(strategy, several=number * num_nodes > 1)
    for each in given:
        if isinstance(each, ClusterEnvironment) and hasattr(made, "cluster_environment"):
            made.cluster_environment = each
    made.set_processes(number, num_nodes)
    return made


def _one_strategy(strategy: Any, among_plugins: list[Strategy]) -> Any:
    """The strategy, which versions before 1.6 took among the plug-ins."""
    if not among_plugins:
        return strategy
    if len(among_plugins) > 1 or strategy != "auto":
        raise MisconfigurationException(
            f"Trainer(strategy={strategy!r}, plugins=...): the plug-ins hold "
            f"{[type(each).__name__ for each in among_plugins]}; give one strategy"
        )
    return among_plugins[0]


def accelerator_name(given: Any) -> Any:
    """The word for an accelerator that was given as an object."""
    if not isinstance(given, Accelerator):
        return given
    return type(given).__name__.removesuffix("Accelerator").lower()


def plug_in(strategy: Strategy, plugins: Any, precision: Any, device_type: str) -> Precision:
    """Give a strategy its plug-ins; the precision of the run."""
    from lightning_lite.plugins.environments import ClusterEnvironment
    from lightning_lite.plugins.layer_sync import LayerSync

    given = plugins if isinstance(plugins, list | tuple) else [plugins] if plugins else []
    chosen = strategy.precision_plugin
    for each in given:
        if isinstance(each, Precision):
            chosen = each
        elif isinstance(each, CheckpointIO):
            strategy.checkpoint_io = each
        elif not isinstance(each, ClusterEnvironment | LayerSync | Strategy):
            raise MisconfigurationException(
                f"Trainer(plugins=...): {type(each).__name__}; expected a Precision, CheckpointIO, "
                "ClusterEnvironment or LayerSync"
            )
    if chosen is not None and precision is not None:
        raise ValueError(
            f"Trainer(precision={precision!r}) and the plug-in {type(chosen).__name__}: give one"
        )
    strategy.precision_plugin = chosen or strategy.make_precision(precision, device_type)
    strategy.precision_plugin.run_on(device_type, strategy.world_size)
    return strategy.precision_plugin
