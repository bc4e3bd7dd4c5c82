"""Numbers in equal steps are PyTorch's to the last bit: one rounding each, from the nearer end."""

import pytest

import rushlight
from rushlight.kernels.launch.execution import REFERENCE

torch = pytest.importorskip("torch")
ENDS = [(0, 1), (-6, 6), (0.1, 0.7), (-3.3, 1e4), (1e-3, -2.5), (5, 5), (7, -7), (1e20, 1.0)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [2, 3, 7, 15, 16, 50, 1000, 5001])
def test_linspace(count, dtype):
    if "AVX" not in torch.backends.cpu.get_cpu_capability():
        pytest.skip("PyTorch rounds products on processors that cannot fuse them")
    if REFERENCE:
        pytest.skip("NumPy rounds products")
    for start, end in ENDS:
        wanted = torch.linspace(start, end, count, dtype=getattr(torch, dtype)).tolist()
        found = rushlight.linspace(start, end, count, dtype=getattr(rushlight, dtype)).tolist()
        assert found == wanted
