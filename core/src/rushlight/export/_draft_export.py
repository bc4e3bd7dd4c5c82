"""`draft_export`: a program of a module that depends on values or whose sizes are declared wrongly,
and a report of what it assumes."""

from __future__ import annotations

import logging

from rushlight.export._draft_report import (
    DraftExportReport,
    FailureReport,
    FailureType,
    choices_made,
    guards_added,
    operators_run,
)
from rushlight.export.choices import ASSUMED, Observed
from rushlight.export.dynamic.dims import Dim, DimHint
from rushlight.export.dynamic.fixes import HEAD
from rushlight.export.dynamic.refining import refine_dynamic_shapes_from_suggested_fixes
from rushlight.export.operator_forms import has_operators
from rushlight.fx.experimental.symbolic_shapes import ConstraintViolationError
from rushlight.utils import _pytree as pytree

__all__ = ["DraftExportReport", "Drafting", "FailureReport", "FailureType"]

MOST_FREED = 8  # pinned numbers that are tried without being so
_ALL = "Dim.AUTO for all sizes that may differ"
log = logging.getLogger(__name__)


class Drafting:
    """Searches for what a program has to assume. ``export(shapes)`` gives the program for a
    declaration of sizes, ``observe(pins)`` what the module learns of the example's values, where
    some of the numbers that it reads are pinned."""

    def __init__(self, export, shapes, observe):
        self.export, self.shapes, self.observe = export, shapes, observe
        self.found: list[dict] = []  # what was changed in the declaration
        self.example: Observed | None = None

    def program(self):
        """The program, with its report."""
        while True:
            try:
                made = self._with(self.example)
                if not self._mismatched(made):
                    break
            except Exception as error:
                self._assume(error)
        made = self._freed() or made
        failures = guards_added(self.found, self.shapes)
        names: dict[int, str] = {}
        if self.example is not None:
            failures += choices_made(self.example.events, names)
            failures += operators_run(self.example.calls)
        made._report = DraftExportReport(failures, names)
        if failures:
            log.warning("%s", made._report)
        return made

    def _with(self, example):
        token = ASSUMED.set(example)
        try:
            return self.export(self.shapes)
        finally:
            ASSUMED.reset(token)

    def _mismatched(self, made):
        """Whether the example shows that a fake kernel of the program is wrong."""
        if self.example is not None or not has_operators(made.graph_module):
            return False
        example = self.observe(frozenset())
        if any(example.calls):
            self.example = example
        return self.example is not None

    def _assume(self, error):
        """Assume more: choices by values, then numbers, then sizes; the error itself where nothing
        is left."""
        former = self.example
        if former is None or len(former.pins) < len(former.numbers):
            example = self.observe(() if former is None else range(len(former.numbers)))
            if example.numbers or example.events or any(example.calls):
                self.example = example
                return
        if not isinstance(error, ConstraintViolationError):
            raise error
        self.shapes = _changed(error, self.shapes, self.found)

    def _freed(self):
        """The program with as few pinned numbers as it needs; None where there are none."""
        made = None
        pins = self.example.pins if self.example is not None else frozenset()
        if len(pins) < 2:  # without the only one it was tried
            return None
        for pin in sorted(pins)[:MOST_FREED]:
            fewer = self.observe(self.example.pins - {pin})
            if fewer.pins == self.example.pins:
                continue
            try:
                made, self.example = self._with(fewer), fewer
            except Exception:  # noqa: S112 - whatever it is, the number stays pinned
                continue
        return made


def _changed(error, shapes, found):
    """Another declaration of sizes than that which led to an error, which is raised where there is
    none; `found` gets what is assumed."""
    reason, _, rest = error.msg.partition("\n" + HEAD)
    lines = [line.strip() for line in rest.splitlines() if line.strip()]
    known = {data["expr"] for data in found}
    if lines and not known.issuperset(lines):
        shapes = refine_dynamic_shapes_from_suggested_fixes(error.msg, shapes)
    elif _ALL in known:
        raise error
    else:
        lines, shapes = [_ALL], _inferred(shapes)
    found += [{"expr": line, "reason": reason} for line in lines]
    return shapes


def _inferred(shapes):
    """The declaration in which the export finds out which sizes differ."""

    def auto(leaf):
        if isinstance(leaf, Dim):
            most = None if leaf.max == float("inf") else int(leaf.max)
            return Dim.AUTO(min=leaf.min, max=most)
        if isinstance(leaf, DimHint) and leaf.kind == "DYNAMIC":
            return Dim.AUTO(min=leaf.min, max=leaf.max)
        return leaf

    return pytree.tree_map(auto, shapes)
