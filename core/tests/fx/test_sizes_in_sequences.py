"""Traces of calls with a size of an input inside of a sequence alone, and plain tensors beside."""

import numpy as np
import pytest

import rushlight
from rushlight.fx import symbolic_trace

torch = pytest.importorskip("torch")
PROGRAMS = {
    "full": lambda lib, n: lib.full((n, n), float("-inf")),
    "broadcast_to": lambda lib, n: lib.broadcast_to(lib.ones(1), (n, 2)),
    "reshape": lambda lib, n: lib.reshape(lib.arange(6), (n, -1)),
    "view": lambda lib, n: lib.arange(6).view((n, 2)),
    "expand": lambda lib, n: lib.ones(1).expand((n, 2)),
    "repeat": lambda lib, n: lib.arange(2).repeat((n, 2)),
    "tile": lambda lib, n: lib.tile(lib.arange(2), (n,)),
    "unflatten": lambda lib, n: lib.unflatten(lib.arange(6), 0, (n, 2)),
    "sum": lambda lib, n: lib.sum(lib.arange(6).reshape(2, 3), (n - 2,)),
    "as_strided": lambda lib, n: lib.as_strided(lib.arange(12), (n, 2), (4, 1)),
    "avg_pool2d": lambda lib, n: lib.nn.functional.avg_pool2d(
        lib.arange(16.0).reshape(1, 1, 4, 4), (n, 1)
    ),
    "irfft2": lambda lib, n: lib.fft.irfft2(lib.ones(3, 3) + 0j, s=(n, 4)),
    "pad": lambda lib, n: lib.nn.functional.pad(lib.ones(2, 3), (n, 1), "constant", 2.0),
    "pad by reflection": lambda lib, n: lib.nn.functional.pad(
        lib.arange(12.0).reshape(1, 3, 4), (n - 1, 1), mode="reflect"
    ),
    "layer_norm": lambda lib, n: lib.nn.functional.layer_norm(lib.arange(6.0).view(2, 3), (n,)),
    "rms_norm": lambda lib, n: lib.nn.functional.rms_norm(lib.arange(6.0).view(2, 3), [n]),
    "layer_norm of the top level": lambda lib, n: lib.layer_norm(lib.arange(3.0), (n,)),
    "new_zeros": lambda lib, n: lib.ones(2, dtype=lib.float64).new_zeros((n, 2)),
    "new_full": lambda lib, n: lib.ones(2).new_full((n, 2), 3, dtype=lib.int64),
    "resize_": lambda lib, n: lib.arange(6).clone().resize_((n - 1, 2)),
    "mask": lambda lib, n: lib.nn.Transformer.generate_square_subsequent_mask(n),
}
# which sizes do not let be another
FIXED = ("reshape", "view", "unflatten", "sum", "layer_norm", "rms_norm",
         "layer_norm of the top level")  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_sizes_in_sequences(name):
    traced = symbolic_trace(lambda x: PROGRAMS[name](rushlight, x.size(0)))
    assert any(node.op.startswith("call_") for node in traced.graph.nodes)
    for rows in (3,) if name in FIXED else (3, 2):
        found = traced(rushlight.zeros(rows, 4))
        expected = PROGRAMS[name](torch, rows)
        assert str(found.dtype).rpartition(".")[2] == str(expected.dtype).rpartition(".")[2]
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-6, atol=1e-7)


def test_dimensions_in_lists_of_lists():
    table = rushlight.arange(6.0).view(2, 3)
    traced = symbolic_trace(lambda x: rushlight.tensordot(table, table, ([x.dim() - 1], [1])))
    for x in (rushlight.zeros(1, 2), rushlight.zeros(3, 2)):
        np.testing.assert_array_equal(traced(x).numpy(), table.numpy() @ table.numpy().T)


def test_attention_with_a_mask_of_a_size():
    class Model(rushlight.nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = rushlight.nn.MultiheadAttention(4, 2, batch_first=True)

        def forward(self, x):
            mask = rushlight.nn.Transformer.generate_square_subsequent_mask(x.size(1))
            return self.attention(x, x, x, attn_mask=mask)[0]

    model = Model().eval()
    traced = symbolic_trace(model)
    for length in (3, 7):
        x = rushlight.rand(2, length, 4)
        np.testing.assert_allclose(
            traced(x).detach().numpy(), model(x).detach().numpy(), rtol=1e-5, atol=1e-6
        )
