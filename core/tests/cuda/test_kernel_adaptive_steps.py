"""Adaptive steps on the emulator, against the float64 references of the CPU's kernels."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from kernel_cases import BFLOAT16, FLOAT32, close, emulator, on_device, on_host, wide

import rushlight
from rushlight.compiler.cuda.language_text import FormulaError, device_function
from rushlight.kernels.optimizers import adaptive_steps as on_cpu
from rushlight.kernels.optimizers import cuda_adaptive_steps as adaptive_steps
from rushlight.machine.language.functions import function, square_root

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


class Run:
    """An optimizer on a device, with gradients that depend on the number of the step alone."""

    def __init__(self, name, device, dtype=rushlight.float32, **settings):
        generator = np.random.default_rng(3)
        self.starts = [generator.standard_normal(s) for s in ((40,), (5, 6), (3,), (50, 90))]
        self.params = [
            rushlight.nn.Parameter(rushlight.tensor(x, dtype=dtype, device=device))
            for x in self.starts
        ]
        for parameter in self.params:
            parameter.grad = rushlight.zeros_like(parameter)
        self.grads = [parameter.grad for parameter in self.params]
        self.optimizer = getattr(rushlight.optim, name)(self.params, lr=0.02, **settings)

    def fill(self, number):
        """The gradients of a step, where those of the step before were."""
        generator = np.random.default_rng(number)
        for grad, start in zip(self.grads, self.starts, strict=True):
            grad.copy_(rushlight.tensor(generator.standard_normal(start.shape), dtype=grad.dtype))

    def step(self, number):
        """One step; what it added to the counters."""
        self.fill(number)
        before = emulator().counters.snapshot()
        self.optimizer.step()
        return emulator().counters.since(before)

    def results(self):
        """Parameters and states."""
        states = self.optimizer.state_dict()["state"].values()
        held = [value for state in states for value in state.values()]
        return [x.detach().cpu() for x in (*self.params, *held)]

    def agrees(self, other, rtol=2e-5, atol=2e-6):
        """Whether parameters and states are those of another run."""
        for a, b in zip(self.results(), other.results(), strict=True):
            rushlight.testing.assert_close(a, b, rtol=rtol, atol=atol)
        return True


def optimizers():
    """Names and settings."""
    for name, choices in OPTIONS.items():
        for settings in choices:
            yield name, settings
            decay = {} if name == "Rprop" else {"weight_decay": 0.1}
            yield name, {**settings, **decay, "maximize": True}


@pytest.mark.parametrize(("name", "settings"), list(optimizers()))
def test_optimizers_take_one_launch(name, settings):
    here, there = Run(name, "cpu", **settings), Run(name, "cuda", **settings)
    for number in range(8):
        here.step(number)
        added = there.step(number)
    assert (added["launches"], added["synchronizations"], added["copies_in"]) == (1, 0, 0)
    assert there.agrees(here)


COUNTED_THERE = [*optimizers(), ("Adam", {"amsgrad": True}), ("AdamW", {})]


@pytest.mark.parametrize(("name", "settings"), COUNTED_THERE)
def test_steps_counted_on_the_device_take_two_launches(name, settings):
    word = "fused" if name == "Adagrad" else "capturable"
    here, there = Run(name, "cpu", **settings), Run(name, "cuda", **{word: True}, **settings)
    for number in range(8):
        here.step(number)
        added = there.step(number)
    assert (added["launches"], added["synchronizations"], added["copies_in"]) == (2, 0, 0)
    states = there.optimizer.state.values()
    assert all(value.is_cuda for state in states for value in state.values())
    assert there.agrees(here)


@pytest.mark.parametrize("name", ["RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD"])
def test_a_captured_step_counts(name):
    settings = {"t0": 3.0} if name == "ASGD" else {}
    eager, captured = (Run(name, "cuda", capturable=True, **settings) for _ in range(2))
    with rushlight.cuda.stream(rushlight.cuda.Stream()):
        captured.step(0)
    graph = rushlight.cuda.CUDAGraph()
    with rushlight.cuda.graph(graph):
        captured.optimizer.step()
    for number in range(1, 8):
        captured.fill(number)
        graph.replay()
    for number in range(8):
        eager.step(number)
    assert captured.agrees(eager, 0, 0)


@pytest.mark.parametrize("name", ["Adamax", "NAdam", "RAdam", "ASGD", "Adam"])
def test_differentiable_steps_counted_on_the_device(name):
    here = Run(name, "cpu", differentiable=True)
    there = Run(name, "cuda", differentiable=True, capturable=True)
    for run in (here, there):
        for parameter in run.params:
            parameter.requires_grad_(False)
        for number in range(3):
            run.step(number)
    assert there.agrees(here)


@pytest.mark.parametrize("capturable", [False, True])
@pytest.mark.parametrize("name", ["NAdam", "ASGD", "Adamax"])
def test_states_are_restored(name, capturable):
    here, there = Run(name, "cpu"), Run(name, "cuda", capturable=capturable)
    for number in range(6):
        here.step(number)
        there.step(number)
        if number == 3:
            there.optimizer.load_state_dict(there.optimizer.state_dict())
    assert there.agrees(here)


@pytest.mark.parametrize("name", ["NAdam", "RAdam", "Adamax"])
def test_parameters_that_join_later_take_a_table_of_numbers(name):
    here, there = Run(name, "cpu", rushlight.float64), Run(name, "cuda", rushlight.float64)
    for run in (here, there):
        for number in range(6):
            for grad, parameter in zip(run.grads, run.params, strict=True):
                parameter.grad = grad if parameter.ndim == 1 or number > 2 else None
            added = run.step(number)
    assert (added["launches"], added["synchronizations"]) == (2, 0)
    assert there.agrees(here, 1e-9, 1e-12)


def test_loss_scaling_with_steps_counted_on_the_device():
    for device in ("cpu", "cuda"):
        p = rushlight.nn.Parameter(rushlight.ones(3, device=device))
        optimizer = rushlight.optim.Adagrad([p], lr=0.1, eps=1.0, fused=True)
        scaler = rushlight.amp.GradScaler(device, init_scale=1024.0)
        for last in (3.0, float("inf")):
            p.grad = None
            weights = rushlight.tensor([1.0, 2.0, last], device=device)
            scaler.scale((p * weights).sum()).backward()
            scaler.step(optimizer)
            scaler.update()
        expected = rushlight.tensor([0.95, 1 - 0.2 / 3, 0.925])
        rushlight.testing.assert_close(p.detach().cpu(), expected)
        assert scaler.get_scale() == 512.0


def test_counters_may_differ_in_dtype():
    here, there = Run("NAdam", "cpu"), Run("NAdam", "cuda", capturable=True)
    for number in range(4):
        here.step(number)
        there.step(number)
        state = there.optimizer.state[there.params[1]]
        state["step"] = state["step"].double()
    for run in (here, there):
        del run.optimizer.state[run.params[1]]["step"]
    assert there.agrees(here)


def test_scalars_of_one_state_have_one_dtype():
    run = Run("ASGD", "cuda", capturable=True)
    run.step(0)
    state = run.optimizer.state[run.params[1]]
    state["mu"] = state["mu"].double()
    with pytest.raises(TypeError, match="asgd: the scalars .* got float32, float64"):
        run.step(1)
