"""Weights of 4 and 8 bits are bitsandbytes' under Lightning's plug-in (recorded values)."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import lightning_lite as L
import rushlight as rl
from lightning_lite import quantization
from lightning_lite.plugins import BitsandbytesPrecision
from lightning_lite.quantized_layers import LearningLinear8bit, Linear4bit, Linear8bit
from rushlight import nn

FOLDER = Path(__file__).with_name("recorded")
RECORDED = json.loads((FOLDER / "quantized.json").read_text())
_spec = importlib.util.spec_from_file_location("quantized", FOLDER / "quantized.py")
quantized = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(quantized)


@pytest.mark.parametrize("number", range(len(quantized.SIZES)))
@pytest.mark.parametrize("mode", quantized.MODES)
def test_layers(mode, number):
    found = quantized.answers(rl, BitsandbytesPrecision, mode, quantized.SIZES[number])
    expected = RECORDED[mode][number]
    close = {"rtol": 2e-3, "atol": 2e-3} if mode == "int8" else {"rtol": 1e-4, "atol": 1e-4}
    for name in ("out", "grad"):
        assert rl.allclose(rl.tensor(found[name]), rl.tensor(expected[name]), **close), name
    assert found["kinds"] == expected["kinds"] and found["bytes"] == expected["bytes"]
    assert found["sum"] == expected["sum"], "patterns of weights"


def learning_product(x, weight):
    """The product of a layer that learns."""
    layer = LearningLinear8bit(nn.Linear(weight.shape[1], weight.shape[0], bias=False))
    del layer.weight
    layer.weight = weight
    return layer(x)


@pytest.mark.parametrize("number", range(len(quantized.LEARNING)))
def test_products_that_learn(number):
    shape, outliers = quantized.LEARNING[number]
    found = quantized.learning(rl, learning_product, shape, outliers)
    expected = {name: rl.tensor(rows) for name, rows in RECORDED["learning"][number].items()}
    for name in ("out", "x"):
        assert rl.allclose(rl.tensor(found[name]), expected[name], rtol=2e-3, atol=2e-3), name
    exact = quantized.learning(rl, lambda x, weight: x.float() @ weight.T, shape, outliers)
    weight, right = rl.tensor(found["weight"]), rl.tensor(exact["weight"])
    # bitsandbytes takes gradients quantized by rows for quantized by columns, and counts the other
    # inputs of a column with an outlier twice.
    share = float((expected["weight"] - right).norm() / right.norm())
    assert float((weight - right).norm() / right.norm()) < 0.015 < share / 2
    columns = [3, 5] if outliers else []
    assert rl.allclose(weight[:, columns], right[:, columns], rtol=2e-3, atol=2e-3)


def test_gradients_by_columns():
    """Both sides in int8 by columns, as NumPy computes it."""
    draw = np.random.default_rng(0)
    grad, x = (draw.normal(size=(11, n)).astype(np.float16) for n in (4, 9))
    x[2, 7] = 8.0
    kept, whole = np.delete(x, 7, 1).astype(np.float32), grad.astype(np.float32)
    scales, others = np.abs(whole).max(0), np.abs(kept).max(0)
    integers = (whole * (127 / scales)).round().T @ (kept * (127 / others)).round()
    expected = np.insert(integers * np.outer(scales, others) / 127**2, 7, whole.T @ x[:, 7], 1)
    found = quantization.product_of_columns(rl.tensor(grad), rl.tensor(x))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4, atol=1e-5)


def test_training_in_int8(model_class, loader, trainer):
    """Weights learn, stay whole, and come out near those of a training in float32."""
    made = {}
    for name in ("whole", "int8"):
        rl.manual_seed(0)
        model = model_class(width=6)
        plugins = [BitsandbytesPrecision("int8-training")] if name == "int8" else []
        begin = {name: each.detach().clone() for name, each in model.named_parameters()}
        run = trainer(plugins=plugins, limit_val_batches=0, max_epochs=3)
        run.fit(model, loader())
        made[name] = model
        assert not any(rl.equal(each, begin[name]) for name, each in model.named_parameters())
    layers = [each for each in made["int8"].modules() if isinstance(each, LearningLinear8bit)]
    assert layers and all(each.weight.dtype is rl.float32 for each in layers)
    for one, other in zip(made["whole"].parameters(), made["int8"].parameters(), strict=True):
        assert rl.allclose(one, other, atol=0.02)
    made["whole"].load_state_dict(made["int8"].state_dict())


def test_codes():
    dynamic = quantization.code_of("dynamic")
    assert dynamic.numel() == 256 and bool((dynamic.diff() > 0).all())
    assert (float(dynamic[0]), float(dynamic[-1])) == (pytest.approx(-0.99297, abs=1e-5), 1.0)
    values = rl.randn(130)
    made = quantization.to_blocks(values, "nf4", 64)
    assert made.patterns.shape == (130,) and made.largest.shape == (3,)
    again = quantization.unpacked(quantization.packed(made.patterns), 130)
    assert bool((again == made.patterns).all())
    assert float((quantization.from_blocks(made, "nf4", 64) - values).abs().max()) < 0.5


@pytest.mark.parametrize("mode", ["nf4-dq", "int8"])
def test_states(mode):
    """A state dict of a quantized network loads, and so does one with whole weights."""
    size, x = (48, 20), quantized.inputs(rl, (48, 20)).half()
    plugin = BitsandbytesPrecision(mode, dtype=rl.float16, ignore_modules={"2"})
    made, other = (plugin.convert_module(quantized.network(rl, size)) for _ in range(2))
    whole = quantized.network(rl, size)
    with rl.no_grad():
        whole[0].weight.mul_(-1)
    other.load_state_dict(whole.state_dict(), strict=False)
    assert rl.allclose(other[0].whole(), -made[0].whole(), atol=0.15)
    other.load_state_dict(made.state_dict())
    assert bool((other[0](x) == made[0](x)).all())


def test_training_around_quantized_weights(model_class, loader, trainer):
    """Biases and other layers learn, quantized weights do not."""
    model = model_class(width=6)
    run = trainer(plugins=[BitsandbytesPrecision("nf4", dtype=rl.float32)], limit_val_batches=0)
    run.fit(model, loader())
    layers = [each for each in model.modules() if isinstance(each, Linear4bit)]
    assert layers and run.global_step > 0 and run.precision == "nf4"
    assert all(each.weight.dtype is rl.uint8 for each in layers)
    assert all(each.weight.grad is None and not each.weight.requires_grad for each in layers)


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: BitsandbytesPrecision("nf8"), ValueError, "mode='nf8'"),
        (lambda: BitsandbytesPrecision("int8", rl.bfloat16), ValueError, "computes in float16"),
        (
            lambda: BitsandbytesPrecision("int8-training", rl.float32),
            ValueError,
            "'int8-training' computes in float16",
        ),
        (
            lambda: BitsandbytesPrecision("fp4").convert_module(nn.Sequential(nn.ReLU())),
            TypeError,
            "no Linear layers",
        ),
    ],
)
def test_misuse(call, error, told):
    with pytest.raises(error, match=told):
        call()


def test_a_loop_of_ones_own():
    made = L.Fabric(accelerator="cpu", plugins=BitsandbytesPrecision("int8"))
    net = made.setup_module(nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 2)))
    assert [type(each) for each in net.module][::2] == [Linear8bit] * 2
    assert net(rl.ones(3, 8)).dtype is rl.float32
