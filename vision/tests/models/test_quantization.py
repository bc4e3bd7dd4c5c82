"""Quantized networks refuse, and say what to use."""

from __future__ import annotations

import pytest

from rushlight_vision import models
from rushlight_vision.models import quantization


@pytest.mark.parametrize("name", quantization.__all__)
def test_names_refuse(name):
    refused = getattr(quantization, name)
    with pytest.raises(NotImplementedError, match=r"use models\.(\w+)") as caught:
        refused()
    instead = str(caught.value).split("use models.")[1].split(",")[0]
    assert hasattr(models, instead)
    with pytest.raises(NotImplementedError, match=f"models.quantization.{name}"):
        _ = refused.DEFAULT


def test_all_names_are_there():
    assert len(quantization.__all__) == 30
