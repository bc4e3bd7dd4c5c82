"""What compiled functions do at a call: run their graphs, make new ones, or run as Python."""

from __future__ import annotations

import functools
from typing import NamedTuple

__all__ = ["Stance", "now", "set_stance"]

STANCES = (
    "default", "eager_then_compile", "aot_eager_then_compile", "force_eager", "eager_on_recompile",
    "fail_on_recompile",
)  # fmt: skip


class Stance(NamedTuple):
    """The word, and the backend of all functions instead of their own (or None)."""

    word: str = "default"
    backend: object = None

    @property
    def captures(self) -> bool:
        """Whether calls without a graph are captured; RuntimeError where these are faults."""
        if self.word == "fail_on_recompile":
            raise RuntimeError(
                "Detected recompile when torch.compile stance is 'fail_on_recompile'"
            )
        return self.word != "eager_on_recompile"


DEFAULT = Stance()
_held = DEFAULT


def now() -> Stance:
    """The stance of all threads."""
    return _held


class set_stance:  # noqa: N801 - PyTorch's name
    """Say what functions of :func:`rushlight.compile` do from now on, inside of ``with``, or inside
    of the function that this decorates.

    Args:
        stance: ``"default"``: graphs run, and calls without one are captured;
            ``"force_eager"``: functions run as Python;
            ``"eager_on_recompile"``: so do calls for which there is no graph;
            ``"fail_on_recompile"``: these raise RuntimeError;
            ``"eager_then_compile"``: the first call of each function runs as Python;
            ``"aot_eager_then_compile"``: the first runs its graph's calls one by one.
        skip_guard_eval_unsafe: accepted; guards are always looked at.
        force_backend: a backend, or its name, for every function, instead of its own.

    Raises:
        ValueError: `stance` is none of these.
        RuntimeError: `force_backend` with another stance than ``"default"``.

    >>> import rushlight
    >>> double = rushlight.compile(lambda x: x * 2)
    >>> with rushlight.compiler.set_stance("force_eager"):
    ...     double(rushlight.ones(2))
    tensor([2., 2.])
    """

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        if stance not in STANCES:
            raise ValueError(f"set_stance(): stance must be one of {STANCES}, got {stance!r}")
        if force_backend is not None and stance != "default":
            raise RuntimeError("non-default stance cannot have force_backend set")
        self._wanted, self._before = Stance(stance, force_backend), now()
        _hold(self._wanted)

    def __enter__(self):
        _hold(self._wanted)
        return self

    def __exit__(self, *_):
        _hold(self._before)

    def __call__(self, function):
        """The function, during whose calls the stance holds; until then nothing changes."""
        _hold(self._before)
        wanted = self._wanted

        @functools.wraps(function)
        def held(*args, **kwargs):
            with set_stance(wanted.word, force_backend=wanted.backend):
                return function(*args, **kwargs)

        return held


def _hold(stance):
    global _held
    _held = stance
