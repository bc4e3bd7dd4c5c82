"""Checkpoints with uint16, uint32 and uint64: to PyTorch, from PyTorch, and as safetensors."""

from __future__ import annotations

import io

import pytest

import rushlight
from rushlight.serialization import safetensors

torch = pytest.importorskip("torch")

UNSIGNED = ("uint16", "uint32", "uint64")


def _saved(home, content, **options):
    file = io.BytesIO()
    home.save(content, file, **options)
    file.seek(0)
    return file


def _content(home, name):
    dtype = getattr(home, name)
    whole = home.tensor([[1, 2, 40000], [7, 8, 65535]], dtype=dtype)
    return {
        "whole": whole, "turned": whole.T, "part": whole[:, 1:], "dtype": dtype,
        "empty": home.empty(0, dtype=dtype), "number": home.tensor(3, dtype=dtype),
        "float": home.ones(2), "bytes": whole.view(home.uint8),
    }  # fmt: skip


def _check(found, home, name):
    expected = _content(home, name)
    assert found["dtype"] is getattr(home, name)
    for key, value in expected.items():
        if key != "dtype":
            assert found[key].dtype is value.dtype
            assert found[key].tolist() == value.tolist()
            assert found[key].stride() == value.stride()
    for key in ("turned", "part"):
        shared = (
            found[key].untyped_storage().data_ptr() == found["whole"].untyped_storage().data_ptr()
        )
        assert shared, f"{key} shares its memory"


@pytest.mark.parametrize("name", UNSIGNED)
def test_ours_read_by_both(name):
    file = _saved(rushlight, _content(rushlight, name))
    _check(torch.load(file), torch, name)
    file.seek(0)
    _check(rushlight.load(file), rushlight, name)


@pytest.mark.parametrize("name", UNSIGNED)
@pytest.mark.parametrize("zipped", [True, False])
def test_theirs_read_by_us(name, zipped):
    file = _saved(torch, _content(torch, name), _use_new_zipfile_serialization=zipped)
    _check(rushlight.load(file), rushlight, name)


@pytest.mark.parametrize("name", UNSIGNED)
def test_parameters_and_buffers(name):
    module = rushlight.nn.Module()
    module.register_buffer("codes", rushlight.tensor([1, 65535], dtype=getattr(rushlight, name)))
    found = torch.load(_saved(rushlight, module.state_dict()))
    assert found["codes"].dtype is getattr(torch, name)
    assert found["codes"].tolist() == [1, 65535]
    module.codes.zero_()
    module.load_state_dict(rushlight.load(_saved(torch, found)))
    assert module.codes.tolist() == [1, 65535]


@pytest.mark.parametrize("name", UNSIGNED)
def test_safetensors(name):
    theirs = pytest.importorskip("safetensors.torch")
    content = {"x": rushlight.tensor([[1, 40000]], dtype=getattr(rushlight, name))}
    found = theirs.load(safetensors.save(content))["x"]
    assert found.dtype is getattr(torch, name)
    assert found.tolist() == [[1, 40000]]
    back = safetensors.load(theirs.save({"x": found}))["x"]
    assert back.dtype is getattr(rushlight, name)
    assert back.tolist() == [[1, 40000]]
