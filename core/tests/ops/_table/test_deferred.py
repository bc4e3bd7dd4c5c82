"""Rare op families: declared at first use, and listed as they are."""

import functools
import subprocess
import sys

import pytest

import rushlight
from rushlight.ops._table import deferred as _deferred
from rushlight.ops._table.op import TABLE

# Each family in a process of its own, which has imported the package and nothing else.
_BOUND = """
import os, sys
import rushlight
from rushlight.ops._table import deferred as _deferred
for family in _deferred.FAMILIES:
    if os.fork() == 0:
        loaded = "rushlight.ops." + family in sys.modules
        before = dict(vars(rushlight.Tensor))
        _deferred.load(family)
        after = vars(rushlight.Tensor)
        bound = sorted(n for n in after if after[n] is not before.get(n))
        print(family, loaded, *bound, flush=True)
        os._exit(0)
    os.wait()
"""


@functools.cache
def _bound():
    """Of each family that could be loaded: whether it was before, and the names it binds."""
    done = subprocess.run([sys.executable, "-c", _BOUND], capture_output=True, text=True)
    words = map(str.split, done.stdout.splitlines())
    return {family: (loaded, names) for family, loaded, *names in words}, done.stderr


@pytest.mark.parametrize("family", _deferred.FAMILIES)
def test_a_rare_family_is_loaded_late_and_binds_what_is_listed(family):
    families, errors = _bound()
    assert family in families, errors
    loaded, names = families[family]
    assert loaded == "False", f"import rushlight already loads {family}"
    listed = set(_deferred.METHODS.get(family, "").split())
    missing = listed - set(names)
    assert not missing, f"{family} does not bind {sorted(missing)}: run ci/deferred.py"
    everywhere = set(" ".join(_deferred.METHODS.values()).split())
    unlisted = {n for n in names if not n.startswith("_")} - everywhere
    assert not unlisted, f"{family} binds {sorted(unlisted)}: run ci/deferred.py"


def test_functions_of_rare_families_are_listed():
    _deferred.load_all()
    for family, words in _deferred.FUNCTIONS.items():
        for name in words.split():
            function = _deferred.find(name)
            assert function.__module__ == f"rushlight.ops.{family}", name


def test_a_listed_function_loads_its_family_alone():
    family, words = next(iter(_deferred.FUNCTIONS.items()))
    program = f"""
import sys
import rushlight
rushlight.{words.split()[0]}
print(*sorted(m for m in sys.modules if m.startswith("rushlight.ops.")))
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = {name.removeprefix("rushlight.ops.") for name in done.stdout.split()}
    assert family in loaded
    assert len(loaded & set(_deferred.FAMILIES)) < len(_deferred.FAMILIES) / 2


def test_find_knows_names_aliases_and_inplace_forms():
    assert _deferred.find("relu") is rushlight.relu
    assert rushlight.relu_ is TABLE["relu"].inplace
    op = next(op for op in TABLE.values() if op.aliases and "oracle" not in op.options)
    assert getattr(rushlight, op.aliases[0]) is op.function
    with pytest.raises(AttributeError, match="no attribute 'not_an_op'"):
        rushlight.not_an_op  # noqa: B018


def test_a_name_that_no_op_has_is_not_looked_for_again(monkeypatch):
    """Writing out a graph asks for the names of all its functions, which are often ATen's."""
    _deferred.load_all()
    loaded = []
    monkeypatch.setattr(_deferred, "load", loaded.append)
    assert _deferred.find("aten.add.Tensor") is None and _deferred.find("not_an_op") is None
    assert not loaded
