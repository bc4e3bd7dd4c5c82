"""Importing the package loads no tokenizer library: that waits for the first use."""

import subprocess
import sys


def test_import_is_light():
    code = (
        "import sys, rushlight_text\n"
        "heavy = {'tokenizers', 'numba', 'llvmlite', 'scipy', 'torch'} & set(sys.modules)\n"
        "print(sorted(heavy))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_modules_come_at_their_first_use():
    code = (
        "import sys, rushlight_text\n"
        "late = {'rushlight_text.models', 'rushlight_text.datasets', 'rushlight_text.legacy'}\n"
        "print(sorted(late & set(sys.modules)))\n"
        "print(len(rushlight_text.datasets.DATASETS), 'zoo' in dir(rushlight_text))\n"
        "try:\n    rushlight_text.nothing\nexcept AttributeError as error:\n    print(error)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.splitlines() == [
        "[]",
        "31 True",
        "module 'rushlight_text' has no attribute 'nothing'",
    ]
