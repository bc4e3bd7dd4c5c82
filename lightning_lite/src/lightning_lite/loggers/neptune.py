"""NeptuneLogger: a name of a service that was shut down."""

from __future__ import annotations

from typing import Any


class NeptuneLogger:
    """Refuses to be made: Neptune was shut down, and its client sends nothing any more.

    Raises RuntimeError, as Lightning's does, which names what to use instead.

    >>> NeptuneLogger()
    Traceback (most recent call last):
    RuntimeError: NeptuneLogger: Neptune was shut down; use MLFlowLogger, WandbLogger or LitLogger
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            "NeptuneLogger: Neptune was shut down; use MLFlowLogger, WandbLogger or LitLogger"
        )
