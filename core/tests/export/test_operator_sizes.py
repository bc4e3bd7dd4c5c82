"""Operators whose fake kernels ask for sizes that depend on values: `library.get_ctx`."""

import math

import pytest

import rushlight
from rushlight.export import draft_export, export
from rushlight.fx.experimental.proxy_tensor import make_fx
from rushlight.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from rushlight.library import custom_op, get_ctx

LIMITS: dict = {}


@custom_op("operator_sizes::positive", mutates_args=())
def positive(x: rushlight.Tensor) -> rushlight.Tensor:
    return x[x > 0]


@positive.register_fake
def _(x):
    return x.new_empty(get_ctx().new_dynamic_size(**LIMITS))


@custom_op("operator_sizes::grams", mutates_args=())
def grams(x: rushlight.Tensor) -> tuple[rushlight.Tensor, rushlight.Tensor]:
    up, down = x[x > 0], x[x < 0]
    return up[:, None] * up, down.expand(3, -1).clone()


@grams.register_fake
def _(x):
    up, down = get_ctx().new_dynamic_size(), get_ctx().new_dynamic_size(max=6)
    return x.new_empty(up, up), x.new_empty(3, down)


@custom_op("operator_sizes::twice", mutates_args=())
def twice(x: rushlight.Tensor) -> rushlight.Tensor:
    return x[x > 0].repeat(2)


@twice.register_fake
def _(x):
    return x.new_empty(2 * get_ctx().new_dynamic_size())


class Applied(rushlight.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


X = rushlight.tensor([1.0, -2.0, 3.0, 4.0, -5.0])
OTHERS = [X, -X, rushlight.tensor([1.0, 2.0, 3.0, 4.0, -5.0])]


@pytest.mark.parametrize(
    "limits", [{}, {"min": 1, "max": 6}, {"max": 4}], ids=["free", "both", "greatest"]
)
def test_the_graph_is_that_of_pytorch(limits, monkeypatch):
    monkeypatch.setitem(globals(), "LIMITS", limits)
    program = export(Applied(lambda x: positive(x) * 2), (X,))
    checks = ["ge", "_assert_scalar.default"] + ["le", "_assert_scalar.default"] * ("max" in limits)
    calls = [n for n in program.graph.nodes if n.op == "call_function"]
    names = [
        getattr(n.target, "__name__", "") if n.name in ("ge", "le") else str(n.target)
        for n in calls
    ]
    sizes = ["operator_sizes.positive.default", "aten.sym_size.int"]
    assert [name.removeprefix("aten.") for name in names] == [
        *(name.removeprefix("aten.") for name in sizes),
        *checks,
        "mul.Tensor",
    ]
    (found,) = program.range_constraints.values()
    assert (found.lower, found.upper) == (limits.get("min", 0), limits.get("max", math.inf))
    for given in OTHERS:
        assert program.module()(given).tolist() == (given[given > 0] * 2).tolist()


def test_sizes_of_several_results():
    def program(x):
        up, down = grams(x)
        return up + 1, up.sum(0).view(up.shape[1]), down.reshape(3, down.shape[1]) * 2

    made = export(Applied(program), (X,))
    assert [str(name) for name in made.range_constraints] == ["u0", "u1"]
    for given in OTHERS:
        found, expected = made.module()(given), program(given)
        assert [t.tolist() for t in found] == [t.tolist() for t in expected]


def test_drafts_read_such_sizes():
    def program(x):
        y = positive(x)
        return y + 1 if y.shape[0] > 2 else y

    made = draft_export(Applied(program), (X,))
    assert [f.data["expr"] for f in made._report.failures] == ["u0 > 2"]
    assert made.module()(OTHERS[2]).tolist() == [2.0, 3.0, 4.0, 5.0]


def test_what_is_refused(monkeypatch):
    assert get_ctx() is None
    with pytest.raises(RuntimeError, match="depends on values"):
        positive(X.to("meta"))
    with pytest.raises(GuardOnDataDependentSymNode, match="size of the result"):
        make_fx(lambda x: positive(x), tracing_mode="fake")(X)
    with pytest.raises(NotImplementedError, match="computed of such a size"):
        export(Applied(twice), (X,))
    for limits, message in (({"min": -1}, "min must not be"), ({"min": 3, "max": 2}, "less than")):
        monkeypatch.setitem(globals(), "LIMITS", limits)
        with pytest.raises(ValueError, match=message):
            export(Applied(positive), (X,))
    assert get_ctx() is None
