"""Switches of :func:`rushlight.compile` that hold for all functions.

- `recompile_limit` (8): how many graphs a function may have for one kind of arguments, and
  `accumulated_recompile_limit` (256) for all kinds. They are those of ``_dynamo.config``, too.
- `fail_on_recompile_limit_hit` (False): a call that would need one more raises
  ``_dynamo.exc.FailOnRecompileLimitHit``, where else the function runs as it is from then on.

Setting another name raises AttributeError: PyTorch's other switches would change nothing here.

>>> import rushlight
>>> with rushlight.compiler.config.patch(recompile_limit=2):
...     print(rushlight._dynamo.config.recompile_limit)
2
"""

from __future__ import annotations

import contextlib
import sys
import types

recompile_limit: int = 8
accumulated_recompile_limit: int = 256
fail_on_recompile_limit_hit: bool = False

_KINDS = {
    "recompile_limit": int,
    "accumulated_recompile_limit": int,
    "fail_on_recompile_limit_hit": bool,
}


@contextlib.contextmanager
def patch(changes: dict | None = None, **more):
    """Switches that hold inside of ``with``: ``patch(name=value)`` or ``patch({"name": value})``.

    Raises:
        AttributeError: a name is no switch.
        TypeError: a value is of the wrong kind.
    """
    module = sys.modules[__name__]
    wanted = {**({} if changes is None else changes), **more}
    before = {name: getattr(module, name) for name in wanted}
    try:
        for name, value in wanted.items():
            setattr(module, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


class _Switches(types.ModuleType):
    """This module, which has these switches and no others."""

    def __getattr__(self, name):
        raise AttributeError(f"rushlight.compiler.config.{name} does not exist")

    def __setattr__(self, name, value):
        kind = _KINDS.get(name)
        if kind is None and not name.startswith("__"):
            raise AttributeError(
                f"rushlight.compiler.config.{name} does not exist; there are {', '.join(_KINDS)}"
            )
        if kind is not None and type(value) is not kind:
            raise TypeError(
                f"compiler.config: {name} must be of type {kind.__name__}, not "
                f"{type(value).__name__}"
            )
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Switches
