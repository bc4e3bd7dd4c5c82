"""Archives that PyTorch made, once for all tests."""

import contextlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs.py"


@pytest.fixture(scope="session")
def archives(tmp_path_factory):
    """A folder of programs that PyTorch compiled, with inputs and results."""
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("archives")
    env = {**os.environ, "PROGRAM_FRAMEWORK": "torch"}
    command = [sys.executable, "-W", "ignore", str(PROGRAMS), str(folder)]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@contextlib.contextmanager
def _framework(name):
    before = os.environ.get("PROGRAM_FRAMEWORK")
    os.environ["PROGRAM_FRAMEWORK"] = name
    yield
    if before is None:
        del os.environ["PROGRAM_FRAMEWORK"]
    else:
        os.environ["PROGRAM_FRAMEWORK"] = before


def load_programs():
    """The list of programs, as modules of Rushlight."""
    if "rushlight_programs" not in sys.modules:
        spec = importlib.util.spec_from_file_location("rushlight_programs", PROGRAMS)
        module = importlib.util.module_from_spec(spec)
        sys.modules["rushlight_programs"] = module
        with _framework("rushlight"):
            spec.loader.exec_module(module)
    return sys.modules["rushlight_programs"]


def pytest_generate_tests(metafunc):
    """Tests of every program."""
    if "program_name" in metafunc.fixturenames:
        metafunc.parametrize("program_name", list(load_programs().MODULES))


@pytest.fixture(scope="session")
def programs():
    """The list of programs."""
    return load_programs()


def _assert_same(ours, theirs, where):
    import rushlight

    if isinstance(theirs, rushlight.Tensor):
        assert isinstance(ours, rushlight.Tensor), where
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), where
        close = rushlight.allclose(ours.double(), theirs.double(), rtol=1e-5, atol=1e-5)
        assert close, (where, ours, theirs)
    elif isinstance(theirs, list | tuple):
        assert isinstance(ours, list | tuple), where
        assert len(ours) == len(theirs), where
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            _assert_same(a, b, f"{where}[{i}]")
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs), where
        for key in theirs:
            _assert_same(ours[key], theirs[key], f"{where}[{key!r}]")
    else:
        assert type(ours) is type(theirs), (where, ours, theirs)
        assert ours == theirs or abs(ours - theirs) < 1e-5, (where, ours, theirs)


@pytest.fixture
def assert_same():
    """Compare results, tensors within 1e-5."""
    return lambda ours, theirs, where="result": _assert_same(ours, theirs, where)
