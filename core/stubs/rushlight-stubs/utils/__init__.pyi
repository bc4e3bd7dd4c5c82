# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight.tensor.tensor import Tensor

from rushlight.utils import benchmark as benchmark
from rushlight.utils import checkpoint as checkpoint
from rushlight.utils import collect_env as collect_env
from rushlight.utils import data as data
from rushlight.utils import dlpack as dlpack
from rushlight.utils import flop_counter as flop_counter
from rushlight.utils import hooks as hooks
from rushlight.utils import model_zoo as model_zoo
from rushlight.utils import module_tracker as module_tracker
from rushlight.utils import summary as summary
def swap_tensors(t1: Tensor, t2: Tensor) -> None: ...
from rushlight.utils import tensorboard as tensorboard
