"""Checkpoints with complex32: to PyTorch and from PyTorch."""

from __future__ import annotations

import io

import pytest

import rushlight
from rushlight.serialization import safetensors

torch = pytest.importorskip("torch")


def _saved(home, content, **options):
    file = io.BytesIO()
    home.save(content, file, **options)
    file.seek(0)
    return file


def _content(home):
    whole = home.tensor([[1 + 2j, 2, 4e4j], [7, 1 / 3, -1j]], dtype=home.complex32)
    return {
        "whole": whole, "turned": whole.T, "part": whole[:, 1:], "dtype": home.complex32,
        "empty": home.empty(0, dtype=home.complex32), "float": home.ones(2),
        "number": home.tensor(3j, dtype=home.complex32),
    }  # fmt: skip


def _check(found, home):
    assert found["dtype"] is home.complex32
    for key, value in _content(home).items():
        if key != "dtype":
            assert found[key].dtype is value.dtype
            assert found[key].tolist() == value.tolist()
            assert found[key].stride() == value.stride()
    for key in ("turned", "part"):
        shared = (
            found[key].untyped_storage().data_ptr() == found["whole"].untyped_storage().data_ptr()
        )
        assert shared, f"{key} shares its memory"


def test_ours_read_by_both():
    file = _saved(rushlight, _content(rushlight))
    _check(torch.load(file), torch)
    file.seek(0)
    _check(rushlight.load(file), rushlight)


def test_theirs_read_by_us():
    _check(rushlight.load(_saved(torch, _content(torch))), rushlight)


def test_our_older_format():
    file = _saved(rushlight, _content(rushlight), _use_new_zipfile_serialization=False)
    _check(rushlight.load(file), rushlight)


def test_parameters():
    module = rushlight.nn.Module()
    module.gain = rushlight.nn.Parameter(rushlight.tensor([1 + 2j, 3], dtype=rushlight.complex32))
    found = torch.load(_saved(rushlight, module.state_dict()))
    assert found["gain"].dtype is torch.complex32
    with rushlight.no_grad():
        module.gain.zero_()
    module.load_state_dict(rushlight.load(_saved(torch, found)))
    assert module.gain.tolist() == [1 + 2j, 3]


def test_safetensors_has_no_code_for_it():
    with pytest.raises(ValueError, match="complex32"):
        safetensors.save({"x": rushlight.ones(2, dtype=rushlight.complex32)})
