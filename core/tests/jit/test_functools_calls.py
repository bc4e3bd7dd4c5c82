"""Scripted functions that call objects of functools: the calls stay in Python, as in PyTorch."""

import functools
import sys

import pytest

import rushlight

torch = pytest.importorskip("torch")


def scaled(x, factor=2.0):
    return x * factor


def rounded(x) -> int:
    return int(x.sum())


CALLS = {
    "bound op": lambda home: functools.partial(home.pow, exponent=2.0),
    "bare op": lambda home: functools.partial(home.sum),
    "positional": lambda home: functools.partial(home.add, home.ones(2)),
    "bound function": lambda home: functools.partial(scaled, factor=3.0),
    "twice": lambda home: functools.partial(functools.partial(scaled), factor=4.0),
    "number": lambda home: functools.partial(rounded),
    "cached": lambda home: functools.lru_cache(scaled),
}


def compiled(home, name):
    function = CALLS[name](home)

    def calling(x):
        return function(x) + 1

    return home.jit.script(calling)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
def test_the_call_gives_what_it_gives_there(name, tmp_path):
    found = []
    for home in (rushlight, torch):
        program = compiled(home, name)
        result = program(home.tensor([1.0, -4.0]))
        kind = str(program.schema).rpartition("-> ")[2]
        with pytest.raises(RuntimeError, match="Could not export Python function call") as error:
            home.jit.save(program, str(tmp_path / "never.pt"))
        called = str(error.value).partition("'")[2].partition("'")[0]
        found.append((getattr(result, "tolist", lambda r=result: r)(), kind, called))
    assert found[0] == found[1]


def test_a_gradient_goes_through_the_call():
    grads = []
    for home in (rushlight, torch):
        x = home.tensor([1.0, -4.0], requires_grad=True)
        compiled(home, "bound op")(x).sum().backward()
        grads.append(x.grad.tolist())
    assert grads[0] == grads[1] == [2.0, -8.0]


def test_other_callables_are_refused():
    for each in (sys.getrefcount, type("Calling", (), {"__call__": lambda self, x: x})()):

        def calling(x):
            return each(x)  # noqa: B023 - compiled at once

        with pytest.raises(RuntimeError):
            rushlight.jit.script(calling)
