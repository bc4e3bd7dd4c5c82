"""Code that is linked while large memory lies between its parts: addresses take 64 bits."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import mmap
import rushlight

held, x = [], rushlight.rand(16)
names = "sin cos tan exp log sqrt tanh erf sigmoid atan asin acos sinh cosh log1p expm1".split()
for number, name in enumerate(names):  # linking falls between reservations, some given back
    room = mmap.mmap(-1, 5 << 30)
    function = getattr(rushlight, name)
    function(x)
    if number % 3:
        held.append(room)
    else:
        room.close()
    function(x.double())
    y = rushlight.rand(4, requires_grad=True)
    function(y).sum().backward()
print("linked")
"""


def test_linking_between_large_reservations(tmp_path, monkeypatch):
    """Sections of one object may lie more than 2 GB apart. (Reserved, not used: no memory.)"""
    monkeypatch.setenv("RUSHLIGHT_CACHE_DIR", str(tmp_path))
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "linked\n"), done.stderr
