"""``python -m rushlight.distributed.run``, which is ``rushlight launch`` and ``torchrun``.

    rushlight launch --nproc-per-node 4 train.py --epochs 10

Runs the script in several processes with PyTorch's names bound to Rushlight, as ``rushlight run``
does. When one fails all are ended, within seconds; what failed first is named, and the exit code
is 1.

    rushlight launch --hosts a,b:2,c --nproc-per-node 4 train.py

starts itself over ssh on each host, in this folder and with this Python.

    rushlight launch --mpiexec "mpiexec -n 8 --hostfile hosts" train.py

lets MPI's own launcher start the ranks, and looks after the job as in the other forms.
"""

from __future__ import annotations

import shlex
import signal
import sys
from datetime import timedelta

from rushlight.distributed.launching import hosts, ray_hosts, reports
from rushlight.distributed.launching.agent import Agent, Plan
from rushlight.distributed.launching.arguments import nodes, parser, processes
from rushlight.distributed.launching.controller import Controller
from rushlight.distributed.launching.mpiexec import Mpiexec


def main(args=None, program: str = "rushlight launch") -> None:
    """Run a job; ends the process with its exit code unless that is 0."""
    options = parser(program).parse_args(args)
    try:
        job = _job(options)
    except ValueError as error:
        print(f"{program}: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    signal.signal(signal.SIGTERM, _interrupted)
    if options.end_on_hangup:
        reports.end_on_hangup()
    code = job()
    if code:
        raise SystemExit(code)


def _job(options):
    """What runs the job and returns its exit code. ValueError for options that do not fit."""
    given = [name for name in ("hosts", "ray", "mpiexec") if getattr(options, name)]
    if len(given) > 1:
        names = " and ".join(f"--{name}" for name in given)
        raise ValueError(f"{names} say which hosts there are; expected one of them")
    if options.mpiexec:
        return _by_mpiexec(options).run
    if options.hosts or options.ray:
        return _controller(options).run
    plan = _plan(options)
    return lambda: Agent(plan).run()


def _controller(options):
    if options.ray:
        listed = ray_hosts.listed(nodes(options.nnodes), options.nproc_per_node)
        ssh = ray_hosts.program(options.nproc_per_node)
    else:
        listed = hosts.parsed(options.hosts, options.nproc_per_node)
        ssh = shlex.split(options.ssh)
    words = hosts.commands(options, listed)
    return Controller(listed, words, ssh, options.shutdown_timeout)


def _by_mpiexec(options):
    others = {**hosts.NOT_BESIDE, "nproc_per_node": "1"}
    hosts.refuse_beside(options, "--mpiexec", others, "processes")
    return Mpiexec(
        shlex.split(options.mpiexec), _command(options), options.master_addr,
        options.shutdown_timeout, options.max_restarts,
    )  # fmt: skip


def _interrupted(number, frame):
    raise SystemExit(128 + number)


def _plan(options):
    host, port = options.master_addr or "127.0.0.1", options.master_port or 29500
    if options.rdzv_endpoint:
        host, _, given = options.rdzv_endpoint.partition(":")
        port = int(given or 29400)
    count = 1 if options.standalone else nodes(options.nnodes)
    if count == 1:
        port = 0  # a free one
    settings = dict(part.split("=", 1) for part in options.rdzv_conf.split(",") if part)
    seconds = float(settings.get("timeout", settings.get("join_timeout", 600)))
    static = options.rdzv_backend == "static" and not options.rdzv_endpoint
    node_rank = 0 if options.node_rank is None and (static or count == 1) else options.node_rank
    return Plan(
        _command(options), processes(options.nproc_per_node), count, node_rank, host, port,
        options.rdzv_id, options.role, options.max_restarts, options.monitor_interval,
        options.shutdown_timeout, timedelta(seconds=seconds), options.end_on_hangup,
    )  # fmt: skip


def _command(options):
    program = [options.training_script, *options.training_script_args]
    if options.no_python:
        return program
    module = ["-m"] if options.module else []
    return [sys.executable, "-u", "-m", "rushlight", "run", *module, *program]


if __name__ == "__main__":
    main()
