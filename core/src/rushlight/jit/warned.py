"""Tracing: whether calls are being recorded, and the warning that tracing gives."""


class TracerWarning(Warning):
    """The kind of warning that tracing gives."""


def is_tracing() -> bool:
    """Whether calls are being recorded as a graph: never."""
    return False
