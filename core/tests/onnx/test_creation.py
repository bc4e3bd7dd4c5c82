"""Ranges of constants and draws without dimensions as ONNX."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime").set_default_logger_severity(4)


class Ramp(nn.Module):
    def forward(self, x):
        return x * torch.linspace(0, 1, 5)


class Draw(nn.Module):
    def forward(self, x):
        return x + torch.rand(()), x * 0 + torch.randn(())


def test_a_range_of_constants():
    x = torch.randn(3, 5)
    (found,) = torch.onnx.export(Ramp(), (x,))(x)
    np.testing.assert_allclose(found.numpy(), Ramp()(x).numpy(), rtol=1e-6)


def test_draws_without_dimensions():
    x = torch.zeros(3, 5)
    program = torch.onnx.export(Draw(), (x,))
    onnx.checker.check_model(program.model_proto, full_check=True)
    uniform, normal = (found.numpy() for found in program(x))
    assert uniform.shape == normal.shape == (3, 5)
    assert 0 <= uniform.min() == uniform.max() < 1 and normal.min() == normal.max() != 0
    assert program(x)[0].numpy().max() != uniform.max()
