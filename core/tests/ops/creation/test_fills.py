"""Numbers to fill integers with: what fits, what wraps, what is refused."""

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")

X = rushlight.ones(3, dtype=rushlight.uint8)
MASK = rushlight.tensor([True, False, True])
FIRST = rushlight.tensor([0])


@pytest.mark.parametrize(("value", "held"), [(-1, 255), (-255, 1), (2.7, 2), (255, 255), (True, 1)])
def test_numbers_that_fit_or_wrap(value, held):
    assert X.masked_fill(MASK, value).tolist() == [held, 1, held]
    assert X.index_fill(0, FIRST, value).tolist() == [held, 1, 1]
    assert X.clone().masked_fill_(MASK, value).tolist() == [held, 1, held]


@pytest.mark.parametrize("value", [-256, 256, -1.5, 300.0, float("nan")])
def test_numbers_that_do_not_fit_are_refused(value):
    for call in (lambda: X.masked_fill(MASK, value), lambda: X.index_fill(0, FIRST, value)):
        with pytest.raises(RuntimeError, match="cannot be converted to type .*uint8.* overflow"):
            call()
    with pytest.raises(RuntimeError, match="without overflow"):
        X.to(rushlight.int8).masked_fill(MASK, 127.9)


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "bfloat16", "int64", "bool", "complex64"]
)
@pytest.mark.parametrize(
    "shape", [(0, 0), (0, 3), (3, 0), (1, 1), (4, 7), (7, 4), (300, 301), (5,)]
)
def test_identities(shape, dtype):
    found = rushlight.eye(*shape, dtype=getattr(rushlight, dtype))
    wanted = np.eye(*shape)
    assert found.shape == wanted.shape and found.dtype is getattr(rushlight, dtype)
    assert np.array_equal(found.to(rushlight.complex128).numpy(), wanted)
    with pytest.raises(TypeError):
        rushlight.eye(2.5)
    with pytest.raises(RuntimeError, match="greater or equal to 0"):
        rushlight.eye(-1)


@pytest.mark.parametrize("value", [0, -0.0, 2, 1.5, float("nan"), -float("inf"), True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64"])
@pytest.mark.parametrize("shape", [(3, 4), (200, 301), (5, 1), (0, 2), ()])
def test_filled_like(value, dtype, shape):
    def filled(library, source):
        return [library.full_like(source, value), source.clone().fill_(value),
                library.full_like(source.T if source.ndim == 2 else source, value)]  # fmt: skip

    ours = rushlight.ones(shape, dtype=getattr(rushlight, dtype))
    theirs = torch.ones(shape, dtype=getattr(torch, dtype))
    try:
        wanted = filled(torch, theirs)
    except (RuntimeError, ValueError, OverflowError) as error:
        with pytest.raises((RuntimeError, ValueError, OverflowError, type(error))):
            filled(rushlight, ours)
        return
    for found, expected in zip(filled(rushlight, ours), wanted, strict=True):
        assert str(found.dtype)[10:] == str(expected.dtype)[6:]
        assert found.stride() == expected.stride() or not found.numel()
        assert np.array_equal(found.numpy(), expected.numpy(), equal_nan=True)
        assert np.array_equal(np.signbit(found.numpy()), np.signbit(expected.numpy()))
