"""The fences around the tests' arrays are there: who crosses one is ended."""

from __future__ import annotations

import pathlib
import signal
import subprocess
import sys

import fences
import pytest

pytestmark = pytest.mark.skipif(not fences.wanted(), reason="no fences here")

BEGIN = f"""
import ctypes, sys
sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
import fences
FENCES = fences.Fences()
import numpy as np
import rushlight
from rushlight.machine import memory, threads, worker_pool
from rushlight.machine.language.functions import array, i64, range_kernel
from rushlight.machine.worker_pool import scratch

@range_kernel
def past_scratch(args, lo, hi, tid):
    room = array(i64, scratch(tid, 256))
    room[0] = 0
    room[31] = 0
    room[32 + lo] = 0

def write(address):
    ctypes.memset(address, 1, 1)
"""
ARRAYS = {
    "numpy": "x = np.empty(3, np.float32); a, n = x.ctypes.data, 12",
    "numpy, zeros": "x = np.zeros(1000); a, n = x.ctypes.data, 8000",
    "tensor": "x = rushlight.ones(3) + 1; a, n = x.data_ptr(), 12",
    "large tensor": "x = rushlight.ones(300, 333) + 1; a, n = x.data_ptr(), 300 * 333 * 4",
    "large zeros": "x = rushlight.zeros(300, 333); a, n = x.data_ptr(), 300 * 333 * 4",
    "kernel's array": "x = memory.empty((64, 256), np.dtype('f4')); a, n = x.ctypes.data, 1 << 16",
}


def ended(tmp_path, text):
    """How a program with fences ends, and what it says."""
    program = tmp_path / "program.py"
    program.write_text(BEGIN + text)
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def test_all_of_an_array_can_be_used(tmp_path):
    uses = (f"{make}\nwrite(a); write(a + n - 1); del x\n" for make in ARRAYS.values())
    text = "taken = FENCES.taken()\n" + "".join(uses)
    assert ended(tmp_path, text + "print(FENCES.taken() - taken >= 6)") == (0, "True\n")


@pytest.mark.parametrize("make", ARRAYS.values(), ids=ARRAYS)
def test_who_writes_behind_an_array_is_ended(tmp_path, make):
    found = ended(tmp_path, f"{make}\nwrite(a + n); del x; print('went on')")
    assert found[0] in (-signal.SIGSEGV, -signal.SIGABRT) and "went on" not in found[1]


@pytest.mark.parametrize("make", ARRAYS.values(), ids=ARRAYS)
def test_who_reads_behind_the_last_cache_line_of_an_array_is_ended(tmp_path, make):
    found = ended(
        tmp_path, f"{make}\nctypes.string_at(a + (n + 63) // 64 * 64, 1)\nprint('went on')"
    )
    assert found == (-signal.SIGSEGV, "")


@pytest.mark.parametrize("make", ARRAYS.values(), ids=ARRAYS)
def test_what_is_written_before_an_array_is_found_when_it_goes(tmp_path, make):
    status, said = ended(tmp_path, f"{make}\nwrite(a - 1); print('wrote', flush=True); del x")
    assert status == -signal.SIGABRT
    assert "byte -1 of a block of" in said and said.startswith("wrote")


def test_freed_memory_cannot_be_used(tmp_path):
    text = "x = rushlight.ones({}) + 1; a = x.data_ptr(); del x; write(a); x = np.empty(3, 'f4')"
    status, said = ended(tmp_path, text.format(3))
    assert status == -signal.SIGABRT and "was written after its end" in said
    assert ended(tmp_path, text.format(1 << 16)) == (-signal.SIGSEGV, "")


def test_new_memory_is_nan(tmp_path):
    text = """
for shape in ((5,), (300, 333)):
    assert rushlight.empty(shape).isnan().all()
    assert np.isnan(np.empty(shape, np.float32)).all()
    assert np.isnan(memory.empty(shape, np.dtype("f4"))).all()
    assert not rushlight.zeros(shape).any() and not memory.zeros(shape, np.dtype("f4")).any()
"""
    assert ended(tmp_path, text) == (0, "")


def test_scratch_of_kernels_ends_at_a_fence(tmp_path):
    text = """
kernel = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)(past_scratch.address())
slot = (ctypes.c_int64 * 8)()
kernel(0, {place}, 0, ctypes.addressof(slot))
print("went on")
"""
    assert ended(tmp_path, text.format(place=-1)) == (0, "went on\n")
    assert ended(tmp_path, text.format(place=0)) == (-signal.SIGSEGV, "")
