"""``rushlight launch --ray``: the nodes of a Ray cluster as hosts of a job."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import sys

from rushlight.distributed.launching.hosts import Host

_REFUSAL = "--hosts a,b starts jobs over ssh without Ray"


def connected():
    """The module ``ray``, connected to the running cluster.

    Raises:
        ValueError: Ray is not installed, or no cluster runs.
    """
    if importlib.util.find_spec("ray") is None:
        raise ValueError(f"--ray needs Ray, expected `pip install ray`; {_REFUSAL}")
    ray = importlib.import_module("ray")
    try:
        ray.init(address="auto", logging_level=logging.ERROR, log_to_driver=False)
    except ConnectionError as error:
        first = str(error).splitlines()[0]
        raise ValueError(
            f"--ray finds no cluster ({first}); expected `ray start` on its nodes, or RAY_ADDRESS; "
            f"{_REFUSAL}"
        ) from None
    return ray


def listed(count: int, processes: str) -> list[Host]:
    """The first nodes of the cluster, by address, that have CPUs for so many processes each.

    Args:
        count: how many nodes.
        processes: processes on each node, a number.

    Raises:
        ValueError: `processes` is no number, the cluster has too few such nodes, or none runs.
    """
    if not processes.isdigit():
        raise ValueError(
            f"--ray with --nproc-per-node {processes!r}, expected a number: Ray reserves as many "
            "CPUs"
        )
    ray = connected()
    try:
        alive = [node for node in ray.nodes() if node["Alive"]]
    finally:
        ray.shutdown()
    fit = [node for node in alive if node["Resources"].get("CPU", 0) >= int(processes)]
    if len(fit) < count:
        raise ValueError(
            f"--ray needs {count} nodes with {processes} CPUs each; of the cluster's {len(alive)} "
            f"there are {len(fit)} such"
        )
    names = sorted((node["NodeManagerAddress"], node["NodeID"][:12]) for node in fit)
    return [Host("/".join(name), processes) for name in names[:count]]


def program(processes: str) -> list[str]:
    """What stands for ssh: runs a command on a node, as many CPUs being reserved there."""
    module = "rushlight.distributed.launching.ray_command"
    return [sys.executable, "-m", module, processes]
