"""The exchangeable parts of a trainer: what `strategy=`, `plugins=` and `precision=` mean."""

from __future__ import annotations

from typing import Any

from lightning_lite.accelerators import Accelerator
from lightning_lite.errors import MisconfigurationException
from lightning_lite.plugins.io import CheckpointIO
from lightning_lite.precision import Precision
from lightning_lite.strategies import DDPStrategy, SingleDeviceStrategy, Strategy

# Names of strategies that, in one process, train as a single device does.
DDP_NAMES = ("ddp", "ddp_spawn", "ddp_fork", "ddp_notebook", "dp")


def make_strategy(given: Any) -> Strategy:
    """What `Trainer(strategy=...)` means. NotImplementedError for several processes."""
    if isinstance(given, Strategy):
        return given
    if given in ("auto", "single_device"):
        return SingleDeviceStrategy()
    if isinstance(given, str) and given.split("_find_unused")[0] in DDP_NAMES:
        return DDPStrategy()
    raise NotImplementedError(
        f"strategy={given!r}: training runs in one process on one device; use 'auto'"
    )


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
        elif not isinstance(each, ClusterEnvironment | LayerSync):
            raise MisconfigurationException(
                f"Trainer(plugins=...): {type(each).__name__}; expected a Precision, CheckpointIO, "
                "ClusterEnvironment or LayerSync"
            )
    if chosen is not None and precision is not None:
        raise ValueError(
            f"Trainer(precision={precision!r}) and the plug-in {type(chosen).__name__}: give one"
        )
    strategy.precision_plugin = chosen or Precision(precision, device_type)
    return strategy.precision_plugin
