"""`summarize`: a table of a model's layers, with output shapes, parameters and multiply-adds."""

from __future__ import annotations

from rushlight.autograd.mode import no_grad
from rushlight.nn.module import Module
from rushlight.tensor.tensor import Tensor
from rushlight.utils.flop_counter import FlopCounterMode


class LayerSummary:
    """One row: a module, the shape it gave, its own parameters, its multiply-adds."""

    __slots__ = ("depth", "kind", "multiply_adds", "name", "output", "parameters", "trainable")

    def __init__(self, name, module, depth):
        self.name, self.kind, self.depth = name, type(module).__name__, depth
        own = list(module.parameters())
        self.parameters = sum(p.numel() for p in own)
        self.trainable = sum(p.numel() for p in own if p.requires_grad)
        self.output = None
        self.multiply_adds = 0


class ModelSummary:
    """The rows of a model, outermost first, and their totals; `str` is the table.

    A parameter that several layers share is counted once in the totals.
    """

    def __init__(self, rows, model):
        self.rows = rows
        found = list(model.parameters())
        self.total_parameters = sum(p.numel() for p in found)
        self.trainable_parameters = sum(p.numel() for p in found if p.requires_grad)
        self.parameter_bytes = sum(p.numel() * p.element_size() for p in found)
        self.multiply_adds = rows[0].multiply_adds

    def __str__(self):
        titles = ("Layer", "Type", "Output shape", "Parameters", "Multiply-adds")
        lines = [
            ("  " * row.depth + (row.name.rpartition(".")[2] or "(model)"), row.kind,
             _shown(row.output), f"{row.parameters:,}", f"{row.multiply_adds:,}")
            for row in self.rows
        ]  # fmt: skip
        sizes = [max(map(len, column)) for column in zip(titles, *lines, strict=True)]

        def printed(line):
            return "  ".join(
                text.rjust(size) if place > 2 else text.ljust(size)
                for place, (text, size) in enumerate(zip(line, sizes, strict=True))
            ).rstrip()

        rule = "  ".join("-" * size for size in sizes)
        frozen = self.total_parameters - self.trainable_parameters
        return "\n".join([
            printed(titles), rule, *map(printed, lines), rule,
            f"{self.total_parameters:,} parameters ({self.trainable_parameters:,} trainable, "
            f"{frozen:,} frozen), {self.parameter_bytes / 1e6:.3f} MB",
            f"{self.multiply_adds:,} multiply-adds forward",
        ])  # fmt: skip

    __repr__ = __str__


def _shown(output):
    return "-" if output is None else str(output)


def _shape(value):
    if isinstance(value, Tensor):
        return list(value.shape)
    if isinstance(value, tuple | list):
        return [shape for shape in map(_shape, value) if shape is not None]
    return None


def summarize(model, *inputs, depth: int | None = None, **keywords) -> ModelSummary:
    """Run a model once on `inputs`, without gradients and in evaluation mode, and describe it.

    - `depth`: how many levels of modules get rows; all of them by default.

    >>> model = rushlight.nn.Sequential(rushlight.nn.Linear(3, 2), rushlight.nn.ReLU())
    >>> found = rushlight.utils.summary.summarize(model, rushlight.ones(4, 3))
    >>> found.total_parameters, found.multiply_adds, found.rows[1].output
    (8, 24, [4, 2])
    """
    if not isinstance(model, Module):
        raise TypeError(f"summarize: expected 'model' to be a Module, got {type(model).__name__}")
    if not inputs and not keywords:
        raise ValueError("summarize: give the inputs that the model is called with")
    rows, handles = {}, []
    for name, module in model.named_modules():
        level = name.count(".") + 1 if name else 0
        if depth is None or level <= depth:
            row = rows[module] = LayerSummary(name, module, level)
            handles.append(module.register_forward_hook(_noting(row)))
    training = {module: module.training for module in model.modules()}
    counter = FlopCounterMode(model, display=False)
    try:
        model.eval()
        with no_grad(), counter:
            model(*inputs, **keywords)
    finally:
        for handle in handles:
            handle.remove()
        for module, mode in training.items():
            module.training = mode
    counts = counter.get_flop_counts()
    for row in rows.values():
        label = type(model).__name__ + (f".{row.name}" if row.name else "")
        row.multiply_adds = sum(counts.get(label, {}).values()) // 2
    return ModelSummary(list(rows.values()), model)


def _noting(row):
    def note(module, args, output):
        row.output = _shape(output)

    return note
