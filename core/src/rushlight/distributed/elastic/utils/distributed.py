"""Free ports for the processes of a job."""

from __future__ import annotations

from rushlight.distributed.elastic.utils.api import get_socket_with_port


def get_free_port() -> int:
    """A port of this machine that nobody listened at a moment ago; another process may take it."""
    with get_socket_with_port() as listener:
        return listener.getsockname()[1]
