# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight.distributions.distribution import Distribution
from typing import Any

class ExponentialFamily(Distribution):
    def entropy(self) -> Any: ...
