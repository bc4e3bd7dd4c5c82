# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Callable
from rushlight.distributions.distribution import Distribution
from rushlight.tensor.tensor import Tensor
from typing import Any

def kl_divergence(p: Distribution, q: Distribution) -> Tensor: ...
def register_kl(type_p: type[Distribution], type_q: type[Distribution]) -> Callable[..., Any]: ...
