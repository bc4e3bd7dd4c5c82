"""What a large tensor prints: PyTorch's summary, for which nothing else is read."""

import re

import pytest

import rushlight

torch = pytest.importorskip("torch")


def plain(text):
    """With PyTorch's name, which is shorter, so that the dtype may stand on the last line."""
    return re.sub(r",\s+dtype=", ", dtype=", text.replace("rushlight", "torch"))


@pytest.mark.parametrize(
    "shape",
    [(1001,), (40, 50), (2, 600), (600, 2), (3, 4, 100), (20, 3, 30), (7, 6, 5, 9), (1, 1, 1200)],
)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "int64", "bool", "complex64"])
def test_summaries_are_pytorchs(shape, dtype):
    def text(home):
        count = torch.Size(shape).numel()
        x = home.arange(count).reshape(shape) % 251
        x = x.to(getattr(home, dtype)) if dtype != "complex64" else home.complex(x / 7, x * 1.0)
        x = x.transpose(0, -1)
        return plain(repr(x))

    assert text(rushlight) == text(torch)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "bool", "complex64"])
def test_tensors_expanded_beyond_all_memory(dtype):
    def text(home):
        x = home.ones(1, dtype=getattr(home, dtype)).expand(3, 10**13)
        return plain(repr(x))

    assert text(rushlight) == text(torch)
