"""What comparisons of pairs raise."""

from __future__ import annotations

from collections.abc import Callable


class UnsupportedInputs(Exception):  # noqa: N818 - PyTorch's name
    """A pair cannot handle these values: another kind of pair is asked."""


class ErrorMeta(AssertionError):
    """An error to be raised: its type, its text, and the keys that lead to the values at fault."""

    def __init__(self, type: type[Exception], msg: str, *, id: tuple = ()):
        super().__init__(type, msg)
        self.type, self.msg, self.id = type, msg, id

    def to_error(self, msg: str | Callable[[str], str] | None = None) -> Exception:
        """The error itself, with the text `msg`, or what `msg` makes of the generated one."""
        if isinstance(msg, str):
            return self.type(msg)
        text = self.msg
        if self.id:
            where = "".join(f"[{key!r}]" for key in self.id)
            text = f"{text}\n\nThe failure occurred for item {where}"
        return self.type(text if msg is None else msg(text))
