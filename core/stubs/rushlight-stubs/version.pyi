# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _str

cuda: None
debug: _bool
git_version: _str
hip: None
xpu: None
