"""Programs with sizes that depend on values: unbacked symbols, ranges, checks, archives."""

import io
import operator
import re
import sys
import warnings
from pathlib import Path

import pytest

import rushlight
from rushlight import nn
from rushlight.export import Dim, export, load, save
from rushlight.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from rushlight.utils import _pytree as pytree

sys.path.insert(0, str(Path(__file__).parent))
from value_programs import NAMES, programs  # noqa: E402


def plain(values):
    """Leaves as lists and numbers, with shapes."""
    return [
        (tuple(v.shape), v.tolist()) if hasattr(v, "tolist") else v
        for v in pytree.tree_leaves(values)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_program_runs_at_other_values(name):
    module, args, others = programs(rushlight)[name]
    found = export(module, args).module()
    for given in (args, *others):
        assert plain(found(*given)) == plain(module(*given))


def calls(program):
    """What a program calls, without what is in either framework alone."""
    return sorted(
        re.sub(r"torch\.|rushlight\.| at 0x\w+", "", str(node.target))
        for node in program.graph.nodes
        if node.op == "call_function" and node.target is not operator.getitem
    )


@pytest.mark.parametrize("name", NAMES)
def test_nodes_and_ranges_are_pytorchs(name):
    torch = pytest.importorskip("torch")
    ours, args, _ = programs(rushlight)[name]
    theirs, given, _ = programs(torch)[name]
    found = export(ours, args)
    with warnings.catch_warnings(action="ignore"):
        expected = torch.export.export(theirs, given)
    assert calls(found) == calls(expected)
    ranges = {str(k): (v.lower, v.upper) for k, v in found.range_constraints.items()}
    for symbol, limits in expected.range_constraints.items():
        low, high = ranges[str(symbol)]
        assert str(limits.lower).replace("int_oo", "oo") == str(low).replace("-inf", "-oo")
        assert str(limits.upper).replace("int_oo", "oo") == str(high).replace("inf", "oo")


class Applied(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def test_sizes_of_inputs_and_values_together():
    def head(x, n):
        k = n.item()
        rushlight._check(k >= 0)
        rushlight._check(k <= x.shape[0])
        return x[:k] + 1, x.new_zeros(k + x.shape[0]), x[x > 0]

    x, n = rushlight.ones(4), rushlight.tensor(2)
    shapes = ({0: Dim("rows")}, None)
    program = export(Applied(lambda x, n: head(x, n)), (x, n), dynamic_shapes=shapes)
    found = program.module()
    for rows, k in ((4, 2), (7, 7), (3, 0)):
        given = rushlight.arange(float(rows)) - 1, rushlight.tensor(k)
        assert plain(found(*given)) == plain(head(*given))
    with pytest.raises(RuntimeError, match="Runtime assertion failed for expression u0 <= rows"):
        found(x, rushlight.tensor(5))


def test_what_a_program_says_is_checked_when_it_runs():
    module, (x, _), _ = programs(rushlight)["zeros"]
    found = export(module, (x, rushlight.tensor(5))).module()
    text = r"Runtime assertion failed for expression u0 >= 2 on node 'ge'"
    with pytest.raises(RuntimeError, match=text):
        found(x, rushlight.tensor(1))
    with pytest.raises(RuntimeError, match="u0 <= 10 on node"):
        found(x, rushlight.tensor(11))


BRANCHES = {
    "a number": (lambda x: x + 1 if x.sum().long().item() > 3 else x, "u0 > 3"),
    "a size": (lambda x: x if x.nonzero().shape[0] > 2 else x + 1, "u0 > 2"),
    "a size of what follows": (lambda x: x if (x[x > 0] * 2).size(0) == 2 else -x, "u0 == 2"),
    "a sum": (lambda x: x if 2 * x.long()[0].item() + 1 < 9 else -x, "2*u0 + 1 < 9"),
}


@pytest.mark.parametrize("name", BRANCHES)
def test_branches_are_errors_that_say_what_to_write(name):
    function, text = BRANCHES[name]
    with pytest.raises(GuardOnDataDependentSymNode) as error:
        export(Applied(function), (rushlight.ones(3),))
    message = str(error.value)
    assert f"data-dependent expression {text}" in message and f"_check({text})" in message
    assert "test_value_sizes.py" in message and "BRANCHES" in message or "lambda" in message


def test_a_branch_that_checks_decide_is_taken():
    def known(x):
        k = x.sum().long().item()
        rushlight._check(k >= 4)
        return x + 1 if k > 3 else x

    program = export(Applied(known), (rushlight.ones(3),))
    assert program.module()(rushlight.full((3,), 2.0)).tolist() == [3.0] * 3


def test_numbers_that_never_fit():
    def never(x):
        k = x.sum().long().item()
        rushlight._check(k > 5)
        rushlight._check(k < 5)
        return x.new_zeros(k)

    with pytest.raises(GuardOnDataDependentSymNode, match="Could not find numbers"):
        export(Applied(never), (rushlight.ones(3),))
    wrong = lambda x: x.reshape(x.sum().long().item(), 7)  # noqa: E731
    with pytest.raises(GuardOnDataDependentSymNode, match="_check"):
        export(Applied(wrong), (rushlight.ones(3),))


def test_numbers_of_other_dtypes_are_refused():
    with pytest.raises(GuardOnDataDependentSymNode, match="rushlight.cond"):
        export(Applied(lambda x: x + x.any().item()), (rushlight.ones(3),))


# ---------------------------------------------------------------------------------------- archives
def written(program):
    buffer = io.BytesIO()
    save(program, buffer)
    buffer.seek(0)
    return buffer


@pytest.mark.parametrize("name", NAMES)
def test_archives_keep_what_depends_on_values(name):
    module, args, others = programs(rushlight)[name]
    program = export(module, args)
    found = load(written(program))
    assert calls(found) == calls(program)
    assert found.range_constraints == program.range_constraints
    for given in others:
        assert plain(found.module()(*given)) == plain(module(*given))


@pytest.mark.parametrize("name", NAMES)
def test_pytorch_reads_what_we_write(name):
    torch = pytest.importorskip("torch")
    module, args, _ = programs(rushlight)[name]
    theirs, _, others = programs(torch)[name]
    with warnings.catch_warnings(action="ignore"):
        found = torch.export.load(written(export(module, args)))
        for given in others:
            assert plain(found.module()(*given)) == plain(theirs(*given))


@pytest.mark.parametrize("name", NAMES)
def test_we_read_what_pytorch_writes(name):
    torch = pytest.importorskip("torch")
    theirs, args, _ = programs(torch)[name]
    module, _, others = programs(rushlight)[name]
    buffer = io.BytesIO()
    with warnings.catch_warnings(action="ignore"):
        torch.export.save(torch.export.export(theirs, args), buffer)
    buffer.seek(0)
    program = load(buffer)
    for given in others:
        assert plain(program.module()(*given)) == plain(module(*given))
    assert calls(load(written(program))) == calls(program)


@pytest.mark.parametrize("name", NAMES)
def test_decomposed_programs_run_at_other_values(name):
    module, args, others = programs(rushlight)[name]
    program = export(module, args)
    found = program.run_decompositions()
    assert found.range_constraints == program.range_constraints
    for given in (args, *others):
        assert plain(found.module()(*given)) == plain(module(*given))


def test_branches_on_plain_numbers_are_seen():
    class Branch(rushlight.nn.Module):
        def forward(self, x, count):
            k = int(count.item())
            part = x[:k]
            return part * 2 if k > 2 else part

    with pytest.raises(GuardOnDataDependentSymNode):
        rushlight.export.export(Branch(), (rushlight.arange(6.0), rushlight.tensor(4)))
