"""RegisterRecordFunction: modules by name in what a profiler records."""

from __future__ import annotations

from functools import partial
from typing import Any

from rushlight.profiler import record_function


class RegisterRecordFunction:
    """While it is entered, a recording has a range for every call of a module inside `model`:
    "[pl][module]TYPE: NAME".

    >>> import rushlight as rl
    >>> model = rl.nn.Sequential(rl.nn.Linear(2, 3))
    >>> with rl.profiler.profile() as found, RegisterRecordFunction(model):
    ...     _ = model(rl.ones(1, 2))
    >>> [event.key for event in found.key_averages() if "[pl]" in event.key]
    ['[pl][module]rushlight.nn.linear.Linear: 0']
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._opened: dict[str, list[Any]] = {}
        self._handles: list[Any] = []

    def __enter__(self) -> None:
        for name, module in self._model.named_modules():
            if not name:
                continue
            kind = f"{type(module).__module__}.{type(module).__name__}"
            label = f"[pl][module]{kind}: {name}"
            self._handles += [
                module.register_forward_pre_hook(partial(self._begin, label)),
                module.register_forward_hook(partial(self._end, label)),
            ]

    def __exit__(self, *error: Any) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []
        for opened in self._opened.values():  # by calls that raised
            while opened:
                opened.pop().__exit__(None, None, None)

    def _begin(self, label: str, *call: Any) -> None:
        opened = record_function(label)
        opened.__enter__()
        self._opened.setdefault(label, []).append(opened)

    def _end(self, label: str, *call: Any) -> None:
        self._opened[label].pop().__exit__(None, None, None)
