"""PyTorch's path to the initial values: ``rushlight.nn.init``."""

from rushlight.nn.initialization import *  # noqa: F403
from rushlight.nn.initialization import (  # noqa: F401
    _calculate_correct_fan,
    _calculate_fan_in_and_fan_out,
)
from rushlight.nn.initialization import normal_ as _no_grad_normal_  # noqa: F401
from rushlight.nn.initialization import trunc_normal_ as _no_grad_trunc_normal_  # noqa: F401
from rushlight.nn.initialization import uniform_ as _no_grad_uniform_  # noqa: F401
