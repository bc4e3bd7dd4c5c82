"""`draft_export`: programs whose sizes are declared wrongly, and what was assumed."""

import logging
import warnings

import pytest

import rushlight
from rushlight.export import Dim, ShapesCollection, draft_export, export
from rushlight.export._draft_export import DraftExportReport, FailureReport, FailureType
from rushlight.fx.experimental.symbolic_shapes import ConstraintViolationError


def programs(library):
    """By name a function, the sizes of its arguments, what is said of them by name of a Dim or
    DYNAMIC, and other sizes that it takes, None where there are none."""
    return {
        "fixed": (lambda x: x + library.ones(4), [4], ["a"], None),
        "dynamic": (lambda x: x + library.ones(4), [4], [None], None),
        "related": (lambda x, y: x + y[1:], [4, 5], ["a", "b"], [7, 8]),
        "least": (lambda x: x + 1 if x.shape[0] > 5 else x - 1, [9], ["a"], [6]),
        "several": (lambda x, y: (x + library.ones(4), y[:3] if y.shape[0] > 2 else y),
                    [4, 6], ["a", "b"], [4, 9]),
        "right": (lambda x, y: (x * 2, y), [4, 5], ["a", "b"], [6, 3]),
    }  # fmt: skip


def drafted(library, name):
    compute, sizes, said, others = programs(library)[name]

    class Program(library.nn.Module):
        def forward(self, x, y=None):
            return compute(x) if y is None else compute(x, y)

    home = library.export.Dim
    shapes = tuple({0: home.DYNAMIC if word is None else home(word)} for word in said)
    args = tuple(library.arange(float(n)) for n in sizes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = library.export.draft_export(Program(), args, dynamic_shapes=shapes)
    return program, args, tuple(library.arange(float(n)) for n in others or sizes)


def lists(result):
    return [each.tolist() for each in (result if isinstance(result, tuple) else (result,))]


EXPECTED = {
    "fixed": ["a = 4"],
    "dynamic": ["Dim.AUTO for all sizes that may differ"],
    "related": ["b = a + 1"],
    "least": ["a = Dim('a', min=6)"],
    "several": ["a = 4", "b = Dim('b', min=3)"],
    "right": [],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_program_and_what_it_assumes(name):
    program, args, others = drafted(rushlight, name)
    failures = program._report.failures
    assert [each.data["expr"] for each in failures] == EXPECTED[name]
    assert all(each.failure_type is FailureType.GUARD_ADDED for each in failures)
    assert program._report.successful() == (not failures)
    for each in failures:
        again = each.data["new_dynamic_shapes"]
        assert again == failures[0].data["new_dynamic_shapes"]
        assert "Constraints violated" in each.data["reason"]
        made = export(program.module(check_guards=False), args, dynamic_shapes=again)
        assert made.range_constraints == program.range_constraints
    module = program.module()
    for given in (args, others):
        assert lists(module(*given)) == lists(programs(rushlight)[name][0](*given))


# What PyTorch 2.13 gives: whether nothing was assumed, the fixed sizes of the arguments, and the
# least of the others. (Its drafts leave files open, so that they cannot run in a test.)
RECORDED = {
    "fixed": (False, [4], []),
    "dynamic": (False, [4], []),
    "related": (False, [None, None], [2]),
    "least": (False, [None], [6]),
    "several": (False, [4, None], [3]),
    "right": (True, [None, None], [0, 0]),
}


@pytest.mark.parametrize("name", RECORDED)
def test_programs_are_those_of_pytorch(name):
    program, _, _ = drafted(rushlight, name)
    inputs = [node for node in program.graph.nodes if node.op == "placeholder"]
    sizes = [(node.meta.get("sizes") or node.meta["val"].shape)[0] for node in inputs]
    fixed = [int(n) if type(n) is int else None for n in sizes]
    least = sorted(limits.lower for limits in program.range_constraints.values())
    wanted = RECORDED[name]
    if name == "related":  # where PyTorch's numbers begin at 2
        least = [max(2, n) for n in least]
    assert (program._report.successful(), fixed, least) == wanted


def test_the_report_is_logged(caplog):
    with caplog.at_level(logging.WARNING):
        drafted(rushlight, "right")
        assert not caplog.records
        program, _, _ = drafted(rushlight, "fixed")
    (record,) = caplog.records
    assert record.getMessage() == str(program._report)
    assert "1 issue(s)" in str(program._report) and "GUARD_ADDED: a = 4" in str(program._report)


def test_expected_failures_are_no_issue():
    failure = FailureReport(FailureType.GUARD_ADDED, {}, xfail=True)
    assert DraftExportReport([failure]).successful()
    assert str(DraftExportReport([])).startswith("No issues")
    assert export(rushlight.nn.ReLU(), (rushlight.ones(2),))._report is None


def test_options_and_collections_are_those_of_export():
    class Shift(rushlight.nn.Module):
        def __init__(self):
            super().__init__()
            self.relu = rushlight.nn.ReLU()

        def forward(self, x, *, y):
            return self.relu(x) + y[1:]

    x, y, shapes = rushlight.ones(4), rushlight.ones(5), ShapesCollection()
    shapes[x], shapes[y] = {0: Dim("a")}, {0: Dim("b")}
    program = draft_export(
        Shift(), (x,), {"y": y}, dynamic_shapes=shapes, preserve_module_call_signature=("relu",)
    )
    assert program.module_call_graph[1].signature is not None
    assert str(program._report.failures[0].data["new_dynamic_shapes"]["y"][0]) == "a + 1"


def test_what_is_refused():
    class Wrong(rushlight.nn.Module):
        def forward(self, x):
            return x.no_method() if x.sum() > 0 else x

    with pytest.raises(AttributeError, match="no_method"):
        draft_export(Wrong(), (rushlight.ones(4),))
    with pytest.raises(ConstraintViolationError, match="constraint of 7"):
        draft_export(rushlight.nn.ReLU(), (rushlight.ones(4),), dynamic_shapes=({0: 7},))


def choosing(library):
    """A module that chooses twice."""

    class Choosing(library.nn.Module):
        def forward(self, x):
            y = x + 1 if x.sum() > 0 else x - 1
            if (y > 100).any():
                y = y.clamp(max=100)
            return y * 2

    return Choosing()


@pytest.mark.parametrize("values", [(1.0, 2.0), (-1.0, 0.5), (400.0, 2.0)])
def test_choices_by_values_are_those_of_the_example(values, tmp_path):
    x = rushlight.tensor([*values, 0.0])
    program = draft_export(choosing(rushlight), (x,), dynamic_shapes=({0: Dim("n", min=2)},))
    failures = program._report.failures
    assert [str(f.failure_type) for f in failures] == ["DATA_DEPENDENT_ERROR"] * 2
    assert [f.data["expr"] for f in failures] == ["Eq(u0, 1)", "Eq(u1, 1)"]
    assert [f.data["result"] for f in failures] == [str(sum(values) > 0), str(max(values) > 100)]
    assert not program._report.successful()
    rushlight.export.save(program, tmp_path / "draft.pt2")
    read = rushlight.export.load(tmp_path / "draft.pt2")
    for form in (program, program.run_decompositions(), read):
        module = form.module()
        for given in (x, x[:2]):
            expected = choosing(rushlight)(given)
            assert module(given).tolist() == expected.tolist()
        with pytest.raises(RuntimeError, match=r"draft_export\(\) assumes"):
            module(-x)


def test_the_module_of_a_draft_stays_as_it_was():
    class Counting(rushlight.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", rushlight.zeros(()))

        def forward(self, x):
            self.count += 1
            x += 1
            return x + self.count if x.sum() > 0 else x

    module, x = Counting(), rushlight.ones(3)
    draft_export(module, (x,))
    assert module.count.item() == 0
    assert x.tolist() == [1.0] * 3
