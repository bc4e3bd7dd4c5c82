"""Libraries written against the array API standard take tensors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import rushlight

PROGRAM = Path(__file__).with_name("dispatching_program.py")


@pytest.mark.parametrize("library", ["scipy", "sklearn"])
def test_library_takes_tensors(library):
    pytest.importorskip(library)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(PROGRAM), library],
        env={**os.environ, "SCIPY_ARRAY_API": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.strip() == "OK", done.stderr[-2000:]


def test_array_api_compat_takes_tensors():
    compat = pytest.importorskip("array_api_compat")
    x = rushlight.arange(6.0).reshape(2, 3)
    assert compat.is_array_api_obj(x) and not compat.is_torch_array(x)
    assert compat.array_namespace(x, 1.0) is rushlight.array_api
    assert compat.size(x) == 6
    assert compat.to_device(x, compat.device(x)).shape == (2, 3)
