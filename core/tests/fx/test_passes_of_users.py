"""Passes of users' kinds beside PyTorch: the same code, the same values."""

import sys
from pathlib import Path

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

from passes_of_users import PASSES  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # PyTorch's own
]


def same(found, expected):
    if isinstance(expected, torch.Tensor):
        np.testing.assert_allclose(
            found.detach().numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6
        )
    elif isinstance(expected, tuple | list):
        for pair in zip(found, expected, strict=True):
            same(*pair)
    elif isinstance(expected, str):
        assert found.replace("rushlight.", "torch.") == expected
    else:
        assert found == expected


@pytest.mark.parametrize("rewritten", PASSES, ids=lambda function: function.__name__)
def test_code_and_values(rewritten):
    with torch.no_grad(), rushlight.no_grad():
        same(rewritten(rushlight), rewritten(torch))
