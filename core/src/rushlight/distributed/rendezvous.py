"""How processes find each other: a store by URL, with rank and world size."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlparse

from rushlight.distributed.file_store import FileStore
from rushlight.distributed.launching import environments
from rushlight.distributed.prefix_store import PrefixStore
from rushlight.distributed.stores import default_timeout
from rushlight.distributed.tcp_store import TCPStore
from rushlight.machine.mpi import startup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rushlight.distributed.stores import Store

_handlers: dict = {}


def register_rendezvous_handler(
    scheme: str, handler: Callable[..., Iterator[tuple[Store, int, int]]]
) -> None:
    """Let ``scheme://`` URLs be answered by ``handler(url, timeout=...)``, an iterable of triples
    (store, rank, world size)."""
    if scheme in _handlers:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _handlers[scheme] = handler


def rendezvous(
    url: str, rank: int = -1, world_size: int = -1, **kwargs
) -> Iterator[tuple[Store, int, int]]:
    """An iterator of one (store, rank, world size) for a URL: ``env://``, ``tcp://host:port``,
    ``file:///path`` or what is registered."""
    if not isinstance(url, (str, bytes)):
        raise RuntimeError(f"`url` must be a string. {type(url)}: {url}")
    url = _with_ranks(url, rank, world_size)
    scheme = urlparse(url).scheme
    if scheme not in _handlers:
        raise RuntimeError(
            f"No rendezvous handler for {scheme}://; there are {', '.join(sorted(_handlers))}"
        )
    return _handlers[scheme](url, **kwargs)


def _with_ranks(url, rank, world_size):
    words = [f"rank={rank}"] if rank != -1 else []
    words += [f"world_size={world_size}"] if world_size != -1 else []
    if not words:
        return url
    return url + ("&" if "?" in url else "?") + "&".join(words)


def _query(url):
    return {name: values[-1] for name, values in parse_qs(urlparse(url).query).items()}


def _needed(url, query, names):
    for name in names:
        if name not in query:
            raise ValueError(
                f"Error initializing rushlight.distributed using {urlparse(url).scheme}:// "
                f"rendezvous: {name} parameter missing"
            )
    return [int(query[name]) for name in names]


def _by_file(url, timeout=default_timeout, **options):
    path = urlparse(url).path
    if not path:
        raise ValueError("Error initializing using file:// rendezvous: path missing")
    rank, size = _needed(url, _query(url), ("rank", "world_size"))
    store = FileStore(path, size)
    store.set_timeout(timeout)
    yield store, rank, size
    raise RuntimeError("Unable to perform rerendezvous using file:// method")


def _by_tcp(url, timeout=default_timeout, **options):
    parsed = urlparse(url)
    if not parsed.port:
        raise ValueError("Error initializing using tcp:// rendezvous: port number missing")
    rank, size = _needed(url, _query(url), ("rank", "world_size"))
    yield _store(parsed.hostname, parsed.port, rank, size, timeout), rank, size
    raise RuntimeError("Unable to perform re-rendezvous using tcp:// method")


def _store(host, port, rank, size, timeout):
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        store = TCPStore(host, port, size, False, timeout, wait_for_workers=False)
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        return PrefixStore(f"/worker/attempt_{attempt}", store)
    return TCPStore(host, port, size, rank == 0, timeout, wait_for_workers=False, multi_tenant=True)


def _by_variables(url, timeout=default_timeout, **options):
    query = _query(url)
    found = startup.launched()
    step = environments.variables() if found is None else {}
    given = step if found is None else {"RANK": found[0], "WORLD_SIZE": found[1]}
    rank = int(query["rank"]) if "rank" in query else _variable("RANK", given)
    size = int(query["world_size"]) if "world_size" in query else _variable("WORLD_SIZE", given)
    if found is not None and found != (rank, size):
        raise ValueError(
            f"RANK and WORLD_SIZE say rank {rank} of {size}, mpiexec started rank {found[0]} of "
            f"{found[1]}: start the processes one way"
        )
    if found is not None and "MASTER_ADDR" not in os.environ:
        yield None, rank, size  # MPI itself knows the others
    host, port = _variable("MASTER_ADDR", step), int(_variable("MASTER_PORT", step))
    yield _store(host, port, rank, size, timeout), rank, size
    raise RuntimeError("Unable to perform re-rendezvous using env:// method")


def _variable(name, otherwise=None):
    if os.environ.get(name):
        return int(os.environ[name]) if name in ("RANK", "WORLD_SIZE") else os.environ[name]
    if otherwise and name in otherwise:
        return otherwise[name]
    raise ValueError(
        f"Error initializing rushlight.distributed using env:// rendezvous: environment variable "
        f"{name} expected, but not set"
    )


register_rendezvous_handler("file", _by_file)
register_rendezvous_handler("tcp", _by_tcp)
register_rendezvous_handler("env", _by_variables)


def seconds(value) -> timedelta:
    """A timeout as PyTorch takes it: a timedelta, or seconds."""
    if isinstance(value, timedelta):
        return value
    raise TypeError(
        f"Expected timeout argument to be of type datetime.timedelta, got {type(value).__name__} "
        f"({value!r})"
    )
