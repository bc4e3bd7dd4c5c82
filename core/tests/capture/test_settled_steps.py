"""Steps that are one run of a kernel, elementwise kernels and views: from arrays to arrays."""

import threading

import numpy as np
import pytest

import rushlight
from rushlight import nn
from rushlight.capture.entry import entry_of
from rushlight.machine import threads
from rushlight.machine.native_functions import is_available
from rushlight.machine.processors import fuses_vectors
from rushlight.nn import functional as F

pytestmark = pytest.mark.skipif(not is_available(), reason="no native functions here")


class Attention(nn.Module):
    """Views of views, heads that become columns again, a sum."""

    def __init__(self):
        super().__init__()
        self.norm, self.into, self.out = nn.LayerNorm(32), nn.Linear(32, 96), nn.Linear(32, 32)

    def forward(self, x):
        n, t, _ = x.shape
        parts = self.into(self.norm(x)).chunk(3, -1)
        q, k, v = (p.reshape(n, t, 2, 16).transpose(1, 2) for p in parts)
        y = (q @ k.transpose(-1, -2) / 4).softmax(-1) @ v
        return x + self.out(y.transpose(1, 2).flatten(2))


NETWORKS = {
    "images": (
        lambda: nn.Sequential(
            nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5),
            nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.Tanh(),
            nn.Linear(120, 10),
        ),
        (1, 28, 28),
    ),
    "depthwise": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU6(),
            nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.Hardswish(), nn.Conv2d(16, 40, 1),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(40, 3),
        ),
        (3, 20, 18),
    ),
    "rows": (
        lambda: nn.Sequential(nn.Linear(784, 128), nn.GELU(), nn.Linear(128, 10), nn.Sigmoid()),
        (784,),
    ),
    "attention": (Attention, (9, 32)),
}  # fmt: skip


def prepared(name, batch, freezing):
    rushlight.manual_seed(0)
    make, shape = NETWORKS[name]
    model, x = make().eval().requires_grad_(False), rushlight.randn(batch, *shape)
    with rushlight.no_grad():
        return model, x, entry_of(model, (x,), {}, "model", freezing)


def names_of(plan):
    """What the function of a plan calls."""
    return set(plan.run.__code__.co_names)


def is_settled(plan):
    return any(name.startswith("_call_") for name in names_of(plan))


@pytest.mark.parametrize("freezing", [False, True], ids=["free", "frozen"])
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("name", NETWORKS)
def test_results_are_those_of_the_steps(name, batch, freezing):
    model, x, entry = prepared(name, batch, freezing)
    with rushlight.no_grad():
        for i in range(4):
            x = x if i == 0 else rushlight.randn(x.shape)
            found = entry.plan.run(x)
            rushlight.testing.assert_close(found, model(x), rtol=1e-4, atol=1e-5)
            assert found.stride() == model(x).stride()
            assert is_settled(entry.plan) or not fuses_vectors()  # NumPy does some there
            entry.plan.forget()
            assert entry.plan.run(x).equal(found)  # step by step: the same bits
        assert np.array_equal(entry.plan.run(x).numpy(), found.numpy())


def test_unaligned_inputs_take_the_steps():
    _model, x, entry = prepared("images", 1, True)
    memory = np.zeros(x.numel() * 4 + 1, np.uint8)
    odd = memory[1:].view(np.float32).reshape(x.shape)
    odd[...] = x.numpy()
    assert not odd.flags.aligned
    with rushlight.no_grad():
        expected = [entry.plan.run(x) for _ in range(2)][1]
        unaligned = rushlight.from_numpy(odd)
        assert entry.plan.run(unaligned).equal(expected)


def test_what_is_not_finite_is_not_lost():
    """Winograd's way computes such results anew: it is no single run of a kernel."""
    rushlight.manual_seed(0)
    layer = nn.Conv2d(32, 32, 3, padding=1).requires_grad_(False)
    x = rushlight.randn(1, 32, 16, 16)
    with rushlight.no_grad():
        entry = entry_of(layer, (x,), {}, "layer", True)
        for _ in range(3):
            entry.plan.run(x)
        x[0, 3, 5, 7] = float("inf")
        expected = layer(x)
        rushlight.testing.assert_close(entry.plan.run(x), expected, equal_nan=True)
        assert expected.isfinite().sum() == expected.numel() - 32 * 9


def test_views_of_what_a_program_gives_and_gets():
    """Results are views as the program made them: of the argument, and of another result."""
    layer = nn.Linear(4, 6).requires_grad_(False)

    def program(x):
        y = layer(x)
        return y, y.view(2, 3, 2), x.view(4, 2), x.t()

    x = rushlight.randn(2, 4)
    with rushlight.no_grad():
        entry = entry_of(program, (x,), {}, "program", False)
        for _ in range(3):
            y, part, same, turned = entry.plan.run(x)
            assert part._base is y and same._base is x and turned._base is x
            assert same.data_ptr() == x.data_ptr() and y.data_ptr() != x.data_ptr()
            same.fill_(3)
            assert x.eq(3).all() and turned.eq(3).all()


def test_views_that_nobody_reads_are_not_made():
    _model, x, entry = prepared("attention", 2, False)
    with rushlight.no_grad():
        for _ in range(2):
            entry.plan.run(x)
    names = names_of(entry.plan)
    assert "_ndarray" in names and not any("chunk" in n or "reshape" in n for n in names)


def test_free_weights_are_read_anew():
    layer = nn.Linear(50, 3).requires_grad_(False)
    x = rushlight.randn(1, 50)
    with rushlight.no_grad():
        entry = entry_of(lambda x: F.relu(layer(x)), (x,), {}, "layer", False)
        for _ in range(3):
            entry.plan.run(x)
            layer.weight.mul_(-1)
            layer.bias.add_(1)
            rushlight.testing.assert_close(entry.plan.run(x), F.relu(layer(x)))


def test_python_threads_share_a_graph():
    model, x, entry = prepared("images", 1, True)
    wrong = []

    def work(seed):
        generator = rushlight.Generator().manual_seed(seed)
        with rushlight.no_grad():
            for _ in range(30):
                given = rushlight.randn(x.shape, generator=generator)
                if not rushlight.allclose(entry.plan.run(given), model(given), 1e-4, 1e-5):
                    wrong.append(seed)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_runs_are_recorded_by_one_thread_at_a_time():
    x, weight = rushlight.randn(1, 9), rushlight.randn(3, 9)
    with threads.recorded_runs() as runs:
        with threads.recorded_runs() as others:
            F.linear(x, weight)
        assert others is None and len(runs) == 1
        door = threads.run
    assert threads.run is not door and len(runs) == 1


def test_other_dtypes_and_lists():
    """What kernels are not called for directly: float64, integers, tensors in a list."""
    layer = nn.Linear(5, 4).double().requires_grad_(False)

    def program(x, counts):
        y = layer(x)
        return rushlight.cat([y, y * 2], -1), counts + 1, y.view(-1)

    x, counts = rushlight.randn(3, 5).double(), rushlight.arange(4)
    with rushlight.no_grad():
        entry = entry_of(program, (x, counts), {}, "program", True)
        for _ in range(3):
            for found, expected in zip(entry.plan.run(x, counts), program(x, counts), strict=True):
                rushlight.testing.assert_close(found, expected)
