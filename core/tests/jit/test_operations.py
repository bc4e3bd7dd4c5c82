"""Some 240 operations in traces: PyTorch's here, Rushlight's there."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rushlight

OPERATIONS = Path(__file__).with_name("operations.py")


def _run(*arguments):
    env = {**os.environ, "PROGRAM_FRAMEWORK": "torch"}
    command = [sys.executable, "-W", "ignore", str(OPERATIONS), *map(str, arguments)]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("operations")
    _run(folder)
    return folder


@pytest.fixture(scope="module")
def operations():
    before = os.environ.get("PROGRAM_FRAMEWORK")
    os.environ["PROGRAM_FRAMEWORK"] = "rushlight"
    spec = importlib.util.spec_from_file_location("rushlight_operations", OPERATIONS)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    finally:
        os.environ.pop("PROGRAM_FRAMEWORK")
        if before is not None:
            os.environ["PROGRAM_FRAMEWORK"] = before
    return module


@pytest.mark.filterwarnings("ignore")
def test_traces_of_pytorch(theirs, operations):
    count = 0
    for name in operations.FUNCTIONS:
        found = rushlight.jit.load(theirs / f"{name}.pt")(operations.example())
        wanted = rushlight.load(theirs / f"{name}.results.pt")
        pairs = enumerate(zip(found, wanted, strict=True))
        assert not [i for i, (a, b) in pairs if not operations.close(a, b)], name
        count += len(found)
    assert count > 230


@pytest.mark.filterwarnings("ignore")
def test_traces_of_rushlight(theirs, operations, tmp_path):
    for name, function in operations.FUNCTIONS.items():
        x = operations.example()
        traced = rushlight.jit.trace(operations.Flat(function), x, check_trace=False)
        traced.save(tmp_path / f"{name}.pt")
        wanted = rushlight.load(theirs / f"{name}.results.pt")
        for module in (traced, rushlight.jit.load(tmp_path / f"{name}.pt")):
            pairs = enumerate(zip(module(x), wanted, strict=True))
            assert not [i for i, (a, b) in pairs if not operations.close(a, b)], name
    _run(theirs, tmp_path)
