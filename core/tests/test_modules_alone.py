"""Every module can be the first one that a program imports after the package itself: no order of
imports is needed that only other modules happen to bring about."""

import subprocess
import sys
from pathlib import Path

import pytest

import rushlight

PARTS = 4
# Each module in a child of one process that has imported no more than the package.
CHILDREN = """
import importlib, os, sys, traceback
import rushlight
for name in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            optional = error.name and not error.name.startswith("rushlight")
            if not optional:
                print(name, traceback.format_exc(), flush=True)
        except BaseException:
            print(name, traceback.format_exc(), flush=True)
        sys.stdout.flush()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status:
        print(name, "ended with", status, flush=True)
"""


def modules():
    root = Path(rushlight.__file__).parent
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root.parent).with_suffix("").parts
        if path.stem == "__main__" or {"examples", "startup"} & {*parts}:
            continue  # programs
        yield ".".join(parts[:-1] if path.stem == "__init__" else parts)


@pytest.mark.parametrize("part", range(PARTS))
def test_modules_are_imported_alone(part):
    names = list(modules())[part::PARTS]
    assert len(names) > 250
    run = subprocess.run(
        [sys.executable, "-c", CHILDREN, *names], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == ""
