"""Importing the package loads no sound library: that waits for the first file."""

import subprocess
import sys


def test_import_is_light():
    code = (
        "import sys, rushlight_audio\n"
        "heavy = {'soundfile', 'numba', 'llvmlite', 'scipy', 'torch'} & set(sys.modules)\n"
        "print(sorted(heavy))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
