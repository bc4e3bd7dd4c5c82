"""Gathered: metrics over all batches of validation, for those that are no means of batches.

In several processes `compute` exchanges what each has gathered, so that every process gets the
value of all data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rushlight as rl
from rushlight import distributed, nn

if TYPE_CHECKING:
    from rushlight import Tensor


def everywhere(state: Any) -> list[Any]:
    """What each process has gathered, by rank; that of this one where there are no others. All
    processes call it."""
    if not (distributed.is_available() and distributed.is_initialized()):
        return [state]
    found: list[Any] = [None] * distributed.get_world_size()
    distributed.all_gather_object(found, state)
    return found


class Gathered(nn.Module):
    """The base: `update` gathers outputs and targets, `compute` gives the value over all batches
    and processes, `reset` begins anew. A call gives the value of a batch alone.

    `name`: the name that its numbers get; it can be set. A subclass has `clear` (forget), `gather`
    (a batch), `state` (what was gathered, which can be pickled), and `value_of` (the value of the
    states of all processes).
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self.__name__ = name
        self.reset()

    @property
    def name(self) -> str:
        """The name that the metric's numbers get."""
        return self.__name__

    @name.setter
    def name(self, value: str) -> None:
        self.__name__ = value

    def reset(self) -> None:
        """Forget what was gathered."""
        self._computed: Any = None
        self.clear()

    def update(self, output: Any, target: Any) -> None:
        """Gather a batch."""
        self._computed = None
        self.gather(output, target)

    def compute(self) -> Any:
        """The value of all batches since `reset`, in all processes, each of which calls it."""
        if self._computed is None:
            # Kept: whoever asks again, in one process alone, waits for no other.
            self._computed = self.value_of(everywhere(self.state()))
        return self._computed

    def forward(self, output: Tensor, target: Tensor) -> Tensor:
        """The value of a batch of this process, as a tensor; what was gathered is forgotten."""
        self.reset()
        self.update(output, target)
        value = self.value_of([self.state()])
        self.reset()
        return value if isinstance(value, rl.Tensor) else rl.tensor(value)

    def clear(self) -> None:
        """Forget what was gathered."""
        raise NotImplementedError("Gathered: a subclass says what it gathers (clear)")

    def gather(self, output: Any, target: Any) -> None:
        """Add a batch."""
        raise NotImplementedError("Gathered: a subclass says what it gathers (gather)")

    def state(self) -> Any:
        """What was gathered."""
        raise NotImplementedError("Gathered: a subclass says what it gathers (state)")

    def value_of(self, states: list[Any]) -> Any:
        """The value of what all processes have gathered."""
        raise NotImplementedError("Gathered: a subclass says what its value is (value_of)")


class Mean(Gathered):
    """A total by a count: the base of means that batches enter by other weights than their rows."""

    def clear(self) -> None:
        """Forget the total."""
        self.total, self.count = 0.0, 0

    def state(self) -> Any:
        """The total and the count."""
        return self.total, self.count

    def mean_of(self, states: list[Any]) -> float:
        """The mean over all processes; NaN where nothing was gathered."""
        total, count = (sum(part) for part in zip(*states, strict=True))
        return total / count if count else float("nan")
