"""Functions with generator expressions are cut, where the generator is used up at once."""

from __future__ import annotations

import pytest
from part_checks import Noting, same

import rushlight as torch


def say(value):
    print(value)
    return value


def beside_a_break(x):
    print("here")
    return torch.relu(x) + max(i for i in [1, 2, 3]) + sum(torch.sin(x) for _ in range(2))


def before_and_behind(x):
    x = torch.relu(x)
    y = torch.sin(x) + sum((k * x for k in range(3)), start=x)
    print("here")
    return any(v > 1 for v in (1, 2)) * torch.cos(x * y)


def breaking_inside(x):
    y = torch.relu(x)
    z = torch.sin(y) + sum(say(i) * y for i in range(3))
    return torch.cos(z)


def breaking_in_what_is_iterated(x):
    y = torch.relu(x)
    t = torch.stack(list(y * i for i in say((1, 2)))) + torch.exp(y)  # noqa: C400
    return t.sum(0)


def in_a_loop(x):
    for i in range(2):
        x = torch.sin(x) + sum((k + i) * x for k in range(2))
        print(i)
    return x * 2


# What runs as Python is not counted: calls of each of the first graphs.
CUT = {
    beside_a_break: [7], before_and_behind: [9, 3], breaking_inside: [2, 2],
    breaking_in_what_is_iterated: [1, 6], in_a_loop: [6],
}  # fmt: skip


def assigned_behind(x):
    y = torch.relu(x)
    late = (y * i for i in range(3))
    print("here")
    y = y + 1
    return sum(late) + y


def iterated_by_a_statement(x):
    y = torch.relu(x)
    for i in (say(v) + y for v in range(2)):
        y = torch.sin(y) + i
    return y * 2


def of_another_sum(x):
    sum = kept  # noqa: A001
    y = torch.relu(x)
    held = sum(y * i for i in range(3))
    print("here")
    y = y + 1
    return next(held) + next(held) + y


def kept(items):
    return items


def agree(program, compiled, capsys):
    for x in (torch.arange(4.0), -torch.ones(4)):
        expected, said = program(x), capsys.readouterr().out
        for _ in range(2):
            same(compiled(x), expected)
            assert capsys.readouterr().out == said


@pytest.mark.parametrize("program", CUT, ids=lambda each: each.__name__)
def test_generators_in_graphs(program, capsys):
    noting = Noting()
    agree(program, torch.compile(program, backend=noting), capsys)
    assert noting.steps()[: len(CUT[program])] == CUT[program]


@pytest.mark.filterwarnings("ignore:compile.* is no single graph")
@pytest.mark.parametrize(
    "program", [assigned_behind, iterated_by_a_statement, of_another_sum],
    ids=lambda each: each.__name__,
)  # fmt: skip
def test_generators_that_are_used_up_later(program, capsys):
    """PyTorch 2.13 gives `assigned_behind` other numbers than Python does."""
    noting = Noting()
    agree(program, torch.compile(program, backend=noting), capsys)
    assert noting.graphs == []
