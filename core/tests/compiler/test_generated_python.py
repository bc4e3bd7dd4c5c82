"""Generated Python can be read where it runs: every text has its lines in `linecache`."""

import gc
import inspect
import io
import linecache
import pdb
import traceback

import pytest

import rushlight
from rushlight.chains.expressions import chain_op
from rushlight.machine.generated_python import function_of
from rushlight.ops._calls.array_calls import make_door
from rushlight.ops._calls.elementwise_calls import make_elementwise_door
from rushlight.ops._table.op import TABLE
from rushlight.ops._table.recording import make_plan

WITH_CALLS = [op for op in TABLE.values() if op.kind in ("elementwise", "op", "view")]


def check_source(function, op):
    """The lines of a function as `inspect` and `linecache` give them, which define it."""
    file, source = function.__code__.co_filename, inspect.getsource(function)
    assert file.startswith(f"<rushlight {op.name} ") and file.endswith(">")
    assert source.startswith(f"def {function.__name__}(")
    assert "".join(linecache.getlines(file)).rstrip("\n") == source.rstrip("\n")
    linecache.checkcache(file)
    again = {}
    exec(compile("".join(linecache.getlines(file)), file, "exec"), again)
    assert again[function.__name__].__code__.co_code == function.__code__.co_code


def forms_of(op):
    return range(max(op.required, 1), op.positional + 1)


@pytest.mark.parametrize("op", WITH_CALLS, ids=lambda op: op.name)
def test_prepared_calls_have_lines(op):
    make = make_elementwise_door if op.kind == "elementwise" else make_door
    doors = [door for form in forms_of(op) if (door := make(op, form)) is not None]
    if op.kind == "elementwise":
        doors += [d for f in forms_of(op) if (d := make_elementwise_door(op, f, True)) is not None]
    for door in doors:
        check_source(door, op)


@pytest.mark.parametrize(
    "op", [op for op in WITH_CALLS if op.formulas or op.joint], ids=lambda op: op.name
)
def test_backward_calls_have_lines(op):
    plan = make_plan(op, (2,) * len(op.tensor_positions))
    for function in (plan.pull, plan.quick, *plan.restores.values()):
        check_source(function, op)


def test_formulas_have_lines():
    plan = make_plan(TABLE["softplus"], (2,))
    check_source(plan.pull.__globals__["f0"], TABLE["softplus"])


def test_texts_of_one_title_are_kept_apart():
    first, second = (function_of(f"def f():\n    return {i}", "f", "two texts", {}) for i in (1, 2))
    assert first() == 1 and "return 1" in inspect.getsource(first)
    assert second() == 2 and "return 2" in inspect.getsource(second)
    again = function_of("def f():\n    return 1", "f", "two texts", {})
    assert again.__code__.co_filename == first.__code__.co_filename


def test_lines_go_with_what_does_not_last():
    function = function_of("def f():\n    return 1", "f", "short life", {}, lasting=False)
    file = function.__code__.co_filename
    assert file in linecache.cache
    del function
    gc.collect()
    assert file not in linecache.cache


def test_tracebacks_show_the_line():
    function = function_of("def f(x):\n    return 1 / x", "f", "division", {})
    with pytest.raises(ZeroDivisionError) as caught:
        function(0)
    shown = "".join(traceback.format_exception(caught.value))
    assert 'File "<rushlight division>", line 2, in f\n    return 1 / x' in shown


def test_pdb_lists_a_prepared_call():
    x = rushlight.arange(6.0)
    rushlight.clamp(x, 1.0, 4.0)  # which writes it
    door = rushlight.clamp.op.paths.forms[3]
    said = io.StringIO()
    debugger = pdb.Pdb(
        stdin=io.StringIO("list\ncontinue\n"), stdout=said, nosigint=True, readrc=False
    )
    result = debugger.runcall(door, x, 1.0, 4.0)
    assert result.tolist() == [1, 1, 2, 3, 4, 4]
    assert "<rushlight clamp forward call, form 3>" in said.getvalue()
    assert "def door(p0, p1, p2):" in said.getvalue()


def test_chains_have_lines():
    calls = [(TABLE["exp"], (("input", 0),)), (TABLE["sin"], (("call", 0),))]
    op = chain_op(calls, 1, True)
    assert "op_1(v0)" in inspect.getsource(op.body)
    _, joint = op.joint
    assert "together(needs, grad, x0)" in inspect.getsource(joint)
    assert "d_v0" in inspect.getsource(joint.__globals__["together"].function)
