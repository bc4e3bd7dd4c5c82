# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from rushlight._words import _str
from rushlight.tensor.tensor import Tensor
from typing import Any

from rushlight.optim.asgd import ASGD as ASGD
from rushlight.optim.adadelta import Adadelta as Adadelta
from rushlight.optim.adafactor import Adafactor as Adafactor
from rushlight.optim.adagrad import Adagrad as Adagrad
from rushlight.optim.adam import Adam as Adam
from rushlight.optim.adam import AdamW as AdamW
from rushlight.optim.adamax import Adamax as Adamax
from rushlight.optim.lbfgs import LBFGS as LBFGS
from rushlight.optim.muon import Muon as Muon
from rushlight.optim.nadam import NAdam as NAdam
from rushlight.optim.optimizer import Optimizer as Optimizer
from rushlight.optim.radam import RAdam as RAdam
from rushlight.optim.rmsprop import RMSprop as RMSprop
from rushlight.optim.rprop import Rprop as Rprop
from rushlight.optim.sgd import SGD as SGD
from rushlight.optim.sparse_adam import SparseAdam as SparseAdam
from rushlight.optim import lr_scheduler as lr_scheduler
from rushlight.optim import swa_utils as swa_utils
def swap_in_optimizer_params_and_state(optimizer: Optimizer, swapin_parameters: Mapping[_str, Tensor], swapin_optim_state: dict[_str, Any]) -> AbstractContextManager[None]: ...
