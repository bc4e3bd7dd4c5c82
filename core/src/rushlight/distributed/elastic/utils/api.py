"""Sockets and variables of the environment, as launchers ask for them."""

from __future__ import annotations

import os
import socket


def get_env_variable_or_raise(env_name: str) -> str:
    """The value of a variable of the environment.

    Raises:
        ValueError: it is not set.
    """
    value = os.environ.get(env_name)
    if value is None:
        raise ValueError(f"Environment variable {env_name} expected, but not set")
    return value


def get_socket_with_port() -> socket.socket:
    """A listening socket on a free port of this machine; the caller closes it.

    Raises:
        RuntimeError: no address of this machine can be listened at.
    """
    found = socket.getaddrinfo("localhost", None, socket.AF_UNSPEC, socket.SOCK_STREAM)
    for family, kind, protocol, _, _ in found:
        listener = socket.socket(family, kind, protocol)
        try:
            listener.bind(("localhost", 0))
            listener.listen(0)
        except OSError:
            listener.close()
            continue
        return listener
    raise RuntimeError("Failed to create a socket")
