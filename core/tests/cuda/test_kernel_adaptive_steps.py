"""Adaptive steps on the emulator, against the float64 references of the CPU's kernels."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from kernel_cases import BFLOAT16, FLOAT32, close, emulator, on_device, on_host, wide

import rushlight
from rushlight.backends.cuda.language_text import FormulaError, device_function
from rushlight.backends.kernel_language import function, square_root
from rushlight.kernels import adaptive_steps as on_cpu
from rushlight.kernels.cuda import adaptive_steps

SHAPES = [(3,), (33, 65), (0,), (2049,), (1,)]
DTYPES = (FLOAT32, np.dtype(np.float64), np.dtype(np.float16), BFLOAT16)
# Which lists there are after parameters and gradients: s a value of any sign, p a positive one.
STATES = {
    "rmsprop": "psp", "adagrad": "p", "adadelta": "pp", "adamax": "sp", "nadam": "sp",
    "radam": "sp", "rprop": "sp", "asgd": "s",
}  # fmt: skip


def cases():
    """Name, numbers of the arrays, settings."""
    for maximize, many in itertools.product([False, True], repeat=2):
        yield "adagrad", [0.01, 0.02, 0.01] if many else [0.01], (1e-8, 0.1, maximize)
        yield "adamax", [0.01, 0.02] if many else [0.01], (0.9, 0.99, 1e-3, 0.1, maximize)
        numbers = [(0.1, 0.9, 1.0), (0.2, 0.8, 0.3)] if many else [(0.1, 0.9, 1.0)]
        yield "asgd", numbers, (0.1, maximize)
        for decoupled in (False, True):
            rest = (0.01, 0.9, 0.99, 1e-3, 0.1, maximize, decoupled)
            yield "nadam", [(0.01, 0.02, 0.3), (0.03, 0.01, 0.5)][: 1 + many], rest
            yield "radam", [(0.01, 0.0), (0.03, 1.0)][: 1 + many], rest
    for maximize in (False, True):
        yield "adadelta", None, (0.5, 0.9, 1e-3, 0.1, maximize)
        yield "rprop", None, ((0.5, 1.2), (1e-3, 1.5), maximize)
        yield "rmsprop", None, (0.01, 0.9, 1e-3, 0.1, 0.5, maximize)


def draw(name, dtype):
    """Parameters, gradients and states."""
    generator = np.random.default_rng(7)
    lists = [[generator.standard_normal(s).astype(dtype) for s in SHAPES] for _ in "pg"]
    for kind in STATES[name]:
        values = [generator.standard_normal(s) for s in SHAPES]
        # the square is beyond that of the mean: a centered spread is positive
        lists.append([(v * 0.1 if kind == "s" else abs(v) + 0.1).astype(dtype) for v in values])
    return lists


def own(numbers):
    """The arguments that give each array its numbers."""
    return [] if numbers is None else [[numbers[i % len(numbers)] for i in range(len(SHAPES))]]


def check(name, lists, numbers, settings, dtype):
    """One launch gives what the reference gives; tables that are new take one each."""
    there = [None if x is None else [on_device(a) for a in x] for x in lists]
    expected = [None if x is None else [wide(a) for a in x] for x in lists]
    getattr(on_cpu, name).reference(*expected, *own(numbers), *settings)
    before = emulator().counters.snapshot()
    getattr(adaptive_steps, name)(*there, *own(numbers), *settings)
    added = emulator().counters.since(before)
    tables = 1 + (numbers is not None and len(numbers) > 1)  # addresses; numbers that differ
    assert 1 <= added["launches"] <= 1 + tables and added["synchronizations"] == 0
    for column, (found, want) in enumerate(zip(there, expected, strict=True)):
        for row in range(0 if found is None else len(found)):
            if column == 1:
                np.testing.assert_array_equal(on_host(found[row]), lists[1][row])
            else:
                close(on_host(found[row]), want[row], dtype, 4)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("name", "numbers", "settings"), list(cases()))
def test_steps(name, numbers, settings, dtype):
    lists = draw(name, dtype)
    if name == "rmsprop":
        square, mean, momentum = lists[2:]
        for means, momenta in itertools.product([None, mean], [None, momentum]):
            check(name, [*lists[:2], square, means, momenta], numbers, settings, dtype)
    else:
        check(name, lists, numbers, settings, dtype)


def test_strided_parameters_are_written_where_they_are():
    p, g, s = np.arange(12, dtype=np.float32).reshape(3, 4), np.ones((3, 2)), np.ones((3, 2))
    there = on_device(p)[:, ::2]
    sums = on_device(s.astype(np.float32))
    adaptive_steps.adagrad([there], [on_device(g.astype(np.float32))], [sums], [2.0], 0, 0, False)
    close(on_host(there), p[:, ::2] - 2 / np.sqrt(2))
    assert (on_host(sums) == 2).all()


def test_nothing_to_do_and_lists_that_do_not_belong_together():
    adaptive_steps.adagrad([], [], [], [], 0.0, 0.0, False)
    with pytest.raises(ValueError, match="one length"):
        one = [on_device(np.ones(3, np.float32))]
        adaptive_steps.adagrad(one, one, one, [], 0.0, 0.0, False)


@function
def _looped(p):
    while p > 0:
        p = p - 1
    return p


@function
def _calling(p):
    return square_root(print(p))


@function
def _silent(p):
    p = p + 1


@pytest.mark.parametrize("formula", [_looped, _calling, _silent], ids=lambda f: f.__name__)
def test_what_is_no_formula_is_refused(formula):
    with pytest.raises(FormulaError, match="While|cannot be called|returns nothing"):
        device_function(formula, "float", {})


OPTIONS = {
    "RMSprop": [{}, {"centered": True}, {"momentum": 0.9}, {"centered": True, "momentum": 0.5}],
    "Adagrad": [{}, {"lr_decay": 0.1, "initial_accumulator_value": 0.2}],
    "Adadelta": [{}, {"rho": 0.8}],
    "Adamax": [{}, {"betas": (0.8, 0.99)}],
    "NAdam": [{}, {"decoupled_weight_decay": True}, {"momentum_decay": 0.1}],
    "RAdam": [{}, {"decoupled_weight_decay": True}],
    "Rprop": [{}, {"etas": (0.4, 1.5), "step_sizes": (1e-3, 0.05)}],
    "ASGD": [{}, {"t0": 2.0, "lambd": 0.01}],
}


def trained(name, device, dtype, steps=7, late=False, **settings):
    """Parameters and states after steps, and the launches of the last one."""
    generator = np.random.default_rng(3)
    starts = [generator.standard_normal(s) for s in ((40,), (5, 6), (3,), (50, 90))]
    params = [rushlight.nn.Parameter(rushlight.tensor(x, dtype=dtype, device=device))
              for x in starts]  # fmt: skip
    optimizer = getattr(rushlight.optim, name)(params, lr=0.02, **settings)
    added = None
    for step in range(steps):
        for p, start in zip(params, starts, strict=True):
            grad = generator.standard_normal(start.shape)
            p.grad = None if late and step < 2 and start.ndim == 2 else rushlight.tensor(
                grad, dtype=dtype, device=device
            )  # fmt: skip
        if step == steps - 1 and device == "cuda":
            kept = [p.grad for p in params]
            optimizer.step()  # addresses of these gradients: their table is written
            for p, grad in zip(params, kept, strict=True):
                p.grad = grad
            before = emulator().counters.snapshot()
            optimizer.step()
            added = emulator().counters.since(before)
        elif step == steps - 1:
            optimizer.step()
            optimizer.step()
        else:
            optimizer.step()
    states = [v for s in optimizer.state_dict()["state"].values() for v in s.values()]
    return [x.detach().cpu() for x in (*params, *states)], added


@pytest.mark.parametrize("more", [{}, {"maximize": True, "weight_decay": 0.1}], ids=["", "max"])
@pytest.mark.parametrize(
    ("name", "settings"), [(name, s) for name, all_ in OPTIONS.items() for s in all_]
)
def test_optimizers_take_one_launch(name, settings, more):
    settings = {**settings, **more}
    if name == "Rprop":
        settings.pop("weight_decay", None)
    here, _ = trained(name, "cpu", rushlight.float32, **settings)
    there, added = trained(name, "cuda", rushlight.float32, **settings)
    assert (added["launches"], added["synchronizations"], added["copies_in"]) == (1, 0, 0)
    for a, b in zip(here, there, strict=True):
        rushlight.testing.assert_close(b, a, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", ["NAdam", "RAdam", "Adamax"])
def test_parameters_that_join_later_share_the_launch(name):
    here, _ = trained(name, "cpu", rushlight.float64, late=True)
    there, added = trained(name, "cuda", rushlight.float64, late=True)
    assert added["launches"] == 2 and added["synchronizations"] == 0
    for a, b in zip(here, there, strict=True):
        rushlight.testing.assert_close(b, a, rtol=1e-9, atol=1e-12)
