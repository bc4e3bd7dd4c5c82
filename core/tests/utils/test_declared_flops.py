"""Counts of floating-point operations: the words of declarations are known, all counts are used."""

from rushlight.ops._table import deferred as _deferred
from rushlight.ops._table.op import TABLE
from rushlight.utils.flop_counter import _FORMULAS

_deferred.load_all()


def test_every_declared_count_is_known_and_none_is_left_over():
    declared = {op.options["flops"] for op in TABLE.values() if "flops" in op.options}
    assert declared == set(_FORMULAS)
