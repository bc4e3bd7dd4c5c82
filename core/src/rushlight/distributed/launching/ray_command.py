"""Runs a command on a node of a Ray cluster, as ssh does: ``ray_command CPUS NODE COMMAND``.

NODE is ADDRESS/ID. An actor there starts the command and hands on what it prints. When this process
ends, Ray ends the actor, whose pipes close: the command learns by them that it is to end.
"""

from __future__ import annotations

import importlib
import os
import selectors
import subprocess
import sys

from rushlight.distributed.launching.ray_hosts import connected

_PATIENCE = 60  # seconds until the node must have the CPUs free


class Runner:
    """The actor: one command."""

    def run(self, command: str):
        """Yields (file descriptor, bytes) of what the command prints, then (0, exit code)."""
        process = subprocess.Popen(
            ["sh", "-c", command],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        pipes = selectors.DefaultSelector()
        for descriptor, pipe in ((1, process.stdout), (2, process.stderr)):
            if pipe is not None:  # for the type checker
                pipes.register(pipe, selectors.EVENT_READ, descriptor)
        while pipes.get_map():
            for key, _ in pipes.select():
                if data := os.read(key.fd, 1 << 16):
                    yield key.data, data
                else:
                    pipes.unregister(key.fileobj)
        yield 0, process.wait()

    def ready(self) -> None:
        """Answers once the actor runs."""


def _options(ray, node, cpus):
    found = next(each for each in ray.nodes() if each["NodeID"].startswith(node))
    # Without a reservation Ray hides the GPUs of a node.
    gpus = min(cpus, int(found["Resources"].get("GPU", 0)))
    strategies = importlib.import_module("ray.util.scheduling_strategies")
    strategy = strategies.NodeAffinitySchedulingStrategy(found["NodeID"], soft=False)
    return {"num_cpus": cpus, "num_gpus": gpus, "scheduling_strategy": strategy}


def main(words: list[str]) -> int:
    """Run the command; its exit code, 255 where the node does not take it."""
    cpus, node, command = int(words[0]), words[1].rpartition("/")[2], words[2]
    ray = connected()
    actor = ray.remote(Runner).options(**_options(ray, node, cpus)).remote()
    try:
        ray.get(actor.ready.remote(), timeout=_PATIENCE)
    except ray.exceptions.GetTimeoutError:
        print(f"Ray has no {cpus} CPUs free there after {_PATIENCE} s", file=sys.stderr)
        return 255
    except ray.exceptions.RayError as error:
        print(error, file=sys.stderr)
        return 255
    for reference in actor.run.options(num_returns="streaming").remote(command):
        descriptor, data = ray.get(reference)
        if descriptor == 0:
            return data if data >= 0 else 255
        os.write(descriptor, data)
    return 255


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
