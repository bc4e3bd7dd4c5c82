"""The server of a job tells which ranks failed first, however late its threads hear of it."""

import contextlib
import json
import socket
import time

import pytest

from rushlight.machine.mpi.job_server import JobServer


@contextlib.contextmanager
def served(size):
    """A server and the control connections of its ranks."""
    server = JobServer(size, "", "token")
    server.start()
    ranks = [socket.create_connection(("localhost", server.port)) for _ in range(size)]
    for rank, connection in enumerate(ranks):
        connection.sendall(f"token {rank} control {size}\n".encode())
    wait_for(lambda: len(server.controls) == size)
    yield server, ranks
    for connection in ranks:
        connection.close()
    server.listener.close()


def wait_for(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


@pytest.mark.parametrize("order", [[1, 0, 2], [2, 1, 0], [0, 2, 1]])
def test_the_first_that_is_gone_is_named(order):
    for _ in range(5):
        with served(3) as (server, ranks):
            with server.lock:  # no thread goes on before all are gone
                for rank in order:
                    ranks[rank].close()
            wait_for(server.is_over)
            # no one of them has said why, and they ended within an instant
            assert list(server.closed) == list(server.first_failures()) == order
            assert set(server.first_failures().values()) == {"its process has ended"}


def test_who_says_why_stands_where_it_ended():
    with served(3) as (server, ranks):
        ranks[2].sendall(json.dumps({"say": "leaving", "issued": 0}).encode() + b"\n")
        wait_for(lambda: 2 in server.leaving)
        assert server.first_failures() == {}
        ranks[2].close()
        wait_for(lambda: 2 in server.ended)
        ranks[1].sendall(json.dumps({"say": "failed", "why": "a cause"}).encode() + b"\n")
        wait_for(lambda: 1 in server.ended)
        ranks[0].close()
        wait_for(server.is_over)
        assert list(server.closed) == [2, 1, 0] and list(server.failed) == [1, 0]
        assert server.first_failures() == {1: "a cause"}


def test_later_ends_are_not_the_cause():
    with served(3) as (server, ranks):
        for connection in ranks:
            connection.close()
        wait_for(server.is_over)
        first, *rest = server.closed
        server.closed.update(dict.fromkeys(rest, server.closed[first] + 2))
        assert list(server.first_failures()) == [first]
