"""Runs a command on several hosts at a time by ssh, and ends all of them when one fails."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from collections import deque

from rushlight.distributed.launching import reports
from rushlight.distributed.launching.agent import end_with_parent
from rushlight.distributed.launching.hosts import Host

_INTERVAL = 0.05
_LAST_LINES = 20  # of what ssh says before the command starts
_INTERRUPTED = 130


class _Connection:
    """The ssh of one host: its lines go to our output, what its agent tells is kept."""

    def __init__(self, host: Host, words: list[str], prefix: str, lock):
        self.host, self.prefix, self.lock = host, prefix.encode(), lock
        self.started = False
        self.before: deque[bytes] = deque(maxlen=_LAST_LINES)
        self.failures: list[dict] = []
        self.process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            preexec_fn=end_with_parent,
        )  # fmt: skip
        pumps = ((self.process.stdout, self._show_output), (self.process.stderr, self._read_error))
        self.threads = [
            threading.Thread(target=_each_line, args=pump, daemon=True) for pump in pumps
        ]
        for thread in self.threads:
            thread.start()

    def poll(self) -> int | None:
        """The exit code once ssh has ended and its output is read."""
        code = self.process.poll()
        if code is not None:
            for thread in self.threads:
                thread.join(timeout=1)
        return code

    def end(self) -> None:
        """End ssh, by which the remote agent learns that it is to end."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=0.5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def _show_output(self, line):
        self._show(sys.stdout, line)

    def _read_error(self, line):
        text = line.decode(errors="replace")
        if not self.started:
            self.started = text.strip() == reports.STARTED
            if not self.started:
                self.before.append(line)
                return
            for each in self.before:
                self._show(sys.stderr, each)
        elif told := reports.failure_of(text):
            self.failures.append(told)
        else:
            self._show(sys.stderr, line)

    def _show(self, stream, line):
        end = b"" if line.endswith(b"\n") else b"\n"
        with self.lock:
            stream.buffer.write(self.prefix + line + end)
            stream.flush()


def _each_line(pipe, take):
    for line in pipe:
        take(line)


class Controller:
    """Runs each host's command by ``ssh HOST COMMAND``.

    Args:
        hosts: in the order of their ranks.
        commands: the shell command of each.
        ssh: the program with its options, to which host and command are added.
        patience: seconds that agents which know of a failure get for their end.

    Raises:
        ValueError: there is no such program as `ssh` names.
    """

    def __init__(self, hosts: list[Host], commands: list[str], ssh: list[str], patience: float):
        if not ssh or shutil.which(ssh[0]) is None:
            raise ValueError(f"--ssh {' '.join(ssh)!r}: there is no such program")
        self.ssh, self.patience = ssh, patience
        self.connections: list[_Connection] = []
        self._planned = list(zip(hosts, commands, strict=True))

    def run(self) -> int:
        """Run all and wait; the exit code: 0, 1 after a failure, 130 after Ctrl-C."""
        try:
            self._start()
            first = self._watched()
        except KeyboardInterrupt:
            return _INTERRUPTED
        finally:
            for connection in self.connections:
                connection.end()
        if first is None:
            return 0
        print(f"rushlight launch: {self._reason(first)}", file=sys.stderr, flush=True)
        return 1

    def _start(self):
        lock = threading.Lock()
        several = len(self._planned) > 1
        for host, command in self._planned:
            prefix = f"[{host.name}] " if several else ""
            words = [*self.ssh, host.name, command]
            self.connections.append(_Connection(host, words, prefix, lock))

    def _watched(self):
        """The connection that failed first, all having ended or had their time; None if none."""
        first, end = None, None
        while True:
            codes = [connection.poll() for connection in self.connections]
            if first is None and any(codes):
                first = next(c for c, code in zip(self.connections, codes, strict=True) if code)
                # An agent that ends with 1 has told the others of its failure; else nobody has.
                knows = first.started and first.process.returncode == 1
                end = time.monotonic() + (self.patience + 0.5 if knows else 0)
            if all(code is not None for code in codes) or end and time.monotonic() >= end:
                return first
            time.sleep(_INTERVAL)

    def _reason(self, first):
        told = [(c, failure) for c in self.connections for failure in c.failures]
        code = first.process.returncode
        if not first.started:
            said = b"".join(first.before).decode(errors="replace").strip() or "it said nothing"
            return (
                f"host {first.host.name} cannot be reached: {said} ({self.ssh[0]} ended with exit "
                f"code {code})"
            )
        if not told:
            return f"host {first.host.name} ended with exit code {code}"
        # Who waits for a rank that was killed fails after it, and says so in its own file.
        cause, failure = min(told, key=lambda each: (not each[1]["killed"], each[1]["time"]))
        trace = f"; its traceback:\n{failure['traceback'].rstrip()}" if failure["traceback"] else ""
        return f"host {cause.host.name}: {failure['text']}{trace}"
