# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight.distributions.folded import Folded
from typing import Any

class HalfCauchy(Folded):
    @property
    def mean(self) -> Any: ...
    @property
    def variance(self) -> Any: ...
    def log_prob(self, value: Any) -> Any: ...
