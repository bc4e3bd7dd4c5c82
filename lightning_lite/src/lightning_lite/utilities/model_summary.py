"""The layers of a model as a table that can be asked: names, types, parameters, sizes."""

from __future__ import annotations

import math
from typing import Any

import rushlight as rl
from lightning_lite.batches import move_to_device
from lightning_lite.refusals import __getattr__
from lightning_lite.summary import human, parameter_count

__all__ = ["ModelSummary", "LayerSummary", "summarize", "__getattr__"]

UNKNOWN_SIZE = "?"
LETTERS = ("", "K", "M", "B", "T")


def get_human_readable_count(number: int) -> str:
    """A number with a letter for thousands, millions, ...

    >>> get_human_readable_count(123), get_human_readable_count(1234), get_human_readable_count(2e6)
    ('123  ', '1.2 K', '2.0 M')
    """
    if number < 0:
        raise ValueError(f"get_human_readable_count: {number}; expected 0 or more")
    digits = int(math.log10(number)) + 1 if number > 0 else 1
    group = min((digits + 2) // 3, len(LETTERS)) - 1
    scaled = number / 1000**group
    if group == 0 or scaled >= 100:
        return f"{int(scaled):,d} {LETTERS[group]:1}"
    return f"{scaled:,.1f} {LETTERS[group]}"


def get_formatted_model_size(total_model_size: float) -> str:
    """A number of megabytes with three decimals.

    >>> get_formatted_model_size(1.2345)
    '1.234'
    """
    return f"{total_model_size:,.3f}"


def parse_batch_shape(batch: Any) -> Any:
    """The shape of a tensor, those of a list of them, "?" for anything else."""
    if hasattr(batch, "shape"):
        return list(batch.shape)
    if isinstance(batch, list | tuple):
        return [parse_batch_shape(each) for each in batch]
    return UNKNOWN_SIZE


class LayerSummary:
    """One layer: its type, its parameters, and after a forward pass its sizes in and out."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self._in_size: Any = None
        self._out_size: Any = None
        self._hook: Any = None
        if not isinstance(module, rl.jit.ScriptModule):
            self._hook = module.register_forward_hook(self._take_sizes)

    def _take_sizes(self, module: Any, inputs: Any, output: Any) -> None:
        if len(inputs) == 1:
            inputs = inputs[0]
        self._in_size, self._out_size = parse_batch_shape(inputs), parse_batch_shape(output)
        self.detach_hook()

    def detach_hook(self) -> None:
        """Look at no further calls."""
        if self._hook is not None:
            self._hook.remove()
            self._hook = None

    @property
    def in_size(self) -> Any:
        """Shape of the input; "?" before a forward pass."""
        return UNKNOWN_SIZE if self._in_size is None else self._in_size

    @property
    def out_size(self) -> Any:
        """Shape of the output; "?" before a forward pass."""
        return UNKNOWN_SIZE if self._out_size is None else self._out_size

    @property
    def layer_type(self) -> str:
        """Name of the layer's class."""
        return type(self._module).__name__

    @property
    def num_parameters(self) -> int:
        """Number of parameters; those of lazy layers that wait for an input count 0."""
        return parameter_count(self._module)

    @property
    def training(self) -> bool:
        """Whether the layer is in training mode."""
        return bool(self._module.training)


class ModelSummary:
    """The layers of a module down to `max_depth` (0: only the totals, -1: all).

    Where the module has an `example_input_array`, it is run once in evaluation mode for the sizes
    of inputs and outputs. `str(summary)` is the table.
    """

    layer_kind = LayerSummary

    def __init__(self, model: Any, max_depth: int = 1) -> None:
        if not isinstance(max_depth, int) or max_depth < -1:
            raise ValueError(f"ModelSummary: max_depth={max_depth}; expected -1 or more")
        self._model, self._max_depth = model, max_depth
        self._layers = {name: self.layer_kind(layer) for name, layer in self.named_modules}
        if getattr(model, "example_input_array", None) is not None:
            self._run_example()
        for layer in self._layers.values():
            layer.detach_hook()
        self._bytes = sum(each.numel() * each.element_size() for each in model.parameters())

    def _run_example(self) -> None:
        model, example = self._model, self._model.example_input_array
        modes = {each: each.training for each in model.modules()}
        device = getattr(model, "device", "cpu")
        example = move_to_device(example, device)
        model.eval()
        try:
            with rl.no_grad():
                if isinstance(example, dict):
                    model(**example)
                else:
                    model(*(example if isinstance(example, list | tuple) else (example,)))
        finally:
            for module, training in modes.items():
                module.training = training

    @property
    def named_modules(self) -> list[tuple[str, Any]]:
        """Names and layers that are listed."""
        found = [(name, layer) for name, layer in self._model.named_modules() if name]
        if self._max_depth == -1:
            return found
        return [(name, each) for name, each in found if name.count(".") < self._max_depth]

    @property
    def layer_names(self) -> list[str]:
        """Names of the layers."""
        return list(self._layers)

    @property
    def layer_types(self) -> list[str]:
        """Class names of the layers."""
        return [each.layer_type for each in self._layers.values()]

    @property
    def in_sizes(self) -> list[Any]:
        """Shapes of the layers' inputs."""
        return [each.in_size for each in self._layers.values()]

    @property
    def out_sizes(self) -> list[Any]:
        """Shapes of the layers' outputs."""
        return [each.out_size for each in self._layers.values()]

    @property
    def param_nums(self) -> list[int]:
        """Numbers of the layers' parameters."""
        return [each.num_parameters for each in self._layers.values()]

    @property
    def training_modes(self) -> list[bool]:
        """Whether each layer is in training mode."""
        return [each.training for each in self._layers.values()]

    @property
    def total_training_modes(self) -> dict[str, int]:
        """How many submodules are in training mode ("train") and how many are not ("eval")."""
        modes = [each.training for each in self._model.modules()][1:]
        return {"train": modes.count(True), "eval": modes.count(False)}

    @property
    def total_parameters(self) -> int:
        """Number of parameters."""
        return parameter_count(self._model)

    @property
    def trainable_parameters(self) -> int:
        """Number of parameters that need gradients."""
        return parameter_count(self._model, trainable=True)

    @property
    def total_layer_params(self) -> int:
        """Number of parameters in the listed layers."""
        return sum(self.param_nums)

    @property
    def model_size(self) -> float:
        """Megabytes of the parameters."""
        return self._bytes * 1e-6

    def columns(self) -> dict[str, list[str]]:
        """The table by its columns."""
        found = {
            "name": self.layer_names,
            "type": self.layer_types,
            "params": [human(number) for number in self.param_nums],
            "mode": ["train" if mode else "eval" for mode in self.training_modes],
        }
        if getattr(self._model, "example_input_array", None) is not None:
            found["in sizes"] = [str(size) for size in self.in_sizes]
            found["out sizes"] = [str(size) for size in self.out_sizes]
        return found

    def totals(self) -> list[str]:
        """The lines under the table."""
        total, trainable = self.total_parameters, self.trainable_parameters
        return [
            f"{human(trainable)} trainable, {human(total - trainable)} frozen parameters",
            f"{human(total)} parameters in all, {self.model_size:.3f} MB",
        ]

    def __str__(self) -> str:
        columns = [[title, *cells] for title, cells in self.columns().items()]
        if not self._layers:
            return "\n".join(self.totals())
        widths = [max(map(len, column)) for column in columns]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in zip(*columns, strict=True)
        ]
        rule = "-" * max(map(len, lines))
        return "\n".join([lines[0], rule, *lines[1:], rule, *self.totals()])

    __repr__ = __str__


def summarize(lightning_module: Any, max_depth: int = 1) -> ModelSummary:
    """The layers of a module down to `max_depth`, as a `ModelSummary`."""
    return ModelSummary(lightning_module, max_depth=max_depth)
