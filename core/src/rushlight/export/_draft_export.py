"""`draft_export`: a program of a module whose sizes need not be declared right, and a report of
what was changed in the declaration."""

from __future__ import annotations

import logging
from enum import IntEnum
from typing import Any

from rushlight.export.choices import ASSUMED
from rushlight.export.dynamic.dims import Dim, DimHint
from rushlight.export.dynamic.fixes import HEAD
from rushlight.export.dynamic.refining import refine_dynamic_shapes_from_suggested_fixes
from rushlight.fx.experimental.symbolic_shapes import (
    ConstraintViolationError,
    GuardOnDataDependentSymNode,
)
from rushlight.utils import _pytree as pytree

_ALL = "Dim.AUTO for all sizes that may differ"
log = logging.getLogger(__name__)


class FailureType(IntEnum):
    """What a draft has changed or found missing; drafts here report `GUARD_ADDED`, and choices by
    values of tensors as `DATA_DEPENDENT_ERROR`."""

    MISSING_FAKE_KERNEL = 1
    DATA_DEPENDENT_ERROR = 2
    GUARD_ADDED = 3
    MISMATCHED_FAKE_KERNEL = 4

    def __str__(self):
        return self.name


class FailureReport:
    """One thing that was assumed: `data` has what (``"expr"``), why (``"reason"``), and the
    declaration of sizes that came of all (``"new_dynamic_shapes"``)."""

    def __init__(self, failure_type: FailureType, data: dict[str, Any], xfail: bool = False):
        self.failure_type, self.data, self.xfail = failure_type, data, xfail

    def __repr__(self):
        return (
            f"FailureReport(failure_type={self.failure_type}, xfail={self.xfail}, data={self.data})"
        )

    def __str__(self):
        return (
            f"{self.failure_type}: {self.data['expr']}\n    {self.data['reason']}\n"
            f"    dynamic_shapes = {self.data['new_dynamic_shapes']}"
        )


class DraftExportReport:
    """What a draft has assumed: `failures`, none where :func:`rushlight.export.export` gives the
    same program."""

    def __init__(self, failures: list[FailureReport]):
        self.failures = failures

    def successful(self) -> bool:
        """Whether nothing was assumed, or only what was expected (`xfail`)."""
        return all(failure.xfail for failure in self.failures)

    def __repr__(self):
        return f"DraftExportReport({self.failures})"

    def __str__(self):
        if self.successful():
            return "No issues were found: export() gives the same program."
        lines = [f"{i}. {failure}" for i, failure in enumerate(self.failures, 1)]
        count = len(self.failures)
        return "\n".join([f"{count} issue(s) were found; the program assumes:", *lines])


def drafted(export, shapes, observe):
    """The program that ``export(shapes)`` gives for `shapes`, or those that come of them, with its
    report; see :func:`rushlight.export.draft_export`. ``observe()`` gives the choices by values
    that the module makes for the example."""
    found: list[dict] = []
    choices = None
    while True:
        token = ASSUMED.set(choices)
        try:
            program = export(shapes)
            break
        except ConstraintViolationError as error:
            shapes = _changed(error, shapes, found)
        except GuardOnDataDependentSymNode as error:
            if choices is not None:
                raise _refused(error) from error
            choices = _observed(observe, error)
        finally:
            ASSUMED.reset(token)
    new = {"new_dynamic_shapes": shapes}
    failures = [FailureReport(FailureType.GUARD_ADDED, data | new) for data in found]
    failures += [
        FailureReport(
            FailureType.DATA_DEPENDENT_ERROR,
            {"expr": f"{value}", "reason": f"the example chooses so: {line}", **new},
        )
        for value, line in choices or ()
    ]
    program._report = DraftExportReport(failures)
    if failures:
        log.warning("%s", program._report)
    return program


def _observed(observe, error):
    """The choices of the example; an error where it does not say what the module does."""
    try:
        choices = observe()
    except GuardOnDataDependentSymNode:
        choices = ()
    if not choices:
        raise _refused(error) from error
    return choices


def _refused(error):
    return NotImplementedError(
        "draft_export(): what the module does depends on numbers that it reads from tensors, which "
        "are not assumed to be always those of the example: write the choice with rushlight.cond "
        f"or rushlight.where, or say what holds with rushlight._check: {error}"
    )


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
