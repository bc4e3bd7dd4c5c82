"""`_scaled_mm` against PyTorch's CPU kernel."""

import pytest
import torch

import rushlight

KINDS = ["float8_e4m3fn", "float8_e5m2"]


def operands(package, kind, n=6, k=16, m=5):
    left = package.arange(float(n * k)).reshape(n, k).sin() * 4
    right = package.arange(float(m * k)).reshape(m, k).cos()
    dtype = getattr(package, kind)
    return left.to(dtype), right.to(dtype).t()


def scales(package, by_row, n=6, m=5):
    if not by_row:
        return package.tensor(0.5), package.tensor([3.0])
    return package.arange(1.0, n + 1)[:, None] / 4, package.arange(1.0, m + 1)[None] / 8


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("by_row", [False, True])
@pytest.mark.parametrize("out", [None, "float32", "bfloat16", "float16"])
@pytest.mark.parametrize("biased", [False, True])
def test_values_are_pytorch_s(kind, by_row, out, biased):
    results = []
    for package in (torch, rushlight):
        bias = package.arange(5.0) if biased else None
        dtype = None if out is None else getattr(package, out)
        result = package._scaled_mm(
            *operands(package, kind), *scales(package, by_row), bias=bias, out_dtype=dtype
        )
        assert str(result.dtype).partition(".")[2] == (out or kind)
        results.append(result.float())
    # sums may round to neighbours of the result's dtype: its spacing relative to the value
    dtype = getattr(torch, out or kind)
    spacing = float(torch.finfo(dtype).eps) if dtype != torch.float32 else 1e-5
    found = torch.tensor(results[1].tolist())
    torch.testing.assert_close(found, results[0], rtol=spacing, atol=spacing)


def test_results_of_eight_bits_are_saturated():
    big = rushlight.tensor(100.0)
    found = rushlight._scaled_mm(*operands(rushlight, KINDS[0]), big, big).float()
    left, right = (each.float() for each in operands(torch, KINDS[0]))
    # PyTorch's own gives NaN on processors with matrix units, the limits on others.
    expected = (left @ right * 1e4).clamp(-448, 448).to(torch.float8_e4m3fn)
    assert found.abs().max().item() == 448
    assert found.tolist() == expected.float().tolist()


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"input": rushlight.ones(6, 16)}, "self must be of an eight-bit float dtype"),
        ({"mat2": rushlight.ones(16).to(rushlight.float8_e4m3fn)}, "mat2 must be a matrix"),
        ({"mat2": rushlight.ones(3, 5).to(rushlight.float8_e4m3fn)}, "cannot be multiplied"),
        ({"scale_a": rushlight.ones(3)}, "one element each, or shapes"),
        ({"scale_b": rushlight.ones((), dtype=rushlight.float64)}, "must be of float32"),
        ({"bias": rushlight.ones(3)}, "expected bias of size 5"),
        ({"scale_result": rushlight.ones(())}, "scale_result is not available"),
    ],
)
def test_what_is_refused(changed, error):
    left, right = operands(rushlight, KINDS[0])
    one, three = scales(rushlight, False)
    given = {"input": left, "mat2": right, "scale_a": one, "scale_b": three, **changed}
    bias, scaled = given.pop("bias", None), given.pop("scale_result", None)
    with pytest.raises((RuntimeError, ValueError, NotImplementedError), match=error):
        rushlight._scaled_mm(*given.values(), bias=bias, scale_result=scaled)
