"""Floats as integers, those beyond what the integers hold included: PyTorch's numbers on x86."""

import platform

import pytest

import rushlight

torch = pytest.importorskip("torch")

VALUES = [
    3e9, -3e9, 5e9 + 7, -5e9 - 9, 1e20, float("nan"), float("inf"), 2147483648.0, -2147483649.0,
    2147483520.0, 70000.5, -70000.5, 300.0, -300.0, -1.9, 4294967295.0, 1e19, -1.0, 0.5,
]  # fmt: skip


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="others saturate")
@pytest.mark.parametrize("target", ["int8", "int16", "int32", "int64", "uint8", "uint16"])
@pytest.mark.parametrize("source", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("times", [1, 9, 500])
@pytest.mark.parametrize("step", [1, 2])
def test_conversion(source, target, times, step):
    found = []
    for library in (rushlight, torch):
        x = library.tensor(VALUES * times, dtype=library.float64).to(getattr(library, source))
        found.append(x[::step].to(getattr(library, target)).tolist())
    assert found[0] == found[1]
