"""Programs that are no single graph give backends one for each part, and the same results."""

from __future__ import annotations

import functools
import json

import break_programs
import pytest
from part_checks import Noting, same

import rushlight
from rushlight import _dynamo, nn


@pytest.fixture
def noting():
    return Noting()


def note(held, value):
    held.append(value)
    return value


class Scale:
    """An object that is no module."""

    def __init__(self, factor):
        self.factor, self.seen = factor, []

    def __call__(self, x):
        x = x * self.factor
        self.seen.append(x.sum().item())
        return x + self.factor

    def apply(self, x, *more, power=1, **names):
        y = x**power
        self.seen.append(len(more))
        return y * self.factor + sum(names.values())


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        return self.linear(x)


class Derived(Base):
    def forward(self, x):
        y = x.sin()
        print("between")
        y = y + 1
        print("behind")
        return super().forward(y).cos()


def nested_branches(x, deep=True):
    y = x.sin()
    if deep:
        y = y + 1
        if y.shape[0] > 1:
            y = y * 2
            print("deep")
            y = y.cos()
        else:
            return y.exp()
        y = y - 1
    else:
        y = y.tan()
    return y.abs()


def many_parameters(x, /, y, *rest, scale=2.0, **names):
    z = x + y
    print("parameters")
    return z * scale + sum(rest) + names.get("w", 0)


def rebound_parameter(x, y):
    x = x.sin()
    print(float(x.sum()))
    x = x + y
    if x.sum() > 100 or y is None:
        return x
    y = y * 2
    print("again")
    return x * y


def logic(x):
    a = x.sum() > 0 and x.mean() < 100
    b = "positive" if x.sum() > 0 else "negative"
    if not (x.max() > 50):
        x = x * 3
    return x.sin(), bool(a), b


def chained_comparison(x):
    if 0 < x.sum() < 100:
        return x.exp()
    return x.cos()


def comprehension(x):
    k = 3
    parts = [x * i for i in range(k)]
    print(len(parts))
    more = [p + k for p in parts]
    return sum(more) + len([k for k in more])


def order_of_effects(x):
    held = []
    y = note(held, x + 1) * note(held, x.sum().item()) + note(held, 5)
    return y, held


def walrus(x):
    if (total := x.sum().item()) > 1:
        x = x * total
    return x + total


def assertion(x):
    y = x.sin()
    assert y.sum() < 100, "large"
    return y.cos()


def unpacking(x):
    first, *rest = x.sin().tolist()
    return x + len(first) + len(rest)


def late_variable(x):
    y = x.sin()
    if x.shape[0] == 7:
        z = 1
    print("late")
    if x.shape[0] == 7:
        y = y + z
    return y


def own_function(x):
    y = x.sin()

    def inner(v):
        return v + y

    print("own")
    y = y * 2
    return inner(x)


def items_of_loops(x):
    found = []
    for _ in range(3):
        x = x + 1
        if x.sum() > 10:
            break
        found.append(x)
    print("loop")
    return sum(found) * 2 if found else x


def assigned_item(x):
    y = x.clone()
    y[0] = x.sum().item()
    return y * 2


def attribute_of_result(x):
    class Holder:
        value = x

    print("class")
    return Holder.value + 1


def looks_at_locals(x):
    y = x + 1
    print(sorted(locals()))
    return y * 2


def format_of_values(x):
    text = f"{x.sum().item():.2f} of {x.shape[0]:>{4}}"
    return x * 2, text


def swallowed_error(x):
    y = x.sin()
    try:
        raise ValueError("no")
    except ValueError as error:
        text = str(error)
    return y.cos(), text


def same_tensor_twice(x):
    y = x.sin()
    held = [y, y]
    print("twice")
    return held[0] + held[1] * y, y


CASES = {
    f.__name__: f
    for f in (
        nested_branches, rebound_parameter, logic, chained_comparison, comprehension,
        order_of_effects, walrus, assertion, unpacking, late_variable, own_function,
        items_of_loops, assigned_item, attribute_of_result, looks_at_locals, format_of_values,
        swallowed_error, same_tensor_twice,
    )
}  # fmt: skip
CASES["rebound_parameter"] = lambda x: rebound_parameter(x, x + 1)
CASES["many"] = lambda x: many_parameters(x, x.cos(), x, 1, scale=3.0, w=x)
CASES["many, fewer"] = lambda x: many_parameters(x, y=x.cos())
CASES["shallow"] = functools.partial(nested_branches, deep=False)
CASES["lambda"] = lambda x: (x.sin(), print("lambda"), x.cos())[2]


