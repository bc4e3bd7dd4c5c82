"""How the processes of a run are started, and what happens when one of them fails.

`ScriptLauncher` runs the program again, `ProcessLauncher` starts a function. Both end all processes
when one fails.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

import rushlight as rl
import rushlight.multiprocessing as multiprocessing
from lightning_lite.errors import MisconfigurationException

GRACE = 5.0  # seconds in which a process may say by itself that another has failed
_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)


def _end_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)


def command() -> list[str]:
    """What started this program, to be run again. MisconfigurationException without a program."""
    arguments = sys.orig_argv[1:]
    if hasattr(sys, "ps1") or not arguments or arguments == ["-"]:
        raise MisconfigurationException(
            "strategy='ddp' runs the script again for every process, and there is no script; use "
            "strategy='ddp_spawn' or 'ddp_notebook'"
        )
    return [sys.executable, *arguments]


class ScriptLauncher:
    """Starts the script anew for each further process of this machine, unless a launcher has.

    If one ends by an error, the others learn it from their next exchange with it; this process is
    killed where it does not notice within five seconds.
    """

    is_interactive_compatible = False

    def __init__(self, environment: Any, num_processes: int) -> None:
        self.environment, self.num_processes = environment, num_processes
        self.processes: list[subprocess.Popen] = []
        self._ending = False

    def launch(self, function: Callable, *args: Any) -> Any:
        """Start the others, and run the function here."""
        if not self.environment.creates_processes_externally:
            self._start()
        try:
            return function(*args)
        except BaseException:
            self._ending = True
            raise

    def _start(self) -> None:
        environment = self.environment
        shared = {
            "MASTER_ADDR": environment.main_address,
            "MASTER_PORT": environment.main_port,
            "NODE_RANK": environment.node_rank(),
            "WORLD_SIZE": environment.world_size(),
        }
        line = command()
        os.environ.update({name: str(value) for name, value in shared.items()})
        for rank in range(1, self.num_processes):
            own = {**os.environ, "LOCAL_RANK": str(rank)}
            self.processes.append(subprocess.Popen(line, env=own, preexec_fn=_end_with_parent))
        # This process is one of those that exist from now on, for other trainers of the script.
        os.environ["LOCAL_RANK"] = "0"
        threading.Thread(target=self._watch, daemon=True).start()
        atexit.register(self._finish)

    def _watch(self) -> None:
        """End everything once one has failed."""
        while not self._ending:
            for rank, process in enumerate(self.processes, 1):
                if process.poll():
                    self._failed(rank, process)
                    return
            if all(process.poll() == 0 for process in self.processes):
                return
            time.sleep(0.1)

    def _failed(self, rank: int, process: subprocess.Popen) -> None:
        end = time.monotonic() + GRACE
        while time.monotonic() < end and not self._ending:
            time.sleep(0.05)
        if self._ending:
            return  # it noticed, and fails with a traceback of its own
        self.stop()
        sys.stderr.write(f"local rank {rank} ended with exit code {process.returncode}\n")
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGKILL)

    def _finish(self) -> None:
        """At the end of the program: wait for the others, which end by themselves."""
        failed = self._ending
        for process in self.processes:
            if self._ending:
                break
            failed = bool(process.wait()) or failed
        self._ending = True
        self.stop()
        if failed:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(1)

    def stop(self) -> None:
        """End the processes that still run: asked first, then killed."""
        end = time.monotonic() + GRACE / 2
        for process in self.processes:
            if process.poll() is None:
                process.terminate()
        for process in self.processes:
            try:
                process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def kill(self, signum: int) -> None:
        """Send a signal to the processes that were started here."""
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signum)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "processes": []}


class ProcessLauncher:
    """Runs the work in new processes, and takes over what the first of them found.

    The caller's module gets the trained weights; the trainer its progress, its metrics and the
    callbacks' states. With "spawn", module, data and callbacks must be picklable.
    """

    def __init__(self, strategy: Any, start_method: str) -> None:
        self.strategy, self.start_method = strategy, start_method
        self.is_interactive_compatible = start_method == "fork"
        self._inside = False

    def launch(self, function: Callable, owner: Any, *args: Any) -> Any:
        """Run `function(owner, ...)` in each process; what the first one's returned."""
        if self._inside:
            return function(owner, *args)
        self.strategy.cluster_environment.main_port  # noqa: B018 - chosen once, for all
        with tempfile.TemporaryDirectory(prefix="rushlight-trainer-") as folder:
            path = os.path.join(folder, "found")
            multiprocessing.start_processes(
                _work,
                (self.strategy, function, owner, args, path),
                nprocs=self.strategy.num_processes,
                start_method=self.start_method,
            )
            # Written by our own process a moment ago.
            found = rl.load(path, weights_only=False)
        if hasattr(owner, "take_over"):
            owner.take_over(found["state"], args)
        return found["result"]


def _keep_apart(module: Any) -> None:
    """Give this process tensors of its own: those that were sent share memory with the sender."""
    for tensor in (*module.parameters(), *module.buffers()):
        tensor.data = tensor.data.clone()


def _work(index: int, strategy: Any, function: Callable, owner: Any, args: Any, path: str) -> None:
    """One of the processes."""
    for module in (*args, getattr(owner, "lightning_module", None)):
        if isinstance(module, rl.nn.Module):
            _keep_apart(module)
    strategy.launcher._inside = True
    strategy._local_rank = index
    strategy.set_world_ranks()
    strategy.connect(owner)
    result = function(owner, *args)
    if strategy.is_global_zero:
        state = owner.hand_over() if hasattr(owner, "hand_over") else None
        rl.save({"result": result, "state": state}, path)
    strategy.barrier("end")
