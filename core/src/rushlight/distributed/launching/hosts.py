"""``rushlight launch --hosts``: which hosts, and the command that each of them runs."""

from __future__ import annotations

import os
import secrets
import shlex
import sys
from dataclasses import dataclass

from rushlight.distributed.launching.environments import FIRST_PORT, PORTS
from rushlight.distributed.launching.reports import STARTED

SSH = "ssh -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=15"
# Variables that are the same on all hosts; --env names others.
_NAMES = ("LD_LIBRARY_PATH", "VIRTUAL_ENV", "LANG", "LC_ALL")
_PREFIXES = (
    "RUSHLIGHT_", "PYTHON", "OMP_", "OPENBLAS_", "MKL_", "NCCL_", "CUDA_", "TORCH_", "MPICH_",
    "FI_", "UCX_",
)  # fmt: skip
# Options of the agents, which every host gets as they were given.
_PASSED_ON = (
    "max_restarts", "monitor_interval", "role", "rdzv_id", "rdzv_conf", "shutdown_timeout",
)  # fmt: skip
NOT_BESIDE = {"nnodes": "1", "node_rank": None, "standalone": False, "rdzv_endpoint": ""}


@dataclass(frozen=True)
class Host:
    """A host as ssh takes it, and how many processes it runs: a number, auto, cpu or gpu."""

    name: str
    processes: str

    @property
    def address(self) -> str:
        """The host without a user's name, brackets and the id of Ray's node."""
        return self.name.rpartition("@")[2].partition("/")[0].strip("[]")


def parsed(text: str, processes: str) -> list[Host]:
    """The hosts of ``a,user@b:2,[::1]:4``, in order; `processes` of each that names no number.

    A host that is named several times runs as many more, so that a file of PBS's will do.

    Raises:
        ValueError: an entry is empty, or has no positive number behind its colon.

    Example:
        >>> from rushlight.distributed.launching import hosts
        >>> [(host.name, host.processes) for host in hosts.parsed("a,b:2,a", "1")]
        [('a', '2'), ('b', '2')]
    """
    counts: dict[str, str] = {}
    for entry in text.split(","):
        name, count = _divided(entry.strip())
        count = processes if count is None else count
        if not name or name.startswith("-") or count.isdigit() and int(count) < 1 or not count:
            raise ValueError(f"--hosts has {entry!r}, expected HOST or HOST:PROCESSES, as in a,b:2")
        if name in counts:
            if not (count + counts[name]).isdigit():
                raise ValueError(
                    f"--hosts names {name} twice with {count} processes, expected numbers"
                )
            count = str(int(count) + int(counts[name]))
        counts[name] = count
    return [Host(name, count) for name, count in counts.items()]


def _divided(entry):
    """Host and number of processes; an IPv6 address has brackets where a number follows."""
    name, colon, count = entry.rpartition(":")
    if not colon or entry.endswith("]") or ":" in name and not name.endswith("]"):
        return entry, None
    return name, count if count.isdigit() else ""


def commands(options, hosts: list[Host]) -> list[str]:
    """The shell command of each host, for ``ssh HOST COMMAND``.

    Raises:
        ValueError: an option says otherwise how many hosts there are.
    """
    others = {name: NOT_BESIDE[name] for name in NOT_BESIDE if not options.ray or name != "nnodes"}
    refuse_beside(options, "--ray" if options.ray else "--hosts", others, "hosts")
    _check_names(options)
    port = options.master_port or FIRST_PORT + secrets.randbelow(PORTS)
    address = options.master_addr or hosts[0].address
    return [
        _command(options, host, ["--nnodes", len(hosts), "--node-rank", number,
                                 "--master-addr", address, "--master-port", port])
        for number, host in enumerate(hosts)
    ]  # fmt: skip


def refuse_beside(options, option: str, others: dict, what: str) -> None:
    """ValueError where one of `others`, by name with its default, says as `option` does which of
    `what` there are."""
    for name, default in others.items():
        if getattr(options, name) != default:
            raise ValueError(
                f"{option} and --{name.replace('_', '-')} both say which {what} there are; "
                "expected one of them"
            )


def _check_names(options):
    for name in filter(None, options.env.split(",")):
        if name not in os.environ:
            raise ValueError(f"--env names {name}, expected a variable that is set")


def _command(options, host, where):
    words = [sys.executable, "-u", "-m", "rushlight", "launch", "--end-on-hangup", *where]
    words += ["--nproc-per-node", host.processes]
    for name in _PASSED_ON:
        words.append(f"--{name.replace('_', '-')}={getattr(options, name)}")
    words += ["--module"] if options.module else []
    words += ["--no-python"] if options.no_python else []
    words += [options.training_script, *options.training_script_args]
    left = ("CUDA_VISIBLE_DEVICES",) if options.ray else ()  # Ray sets it for what it reserved
    given = [f"{name}={value}" for name, value in _variables(options.env, left).items()]
    started = shlex.join(["env", *given, *map(str, words)])
    return f"echo {STARTED} >&2; cd {shlex.quote(os.getcwd())} && exec {started}"


def _variables(more, left):
    asked = set(more.split(","))
    return {
        name: value
        for name, value in sorted(os.environ.items())
        if name in asked or name not in left and (name in _NAMES or name.startswith(_PREFIXES))
    }
