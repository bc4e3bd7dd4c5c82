"""Training on a GPU: the one that Rushlight emulates (needs g++)."""

from __future__ import annotations

import pytest

import rushlight as rl
from rushlight import nn


@pytest.fixture(autouse=True)
def _emulated(monkeypatch):
    monkeypatch.setenv("RUSHLIGHT_CUDA", "emu")
    if not rl.cuda.is_available():
        pytest.skip(rl.cuda.why_unavailable())
    yield
    monkeypatch.undo()
    rl.cuda.is_available()  # looks at the environment again


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed", "16-mixed"])
def test_fit_on_a_gpu(model_class, loader, trainer, precision):
    """Weights, batches and products are there; products in the low dtype of the precision."""
    seen, losses = set(), []

    class Look(model_class):
        def training_step(self, batch, batch_idx):
            products = nn.functional.linear(batch[0], rl.ones(2, 4, device=self.device))
            seen.add((batch[0].device.type, products.dtype))
            loss = super().training_step(batch, batch_idx)
            losses.append(loss.detach())
            return loss

    look = Look()
    run = trainer(max_epochs=2, accelerator="gpu", precision=precision, gradient_clip_val=100.0)
    run.fit(look, loader(16), loader(8))
    low = {"32-true": rl.float32, "bf16-mixed": rl.bfloat16, "16-mixed": rl.float16}[precision]
    assert seen == {("cuda", low)}
    assert {(p.device.type, p.dtype) for p in look.parameters()} == {("cuda", rl.float32)}
    assert float(losses[-1]) < float(losses[0])
    assert not rl.is_autocast_enabled("cuda")


def test_without_a_gpu_it_is_refused(trainer, monkeypatch):
    monkeypatch.setenv("RUSHLIGHT_CUDA", "off")
    with pytest.raises(Exception, match="no CUDA device is available"):
        trainer(max_epochs=1, accelerator="gpu")
