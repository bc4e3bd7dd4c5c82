# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight.optim.optimizer import Optimizer
from typing import Any

def swap_in_optimizer_params_and_state(optimizer: Optimizer, swapin_parameters: Any, swapin_optim_state: Any) -> Any: ...
