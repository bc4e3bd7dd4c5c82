"""What a draft of a program assumes, as a report."""

from __future__ import annotations

import linecache
from enum import IntEnum
from typing import Any


class FailureType(IntEnum):
    """What a draft assumes: sizes of what an operator without a fake kernel gives
    (`MISSING_FAKE_KERNEL`), or one with a wrong kernel (`MISMATCHED_FAKE_KERNEL`), a choice by
    values (`DATA_DEPENDENT_ERROR`), another declaration of sizes (`GUARD_ADDED`)."""

    MISSING_FAKE_KERNEL = 1
    DATA_DEPENDENT_ERROR = 2
    GUARD_ADDED = 3
    MISMATCHED_FAKE_KERNEL = 4

    def __str__(self):
        return self.name


class FailureReport:
    """One thing that was assumed; `data` depends on the type, see
    :func:`rushlight.export.draft_export`."""

    def __init__(self, failure_type: FailureType, data: dict[str, Any], xfail: bool = False):
        self.failure_type, self.data, self.xfail = failure_type, data, xfail

    def __repr__(self):
        return (
            f"FailureReport(failure_type={self.failure_type}, xfail={self.xfail}, data={self.data})"
        )

    def print(self, str_to_filename: dict[int, str]) -> str:
        """The failure in words; `str_to_filename` has the files that the data numbers."""
        return _TEXTS[self.failure_type](self.data, str_to_filename)


def _choice_text(data, files):
    times = data["occurrences"]
    lines = [
        f"{FailureType.DATA_DEPENDENT_ERROR}: {data['expr']}",
        f"  was {data['result']} for the example"
        + (f", asked for {times} times" if times > 1 else ""),
        *_stack_lines(data["user_stack"], files),
        *(
            f"    {name} = {'; '.join(text)}"
            for name, text in data["frame_locals"]["locals"].items()
        ),
        "  The program does what follows from it and asserts it. Say what always holds with "
        "rushlight._check, or write the choice with rushlight.cond or rushlight.where.",
    ]
    return "\n".join(lines)


def _guard_text(data, files):
    return (
        f"{FailureType.GUARD_ADDED}: {data['expr']}\n    {data['reason']}\n"
        f"    dynamic_shapes = {data['new_dynamic_shapes']}"
    )


def _missing_text(data, files):
    return (
        f"{FailureType.MISSING_FAKE_KERNEL}: {data['op']}\n  has no fake kernel: its results have "
        "the dtypes and as many dimensions as for the example. Register one with "
        "rushlight.library.register_fake."
    )


def _mismatched_text(data, files):
    return (
        f"{FailureType.MISMATCHED_FAKE_KERNEL}: {data['op']}\n  its fake kernel gives something "
        f"else than the operator: {data['reason']}"
    )


_TEXTS = {
    FailureType.DATA_DEPENDENT_ERROR: _choice_text, FailureType.GUARD_ADDED: _guard_text,
    FailureType.MISSING_FAKE_KERNEL: _missing_text,
    FailureType.MISMATCHED_FAKE_KERNEL: _mismatched_text,
}  # fmt: skip


def _stack_lines(stack, files):
    for frame in stack:
        file = files.get(frame["filename"], frame["filename"])
        yield f"    {file}:{frame['line']}, in {frame['name']}: {frame['loc']}"


class DraftExportReport:
    """What a draft has assumed: `failures`, none where :func:`rushlight.export.export` gives the
    same program. `str_to_filename` has the files by the numbers that the failures' data names."""

    def __init__(
        self, failures: list[FailureReport], str_to_filename: dict[int, str] | None = None
    ):
        self.failures, self.str_to_filename = failures, str_to_filename or {}

    def successful(self) -> bool:
        """Whether nothing was assumed, or only what was expected (`xfail`)."""
        return all(failure.xfail for failure in self.failures)

    def __repr__(self):
        return f"DraftExportReport({self.failures})"

    def __str__(self):
        if self.successful():
            return "No issues were found: export() gives the same program."
        texts = (each.print(self.str_to_filename) for each in self.failures)
        lines = [f"{i}. {text}" for i, text in enumerate(texts, 1)]
        count = len(self.failures)
        return "\n".join([f"{count} issue(s) were found; the program assumes:", *lines])


def guards_added(found, shapes) -> list[FailureReport]:
    """The changes of a declaration, which has become `shapes`."""
    new = {"new_dynamic_shapes": shapes}
    return [FailureReport(FailureType.GUARD_ADDED, data | new) for data in found]


def choices_made(events, files) -> list[FailureReport]:
    """What a program learned of the example's values, one failure for each line of it that asked;
    `files` gets their names by number."""
    groups: dict = {}
    for event in events:
        if not event.known:
            groups.setdefault(event.frames, []).append(event)
    return [
        FailureReport(FailureType.DATA_DEPENDENT_ERROR, _choice(several, files))
        for several in groups.values()
    ]


def _choice(events, files):
    first = events[0]
    numbers = {file: number for number, file in files.items()}
    stack = []
    for file, line, name in first.frames:
        number = numbers.setdefault(file, len(numbers))
        files[number] = file
        source = linecache.getline(file, line).strip()
        stack.append({"line": line, "name": name, "filename": number, "loc": source})
    source = stack[-1]["loc"] if stack else ""
    names = {name: [text] for name, text in first.locals.items()}
    return {
        "expr": first.expr,
        "result": str(first.result),
        "user_stack": stack,
        "stack": stack,
        "symbol_to_sources": {},
        "frame_locals": {"loc": source, "locals": names, "symbols": {}},
        "occurrences": len(events),
    }


def operators_run(calls) -> list[FailureReport]:
    """The operators, once each, whose results are taken from what they gave for the example."""
    found: dict = {}
    for forms in calls:
        if forms is not None:
            found.setdefault(forms.operator, forms.reason)
    return [_operator(operator, reason) for operator, reason in found.items()]


def _operator(operator, reason):
    name = str(operator)
    if reason is None:
        return FailureReport(FailureType.MISSING_FAKE_KERNEL, {"op": name})
    return FailureReport(FailureType.MISMATCHED_FAKE_KERNEL, {"op": name, "reason": reason})
