"""Tracing: whether calls are being recorded, and the warnings that tracing gives."""

ACTIVE: list = []  # the recorders of traces in progress


class TracerWarning(Warning):
    """A traced function does something that its program cannot: it looks at a tensor's values, or
    gives other results when it runs again."""


class TracingCheckError(Exception):
    """A function gave another program when it was traced again: what it does depends on more than
    a program can hold, such as a branch on a tensor's values or a counter."""


class Scopes:
    """What hooks of a traced module name the calls by that follow."""

    def __init__(self):
        self.scopes: dict[int, str] = {}

    def push_scope(self, name: str) -> None:
        """Begin a part of the program."""
        self.scopes[len(self.scopes)] = name

    def pop_scope(self) -> None:
        """End the part that was begun last. RuntimeError where there is none."""
        if not self.scopes:
            raise RuntimeError("pop_scope: no scope was pushed")
        self.scopes.popitem()


def is_tracing() -> bool:
    """Whether calls are being recorded by :func:`trace`."""
    return bool(ACTIVE)
