"""What can be known of DeepSpeed's models and files without DeepSpeed: summaries, folders."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import rushlight as rl
from lightning_lite.refusals import __getattr__
from lightning_lite.summary import human
from lightning_lite.utilities.model_summary import LayerSummary, ModelSummary

__all__ = [
    "DeepSpeedLayerSummary", "DeepSpeedSummary", "deepspeed_param_size", "ds_checkpoint_dir",
    "remove_module_hooks", "__getattr__",
]  # fmt: skip

_HOOKS = (
    "_backward_hooks", "_forward_hooks", "_forward_pre_hooks", "_state_dict_hooks",
    "_load_state_dict_pre_hooks",
)  # fmt: skip


def ds_checkpoint_dir(checkpoint_dir: str | os.PathLike[str], tag: str | None = None) -> str:
    """The folder inside of a checkpoint of DeepSpeed that holds its files.

    Args:
        checkpoint_dir: the checkpoint, a folder.
        tag: the name of the folder inside; by default what the file `latest` says.

    Raises ValueError without a tag and without that file, FileNotFoundError where the folder is
    missing.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "latest").write_text("global_step14")
    ...     Path(folder, "global_step14").mkdir()
    ...     Path(ds_checkpoint_dir(folder)).name
    'global_step14'
    """
    if tag is None:
        latest = Path(checkpoint_dir, "latest")
        if not latest.is_file():
            raise ValueError(f"ds_checkpoint_dir: there is no file {latest}; give a tag")
        tag = latest.read_text().strip()
    found = os.path.join(checkpoint_dir, tag)
    if not os.path.isdir(found):
        raise FileNotFoundError(f"ds_checkpoint_dir: the folder {found} does not exist")
    return found


def remove_module_hooks(model: rl.nn.Module) -> None:
    """Remove all hooks of a module and of those inside of it: of calls, gradients and states.

    >>> layer = rl.nn.Linear(2, 2)
    >>> _ = layer.register_forward_hook(lambda module, inputs, output: output * 0)
    >>> remove_module_hooks(layer)
    >>> bool((layer(rl.ones(1, 2)) == 0).all())
    False
    """
    for module in model.modules():
        for name in _HOOKS:
            setattr(module, name, OrderedDict())
        module._is_full_backward_hook = None


def deepspeed_param_size(p: Any) -> int:
    """The number of entries of a whole parameter of which this process may hold a part.

    AttributeError for one that DeepSpeed did not divide.
    """
    if not hasattr(p, "ds_numel"):
        raise AttributeError(
            f"deepspeed_param_size: a parameter of shape {tuple(p.shape)} has no ds_numel; "
            "DeepSpeed has not divided it"
        )
    return p.ds_numel


def _divided(module: Any, trainable: bool = False) -> Iterator[Any]:
    """A module's parameters, without those of lazy layers that wait for an input."""
    for each in module.parameters():
        waits = isinstance(each, rl.nn.parameter.UninitializedParameter)
        if not waits and (each.requires_grad or not trainable):
            yield each


class DeepSpeedLayerSummary(LayerSummary):
    """One layer of a model whose parameters are divided among processes."""

    @property
    def num_parameters(self) -> int:
        """Number of parameters in all processes."""
        return sum(map(deepspeed_param_size, _divided(self._module)))

    @property
    def average_shard_parameters(self) -> int:
        """Number of parameters in one process."""
        return sum(each.partition_numel() for each in _divided(self._module))


class DeepSpeedSummary(ModelSummary):
    """The layers of a model whose parameters are divided among processes, with their sizes in all
    processes and in one. Arguments and table as `ModelSummary`."""

    layer_kind = DeepSpeedLayerSummary
    _layers: dict[str, Any]  # of `layer_kind`

    @property
    def total_parameters(self) -> int:
        """Number of parameters in all processes."""
        return sum(map(deepspeed_param_size, _divided(self._model)))

    @property
    def trainable_parameters(self) -> int:
        """Number of parameters that need gradients."""
        return sum(map(deepspeed_param_size, _divided(self._model, trainable=True)))

    @property
    def parameters_per_layer(self) -> list[int]:
        """Numbers of the layers' parameters in one process."""
        return [each.average_shard_parameters for each in self._layers.values()]

    def columns(self) -> dict[str, list[str]]:
        """The table by its columns."""
        found: dict[str, list[str]] = {}
        for title, cells in super().columns().items():
            found[title] = cells
            if title == "params":
                found["params per device"] = [human(each) for each in self.parameters_per_layer]
        return found
