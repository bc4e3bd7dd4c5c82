"""Two libraries timed in processes of their own, in turn: what the scripts of speed share."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable


def least_seconds(
    python: str, arguments: Callable[[str], list[str]], rounds: int
) -> dict[str, dict[str, float]]:
    """The least seconds of each call of "theirs", run by the interpreter `python`, and of "ours",
    run by this one. `arguments`: from one of these words to a script and its arguments; the last
    line that it prints is a JSON object of seconds by the name of a call."""
    programs = {"theirs": python, "ours": sys.executable}
    best: dict[str, dict[str, float]] = {which: {} for which in programs}
    for _ in range(rounds):
        for which, program in programs.items():
            command = [program, *arguments(which)]
            lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            for name, took in json.loads(lines.splitlines()[-1]).items():
                best[which][name] = min(took, best[which].get(name, took))
    return best
