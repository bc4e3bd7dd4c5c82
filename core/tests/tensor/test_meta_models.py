"""Whole models on the meta device: shapes and dtypes forward and backward, no memory."""

import pytest

import rushlight
from rushlight import nn


def _cnn():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, stride=2), nn.GroupNorm(4, 16), nn.GELU(), nn.AdaptiveAvgPool2d(2),
        nn.Flatten(), nn.Dropout(0.5), nn.Linear(64, 10),
    )  # fmt: skip


class _Text(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.norm = nn.Embedding(50, 12), nn.LayerNorm(12)
        self.lstm, self.head = nn.LSTM(12, 7, batch_first=True), nn.Linear(7, 10)

    def forward(self, tokens):
        out, _ = self.lstm(self.norm(self.table(tokens)))
        return self.head(rushlight.cat([out[:, -1:], out[:, :1]], 1).mean(1))


CASES = {
    "cnn": (_cnn, lambda device: rushlight.zeros(4, 3, 16, 16, device=device)),
    "text": (_Text, lambda d: rushlight.zeros(4, 9, dtype=rushlight.int64, device=d)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_training_step_has_the_shapes_of_the_real_one(name):
    make, inputs = CASES[name]
    found = {}
    for device in ("cpu", "meta"):
        model = make().to(device)
        logits = model(inputs(device))
        target = rushlight.zeros(4, dtype=rushlight.int64, device=device)
        loss = nn.functional.cross_entropy(logits, target)
        loss.backward()
        assert logits.device.type == device
        found[device] = [
            (tuple(t.shape), t.dtype) for t in (logits, loss, *(p.grad for p in model.parameters()))
        ]
    assert found["meta"] == found["cpu"]


def test_meta_costs_no_memory():
    layer = nn.Linear(1 << 20, 1 << 20, device="meta")
    assert layer(rushlight.zeros(8, 1 << 20, device="meta")).shape == (8, 1 << 20)


def test_what_depends_on_values_is_refused():
    x = rushlight.zeros(3, device="meta")
    for call in (x.nonzero, lambda: x[x > 0], lambda: x.masked_select(x > 0)):
        with pytest.raises(NotImplementedError):
            call()
