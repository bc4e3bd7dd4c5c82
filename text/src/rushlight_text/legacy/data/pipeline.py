"""Functions applied one after the other to a value, or to each item of a list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Pipeline"]


class Pipeline:
    """A function of tokens, and others before and after it.

    Args:
        convert_token: the function; None for none. ValueError if it cannot be called.

    >>> Pipeline(str.upper).add_after(lambda token: token + "!")(["a", "b"])
    ['A!', 'B!']
    """

    def __init__(self, convert_token: Callable[..., Any] | None = None):
        if convert_token is not None and not callable(convert_token):
            raise ValueError(
                f"Pipeline input convert_token {convert_token} is not None or callable"
            )
        self.convert_token = convert_token or self.identity
        self.pipes: list[Pipeline] = [self]

    def __call__(self, x: Any, *args: Any) -> Any:
        """What the last function makes of what the others made."""
        for pipe in self.pipes:
            x = pipe.call(x, *args)
        return x

    def call(self, x: Any, *args: Any) -> Any:
        """This function alone, on each item of a list."""
        if isinstance(x, list):
            return [self.convert_token(token, *args) for token in x]
        return self.convert_token(x, *args)

    def add_before(self, pipeline: Pipeline | Callable[..., Any]) -> Pipeline:
        """Apply another pipeline first; returns this one."""
        self.pipes = [*_pipes(pipeline), *self.pipes]
        return self

    def add_after(self, pipeline: Pipeline | Callable[..., Any]) -> Pipeline:
        """Apply another pipeline last; returns this one."""
        self.pipes = [*self.pipes, *_pipes(pipeline)]
        return self

    @staticmethod
    def identity(x: Any) -> Any:
        """`x`."""
        return x


def _pipes(pipeline: Pipeline | Callable[..., Any]) -> list[Pipeline]:
    return (pipeline if isinstance(pipeline, Pipeline) else Pipeline(pipeline)).pipes
