"""Loops, ``with`` and ``try`` that break give backends the graphs of what is inside of them."""

from __future__ import annotations

import contextlib
import traceback
import warnings

import pytest
from part_checks import Noting, same

import rushlight
from rushlight import nn


@pytest.fixture
def noting():
    return Noting()


def with_print(x):
    for i in range(3):
        x = x.relu() + i
        print(i)
        x = x.sin()
    return x.cos()


def with_items(x):
    total = 0
    for scale in (1.0, -1.0, 2.0):
        y = x.sin() * scale
        if y.sum().item() > 0:
            total = total + y.cos()
        else:
            total = total - y
    return x.sin() + total


def nested(x):
    for i in range(2):
        for j in range(3):
            if j == 1:
                continue
            x = x.sin() + i
            print(i, j)
            if j == 2 and i == 1:
                break
        else:
            x = x * 2
            print("else", i)
        x = x.cos()
    return x * 2


def counted(x):
    n = 0
    while n < 3 and x.sum() < 50:
        x = x.exp() * 2
        n += 1
        print(n)
        if n == 2:
            continue
        x = x + n
    else:
        x = x.abs()
        print("else")
    return x.cos(), n


def endless(x):
    turns = []
    while True:
        x = x.abs() + 1
        turns.append(x.sum().item())
        if len(turns) > 4 or turns[-1] > 50:
            break
        x = x * 1.5
    return x, turns


def by_its_test(x):
    while not x.abs().sum() > 20:
        x = x * 2 + 1
    return x.sin()


def leaves(x):
    for i in range(4):
        x = x.sin() + 1
        if x.sum() > 9:
            return x * i
        x = x.cos()
    return x.exp(), "all"


def with_else(x):
    for i in range(2):
        x = x.sin()
        print(i)
    else:
        x = x.cos()
        print("else")
        x = x + 1
    return x * 2


def of_tensors(x):
    found = []
    for row in zip(x.sin(), x.cos() + 1, strict=True):
        y = row[0] * row[1]
        print(end="")
        found.append(y.relu())
    return rushlight.stack(found)


def of_an_iterator(x):
    steps = iter([x, x + 1, x + 2])
    first = next(steps)
    for each in steps:
        first = first * each.sin()
        print(len(list(steps)))
    return first


def unpacks(x):
    held = {}
    for name, (a, *rest) in {"p": (1, 2, 3), "q": (4, 5)}.items():
        y = x * a
        print(name, rest)
        held[name] = y.sin() + sum(rest)
    return held, a


def without_turns(x):
    y = x.sin()
    for _ in x.detach()[:0]:
        print("never")
        y = y + 1
    return y.cos()


def first_in_a_loop(x):
    for i in range(2):
        y = x.sin() + i
        print(i)
    return y.cos(), i


def without_a_value(x):
    for i in range(int(x.abs().max() > 2)):
        y = x.sin() + i
        print(i)
    try:
        return y.cos()
    except UnboundLocalError as error:
        return str(error)


def without_gradients(x):
    y = x * x.detach()
    with rushlight.no_grad():
        z = y + 1
        print("none", z.requires_grad)
        z = z * 2
    return z + y


def managed(x):
    y = x.sin()
    with contextlib.redirect_stdout(None) as held:
        print("nowhere", held)
    with contextlib.ExitStack() as stack:
        stack.callback(print, "end")
        print("inside", (y + 1).sum().item() > 0)
    return y.cos()


def swallows(x):
    y = x.sin()
    with contextlib.suppress(KeyError):
        y = y + 1
        print("suppressed")
        raise KeyError
    return y.cos()


def finally_behind(x):
    y = x.relu()
    try:
        y = y.sin()
        print("tried")
        y = y.cos()
    finally:
        print("finally")
    return y + 1


def rescued(x):
    y = x.relu()
    try:
        z = y.sin()
        print("tried")
        int("no")
        y = z.cos()
    except ValueError as error:
        print(type(error).__name__)
        y = y * 2
    else:
        y = y * 5
    return y + 1


def half_done(x):
    y = x.relu()
    try:
        y = y.sin()
        print("tried")
        y = y.cos()
        int("no")
    except ValueError:
        pass
    return y + 1


def tries_in_a_loop(x):
    for i in range(4):
        try:
            y = x.sin() + i
            print("try", i)
            if i == 1:
                continue
            if i == 3:
                break
            x = y.cos()
        finally:
            x = x + 1
            print("finally", i)
    return x


def tries_and_leaves(x):
    for i in range(4):
        try:
            x = x.sin()
            print("try", i)
            if i == 2:
                return x
        finally:
            print("finally", i)
    return None


