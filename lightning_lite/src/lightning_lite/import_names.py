"""Where Lightning's module paths are found here, for `import lightning`, `pytorch_lightning` and
`lightning_fabric`; core's import finder reads these tables.

A path without an entry is the same here: `lightning.pytorch.callbacks.timer` is
`lightning_lite.callbacks.timer`.
"""

from __future__ import annotations

from lightning_lite.refusals import REFUSED

# Paths inside of `lightning.pytorch` and `pytorch_lightning` -> modules inside of `lightning_lite`.
_PYTORCH = {
    "core": "core",
    "core.module": "module",
    "core.lightning": "module",
    "core.datamodule": "datamodule",
    "core.hooks": "module_hooks",
    "core.mixins": "hyperparameters",
    "core.mixins.hparams_mixin": "hyperparameters",
    "core.optimizer": "optimizers",
    "core.saving": "hparams_files",
    "callbacks.spike": "callbacks.spike",
    "loggers.base": "loggers.logger",
    "loops.evaluation_loop": "restarts.evaluation_loop",
    "loops.fit_loop": "restarts.fit_loop",
    "loops.training_epoch_loop": "restarts.training_epoch_loop",
    "loops.optimization": "closures",
    "loops.optimization.automatic": "closures",
    "loops.optimization.closure": "closures",
    "loops.optimization.manual": "closures",
    "loops.utilities": "finiteness",
    "overrides": "utilities.distributed",
    "overrides.distributed": "utilities.distributed",
    "profiler": "profilers",
    "profilers.base": "profilers.profiler",
    "profilers.xla": "refusals",
    "serve.servable_module": "serve",
    "serve.servable_module_validator": "serve",
    "trainer.trainer": "trainer",
    "trainer.states": "state",
    "trainer.connectors": "trainer",
    "trainer.connectors.signal_connector": "interrupt",
    "tuner.tuning": "tuner.tuner",
    "utilities.cli": "cli",
    "utilities.migration": "migration",
    "utilities.migration.utils": "migration",
    "utilities.model_summary.model_summary": "utilities.model_summary",
    "utilities.model_summary.model_summary_deepspeed": "utilities.deepspeed",
    "utilities.upgrade_checkpoint": "migration",
}
# Paths that `lightning.fabric` and `lightning_fabric` have too.
_SHARED = {
    "accelerators": "accelerators",
    "accelerators.xla": "refusals",
    "plugins": "plugins",
    "plugins.precision.bitsandbytes": "plugins.bitsandbytes",
    "plugins.precision.deepspeed": "refusals",
    "plugins.precision.fsdp": "plugins.precision",
    "plugins.precision.transformer_engine": "refusals",
    "plugins.precision.xla": "refusals",
    "plugins.precision.precision": "plugins.precision",
    "plugins.precision.amp": "plugins.precision",
    "plugins.precision.double": "plugins.precision",
    "plugins.precision.half": "plugins.precision",
    "plugins.environments.xla": "refusals",
    "plugins.io.checkpoint_io": "plugins.io",
    "plugins.io.torch_io": "plugins.io",
    "plugins.io.async_plugin": "plugins.io",
    "plugins.io.xla": "refusals",
    "strategies.deepspeed": "utilities.deepspeed",
    "strategies.single_xla": "refusals",
    "strategies.xla": "refusals",
    "strategies.xla_fsdp": "refusals",
    "utilities": "utilities",
    "utilities.combined_loader": "combined_loader",
    "utilities.exceptions": "errors",
}
_FABRIC = {
    "strategies": "fabric.strategies",
    "strategies.ddp": "strategies.ddp",
    "strategies.fsdp": "strategies.fsdp",
    "strategies.launchers": "strategies.launchers",
    "strategies.parallel": "strategies.parallel",
    "strategies.single_device": "strategies.single_device",
    "strategies.strategy": "strategies.strategy",
    "strategies.dp": "fabric.strategies",
    "strategies.model_parallel": "fabric.strategies",
    "loggers": "fabric.loggers",
    "loggers.logger": "loggers.logger",
    "loggers.csv_logs": "fabric.loggers",
    "loggers.tensorboard": "fabric.loggers",
}
_PYTORCH_ROOTS = ("lightning.pytorch", "pytorch_lightning")
_FABRIC_ROOTS = ("lightning.fabric", "lightning_fabric")

OTHER_NAMES = {"lightning.pytorch": "lightning_lite"} | {
    f"{root}.{path}": f"lightning_lite.{home}"
    for roots, table in (
        (_PYTORCH_ROOTS, _PYTORCH | _SHARED),
        (_FABRIC_ROOTS, _FABRIC | _SHARED),
    )
    for root in roots
    for path, home in table.items()
}


class _Advice(dict):
    """Full names of refused classes, wherever they are imported from -> what to use instead."""

    def get(self, name: str, default: str = "") -> str:  # type: ignore[override]
        """The advice for a name; `default` for one that is not refused."""
        return REFUSED.get(name.rpartition(".")[2], default)


ADVICE = _Advice()