@pytest.mark.filterwarnings("ignore:compile")
@pytest.mark.parametrize("name", CASES)
def test_results_are_pythons(name, noting, capsys):
    program = CASES[name]
    compiled = rushlight.compile(program, backend=noting)
    rushlight.manual_seed(0)
    for x in (rushlight.randn(2, 3), rushlight.randn(2, 3) * 9, rushlight.randn(7, 3).abs()):
        expected = program(x)
        said = capsys.readouterr().out
        for _ in range(2):
            same(compiled(x), expected)
            assert capsys.readouterr().out == said


PROGRAMS = break_programs.of(rushlight)
# What differs from PyTorch's figures on record, and why.
BEFORE = "a break before the first op has a reason, too"
LOOPS = "PyTorch leaves out functions that break in a loop, or in `try`, but for those they call"
TURNS = "every turn of a loop has the same graphs; PyTorch's go on into the next turn"
MODES = "a `with` statement is no part of a graph, what is inside of it is; PyTorch's has both"
DIFFERENT = {
    "break_before_all": ({"reasons": 1}, BEFORE),
    "no_ops": ({"reasons": 1, "breaks": 1}, BEFORE),
    "loop": ({"graphs": 2, "breaks": 1, "ops": 2, "reasons": 3, "calls": [1, 1]}, LOOPS),
    "loop_of_calls": (
        {"graphs": 3, "breaks": 2, "ops": 3, "reasons": 3, "calls": [1, 1, 1]}, LOOPS),
    "while_loop_prints": (
        {"graphs": 2, "breaks": 1, "ops": 3, "reasons": 3, "calls": [2, 1]}, LOOPS),
    "loop_reads": ({"graphs": 3, "breaks": 2, "ops": 4, "reasons": 2, "calls": [2, 1, 1]}, LOOPS),
    "loop_returns": (
        {"graphs": 3, "breaks": 2, "ops": 5, "reasons": 2, "calls": [3, 1, 1]}, TURNS),
    "nested_loops": (
        {"graphs": 3, "breaks": 2, "ops": 4, "reasons": 3, "calls": [2, 1, 1]}, LOOPS),
    "loop_with_else": (
        {"graphs": 3, "breaks": 2, "ops": 4, "reasons": 3, "calls": [1, 2, 1]}, LOOPS),
    "loop_with_continue": ({
        "graphs": 5, "breaks": 4, "ops": 5, "reasons": 3, "calls": [1, 1, 1, 1, 1]}, LOOPS),
    "generator": (
        {"graphs": 3, "breaks": 2, "ops": 3, "reasons": 2, "calls": [1, 1, 1]},
        "the items of a generator are in graphs, too"),
    "sequential": ({"graphs": 3, "breaks": 2, "ops": 4, "reasons": 3, "calls": [1, 2, 1]}, LOOPS),
    "with_statement": (
        {"graphs": 4, "breaks": 3, "ops": 4, "reasons": 2, "calls": [1, 1, 1, 1]}, MODES),
    "autocast_statement": (
        {"graphs": 4, "breaks": 3, "reasons": 2, "calls": [1, 4, 1, 3]}, MODES),
    "loop_in_a_with_statement": (
        {"graphs": 3, "breaks": 2, "ops": 3, "reasons": 4, "calls": [1, 1, 1]}, LOOPS),
    "finally_statement": (
        {"graphs": 4, "breaks": 3, "ops": 4, "reasons": 3, "calls": [1, 1, 1, 1]}, LOOPS),
    "try_statement": ({"graphs": 2, "breaks": 1, "ops": 2, "reasons": 1, "calls": [1, 1]}, LOOPS),
    "while_loop": ({"reasons": 1}, "a break is told once"),
    "comprehension": ({"reasons": 2}, "a break in a function that is called is told of both"),
    "counting": ({"reasons": 1}, "an assignment to an attribute ends a graph"),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_explain_says_what_pytorchs_does(name):
    recorded = json.loads(break_programs.RECORD.read_text())
    different, _ = DIFFERENT.get(name, ({}, None))
    assert all(recorded[name][key] != value for key, value in different.items())
    found = break_programs.figures(rushlight, PROGRAMS[name]())
    assert found == recorded[name] | different


def test_reasons_of_breaks():
    report = _dynamo.explain(break_programs.prints)(rushlight.ones(2))
    (reason,) = report.break_reasons
    (line,) = reason.user_stack
    assert reason.reason == str(reason) and "it calls print()" in reason.reason
    assert line.name == "prints" and line.line == 'print("here")' and reason.graph_break
    assert [len(ops) for ops in report.ops_per_graph] == [2, 2] and len(report.graphs) == 2
    assert report.captured_share == 0.0 and "Graph Break Count: 1" in str(report)


@pytest.mark.filterwarnings("ignore:compile.*generator is no single graph")
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_with_breaks(name, noting):
    rushlight.manual_seed(0)
    program, twin = PROGRAMS[name](), PROGRAMS[name]()
    if isinstance(program, nn.Module):
        twin.load_state_dict(program.state_dict())
    compiled = rushlight.compile(program, backend=noting)
    for x in (rushlight.ones(2, 3), -rushlight.ones(2, 3), rushlight.ones(2, 3)):
        same(compiled(x), twin(x))


def test_gradients_go_through_the_parts(noting):
    def program(x):
        y = (x * 2).sin()
        if y.sum() > 0:
            y = y * 3
        return y.cos() * y

    for sign in (1, -1):
        x, twin = (
            (sign * rushlight.arange(3.0)).requires_grad_() for _ in range(2)
        )  # fmt: skip
        compiled = rushlight.compile(program, backend=noting)
        compiled(x).sum().backward()
        program(twin).sum().backward()
        rushlight.testing.assert_close(x.grad, twin.grad)
    assert noting.steps() == [4, 3, 4, 2]


def test_parts_are_compiled_once(noting):
    def program(x):
        y = x.sin()
        print(end="")
        return y.cos()

    compiled = rushlight.compile(program, backend=noting)
    for _ in range(4):
        compiled(rushlight.ones(3))
    assert len(noting.graphs) == 2
    compiled(rushlight.ones(4))
    assert len(noting.graphs) == 4
    _dynamo.reset()
    compiled(rushlight.ones(4))
    assert len(noting.graphs) == 6


def test_guards_of_parts(noting):
    net = Derived()
    compiled = rushlight.compile(net, backend=noting)
    x = rushlight.randn(2, 3)
    same(compiled(x), net(x))
    net.linear = nn.Linear(3, 5)
    same(compiled(x), net(x))
    same(compiled(x), net(x))
    assert len(noting.graphs) == 4


def test_objects_and_methods(noting):
    scale, twin = Scale(2.0), Scale(2.0)
    x = rushlight.ones(3)
    compiled = rushlight.compile(lambda x: scale(x.sin()).cos(), backend=noting)
    for factor in (2.0, 2.0, 3.0):
        scale.factor = twin.factor = factor
        same(compiled(x), twin(x.sin()).cos())
    assert scale.seen == twin.seen and len(scale.seen) == 3
    method = rushlight.compile(scale.apply, backend=noting)
    same(method(x, 1, 2, power=3, k=4), twin.apply(x, 1, 2, power=3, k=4))
    same(method(x), twin.apply(x))
    assert scale.seen[3:] == [2, 0]


def test_errors_are_those_of_the_program(noting):
    def program(x):
        y = x.sin()
        print(end="")
        if y.shape[0] > 2:
            raise KeyError("many")
        return y

    compiled = rushlight.compile(program, backend=noting)
    same(compiled(rushlight.ones(2)), rushlight.ones(2).sin())
    with pytest.raises(KeyError, match="many") as found:
        compiled(rushlight.ones(3))
    assert found.value.__context__ is None
    assert any(entry.name == "program" for entry in found.traceback)


def test_disabled_functions(noting):
    @_dynamo.disable
    def helper(x):
        return x * 2

    net = _dynamo.disable(nn.Linear(3, 3))
    x = rushlight.randn(2, 3)
    same(rushlight.compile(lambda x: helper(x.sin()).cos(), backend=noting)(x),
         (x.sin() * 2).cos())  # fmt: skip
    same(rushlight.compile(lambda x: net(x.sin()).cos(), backend=noting)(x), net(x.sin()).cos())
    assert noting.steps() == [1, 1, 1, 1]
    assert helper.__name__ == "helper" and _dynamo.disable()(helper)(x).equal(x * 2)


def test_a_whole_graph_is_asked_for(noting):
    def program(x):
        y = x.sin()
        _dynamo.graph_break("here")
        return y.cos()

    with pytest.raises(_dynamo.exc.Unsupported, match="graph_break.*here"):
        rushlight.compile(program, backend=noting, fullgraph=True)(rushlight.ones(2))
    assert not noting.graphs
