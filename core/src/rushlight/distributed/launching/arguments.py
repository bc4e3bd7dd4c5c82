"""The command line of the launcher, as ``torchrun`` has it."""

from __future__ import annotations

import argparse
import os

from rushlight.distributed.launching.hosts import SSH
from rushlight.machine.cuda import runtime

_OPTIONS: tuple[tuple[str, dict], ...] = (
    (
        "--nproc-per-node",
        dict(default="1", help="processes on this machine: a number, auto or cpu"),
    ),
    ("--nnodes", dict(default="1", help="machines, each of which runs this command")),
    ("--node-rank", dict(type=int, default=None, help="which of the machines this is; 0 hosts")),
    ("--master-addr", dict(default="", help="address of machine 0; 127.0.0.1 or of --hosts")),
    ("--master-port", dict(type=int, default=None, help="port of machine 0; 29500")),
    ("--hosts", dict(default="", help="a,b:2: start on these by ssh, :N with N processes there")),
    ("--ssh", dict(default=SSH, help="program that runs a command on a host, with options")),
    ("--ray", dict(action="store_true", help="start on --nnodes nodes of the Ray cluster")),
    ("--mpiexec", dict(default="", help="'mpiexec -n 4': start by MPI's own launcher")),
    ("--env", dict(default="", help="A,B: variables that --hosts and --ray pass on, too")),
    ("--end-on-hangup", dict(action="store_true", help="end when nobody reads the output")),
    ("--standalone", dict(action="store_true", help="one machine, at a free port")),
    ("--rdzv-backend", dict(default="static", help="c10d or static")),
    ("--rdzv-endpoint", dict(default="", help="host:port of the machine that hosts")),
    ("--rdzv-id", dict(default="none", help="name of the job")),
    ("--rdzv-conf", dict(default="", help="timeout=SECONDS, how long to wait for machines")),
    ("--max-restarts", dict(type=int, default=0, help="how often to start again after a failure")),
    ("--monitor-interval", dict(type=float, default=0.1, help="seconds between two looks")),
    ("--start-method", dict(default="spawn", help="of no consequence")),
    ("--no-python", dict(action="store_true", help="the script is run without Python")),
    ("--role", dict(default="default", help="name of the ranks, in messages")),
    ("--local-addr", dict(default=None, help="of no consequence")),
    ("--shutdown-timeout", dict(type=float, default=3, help="seconds from SIGTERM to SIGKILL")),
)


def parser(program: str) -> argparse.ArgumentParser:
    """The parser; options may be written with ``-`` or ``_`` between words."""
    made = argparse.ArgumentParser(
        prog=program,
        allow_abbrev=False,
        description="Start the processes of a job on this machine: each runs the script with RANK, "
        "LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT set, so that "
        "torch.distributed.init_process_group() finds the others.",
    )

    for name, settings in _OPTIONS:
        names = {name, "--" + name[2:].replace("-", "_")}
        made.add_argument(*sorted(names), **settings)
    made.add_argument("-m", "--module", action="store_true", help="the script is a module's name")
    made.add_argument("training_script", help="the program, with its arguments behind it")
    made.add_argument("training_script_args", nargs=argparse.REMAINDER)
    return made


def processes(text: str) -> int:
    """How many processes ``--nproc-per-node`` means."""
    if text == "cpu" or text == "auto" and not runtime.available():
        return len(os.sched_getaffinity(0))
    if text in ("auto", "gpu"):
        if not runtime.available():
            raise ValueError(f"--nproc-per-node gpu: {runtime.why_unavailable()}")
        return runtime.current().device_count()
    if not text.isdigit() or int(text) < 1:
        raise ValueError(f"--nproc-per-node {text!r}, expected a positive number, auto, cpu or gpu")
    return int(text)


def nodes(text: str) -> int:
    """How many machines ``--nnodes`` means; of a range the larger number is refused."""
    smallest, _, largest = text.partition(":")
    if largest and largest != smallest:
        raise ValueError(
            f"--nnodes {text}: jobs do not change their size; say how many machines there are"
        )
    return int(smallest)
