# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from rushlight._words import _str
from rushlight.optim.optimizer import Optimizer
from rushlight.tensor.tensor import Tensor
from typing import Any

def swap_in_optimizer_params_and_state(optimizer: Optimizer, swapin_parameters: Mapping[_str, Tensor], swapin_optim_state: dict[_str, Any]) -> AbstractContextManager[None]: ...
