"""Frozen layers: weights are packed once, and anew when ops have written to them."""

from __future__ import annotations

import copy
import math

import pytest

import rushlight
from rushlight import nn
from rushlight.capture.entry import WholeGraphs, entry_of
from rushlight.capture.layers import Convolution, FrozenLinear
from rushlight.kernels.gemm.plans import BLOCKED
from rushlight.machine.processors import fuses_vectors

PACKS = BLOCKED and fuses_vectors()  # others take other ways, some of which pack nothing
LINEAR = fuses_vectors()

LAYERS = {
    "planes": (lambda: nn.Conv2d(5, 7, 3, padding=1), (5, 9, 8), None),
    "strided": (lambda: nn.Conv2d(12, 20, 3, 2, bias=False), (12, 11, 13), PACKS or None),
    "winograd": (lambda: nn.Conv2d(32, 40, 3, padding=1), (32, 14, 14), PACKS or None),
    "small winograd": (lambda: nn.Conv2d(48, 32, 3, padding=1), (48, 5, 5), PACKS or None),
    "pointwise": (lambda: nn.Conv2d(16, 24, 1), (16, 24, 24), None),
    "whole window": (lambda: nn.Conv2d(8, 9, 5), (8, 5, 5), False),
    "dilated": (lambda: nn.Conv2d(6, 6, 3, padding=2, dilation=2), (6, 10, 10), None),
    "grouped": (lambda: nn.Conv2d(8, 12, 3, groups=2), (8, 9, 9), False),
    "depthwise": (lambda: nn.Conv2d(8, 8, 3, groups=8), (8, 9, 9), False),
    "few channels": (lambda: nn.Conv2d(3, 32, 4, 4), (3, 64, 64), None),
    "one dim": (lambda: nn.Conv1d(8, 12, 3), (8, 20), False),
    "linear": (lambda: nn.Linear(130, 75), (6, 130), LINEAR),
    "deep linear": (lambda: nn.Linear(1100, 33, bias=False), (3, 1100), LINEAR),
    "tall linear": (lambda: nn.Linear(64, 64), (100, 64), LINEAR),
}
BEHIND = {
    "nothing": lambda x: x,
    "relu": rushlight.relu,
    "chain": lambda x: x * rushlight.sigmoid(1.7 * x),
}


def frozen(model, x):
    """The entry of a model, which gives eager's numbers at its first three calls."""
    with rushlight.no_grad():
        entry = entry_of(model, (x,), {}, "model", True)
        expected = model(x)
        for _ in range(3):
            agree(entry.plan.run(x), expected)
    return entry


def agree(found, expected):
    rushlight.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5, equal_nan=True)
    assert found.stride() == expected.stride()


@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("name", LAYERS)
def test_frozen_layers(name, batch, behind):
    rushlight.manual_seed(0)
    make, shape, packs = LAYERS[name]
    layer, after = make().requires_grad_(False), BEHIND[behind]
    (step,) = frozen(lambda x: after(layer(x)), rushlight.randn(batch, *shape)).frozen
    assert type(step) is (FrozenLinear if isinstance(layer, nn.Linear) else Convolution)
    if packs is not None:
        assert bool(step.packed) is packs
    frozen(lambda x: after(layer(x)), rushlight.randn(0, *shape))


def test_rows_of_linear_layers():
    """One row is a product with a weight as it lies; an input without dims is none."""
    layer = nn.Linear(256, 200).requires_grad_(False)
    for shape, packs in (((256,), False), ((1, 256), False), ((2, 256), LINEAR)):
        (step,) = frozen(layer, rushlight.randn(shape)).frozen
        assert bool(step.packed) is packs


def test_other_layouts_and_dtypes():
    layer = nn.Conv2d(8, 8, 3).requires_grad_(False)
    x = rushlight.randn(2, 8, 9, 9)
    frozen(layer, x.contiguous(memory_format=rushlight.channels_last))
    frozen(layer, x.transpose(2, 3))
    frozen(layer, x[0])
    frozen(copy.deepcopy(layer).double(), x.double())
    frozen(copy.deepcopy(layer).to(memory_format=rushlight.channels_last), x)
    linear = nn.Linear(96, 80).requires_grad_(False)
    inputs = rushlight.randn(96, 6).T, rushlight.randn(5, 2, 96).transpose(0, 1)
    for given in (*inputs, rushlight.randn(6, 192)[:, ::2], rushlight.randn(1, 96).expand(6, 96)):
        assert bool(frozen(linear, given).frozen[0].packed) is LINEAR
    frozen(linear.bfloat16(), rushlight.randn(6, 96).bfloat16())


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 3e38])
def test_values_that_are_not_finite(value):
    layer = nn.Conv2d(32, 32, 3, padding=1).requires_grad_(False)
    x = rushlight.randn(1, 32, 12, 12)
    x[0, 3, 5, 6] = value
    frozen(layer, x)


def net():
    rushlight.manual_seed(0)
    layers = nn.Conv2d(3, 32, 3), nn.ReLU(), nn.Conv2d(32, 32, 3), nn.BatchNorm2d(32), nn.ReLU()
    return nn.Sequential(*layers, nn.Flatten(1), nn.Linear(512, 80), nn.Linear(80, 5)).eval()


def writes():
    def by_ops(net):
        for parameter in net.parameters():
            parameter.mul_(0.5)

    def one_element(net):
        net[6].weight[3, 4] = 100.0

    def loaded(net):
        net.load_state_dict({k: v + 0.25 for k, v in net.state_dict().items()})

    def other_memory(net):
        net[2].weight.data = rushlight.ones(32, 32, 3, 3)

    def step_of_an_optimizer(net):
        for parameter in net.parameters():
            parameter.grad = rushlight.ones_like(parameter)
        rushlight.optim.SGD(net.parameters(), 0.1).step()

    def bias(net):
        net[6].bias.add_(1)

    return [value for value in locals().values() if callable(value)]


@pytest.mark.parametrize("write", writes(), ids=lambda f: f.__name__)
def test_writes_are_noticed(write):
    model = net()
    compiled, x = rushlight.compile(model, options={"freezing": True}), rushlight.randn(2, 3, 8, 8)
    with rushlight.no_grad():
        for _ in range(2):
            agree(compiled(x), model(x))
        write(model)
        for _ in range(2):
            agree(compiled(x), model(x))
    assert len(graphs_of(compiled).entries) == 1


def graphs_of(compiled):
    cells = (cell.cell_contents for cell in compiled._run.__closure__)
    return next(value for value in cells if isinstance(value, WholeGraphs))


def test_nothing_is_packed_without_freezing():
    with rushlight.no_grad():
        assert not entry_of(net(), (rushlight.randn(2, 3, 8, 8),), {}, "net", False).frozen


def test_graphs_of_several_batches_and_threads():
    model, before = net(), rushlight.get_num_threads()
    compiled = rushlight.compile(model, options={"freezing": True})
    try:
        with rushlight.no_grad():
            for count in (1, 2):
                rushlight.set_num_threads(count)
                for batch in (1, 2, 7):
                    x = rushlight.randn(batch, 3, 8, 8)
                    agree(compiled(x), model(x))
    finally:
        rushlight.set_num_threads(before)
