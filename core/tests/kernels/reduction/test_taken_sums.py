"""Sums of squares, of sizes and of what is not NaN against float64: rows, columns, gaps, blocks."""

import numpy as np
import pytest

import rushlight

TOLERANCES = {"float32": 3e-6, "float64": 1e-13, "float16": 2e-3, "bfloat16": 1e-2}
SHAPES = [(5,), (70_001,), (3, 5), (300, 200), (7, 40, 3), (2, 200_000), (3, 1), (1, 6)]


def _given(shape, dtype):
    array = np.random.default_rng(len(shape)).standard_normal(shape) + 0.5
    array.reshape(-1)[2:4] = np.nan
    tensor = rushlight.tensor(array).to(getattr(rushlight, dtype))
    return tensor, tensor.double().numpy()


def _held(wide, dtype):
    """Numbers that float16 cannot hold are infinite."""
    return wide.astype(np.float16) if dtype == "float16" else wide


def _views(tensor, wide):
    yield tensor, wide
    if tensor.dim() > 1:
        yield tensor.transpose(0, -1), wide.swapaxes(0, -1)
        yield tensor[:, ::2], wide[:, ::2]


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_against_float64(shape, dtype, keepdim):
    norm = rushlight.linalg.vector_norm
    for tensor, wide in _views(*_given(shape, dtype)):
        number = np.nan_to_num(wide)
        plain = tensor.nan_to_num()
        for dim in (None, *range(tensor.dim()), tuple(range(tensor.dim()))):
            options = {"axis": dim, "keepdims": keepdim}
            wanted = _held(np.nansum(wide, **options), dtype)
            bound = {"rtol": TOLERANCES[dtype], "atol": TOLERANCES[dtype] * wide.size**0.5}
            np.testing.assert_allclose(
                tensor.nansum(dim, keepdim).double().numpy(), wanted, **bound
            )
            bound = {"rtol": TOLERANCES[dtype]}
            wanted = _held(np.abs(number).sum(**options), dtype)
            np.testing.assert_allclose(norm(plain, 1, dim, keepdim).double(), wanted, **bound)
            wanted = np.sqrt(np.square(number).sum(**options))
            np.testing.assert_allclose(norm(plain, 2, dim, keepdim).double(), wanted, **bound)
            np.testing.assert_allclose(plain.norm(2, dim, keepdim).double(), wanted, **bound)


def test_nan_is_no_number_of_norms_alone():
    x = rushlight.tensor([3.0, float("nan"), 4.0])
    assert x.norm().isnan() and x.norm(1).isnan()
    assert x.nansum().item() == 7
    assert rushlight.tensor([float("nan")] * 3).nansum().item() == 0
    assert rushlight.tensor([float("inf"), float("nan")]).nansum().item() == float("inf")


def test_dtypes_of_nansum():
    x = rushlight.tensor([[1, 2], [3, 4]], dtype=rushlight.int32)
    assert x.nansum().dtype is rushlight.int64 and x.nansum(0).tolist() == [4, 6]
    assert x.bool().nansum().item() == 4
    found = rushlight.tensor([1.0, float("nan")]).nansum(dtype=rushlight.float64)
    assert found.dtype is rushlight.float64 and found.item() == 1
    with pytest.raises(RuntimeError, match="nansum does not support complex inputs"):
        rushlight.ones(2, dtype=rushlight.complex64).nansum()
    assert rushlight.zeros(0, 3).nansum(0).tolist() == [0, 0, 0]


def test_gradient_of_nansum():
    x = rushlight.tensor([[1.0, float("nan")], [3.0, 4.0]], requires_grad=True)
    x.nansum(1).backward(rushlight.tensor([2.0, 3.0]))
    assert x.grad.tolist() == [[2, 0], [3, 3]]
