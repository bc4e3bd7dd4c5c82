"""``rushlight launch --mpiexec``: a job that MPI's own launcher starts, looked after until its end.

``mpiexec`` decides by itself what ends a job and by which exit code: Open MPI's can end with 0
after a host was lost, and wait for ever where the network is cut. Here ranks tell a server how they
end (:mod:`rushlight.machine.mpi.control`), and the job is done when all of them have left it.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import secrets
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

from rushlight.distributed.launching.agent import end_with_parent
from rushlight.machine.mpi.job_server import JobServer
from rushlight.machine.mpi.startup import SERVER, host_name

_NAMED = 4  # ranks that are named where it is not clear which one failed first
_INTERVAL = 0.05
_READING = 0.5  # seconds for news that were sent before mpiexec ended
_SET_CHILD_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of prctl(2): orphans become ours
_ADDRESS_OF_INTERFACE = 0x8915  # SIOCGIFADDR of netdevice(7)
# Seconds after which PRRTE, Open MPI's launcher, gives up a silent connection to another host,
# where the user has not said; its own are 300, 20 and 9.
_KEEPALIVE = {
    "PRTE_MCA_oob_tcp_keepalive_time": "5",
    "PRTE_MCA_oob_tcp_keepalive_intvl": "1",
    "PRTE_MCA_oob_tcp_keepalive_probes": "5",
}


class Mpiexec:
    """Runs ``WORDS COMMAND``, again after failures as often as `max_restarts` says.

    Args:
        words: ``mpiexec`` with its options.
        command: of each rank.
        address: of this machine for the ranks; all it has where empty.
        patience: seconds a job has for its end once a rank has failed.

    Raises:
        ValueError: there is no such program.
    """

    def __init__(self, words: list[str], command: list[str], address="", patience=3.0,
                 max_restarts=0):  # fmt: skip
        if not words or shutil.which(words[0]) is None:
            raise ValueError(f"--mpiexec {shlex.join(words)!r}: there is no such program")
        self.words, self.command = [*words[:1], *_passing_on(words[0]), *words[1:]], command
        self.addresses = [address] if address else _own_addresses()
        self.patience, self.max_restarts = patience, max_restarts

    def run(self) -> int:
        """Start and wait; the exit code, 0 or 1."""
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1)
        for left in range(self.max_restarts, -1, -1):
            failure = self._attempt()
            if failure is None:
                return 0
            again = f"; starting again, {left} more times at most" if left else ""
            print(f"rushlight launch: {failure}{again}", file=sys.stderr, flush=True)
        return 1

    def _attempt(self):
        """Why the job failed, or None."""
        token, others = secrets.token_hex(16), _children()
        server = JobServer(0, "", token)
        server.start()
        told = "@".join([token, host_name(), str(server.port), ",".join(self.addresses)])
        process = subprocess.Popen(
            [*self.words, *self.command], env={**_KEEPALIVE, **os.environ, SERVER: told},
            preexec_fn=end_with_parent,
        )  # fmt: skip
        try:
            code = self._watched(process, server)
        finally:
            self._end(process)
            _end_orphans(others)
            server.listener.close()
        return _reason(code, server)

    def _watched(self, process, server):
        """The exit code of ``mpiexec``; None where it goes on although a rank has failed."""
        over = None
        while (code := process.poll()) is None:
            if over is None and server.failed:
                over = time.monotonic() + self.patience
            if over is not None and time.monotonic() > over:
                return None
            time.sleep(_INTERVAL)
        # The kernel has closed what ranks had open; the server may be about to read it.
        end = time.monotonic() + _READING
        while server.size and not server.is_over() and time.monotonic() < end:
            time.sleep(_INTERVAL)
        return code

    def _end(self, process):
        """End ``mpiexec``, which ends its ranks."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if process.poll() is None:
                process.send_signal(number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=self.patience)


def _end_orphans(others):
    """Kill what ``mpiexec`` has left behind: the ssh of a host that is cut off, say. `others` are
    children that were there before."""
    while left := _children() - others:
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _children():
    try:
        with open(f"/proc/{os.getpid()}/task/{os.getpid()}/children") as file:
            return {int(word) for word in file.read().split()}
    except FileNotFoundError:  # a kernel that does not tell
        return set()


def _reason(code, server):
    failures = [f"rank {rank} is gone ({why})" for rank, why in server.first_failures().items()]
    if failures:
        more = len(failures) - _NAMED
        return "; ".join(failures[:_NAMED]) + (f"; {more} more" if more > 0 else "")
    missing = sorted(set(range(server.size)) - server.leaving)
    if missing:
        return f"mpiexec ended with exit code {code} before ranks {missing} had come to their end"
    return f"mpiexec ended with exit code {code}" if code else None


def _passing_on(program):
    """The options by which every rank gets the variable: others than Open MPI pass on all."""
    said = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    return ["-x", SERVER] if "Open MPI" in said or "PRRTE" in said else []


def _own_addresses():
    """The IPv4 addresses of this machine's interfaces but the loopback one."""
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for _, name in socket.if_nameindex():
            with contextlib.suppress(OSError):  # an interface without an address
                asked = struct.pack("256s", name.encode()[:15])
                answer = fcntl.ioctl(any_socket.fileno(), _ADDRESS_OF_INTERFACE, asked)
                found.append(socket.inet_ntoa(answer[20:24]))
    return [address for address in found if not address.startswith("127.")] or ["127.0.0.1"]
