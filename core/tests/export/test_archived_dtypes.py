"""Elements of dtypes that NumPy cannot name, in archives of exported programs."""

import io
import sys
import warnings
from pathlib import Path

import pytest

import rushlight
from rushlight import dtypes, nn
from rushlight.export import export, load, save
from rushlight.export.serialization.values import scalar_type

sys.path.insert(0, str(Path(__file__).parent))
from archived_programs import written  # noqa: E402


class Scaled(nn.Module):
    """Elements of a dtype that NumPy cannot name."""

    def __init__(self, dtype):
        super().__init__()
        self.register_buffer("factors", rushlight.tensor([[1.0, 2.0, 0.5]]).to(dtype))

    def forward(self, x):
        return x * self.factors.abs().float()


NOT_OF_NUMPY = [
    dtype
    for dtype in dict.fromkeys(dtypes.NAMES.values())
    if dtype.itemsize == 1 and dtype.is_floating_point
] + [rushlight.bfloat16, rushlight.complex32]


@pytest.mark.parametrize("dtype", NOT_OF_NUMPY, ids=str)
def test_elements_that_numpy_cannot_name_are_read(dtype):
    x = rushlight.ones(2, 3)
    found = load(io.BytesIO(written(export(Scaled(dtype), (x,)))))
    assert found.state_dict["factors"].dtype is dtype
    assert found.module()(x).tolist() == [[1.0, 2.0, 0.5]] * 2


def test_dtypes_have_pytorchs_numbers():
    schema = pytest.importorskip("torch._export.serde.serialize")
    theirs = {
        str(dtype).rpartition(".")[2]: number.value
        for dtype, number in schema._TORCH_TO_SERIALIZE_DTYPE.items()
    }
    ours = {str(d).rpartition(".")[2]: scalar_type(d) for d in dtypes.NAMES.values()}
    assert ours == {name: theirs[name] for name in ours}


@pytest.mark.parametrize("dtype", NOT_OF_NUMPY, ids=str)
def test_weights_of_few_bits_are_exchanged(dtype, tmp_path):
    torch = pytest.importorskip("torch")
    name = str(dtype).rpartition(".")[2]

    class Theirs(torch.nn.Module):
        def __init__(self):
            super().__init__()
            factors = torch.tensor([[1.0, 2.0, 0.5]]).to(getattr(torch, name))
            self.register_buffer("factors", factors)

        def forward(self, x):
            return x * self.factors.float()

    with warnings.catch_warnings(action="ignore"):
        torch.export.save(torch.export.export(Theirs(), (torch.ones(2, 3),)), tmp_path / "a.pt2")
        save(load(tmp_path / "a.pt2"), tmp_path / "b.pt2")
        found = torch.export.load(tmp_path / "b.pt2")
    assert found.state_dict["factors"].dtype is getattr(torch, name)
    assert found.module()(torch.ones(2, 3)).tolist() == [[1.0, 2.0, 0.5]] * 2
    assert load(tmp_path / "b.pt2").state_dict["factors"].dtype is dtype
