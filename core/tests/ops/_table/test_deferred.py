"""Rare op families: declared at first use, and listed as they are."""

import subprocess
import sys

import pytest

import rushlight
from rushlight.ops._table import deferred as _deferred
from rushlight.ops._table.op import TABLE

_BOUND = """
import sys
import rushlight
from rushlight.ops._table import deferred as _deferred
family = sys.argv[1]
loaded = "rushlight.ops." + family in sys.modules
before = dict(vars(rushlight.Tensor))
_deferred.load(family)
after = vars(rushlight.Tensor)
print(loaded)
print(*sorted(n for n in after if after[n] is not before.get(n)))
"""


@pytest.mark.parametrize("family", _deferred.FAMILIES)
def test_a_rare_family_is_loaded_late_and_binds_what_is_listed(family):
    command = [sys.executable, "-c", _BOUND, family]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines[0] == "False", f"import rushlight already loads {family}"
    listed = set(_deferred.METHODS.get(family, "").split())
    missing = listed - set(lines[1].split())
    assert not missing, f"{family} does not bind {sorted(missing)}: run ci/deferred.py"
    everywhere = set(" ".join(_deferred.METHODS.values()).split())
    unlisted = {n for n in lines[1].split() if not n.startswith("_")} - everywhere
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
