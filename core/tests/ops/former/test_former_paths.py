"""Modules of ops by the names that they had before they stood in families."""

import importlib
import pickle

import pytest

import rushlight
from rushlight.ops import _former_paths
from rushlight.ops._table import deferred
from rushlight.ops._table.op import TABLE

deferred.load_all()
HOMES = _former_paths._homes()


@pytest.mark.parametrize("former", sorted(HOMES))
def test_a_former_name_gives_the_module_of_today(former):
    now = importlib.import_module("rushlight.ops." + HOMES[former])
    name = "rushlight.ops." + former
    found = importlib.import_module(name)
    if hasattr(found, "__path__"):  # a family has that name now, and its file's names
        word = next(w for w, value in vars(now).items() if callable(value) and w[0] != "_")
        assert getattr(found, word) is getattr(now, word)
    else:
        assert found is now
    assert now.__name__ == now.__spec__.name == "rushlight.ops." + HOMES[former]


def _former(module):
    home = module.removeprefix("rushlight.ops.")
    (name,) = (former for former, now in HOMES.items() if now == home)
    return "rushlight.ops." + name


def _ops():
    functions = {op.name: op.function for op in TABLE.values() if op.function is not None}
    return [n for n, f in functions.items() if f.__module__.startswith("rushlight.ops.")]


def test_pickles_of_functions_by_former_names():
    """What an earlier version wrote of a model that holds functions."""
    read = []
    for name in _ops():
        function = TABLE[name].function
        if _reachable(function) and _is_old(function.__module__):
            text = f"c{_former(function.__module__)}\n{function.__qualname__}\n."
            assert pickle.loads(text.encode()) is function, name
            read.append(name)
    assert len(read) > 400 and {"relu", "conv2d", "matmul", "sum", "cat"} <= {*read}


def _is_old(module):
    """Whether the module stood there before there were families."""
    return module.removeprefix("rushlight.ops.") in HOMES.values()


def _reachable(function):
    home = importlib.import_module(function.__module__)
    return getattr(home, function.__qualname__, None) is function


def test_generators_by_former_names():
    generator = rushlight.Generator().manual_seed(3)
    text = pickle.dumps(generator, 0).decode("latin-1")
    former = text.replace("rushlight.ops.random.generators", "rushlight.ops.generators")
    assert former != text
    copy = pickle.loads(former.encode("latin-1"))
    assert (
        rushlight.rand(3, generator=copy).tolist()
        == rushlight.rand(3, generator=generator).tolist()
    )


def test_names_that_no_module_ever_had():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("rushlight.ops.never_there")
    for family in ("shape", "random", "losses"):
        with pytest.raises(AttributeError, match="never_there"):
            assert importlib.import_module("rushlight.ops." + family).never_there
