"""Modules as ONNX and TorchScript."""

from __future__ import annotations

import io

import numpy as np
import pytest

import lightning_lite as L
import rushlight as rl
from rushlight import nn


class Choosing(L.LightningModule):
    """A network with dropout and a choice by a value."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3))
        self.frozen = nn.BatchNorm1d(3).eval()

    def forward(self, x):
        if x.sum() > 0:
            return self.frozen(self.net(x))
        return -self.net(x)


class Scaled(L.LightningModule):
    """Two inputs and a hook that scales the batch."""

    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 3)

    def forward(self, x, y):
        return self.net(x) * y

    def on_after_batch_transfer(self, batch, dataloader_idx):
        self.seen = batch
        return batch


@pytest.fixture
def module():
    rl.manual_seed(0)
    return Choosing()


def agree(found, expected):
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), 1e-5, 1e-6)


def expected(module, x):
    modes = [part.training for part in module.modules()]
    module.eval()
    with rl.no_grad():
        found = module(x)
    for part, mode in zip(module.modules(), modes, strict=True):
        part.training = mode
    return found


def test_script_keeps_choices_and_the_mode(module, tmp_path):
    path = tmp_path / "net.pt"
    scripted = module.to_torchscript(path)
    assert module.training and module.net.training and not module.frozen.training
    loaded = rl.jit.load(path)
    for x in (rl.ones(2, 4), -rl.ones(2, 4)):
        agree(scripted(x), expected(module, x))
        agree(loaded(x), expected(module, x))


def test_trace_follows_the_example(module, tmp_path):
    with pytest.raises(ValueError, match="expected an input as `example_inputs`"):
        module.to_torchscript(method="trace")
    with pytest.raises(ValueError, match="'script' or 'trace', got 'freeze'"):
        module.to_torchscript(method="freeze")
    module.example_input_array = rl.ones(2, 4)
    with pytest.warns(rl.jit.TracerWarning, match="Python boolean"):
        traced = module.to_torchscript(tmp_path / "net.pt", method="trace")
    agree(traced(rl.ones(3, 4)), expected(module, rl.ones(3, 4)))
    agree(rl.jit.load(tmp_path / "net.pt")(rl.ones(1, 4)), expected(module, rl.ones(1, 4)))
    module = Scaled()
    x, y = rl.randn(2, 4), rl.tensor([2.0])
    for given in ((x, y), {"x": x, "y": y}):
        agree(module.to_torchscript(method="trace", example_inputs=given)(x, y), module(x, y))
        assert type(module.seen) is type(given)


def test_onnx_gives_the_numbers_of_the_module(tmp_path):
    pytest.importorskip("onnxruntime")
    module = Scaled()
    with pytest.raises(ValueError, match="expected an input as `input_sample`"):
        module.to_onnx(tmp_path / "net.onnx")
    module.example_input_array = x, y = rl.randn(2, 4), rl.tensor([2.0])
    module.to_onnx(tmp_path / "net.onnx", input_names=["x", "y"])
    assert module.training
    agree(rl.onnx.load(tmp_path / "net.onnx")(x, y), module(x, y))
    target = io.BytesIO()
    program = module.to_onnx(target, {"x": x, "y": y}, opset_version=17)
    agree(program(x=x, y=y)[0], module(x, y))
    agree(rl.onnx.load(target.getvalue())(x, y), module(x, y))
