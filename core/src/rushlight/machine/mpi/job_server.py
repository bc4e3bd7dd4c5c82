"""The server of one job, a thread of rank 0 or of a launcher: PMI-1 for MPICH, and news of ranks
that end.

No tensor passes here. MPICH exchanges addresses through PMI (about 30 short lines a rank, when it
starts). Each rank holds a second connection, the control connection of :mod:`.control`, on which it
says that it leaves and hears who is gone. Every connection begins with a line of token, rank and
kind.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import select
import socket
import threading
import time
import uuid

_SILENT = "its process has ended"
# Seconds within which it cannot be told who ended first: launchers kill the others when they see
# the end of one, whose connection may be closed behind theirs.
_INSTANT = 1.0
_MAXIMA = "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024 rc=0"


class PMITable:
    """What the ranks tell each other before MPI runs: keys, values and a barrier."""

    def __init__(self, size: int):
        self.size = size
        self.changed = threading.Condition()
        self.values: dict[str, str] = {}
        self.hosts: dict[int, str] = {}
        self.arrived = self.generation = 0
        # MPICH names its shared memory by a hash of this: no two jobs may have the same.
        self.name = "rushlight-" + uuid.uuid4().hex

    def arrive(self, rank: int, host: str) -> None:
        """Note on which host a rank runs."""
        with self.changed:
            self.hosts[rank] = host
            self.changed.notify_all()

    def mapping(self) -> str:
        """PMI_process_mapping: ``(vector,(first node, nodes, ranks per node),...)``."""
        with self.changed:
            self.changed.wait_for(lambda: len(self.hosts) == self.size)
        nodes: dict[str, int] = {}
        blocks: list[list[int]] = []
        for rank in range(self.size):
            node = nodes.setdefault(self.hosts[rank], len(nodes))
            if blocks and blocks[-1][0] == node:
                blocks[-1][2] += 1
            else:
                blocks.append([node, 1, 1])
        return "(vector," + ",".join(f"({a},{b},{c})" for a, b, c in blocks) + ")"

    def on_barrier_in(self, line: str, fields: dict[str, str]) -> str:
        """Return when all ranks have called."""
        with self.changed:
            generation = self.generation
            self.arrived += 1
            if self.arrived == self.size:
                self.arrived, self.generation = 0, generation + 1
                self.changed.notify_all()
            self.changed.wait_for(lambda: self.generation > generation)
        return "cmd=barrier_out rc=0"

    def on_put(self, line: str, fields: dict[str, str]) -> str:
        """Keep a value, which may hold spaces and stands last."""
        with self.changed:
            self.values[fields["key"]] = line.partition(" value=")[2]
        return "cmd=put_result rc=0 msg=success"

    def on_get(self, line: str, fields: dict[str, str]) -> str:
        """The answer to a question for a key."""
        key = fields["key"]
        value = self.mapping() if key == "PMI_process_mapping" else self.values.get(key)
        if value is None:
            return "cmd=get_result rc=-1 msg=key_not_found value=unknown"
        return f"cmd=get_result rc=0 msg=success value={value}"

    def answer(self, line: str) -> str | None:
        """What is sent back for one line; None where the connection ends."""
        fields = dict(word.partition("=")[::2] for word in line.split(" ") if word)
        command = fields.get("cmd")
        if command is not None and hasattr(self, f"on_{command}"):
            return getattr(self, f"on_{command}")(line, fields)
        return {
            "init": "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
            "get_maxes": _MAXIMA,
            "get_appnum": "cmd=appnum appnum=0 rc=0",
            "get_my_kvsname": f"cmd=my_kvsname kvsname={self.name} rc=0",
            "get_universe_size": f"cmd=universe_size size={self.size} rc=0",
            "finalize": "cmd=finalize_ack rc=0",
            "abort": None,
        }.get(command or "", f"cmd={command} rc=-1 msg=unsupported")


class JobServer(threading.Thread):
    """Serves the `size` ranks of one job at ``address`` (host, port). A size of 0 is not known: the
    first rank that comes says it."""

    def __init__(self, size: int, bind: str, token: str):
        super().__init__(daemon=True, name="rushlight-job-server")
        self.size, self.token = size, token
        self.listener = socket.create_server((bind, 0), backlog=2 * size)
        self.port = self.listener.getsockname()[1]
        self.table = PMITable(size)
        self.lock = threading.Lock()
        self.controls: dict[int, socket.socket] = {}
        self.past: list[bytes] = []  # news, for ranks that connect later
        self.ended: set[int] = set()
        self.leaving: set[int] = set()
        self.failed: dict[int, str] = {}  # why
        self.closings = select.epoll()  # its list has the order in which connections are closed
        self.closed: dict[int, float] = {}  # ranks in that order, and when it was noted
        self.owed: dict[int, set[int]] = {}  # a leaving rank -> those that have not settled

    def run(self) -> None:
        """Accept connections until the process ends."""
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        # Strangers may connect: they have 30 s for one short line, and no answer without the token.
        connection.settimeout(30)
        with contextlib.suppress(OSError, ValueError), connection:
            stream = connection.makefile("rb")
            token, rank, kind, *rest = stream.readline(512).decode().split()
            if not hmac.compare_digest(token, self.token):
                return
            if not self.size and kind == "control":
                self.size = int(rest[0])
            if not 0 <= int(rank) < self.size:
                return
            connection.settimeout(None)
            if kind == "control":
                self._control(connection, stream, int(rank))
            elif kind == "pmi":
                self.table.arrive(int(rank), rest[0])
                self._pmi(connection, stream)

    def _pmi(self, connection, stream):
        for line in stream:
            answer = self.table.answer(line.decode().rstrip("\n"))
            if answer is None:
                return
            connection.sendall(answer.encode() + b"\n")

    def _control(self, connection, stream, rank):
        with self.lock:
            self.controls[rank] = connection
            self.closings.register(connection, select.EPOLLRDHUP)
            for line in self.past:
                connection.sendall(line)
        reason = _SILENT
        try:
            for line in stream:
                message = json.loads(line)
                if message["say"] == "failed":
                    reason = message["why"]
                    break
                self._heard(rank, message)
        except OSError:
            pass
        # The end of the connection is that of the process: the kernel closes it, however it ends.
        self._end(rank, reason)

    def _heard(self, rank, message):
        with self.lock:
            if message["say"] == "leaving":
                self.leaving.add(rank)  # who leaves receives nothing more
                self.owed[rank] = set(range(self.size)) - self.leaving - self.ended
                for owed in self.owed.values():
                    owed.discard(rank)
                self._tell({"news": "left", "rank": rank, "issued": message["issued"]})
                self._release()
            elif message["say"] == "settled":
                self.owed.get(message["rank"], set()).discard(rank)
                self._release()

    def _release(self):
        for rank, owed in list(self.owed.items()):
            if not owed:
                del self.owed[rank]
                self._send(rank, {"news": "go"})

    def _end(self, rank, reason):
        with self.lock:
            if rank in self.ended:
                return
            self._note_closings()
            if rank not in self.closed:  # it has said that it fails
                self.closed[rank] = time.monotonic()
            self.ended.add(rank)
            connection = self.controls.pop(rank, None)
            if connection is not None:
                self.closings.unregister(connection)
            if rank not in self.leaving:
                self.failed[rank] = reason
            self._tell({"news": "gone", "rank": rank, "why": reason})
            self.owed.pop(rank, None)
            for owed in self.owed.values():
                owed.discard(rank)
            self._release()

    def _note_closings(self):
        """Note whose connections are closed: threads that wait for them go on in any order."""
        ranks = {connection.fileno(): rank for rank, connection in self.controls.items()}
        for number, _ in self.closings.poll(0):
            rank = ranks.get(number)
            if rank is not None and rank not in self.closed:
                self.closed[rank] = time.monotonic()

    def first_failures(self) -> dict[int, str]:
        """The rank that failed first, and why; of ranks that ended without a word all that did so
        within an instant."""
        with self.lock:
            order = [rank for rank in self.closed if rank in self.failed]
            if not order or self.failed[order[0]] != _SILENT:
                return {rank: self.failed[rank] for rank in order[:1]}
            end = self.closed[order[0]] + _INSTANT
            return {
                rank: _SILENT
                for rank in order
                if self.failed[rank] == _SILENT and self.closed[rank] <= end
            }

    def _tell(self, news):
        self.past.append(json.dumps(news).encode() + b"\n")
        for rank in list(self.controls):
            self._send(rank, news)

    def _send(self, rank, news):
        connection = self.controls.get(rank)
        if connection is not None:
            with contextlib.suppress(OSError):
                connection.sendall(json.dumps(news).encode() + b"\n")

    def is_over(self) -> bool:
        """Whether all ranks have come and ended."""
        return 0 < self.size == len(self.ended)

    def wait_for_all(self, seconds: float) -> bool:
        """Whether every other rank has ended within these seconds."""
        done = threading.Event()
        while seconds > 0:
            with self.lock:
                if len(self.ended) >= self.size - 1:
                    return True
            done.wait(0.02)
            seconds -= 0.02
        return False
