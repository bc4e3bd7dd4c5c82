"""The ``rushlight`` command: ``run``, ``launch``, ``check``, ``torch``, ``examples``,
``--version``."""

from __future__ import annotations

import argparse
import importlib
import os
import sys

from rushlight._version import __version__
from rushlight.compat import version

_USAGE = """\
usage: rushlight run [-m MODULE | SCRIPT] [ARGUMENTS ...]
       rushlight launch [--nproc-per-node N] [OPTIONS] SCRIPT [ARGUMENTS ...]
       rushlight check [--json] PATH [PATH ...]
       rushlight torch install | remove
       rushlight examples list | copy NAME [TO] | run NAME [ARGUMENTS ...]
       rushlight --version

Run programs written for PyTorch on Rushlight.

  run     run a script or module; `import torch` imports Rushlight
  launch  run a script in several processes, as `torchrun` does
  check   read Python files, without running them, and list the names of
          PyTorch they use that are missing or different
  torch   give this environment the import names and packages torch, torchvision,
          torchaudio and torchtext, or take them away again
  examples  programs that learn something and say how well: list them, copy one to
          change it, or run one
"""


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit code of `check` and of messages."""
    given = sys.argv[1:] if arguments is None else arguments
    if given and given[0] == "run":
        return _run(given[1:])
    if given and given[0] == "launch":
        return _launch(given[1:])
    if given and given[0] == "check":
        return _check(given[1:])
    if len(given) == 2 and given[0] == "torch" and given[1] in ("install", "remove"):
        return _torch(given[1])
    if given and given[0] == "examples" and (code := _examples(given[1:])) is not None:
        return code
    if given in (["--version"], ["-V"]):
        print(f"rushlight {__version__} (PyTorch {version.PYTORCH} API)")
        return 0
    wanted = given in (["--help"], ["-h"])
    print(_USAGE, end="", file=sys.stdout if wanted else sys.stderr)
    return 0 if wanted else 2


def _run(given: list[str]) -> int:
    from rushlight.compat import runner

    # Everything behind the script's name is the script's, options too.
    if len(given) >= 2 and given[0] == "-m":
        runner.run_module(given[1], given[2:])
    elif given and given[0] == "torchrun" and not os.path.exists("torchrun"):
        return _launch(given[1:])
    elif given and not given[0].startswith("-"):
        runner.run_script(given[0], given[1:])
    else:
        print(_USAGE, end="", file=sys.stderr)
        return 2
    return 0


def _launch(given: list[str]) -> int:
    importlib.import_module("rushlight.distributed.run").main(given)
    return 0


def _torch(verb: str) -> int:
    from rushlight.compat import environment

    try:
        names = environment.install() if verb == "install" else environment.remove()
    except environment.NameTaken as error:
        print(f"rushlight: {error}", file=sys.stderr)
        return 1
    done = "stand for Rushlight in" if verb == "install" else "are removed from"
    print(f"{', '.join(names) or 'no names'} {done} {environment.site()}")
    return 0


def _examples(given: list[str]) -> int | None:
    return importlib.import_module("rushlight.compat.examples").main(given)


def _check(given: list[str]) -> int:
    from rushlight.compat import report

    parser = argparse.ArgumentParser(
        prog="rushlight check",
        description="List the names of PyTorch that programs use and Rushlight does not have. "
        "Nothing is run. Exit code: 0 if all are there, 1 if something is missing.",
    )
    parser.add_argument("path", nargs="+", help="a Python file, or a folder of them")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(given)
    return report.check(options.path, as_json=options.json)
