"""Devices that a program names: new tensors on them, and tensors without values."""

from __future__ import annotations

import io

import pytest

import rushlight
from rushlight import nn
from rushlight.export import export
from rushlight.fx.experimental.proxy_tensor import make_fx

X = rushlight.arange(6.0).reshape(3, 2)
MAKERS = {
    "empty_like": lambda x, **on: rushlight.empty_like(x, **on).fill_(3.0),
    "zeros_like": lambda x, **on: rushlight.zeros_like(x, **on),
    "ones_like": lambda x, **on: rushlight.ones_like(x, **on),
    "full_like": lambda x, **on: rushlight.full_like(x, 2.5, **on),
    "rand_like": lambda x, **on: rushlight.rand_like(x, **on).fill_(1.0),
    "new_zeros": lambda x, **on: x.new_zeros((3, 2), **on),
}


class Called(nn.Module):
    """A function as a model."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def reread(program):
    file = io.BytesIO()
    rushlight.export.save(program, file)
    file.seek(0)
    return rushlight.export.load(file)


def forms_of(function):
    program = export(Called(function), (X,))
    assert not program.constants
    return [made.module() for made in (program, program.run_decompositions(), reread(program))]


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_new_tensors_are_on_the_device_named(name, device):
    def function(x):
        return MAKERS[name](x, device=device)

    for module in forms_of(function):
        found = module(X)
        assert found.device.type == device and found.shape == (3, 2)
        if device == "cpu":
            assert rushlight.equal(found, function(X))


def test_a_tensor_without_values_is_a_step_of_the_program():
    """It was a constant, of the shape at export."""
    for module in forms_of(lambda x: x.to("meta") + 1):
        found = module(X)
        assert found.device.type == "meta" and found.shape == (3, 2)
    for module in forms_of(lambda x: x + x.to("meta").sum(0).shape[0]):
        assert rushlight.equal(module(X), X + 2)


def test_free_sizes_reach_a_tensor_without_values():
    sizes = ({0: rushlight.export.Dim("rows", min=2)},)
    program = export(Called(lambda x: x.to("meta").t()), (X,), dynamic_shapes=sizes)
    assert program.module()(rushlight.ones(8, 2)).shape == (2, 8)


@pytest.mark.parametrize("name", ["zeros_like", "ones_like", "full_like"])
def test_function_transforms_take_devices(name):
    def function(x):
        return x * MAKERS[name](x, device="cpu")

    expected = function(X)
    assert rushlight.equal(rushlight.vmap(function)(X), expected)
    assert rushlight.equal(rushlight.func.functionalize(function)(X), expected)
    assert rushlight.equal(make_fx(function)(X)(X), expected)
    _, tangent = rushlight.func.jvp(function, (X,), (rushlight.ones(3, 2),))
    assert rushlight.equal(tangent, MAKERS[name](X))


def test_pytorch_reads_devices(tmp_path):
    torch = pytest.importorskip("torch")

    def function(x):
        return x + rushlight.full_like(x, 2.5, device="cpu"), x.to("meta") * 2

    rushlight.export.save(export(Called(function), (X,)), tmp_path / "ours.pt2")
    found, meta = torch.export.load(tmp_path / "ours.pt2").module()(torch.from_numpy(X.numpy()))
    assert found.tolist() == (X + 2.5).tolist()
    assert meta.device.type == "meta" and meta.shape == (3, 2)
