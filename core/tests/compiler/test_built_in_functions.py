"""Built-in functions over machine code outlive whatever made them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from rushlight.machine import native_functions as llvm_door

pytestmark = pytest.mark.skipif(
    not llvm_door.is_available(), reason="this interpreter has other object headers"
)
CODE = """
import gc, numpy
from rushlight.machine import built_in_functions
from rushlight.machine.native_functions import doors
name = bytes(bytearray(b"probe"))
functions = [built_in_functions.built_in(name, doors().fast_address, numpy.zeros(9, numpy.int64))]
del name
built_in_functions._definition.cache_clear()
gc.collect()
print(functions[0].__name__)
functions.clear()
print("gone")
"""


def test_definitions_are_never_freed():
    """As at the end of a process, where modules may go first; freed memory is overwritten."""
    environment = {**os.environ, "PYTHONMALLOC": "debug"}
    found = subprocess.run([sys.executable, "-c", CODE], env=environment, capture_output=True)
    assert found.returncode == 0 and found.stdout.split() == [b"probe", b"gone"]
