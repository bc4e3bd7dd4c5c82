"""Futures, compared with PyTorch's."""

from __future__ import annotations

import importlib

import pytest

from rushlight import futures


def _history(module):
    future = module.Future()
    double = future.then(lambda done: 2 * done.value())
    failing = double.then(lambda done: 1 // 0)
    seen = []
    future.add_done_callback(lambda done: seen.append(done.value()))
    steps = [future.done(), double.done()]
    future.set_result(3)
    steps += [future.done(), future.wait(), double.wait(), seen]
    try:
        failing.wait()
    except (ZeroDivisionError, RuntimeError) as error:
        steps.append("division" in str(error))
    both = module.collect_all([future, double])
    steps += [[each.value() for each in both.wait()], module.wait_all([future, double])]
    try:
        future.set_result(4)
    except RuntimeError:
        steps.append("only once")
    return steps


def test_futures_answer_as_pytorchs():
    theirs = importlib.import_module("torch.futures") if _has_torch() else None
    if theirs is None:
        pytest.skip("compares with torch")
    assert _history(futures) == _history(theirs)


def _has_torch():
    return importlib.util.find_spec("torch") is not None


def test_errors_are_raised_where_the_value_is_asked_for():
    future = futures.Future()
    with pytest.raises(RuntimeError, match="not completed"):
        future.value()
    future.set_exception(KeyError("gone"))
    with pytest.raises(KeyError, match="gone"):
        future.wait()
    with pytest.raises(TypeError, match="not an Exception"):
        futures.Future().set_exception("text")
