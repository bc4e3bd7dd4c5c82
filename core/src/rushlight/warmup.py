"""``python -m rushlight.warmup``: compile the usual kernels now instead of in the first step.

Machine code is kept on disk (``RUSHLIGHT_CACHE_DIR``), so once per machine and version is enough:
in an image that is built, before a timed run, or where many processes start at once.
"""

from __future__ import annotations

import sys
import time

import rushlight
from rushlight import nn
from rushlight.machine import code_cache, machine_code
from rushlight.nn import functional as F

_UNARY = (
    rushlight.abs, rushlight.neg, rushlight.exp, rushlight.log, rushlight.sqrt, rushlight.rsqrt,
    rushlight.sigmoid, rushlight.tanh, rushlight.relu, rushlight.sin, rushlight.cos,
    rushlight.floor, rushlight.round, rushlight.sign, rushlight.square, rushlight.reciprocal,
    rushlight.erf, rushlight.log1p, rushlight.isnan, rushlight.isinf,
)  # fmt: skip
_BINARY = (
    rushlight.add, rushlight.sub, rushlight.mul, rushlight.div, rushlight.maximum,
    rushlight.minimum, rushlight.eq, rushlight.ne, rushlight.lt, rushlight.le, rushlight.gt,
    rushlight.ge,
)  # fmt: skip
_OF_TENSORS = (rushlight.maximum, rushlight.minimum)


def _pointwise():
    """The most used elementwise ops with their gradients."""
    x = rushlight.rand(8, 33) + 0.5
    y = rushlight.rand(8, 33) + 0.5
    for function in _UNARY:
        leaf = x.clone().requires_grad_()
        out = function(leaf)
        if out.requires_grad:
            out.sum().backward()
    for function in _BINARY:
        left, right = x.clone().requires_grad_(), y.clone().requires_grad_()
        numbers = () if function in _OF_TENSORS else (1.5,)
        for other in (right, y[0], *numbers):
            out = function(left, other)
            if out.requires_grad:
                out.sum().backward()
    for function in (F.gelu, F.silu, F.leaky_relu, F.elu, F.softplus):
        function(x.clone().requires_grad_()).sum().backward()


def _step(model, inputs, loss_of, optimizer):
    steps = optimizer(model.parameters(), lr=1e-3)
    loss_of(model(*inputs)).backward()
    steps.step()


def _models():
    """One training step of small models of the usual kinds."""
    labels = rushlight.arange(16) % 10

    def entropy(out):
        return F.cross_entropy(out.reshape(16, -1), labels)

    dense = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Dropout(0.1), nn.Linear(128, 10))
    _step(dense, (rushlight.rand(16, 784),), entropy, rushlight.optim.Adam)
    _step(dense, (rushlight.rand(16, 784),), entropy, rushlight.optim.SGD)
    images = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip
    _step(images, (rushlight.rand(16, 3, 32, 32),), entropy, rushlight.optim.AdamW)
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, activation="gelu")
    _step(layer, (rushlight.rand(16, 24, 64),), entropy, rushlight.optim.AdamW)
    for kind in (nn.LSTM, nn.GRU):
        recurrent = kind(32, 40)
        _step(recurrent, (rushlight.rand(12, 16, 32),), lambda out: out[0].sum(),
              rushlight.optim.Adam)  # fmt: skip


def main() -> int:
    """Compile, and say how much there is now and where."""
    start = time.perf_counter()
    with rushlight.random.fork_rng():
        _pointwise()
        _models()
    count = len(machine_code.compiled_symbols())
    where = code_cache.place()
    kept = f"kept in {where}" if where else "kept nowhere: set RUSHLIGHT_CACHE_DIR"
    print(f"{count} kernels in {time.perf_counter() - start:.1f} s, {kept}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
