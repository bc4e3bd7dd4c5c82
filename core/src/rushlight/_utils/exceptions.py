"""Exceptions of worker processes and threads, in a form that can be sent."""

from __future__ import annotations

import pickle
import sys
import traceback


class _Text(str):
    """A message that is shown as it is; KeyError shows its argument by ``repr``."""

    __slots__ = ()

    def __repr__(self):
        return str(self)


def _sendable(kind):
    """The class itself, or its nearest base that another process knows: a class that is defined in
    a function cannot be pickled."""
    for base in kind.__mro__:
        try:
            if pickle.loads(pickle.dumps(base)) is base:
                return base
        except Exception:  # noqa: S112, PERF203 - as many reasons as there are classes
            continue
    return RuntimeError


class ExceptionWrapper:
    """The exception being handled, in a form that can be sent and raised again elsewhere."""

    def __init__(self, exc_info=None, where="in background"):
        kind, error, trace = sys.exc_info() if exc_info is None else exc_info
        self.exc_type, self.name, self.where = _sendable(kind), kind.__name__, where
        self.exc_msg = "".join(traceback.format_exception(kind, error, trace))

    def reraise(self):
        """Raise the same kind of exception; its message holds the original traceback."""
        kind = self.exc_type
        message = f"Caught {self.name} {self.where}.\nOriginal {self.exc_msg}"
        if issubclass(kind, StopIteration):  # would end the loop that asks for batches, silently
            raise RuntimeError(message)
        if kind is KeyError:
            raise KeyError(_Text(message))
        try:
            error = kind(message=message) if getattr(kind, "message", None) else kind(message)
        except Exception:  # its constructor wants something else
            raise RuntimeError(message) from None
        raise error
