"""Tracing: whether calls are being recorded, and the warnings that tracing gives."""

ACTIVE: list = []  # the recorders of traces in progress


class TracerWarning(Warning):
    """A traced function does something that its program cannot: it looks at a tensor's values, or
    gives other results when it runs again."""


class TracingCheckError(Exception):
    """A traced program differs from its function."""


def is_tracing() -> bool:
    """Whether calls are being recorded by :func:`trace`."""
    return bool(ACTIVE)
