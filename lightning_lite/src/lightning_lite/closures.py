"""Closures for optimizers in loops of one's own: loss, gradients and what a step returned, kept for
who reads them after `optimizer.step(closure)`.

The Trainer's own steps hand a function of theirs to `optimizer_step`; see `optimization.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import rushlight as rl
from lightning_lite.errors import MisconfigurationException
from lightning_lite.messages import warn
from lightning_lite.optimization import split_output

T = TypeVar("T")


@dataclass
class OutputResult:
    """The base of what a step gave."""

    def asdict(self) -> dict[str, Any]:
        """What it gave, by names."""
        raise NotImplementedError(f"{type(self).__name__} does not define asdict")


class AbstractClosure(ABC, Generic[T]):
    """A function without arguments, which keeps the result of its last call until it is consumed.
    A subclass defines `closure`."""

    def __init__(self) -> None:
        self._result: T | None = None

    @abstractmethod
    def closure(self, *args: Any, **kwargs: Any) -> T:
        """What is done at a call; its result is kept."""

    def consume_result(self) -> T:
        """The result of the last call, which is then forgotten. MisconfigurationException where it
        was not called."""
        if self._result is None:
            raise MisconfigurationException(
                f"{type(self).__name__}: the closure was not called since its result was consumed; "
                "expected optimizer.step(closure), by an optimizer that calls it"
            )
        result, self._result = self._result, None
        return result

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the closure and keep its result; itself."""
        self._result = self.closure(*args, **kwargs)
        return self


@dataclass
class ClosureResult(OutputResult):
    """What a training step gave: `closure_loss`, whose gradients are wanted (None: the batch is
    skipped), `loss`, a copy of it without a graph, and `extra`, all else.

    >>> import rushlight as rl
    >>> output = {"loss": rl.tensor(4.0), "n": 2}
    >>> ClosureResult.from_training_step_output(output, normalize=2).asdict()
    {'loss': tensor(2.), 'n': 2}
    """

    closure_loss: Any
    loss: Any = field(init=False, default=None)
    extra: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.closure_loss is not None:
            self.loss = self.closure_loss.detach().clone()

    @classmethod
    def from_training_step_output(
        cls, training_step_output: Any, normalize: int = 1
    ) -> ClosureResult:
        """Of a tensor, a dictionary with "loss", or None; the loss is divided by `normalize`, the
        number of accumulated batches. MisconfigurationException for anything else."""
        loss, rest = split_output(training_step_output)
        if loss is None and training_step_output is not None:
            raise MisconfigurationException(
                "training_step returned a dictionary whose 'loss' is None; expected a tensor"
            )
        return cls(None if loss is None else loss / normalize, extra=rest)

    def asdict(self) -> dict[str, Any]:
        """The loss without a graph, and all else."""
        return {"loss": self.loss, **self.extra}


class Closure(AbstractClosure[ClosureResult]):
    """Loss and gradients of a batch for `optimizer.step(closure)`, which gets the loss.

    `step_fn()` gives a `ClosureResult`; then `zero_grad_fn()` (None: gradients add up), then
    `backward_fn(loss)` (None: there are none) unless there is no loss.

    >>> import rushlight as rl
    >>> weight = rl.nn.Parameter(rl.tensor(3.0))
    >>> optimizer = rl.optim.SGD([weight], lr=0.5)
    >>> step = lambda: ClosureResult.from_training_step_output(weight.square())
    >>> closure = Closure(step, rl.Tensor.backward, optimizer.zero_grad)
    >>> optimizer.step(closure)
    tensor(9.)
    >>> weight.item(), closure.consume_result().loss.item()
    (0.0, 9.0)
    """

    def __init__(
        self,
        step_fn: Callable[[], ClosureResult],
        backward_fn: Callable[[Any], Any] | None = None,
        zero_grad_fn: Callable[[], Any] | None = None,
    ) -> None:
        super().__init__()
        self._step_fn, self._backward_fn, self._zero_grad_fn = step_fn, backward_fn, zero_grad_fn
        self._told = False

    @rl.enable_grad()
    def closure(self, *args: Any, **kwargs: Any) -> ClosureResult:
        """Step, forget earlier gradients, compute new ones."""
        found = self._step_fn()
        if found.closure_loss is None and not self._told:
            self._told = True
            warn("training_step returned None: nothing is learnt from such a batch")
        if self._zero_grad_fn is not None:
            self._zero_grad_fn()
        if self._backward_fn is not None and found.closure_loss is not None:
            self._backward_fn(found.closure_loss)
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the closure and keep its result; the loss without a graph, None if it is skipped."""
        self._result = self.closure(*args, **kwargs)
        return self._result.loss


@dataclass
class ManualResult(OutputResult):
    """What a training step of manual optimization gave: `extra`, with the loss without a graph.

    >>> ManualResult.from_training_step_output(None).asdict()
    {}
    """

    extra: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_training_step_output(cls, training_step_output: Any) -> ManualResult:
        """Of a tensor, a dictionary, or None. MisconfigurationException for anything else."""
        extra: dict[str, Any] = {}
        if isinstance(training_step_output, Mapping):
            extra = dict(training_step_output)
        elif isinstance(training_step_output, rl.Tensor):
            extra = {"loss": training_step_output}
        elif training_step_output is not None:
            raise MisconfigurationException(
                f"training_step returned {type(training_step_output).__name__}; expected a tensor, "
                "a dictionary or None"
            )
        if "loss" in extra:
            extra["loss"] = extra["loss"].detach()
        return cls(extra)

    def asdict(self) -> dict[str, Any]:
        """What the step gave."""
        return self.extra