def loop_without_gradients(x):
    with rushlight.no_grad():
        for i in range(2):
            x = x.sin()
            print(i)
        x = x.cos()
    return x + 1


def without_gradients_in_a_loop(x):
    for i in range(2):
        with rushlight.no_grad():
            x = x.sin()
            print(i)
        if i == 0:
            with rushlight.enable_grad():
                x = x.cos()
    return x + 1


PROGRAMS = [
    with_print, with_items, nested, counted, endless, by_its_test, leaves, with_else,
    of_tensors, of_an_iterator, unpacks, without_turns, first_in_a_loop, without_a_value,
    without_gradients, managed, swallows, finally_behind, rescued, half_done, tries_in_a_loop,
    tries_and_leaves, loop_without_gradients, without_gradients_in_a_loop,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:compile")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("asking", [False, True])
def test_results_and_effects_are_pythons(program, asking, noting, capsys):
    compiled = rushlight.compile(program, backend=noting)
    rushlight.manual_seed(0)
    for x in (rushlight.randn(2, 3), rushlight.randn(2, 3) * 9, rushlight.randn(4, 3).abs()):
        expected = program(x.requires_grad_(asking))
        said = capsys.readouterr().out
        for _ in range(2):
            same(compiled(x), expected)
            assert capsys.readouterr().out == said


class Scaled(nn.Module):
    def forward(self, x):
        return x * 2


class Repeated(Scaled):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(2)])

    def forward(self, x):
        for n, layer in enumerate(self.layers):
            x = super().forward(layer(x).relu())
            print(n)
            x = x + n
        return x.cos()


def no_names(x):
    for _ in range(3):
        x = x.relu() + 1
        print(end="")
        x = x.sin()
    return x.cos()


@pytest.mark.parametrize("program, steps", [
    (no_names, [2, 1, 1]), (by_its_test, [3, 5, 1]), (leaves, [4, 1, 1]),
    (without_gradients, [1, 1, 1, 1]), (finally_behind, [1, 1, 1, 1]),
    (tries_and_leaves, [1]), (loop_without_gradients, [1, 1, 1]), (swallows, [1, 1]),
    (half_done, [1, 1]), (unpacks, [1, 2, 1, 2]), (first_in_a_loop, [2, 2, 1]),
], ids=lambda v: getattr(v, "__name__", ""))  # fmt: skip
def test_graphs(program, steps, noting):
    """What changes where an error is caught runs as Python."""
    compiled = rushlight.compile(program, backend=noting)
    x = rushlight.full((2, 3), -0.25)
    for _ in range(3):
        same(compiled(x), program(x))
    assert noting.steps() == steps


def test_networks_and_gradients(noting):
    net = Repeated()
    compiled = rushlight.compile(net, backend=noting)
    x = rushlight.randn(2, 3)
    for _ in range(2):
        grads = []
        for run in (compiled, net):
            net.zero_grad()
            run(x).sum().backward()
            grads.append([p.grad for p in net.parameters()])
        same(*grads)
    assert noting.steps() == [3, 1, 3, 1, 1]


def raises(x, bad):
    for i in range(3):
        x = x.sin()
        print(end="")
        with rushlight.no_grad():
            if i == 1:
                x = x @ bad
            x = x.cos()
    return x


@pytest.mark.filterwarnings("ignore:compile")
def test_errors_keep_their_class_and_line(noting):
    compiled, bad = rushlight.compile(raises, backend=noting), rushlight.ones(7, 7)
    found = []
    for run in (raises, compiled, compiled):
        with pytest.raises(RuntimeError) as error:
            run(rushlight.ones(2, 3), bad)
        lines = traceback.extract_tb(error.value.__traceback__)
        own = [line.line for line in lines if line.name == "raises"]
        found.append((str(error.value), own[-1]))
        assert rushlight.is_grad_enabled()
    assert found[0] == found[1] == found[2] and "x @ bad" in found[0][1]


def many_turns(x, turns):
    for i in range(turns):
        x = x.sin() + i
        print(end="")
    return x


def test_loops_of_many_turns_do_not_compile_for_ever(noting):
    compiled = rushlight.compile(many_turns, backend=noting)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same(compiled(rushlight.ones(2), 100), many_turns(rushlight.ones(2), 100))
    assert len(noting.graphs) <= 10


def test_lists_that_grow(noting):
    compiled = rushlight.compile(of_tensors, backend=noting)
    for turns in (2, 100):
        x = rushlight.randn(turns, 3)
        same(compiled(x), of_tensors(x))
    assert noting.steps() == [1] * 6
