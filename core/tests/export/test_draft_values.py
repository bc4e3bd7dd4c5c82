"""`draft_export` of programs that depend on values: what they compute, assert and report."""

import math

import pytest

import rushlight
from rushlight.export import Dim, draft_export, export
from rushlight.export._draft_export import FailureType
from rushlight.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

X = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def tensor_choice(x):
    return x + 1 if x.sum() > 0 else x - 1


def float_choice(x):
    return x * 2 if x[0].item() > 3 else x * 3


def number_choice(x, n):
    if n.item() > 3:
        return x * 2
    return x * 3


def asserted(x, n):
    k = n.item()
    assert k > 0
    return x * k


def counted_down(x, n):
    k = n.item()
    while k > 0:
        x, k = x * 2, k - 1
    return x


def repeated(x, n):
    for i in range(n.item()):
        x = x + i
    return x


def picked(x, n):
    return [x.sin, x.cos, x.exp][n.item()]()


def float_truth(x, f):
    return x + 1 if f.item() else x


def cut_float(x, f):
    return x[: int(f.item())]


def cut_tensor(x, f):
    return x[: int(f)]


def python_function(x, f):
    return x * math.exp(f.item())


def masked(x):
    y = x[x > 0]
    if y.shape[0] > 2:
        return y.sum()
    return y.sum() * 2


def every_unique(x):
    u = x.unique()
    return u * len([0 for _ in u])


def until_large(x):
    while x.sum() < 100:
        x = x * 2
    return x


def one_of(x, n):
    k = n.item()
    if k == 0:
        return x
    elif k == 5:
        return x + 5
    return x - k


def between(x, n):
    k = n.item()
    return x + k if k > 1 and k < 9 else x


def negated(x, n):
    return x if not n.item() else x + 1


def two_numbers(x, n):
    a, b = n.tolist()
    for _ in range(a):
        x = x + b
    return x


def flagged(x, flag):
    return x + 1 if flag.item() else x - 1


# By program its example beside X, another call that goes the same way, one that does not, and what
# is reported: expression, result, how often, and a part of the line. Expressions, results and
# counts are those of PyTorch 2.13, but for pins of floats, which it writes with all digits.
CASES = {
    tensor_choice: ([X], [[-1.0, 5.0, 0, 0, 0, 0]], [[-9.0, 5.0, 0, 0, 0, 0]],
                    [("Eq(u0, 1)", "True", 1, "x.sum() > 0")]),
    float_choice: ([X], [[3.0, 1, 1, 1, 1, 1]], [[3.5, 1, 1, 1, 1, 1]],
                   [("zuf0 > 3.0", "False", 1, "> 3")]),
    number_choice: ([X, 5], [X, 4], [X, 3], [("u0 > 3", "True", 1, "n.item() > 3")]),
    asserted: ([X, 5], [X, 1], [X, 0], [("u0 > 0", "True", 1, "assert k > 0")]),
    counted_down: ([X, 5], [X[::-1], 5], [X, 4], [("u0 > 0", "True", 6, "while k > 0")]),
    repeated: ([X, 5], [X[::-1], 5], [X, 6], [("u0", "5", 1, "range(n.item())")]),
    picked: ([X, 2], [X[::-1], 2], [X, 0], [("u0", "2", 1, "[n.item()]()")]),
    float_truth: ([X, 2.0], [X, -1.5], [X, 0.0], [("Ne(zuf0, 0.0)", "True", 1, "f.item()")]),
    cut_float: ([X, 2.0], [X[::-1], 2.0], [X, 3.0], [("zuf0", "2.0", 1, "int(f.item())")]),
    cut_tensor: ([X, 2.0], [X, 2.7], [X, 3.0], [("TruncToInt(zuf0)", "2", 1, "int(f)")]),
    python_function: ([X, 2.0], [X[::-1], 2.0], [X, 1.0], [("zuf0", "2.0", 1, "math.exp")]),
    masked: ([X], [[1.0, 2, 3, 0, 0, 0]], [[1.0, 2, 0, 0, 0, 0]],
             [("u0 > 2", "True", 1, "y.shape[0] > 2")]),
    every_unique: ([X], [X[::-1]], [[1.0, 1, 3, 4, 5, 6]], [("u0", "6", 1, "x.unique()")]),
    until_large: ([X], [X[::-1]], [[100.0] * 6], [("Eq(u0, 1)", "True", 4, "x.sum() < 100")]),
    one_of: ([X, 5], [X[::-1], 5], [X, 0],
             [("Eq(u0, 0)", "False", 1, "if k == 0"), ("Eq(u0, 5)", "True", 1, "elif k == 5")]),
    between: ([X, 5], [X, 8], [X, 9], [("u0 > 1", "True", 2, "k > 1 and k < 9")]),
    negated: ([X, 5], [X, -3], [X, 0], [("Ne(u0, 0)", "True", 1, "not n.item()")]),
    two_numbers: ([X, [2, 9]], [X, [2, -4]], [X, [3, 9]], [("u0", "2", 1, "n.tolist()")]),
    flagged: ([X, True], [X[::-1], True], [X, False], [("Eq(u0, 1)", "True", 1, "flag.item()")]),
}  # fmt: skip


