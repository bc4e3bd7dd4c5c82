"""A batch: the tensor of each field, as attributes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import rushlight as rl

__all__ = ["Batch"]


class Batch:
    """The examples of a batch, processed by their fields.

    Args:
        data: examples; None makes an empty batch.
        dataset: says which fields there are.
        device: of the tensors.

    Iterating gives the inputs, then the targets: a tensor, a tuple of them, or None.
    """

    def __init__(self, data: Sequence[Any] | None = None, dataset: Any = None, device: Any = None):
        if data is None:
            return
        self.batch_size = len(data)
        self.dataset = dataset
        self.fields = dataset.fields.keys()
        there = {name: field for name, field in dataset.fields.items() if field is not None}
        self.input_fields = [name for name, field in there.items() if not field.is_target]
        self.target_fields = [name for name, field in there.items() if field.is_target]
        for name, field in there.items():
            column = [getattr(example, name) for example in data]
            setattr(self, name, field.process(column, device=device))

    @classmethod
    def fromvars(cls, dataset: Any, batch_size: int, train: Any = None, **kwargs: Any) -> Batch:
        """A batch of tensors that are there already, by name."""
        batch = cls()
        batch.batch_size = batch_size
        batch.dataset = dataset
        batch.fields = dataset.fields.keys()
        batch.__dict__.update(kwargs)
        return batch

    def __len__(self) -> int:
        return self.batch_size

    def __iter__(self) -> Iterator[Any]:
        yield self._values(self.input_fields)
        yield self._values(self.target_fields)

    def _values(self, names: list[str]) -> Any:
        values = tuple(getattr(self, name) for name in names)
        return values if len(values) > 1 else (values[0] if values else None)

    def __repr__(self) -> str:
        if not self.__dict__:
            return f"Empty {type(self).__name__} instance"
        name = getattr(self.dataset, "name", None)
        source = f" from {name.upper()}" if isinstance(name, str) else ""
        rows = [
            f"\t[.{each}]:{_short(getattr(self, each))}"
            for each in self.fields
            if each is not None and hasattr(self, each)
        ]
        return "\n".join([f"\n[{type(self).__name__} of size {self.batch_size}{source}]", *rows])


def _short(value: Any) -> str:
    if isinstance(value, tuple):
        return str(tuple(map(_short, value)))
    if not isinstance(value, rl.Tensor):
        return str(value)
    return f"[{value.type()} of size {'x'.join(map(str, value.shape))}]"
