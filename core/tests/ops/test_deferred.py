"""Rare op families: declared at first use, and listed as they are."""

import subprocess
import sys

import pytest

import rushlight
from rushlight.ops import _deferred
from rushlight.ops._op import TABLE

_BOUND = """
import sys
import rushlight
from rushlight.ops import _deferred
family = sys.argv[1]
loaded = "rushlight.ops." + family in sys.modules
before = dict(vars(rushlight.Tensor))
_deferred.load(family)
after = vars(rushlight.Tensor)
print(loaded)
print(*sorted(n for n in after if after[n] is not before.get(n)))
"""


@pytest.mark.parametrize("family", sorted(_deferred.RARE))
def test_a_rare_family_is_loaded_late_and_binds_what_is_listed(family):
    command = [sys.executable, "-c", _BOUND, family]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines[0] == "False", f"import rushlight already loads {family}"
    listed = set(_deferred.RARE[family].split())
    missing = listed - set(lines[1].split())
    assert not missing, f"{family} does not bind {sorted(missing)}"
    everywhere = set(" ".join(_deferred.RARE.values()).split())
    unlisted = {n for n in lines[1].split() if not n.startswith("_")} - everywhere
    assert not unlisted, f"{family} binds {sorted(unlisted)}: list them in _deferred.RARE"


def test_find_knows_names_aliases_and_inplace_forms():
    assert _deferred.find("relu") is rushlight.relu
    assert rushlight.relu_ is TABLE["relu"].inplace
    op = next(op for op in TABLE.values() if op.aliases and "oracle" not in op.options)
    assert getattr(rushlight, op.aliases[0]) is op.function
    with pytest.raises(AttributeError, match="no attribute 'not_an_op'"):
        rushlight.not_an_op  # noqa: B018
