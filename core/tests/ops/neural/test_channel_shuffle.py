"""Channels dealt out over groups: by the kernel, by views of other layouts, and back."""

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
shuffle = rushlight.nn.functional.channel_shuffle
SHAPES = [(8, 32, 16, 16), (2, 6, 5), (3, 12, 1, 7), (0, 4, 3), (2, 4, 0), (1, 30, 3, 4, 5)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool", "uint8", "complex128"])
@pytest.mark.parametrize("shape", SHAPES)
def test_channel_shuffle(shape, dtype):
    rng = np.random.default_rng(0)
    values, grad = (rng.standard_normal(shape) * 3 for _ in range(2))
    values = np.abs(values).astype(dtype)
    for groups in [g for g in range(1, shape[1] + 1) if shape[1] % g == 0]:
        theirs = torch.from_numpy(values).requires_grad_(dtype[0] == "f")
        want = torch.nn.functional.channel_shuffle(theirs, groups)
        for way in (np.ascontiguousarray, np.asfortranarray):
            ours = rushlight.from_numpy(way(values)).requires_grad_(dtype[0] == "f")
            found = shuffle(ours, groups)
            np.testing.assert_array_equal(found.detach().numpy(), want.detach().numpy())
            if dtype[0] == "f":
                pull = grad.astype(dtype)
                (wanted,) = torch.autograd.grad(
                    want, theirs, torch.from_numpy(pull), retain_graph=True
                )
                (pulled,) = rushlight.autograd.grad(found, ours, rushlight.from_numpy(pull))
                np.testing.assert_array_equal(pulled.numpy(), wanted.numpy())


def test_formats_batches_and_second_gradients():
    last = rushlight.randn(2, 8, 3, 5).to(memory_format=rushlight.channels_last)
    found = shuffle(last, 4)
    assert found.is_contiguous(memory_format=rushlight.channels_last)
    assert rushlight.equal(found, shuffle(last.contiguous(), 4))
    batch = rushlight.randn(3, 2, 6, 5)
    together = rushlight.func.vmap(lambda x: shuffle(x, 2))(batch)
    assert rushlight.equal(together, rushlight.stack([shuffle(x, 2) for x in batch]))
    x = rushlight.randn(2, 6, 3, dtype=rushlight.float64, requires_grad=True)
    assert rushlight.autograd.gradgradcheck(lambda x: shuffle(x, 3) ** 2, x)
