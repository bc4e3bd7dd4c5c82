"""The agent of one machine: starts its ranks, ends all of them when one fails, starts again."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from datetime import timedelta

from rushlight.distributed.errors import DistError
from rushlight.distributed.launching import reports
from rushlight.distributed.tcp_store import TCPStore

_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)
_TELLING = 1.0  # seconds for the store, which may be behind a cut network, to take a failure


@dataclass
class Plan:
    """What is to be started: a command, on how many machines, how often."""

    command: list[str]
    local: int
    nodes: int = 1
    node_rank: int | None = None
    host: str = "127.0.0.1"
    port: int = 0
    name: str = "none"
    role: str = "default"
    max_restarts: int = 0
    interval: float = 0.1
    patience: float = 3.0  # seconds from SIGTERM to SIGKILL
    timeout: timedelta = field(default=timedelta(seconds=600))
    remote: bool = False  # started by a controller on another host


@dataclass
class Failure:
    """The first rank that failed: how its process ended and what it said."""

    rank: int
    code: int
    pid: int
    message: str = ""
    time: float = 0.0  # seconds since the epoch
    traceback: str = ""

    def __str__(self):
        ended = f"exit code {self.code}"
        if self.code < 0:
            ended = f"signal {signal.Signals(-self.code).name}"
        said = f": {self.message}" if self.message else ""
        return f"rank {self.rank} (pid {self.pid}) ended with {ended}{said}"


class Agent:
    """Runs a plan on this machine."""

    def __init__(self, plan: Plan):
        self.plan = plan
        self.store, self.node_rank = self._joined()
        self.first_rank, self.world_size = self._ranks()
        self.folder = tempfile.mkdtemp(prefix="rushlight-launch-")
        self.workers: list[subprocess.Popen] = []

    def _joined(self):
        """The store of the job's agents and the number of this machine."""
        plan = self.plan
        if plan.nodes == 1:
            return TCPStore("127.0.0.1", plan.port, 1, True, plan.timeout), 0
        if plan.node_rank == 0 or plan.node_rank is None and self._may_host():
            return TCPStore(plan.host, plan.port, None, True, plan.timeout), 0
        store = TCPStore(plan.host, plan.port, None, False, plan.timeout)
        number = plan.node_rank
        return store, store.add(self._key("nodes"), 1) if number is None else number

    def _may_host(self):
        """Whether the endpoint is an address of this machine at which nobody listens."""
        try:
            with socket.create_server((socket.gethostbyname(self.plan.host), self.plan.port)):
                return True
        except OSError:
            return False

    def _key(self, *words):
        return "/".join(["rushlight-agents", self.plan.name, *map(str, words)])

    def _ranks(self):
        """The first rank on this machine, and the number of all."""
        self.store.set(self._key("local", self.node_rank), str(self.plan.local))
        keys = [self._key("local", node) for node in range(self.plan.nodes)]
        counts = [int(self.store.get(key)) for key in keys]
        return sum(counts[: self.node_rank]), sum(counts)

    def run(self) -> int:
        """Start the ranks, again after failures as often as planned; the exit code."""
        try:
            for attempt in range(self.plan.max_restarts + 1):
                failure = self._attempt(attempt)
                if failure is None:
                    return 0
                self._tell(failure, self.plan.max_restarts - attempt)
            return 1
        finally:
            self._stop()
            shutil.rmtree(self.folder, ignore_errors=True)

    def _tell(self, failure, left):
        if self.plan.remote and not left:  # the controller shows what failed first
            if isinstance(failure, Failure):
                reports.failed(failure)
            return
        again = f"; starting again, {left} more times at most" if left else ""
        print(f"rushlight launch: {failure}{again}", file=sys.stderr, flush=True)

    def _attempt(self, attempt):
        self.workers = [self._start(local, attempt) for local in range(self.plan.local)]
        news: list[str] = []
        over = threading.Event()
        if self.plan.nodes > 1:
            listening = (attempt, news, over)
            threading.Thread(target=self._listen, args=listening, daemon=True).start()
        try:
            return self._watched(attempt, news)
        finally:
            over.set()

    def _watched(self, attempt, news):
        while True:
            codes = [worker.poll() for worker in self.workers]
            if any(codes):
                failure = self._first_failure(codes, attempt)
                self._announce(attempt, str(failure))
                self._stop()
                return failure
            if news:
                self._stop()
                return self._noted_failure(attempt) or news[0]
            if all(code == 0 for code in codes) and self._all_done(attempt):
                return None
            time.sleep(self.plan.interval)

    def _start(self, local, attempt):
        path = self._error_file(local, attempt)
        variables = self._variables(local, attempt)
        return subprocess.Popen(
            self.plan.command,
            env={**os.environ, **variables, "TORCHELASTIC_ERROR_FILE": path},
            preexec_fn=end_with_parent,
        )

    def _error_file(self, local, attempt):
        return os.path.join(self.folder, f"{attempt}-{local}.json")

    def _variables(self, local, attempt):
        plan = self.plan
        values = {
            "RANK": self.first_rank + local, "LOCAL_RANK": local, "WORLD_SIZE": self.world_size,
            "LOCAL_WORLD_SIZE": plan.local, "GROUP_RANK": self.node_rank,
            "GROUP_WORLD_SIZE": plan.nodes, "ROLE_RANK": self.first_rank + local,
            "ROLE_WORLD_SIZE": self.world_size, "ROLE_NAME": plan.role,
            "MASTER_ADDR": self.store.host, "MASTER_PORT": self.store.port,
            "TORCHELASTIC_RESTART_COUNT": attempt, "TORCHELASTIC_RUN_ID": plan.name,
            "TORCHELASTIC_MAX_RESTARTS": plan.max_restarts, "TORCHELASTIC_USE_AGENT_STORE": True,
        }  # fmt: skip
        if plan.local > 1 and "OMP_NUM_THREADS" not in os.environ:
            cores = len(os.sched_getaffinity(0))
            values["OMP_NUM_THREADS"] = max(1, cores // plan.local)
        return {name: str(value) for name, value in values.items()}

    def _first_failure(self, codes, attempt):
        """What failed first: a signal is a cause; of exceptions the one that was noted first."""
        failed = [local for local, code in enumerate(codes) if code]
        said = self._noted(attempt)
        # Who waits for a rank that was killed fails after it, and says so in its file.
        killed = [local for local in failed if codes[local] < 0]
        first = killed[0] if killed else min(
            said, key=lambda local: said[local]["time"], default=failed[0]
        )  # fmt: skip
        return self._failure(first, codes[first] or 1, said.get(first, {}))

    def _noted_failure(self, attempt):
        """What failed here first although another machine's news came first: a rank that raises
        leaves its file before it ends, and others may have ended by it. For the controller, which
        compares times."""
        said = self._noted(attempt) if self.plan.remote else {}
        if not said:
            return None
        first = min(said, key=lambda local: said[local]["time"])
        return self._failure(first, max(self.workers[first].returncode, 1), said[first])

    def _noted(self, attempt):
        said = {}
        for local in range(self.plan.local):
            try:
                with open(self._error_file(local, attempt)) as file:
                    said[local] = json.load(file)
            except (OSError, ValueError):
                continue
        return said

    def _failure(self, local, code, noted):
        return Failure(
            self.first_rank + local, code, self.workers[local].pid, noted.get("message", ""),
            noted.get("time", time.time()), noted.get("traceback", ""),
        )  # fmt: skip

    def _stop(self):
        for worker in self.workers:
            if worker.poll() is None:
                worker.terminate()
        end = time.monotonic() + self.plan.patience
        while any(worker.poll() is None for worker in self.workers):
            if time.monotonic() > end:
                for worker in self.workers:
                    worker.kill()
                    worker.wait()
            time.sleep(0.02)

    # -- several machines -----------------------------------------------------------------------

    def _announce(self, attempt, text):
        if self.plan.nodes == 1:
            return
        telling = threading.Thread(target=self._tell_store, args=(attempt, text), daemon=True)
        telling.start()
        telling.join(timeout=_TELLING)

    def _tell_store(self, attempt, text):
        with contextlib.suppress(DistError):  # the host's agent has failed and ended before
            self.store.compare_set(self._key("failed", attempt), "", text)

    def _listen(self, attempt, news, over):
        """Note what fails on another machine. A thread of its own: where the network is cut, the
        store does not answer, and the ranks here are to be looked after all the same."""
        key = self._key("failed", attempt)
        while not over.wait(self.plan.interval):
            try:
                if self.store.check([key]):
                    news.append(self.store.get(key).decode())
                    return
            except DistError as error:
                news.append(f"the machine that hosts the job is gone ({error})")
                return

    def _all_done(self, attempt):
        if self.plan.nodes == 1:
            return True
        if not self._all_say("done", attempt):
            return False
        # The host keeps the store until everybody knows.
        while not self._all_say("seen", attempt) and self.node_rank == 0:
            time.sleep(self.plan.interval)
        return True

    def _all_say(self, word, attempt):
        self.store.set(self._key(word, attempt, self.node_rank), "1")
        return self.store.check([self._key(word, attempt, n) for n in range(self.plan.nodes)])


def end_with_parent() -> None:
    """Called in a process before its program: be killed when the parent is."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
