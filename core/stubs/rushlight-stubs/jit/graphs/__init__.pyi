# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations



