"""Weights of 4 and 8 bits are bitsandbytes' under Lightning's plug-in (recorded values)."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

import lightning_lite as L
import rushlight as rl
from lightning_lite import quantization
from lightning_lite.plugins import BitsandbytesPrecision
from lightning_lite.quantized_layers import Linear4bit, Linear8bit
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
        (lambda: BitsandbytesPrecision("int8-training"), NotImplementedError, "use 'int8'"),
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