class Applied(rushlight.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


@pytest.mark.parametrize("function", CASES)
def test_choices_are_those_of_the_example(function):
    example, same_way, another, expected = CASES[function]
    args = tuple(map(rushlight.tensor, example))
    program = draft_export(Applied(function), args)
    module = program.module()
    for given in (example, same_way):
        values = tuple(map(rushlight.tensor, given))
        assert module(*values).tolist() == function(*values).tolist()
    with pytest.raises((RuntimeError, AssertionError)):
        module(*map(rushlight.tensor, another))
    report = program._report
    assert not report.successful()
    assert {f.failure_type for f in report.failures} == {FailureType.DATA_DEPENDENT_ERROR}
    found = [(f.data["expr"], f.data["result"], f.data["occurrences"]) for f in report.failures]
    assert found == [case[:3] for case in expected]
    for failure, (*_, source) in zip(report.failures, expected, strict=True):
        last = failure.data["user_stack"][-1]
        assert source in last["loc"] and last["name"] == function.__name__
        assert report.str_to_filename[last["filename"]] == __file__
        assert f"{__file__}:{last['line']}, in {function.__name__}" in str(report)
        assert failure.data["frame_locals"]["locals"]["x"][0].startswith("Tensor(shape: (6,)")


@pytest.mark.parametrize("function", [lambda x, n: x[: n.item()], lambda x, n: x.sum() * n.item()])
def test_what_export_takes_is_not_reported(function):
    args = rushlight.tensor(X), rushlight.tensor(5)
    program = draft_export(Applied(function), args)
    assert program._report.successful() and program._report.failures == []
    assert program.module()(args[0], rushlight.tensor(2)).tolist() == (
        function(args[0], rushlight.tensor(2)).tolist()
    )


def test_sizes_stay_free_beside_numbers_that_do_not():
    args = rushlight.tensor(X), rushlight.tensor(3)
    shapes = (({0: Dim("n", min=2)}, None),)
    program = draft_export(Applied(repeated), args, dynamic_shapes=shapes)
    assert program.module()(rushlight.ones(2), args[1]).tolist() == [4.0, 4.0]
    assert [str(name) for name in program.range_constraints] == ["u0", "n"]
    assert [f.data["expr"] for f in program._report.failures] == ["u0"]


def test_not_a_number_is_kept_as_well():
    args = rushlight.tensor(X), rushlight.tensor(math.nan)
    program = draft_export(Applied(python_function), args)
    assert all(map(math.isnan, program.module()(*args).tolist()))
    with pytest.raises(RuntimeError):
        program.module()(args[0], rushlight.tensor(1.0))


def test_numbers_of_seeds_stay():
    def drawn(x):
        return x * rushlight.rand(()) if x.sum() > 0 else x

    rushlight.manual_seed(3)
    expected = rushlight.rand(()).item()
    rushlight.manual_seed(3)
    draft_export(Applied(drawn), (rushlight.ones(2),))
    assert rushlight.rand(()).item() == expected


@pytest.mark.parametrize("function", [negated, lambda x, n: x + 1 if n.item() != 0 else x])
def test_export_refuses_choices_by_a_number_being_zero(function):
    with pytest.raises(GuardOnDataDependentSymNode, match="u0 != 0"):
        export(Applied(function), (rushlight.tensor(X), rushlight.tensor(5)))


@pytest.fixture(scope="module")
def operators():
    op = rushlight.library.custom_op

    @op("draft_values::unknown", mutates_args=())
    def unknown(x: rushlight.Tensor) -> tuple[rushlight.Tensor, rushlight.Tensor]:
        return x[x > 2], x.sum()

    @op("draft_values::short", mutates_args=())
    def short(x: rushlight.Tensor) -> rushlight.Tensor:
        return x[1:] * 2

    @op("draft_values::wide", mutates_args=())
    def wide(x: rushlight.Tensor) -> rushlight.Tensor:
        return x * 2

    @op("draft_values::right", mutates_args=())
    def right(x: rushlight.Tensor) -> rushlight.Tensor:
        return x * 2

    short.register_fake(rushlight.empty_like)
    wide.register_fake(lambda x: x.new_empty(x.shape, dtype=rushlight.float64))
    right.register_fake(rushlight.empty_like)
    return unknown, short, wide, right


def test_operators_without_fake_kernels_and_with_wrong_ones(operators):
    unknown, short, wide, right = operators

    def program(x):
        found, total = unknown(x)
        return found + 1, total, short(x) + 1, wide(x) + 1, right(x)

    made = draft_export(Applied(program), (rushlight.tensor(X),))
    for given in (rushlight.tensor(X), rushlight.tensor(X[::-1]) - 1):
        results = made.module()(given)
        assert [r.tolist() for r in results] == [r.tolist() for r in program(given)]
    dtypes = [n.meta["val"].dtype for n in made.graph.nodes if "add" in n.name]
    assert dtypes == [rushlight.float32] * 3
    found = [(f.failure_type, f.data["op"]) for f in made._report.failures]
    assert found == [
        (FailureType.MISSING_FAKE_KERNEL, "draft_values.unknown.default"),
        (FailureType.MISMATCHED_FAKE_KERNEL, "draft_values.short.default"),
        (FailureType.MISMATCHED_FAKE_KERNEL, "draft_values.wide.default"),
    ]
    text = str(made._report)
    assert "shape (6,), the operator's (5,)" in text
    assert "dtype rushlight.float64, the operator's rushlight.float32" in text
    assert draft_export(Applied(right), (rushlight.tensor(X),))._report.successful()
