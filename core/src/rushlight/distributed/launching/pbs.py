"""Tasks that ``pbsdsh`` of TORQUE starts: size, rank on the host and first host.

PBS_NODEFILE has a line with a host's name for every task, in the order of PBS_VNODENUM. TORQUE
writes it on the job's first host alone: elsewhere PBS_NP and PBS_NUM_PPN say how many tasks there
are, and the first host is not known.
"""

from __future__ import annotations

import os


def is_task() -> bool:
    """Whether ``pbsdsh`` started this process. The job's script is task 1 at index 0, and what it
    starts has its variables."""
    return (os.environ["PBS_VNODENUM"], os.environ["PBS_TASKNUM"]) != ("0", "1")


def size() -> str:
    """How many tasks the job has, as text; empty if nothing says so."""
    return os.environ.get("PBS_NP", "") or str(len(_hosts()) or "")


def local_rank() -> str:
    """This task's index among those of its host, as text; empty if nothing says so."""
    index, hosts = os.environ["PBS_VNODENUM"], _hosts()
    if index.isdigit() and int(index) < len(hosts):
        return str(hosts[: int(index)].count(hosts[int(index)]))
    on_a_host = os.environ.get("PBS_NUM_PPN", "")
    if index.isdigit() and on_a_host.isdigit() and int(on_a_host):
        return str(int(index) % int(on_a_host))
    return ""


def first_host() -> str:
    """The host of task 0; empty where PBS_NODEFILE cannot be read."""
    return next(iter(_hosts()), "")


def _hosts():
    try:
        with open(os.environ.get("PBS_NODEFILE", ""), encoding="utf-8") as file:
            return file.read().split()
    except OSError:
        return []
