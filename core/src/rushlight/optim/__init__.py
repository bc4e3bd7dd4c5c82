"""Optimizers and learning-rate schedulers; each module is imported when it is first named."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from rushlight.listings import list_on_demand

if TYPE_CHECKING:
    from rushlight.optim import lr_scheduler, swa_utils
    from rushlight.optim.adadelta import Adadelta
    from rushlight.optim.adafactor import Adafactor
    from rushlight.optim.adagrad import Adagrad
    from rushlight.optim.adam import Adam, AdamW
    from rushlight.optim.adamax import Adamax
    from rushlight.optim.asgd import ASGD
    from rushlight.optim.lbfgs import LBFGS
    from rushlight.optim.muon import Muon
    from rushlight.optim.nadam import NAdam
    from rushlight.optim.optimizer import Optimizer
    from rushlight.optim.radam import RAdam
    from rushlight.optim.rmsprop import RMSprop
    from rushlight.optim.rprop import Rprop
    from rushlight.optim.sgd import SGD
    from rushlight.optim.sparse_adam import SparseAdam
    from rushlight.optim.swap import swap_in_optimizer_params_and_state

# the file of every class, where it is not the class's name
_FILES = {
    "AdamW": "adam",
    "SparseAdam": "sparse_adam",
    "swap_in_optimizer_params_and_state": "swap",
}

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "swa_utils",
    "swap_in_optimizer_params_and_state",
]


def __getattr__(name):
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_FILES.get(name, name.lower())}")
    found = getattr(module, name, module)
    globals()[name] = found
    return found


def __dir__():
    return sorted({*globals(), *__all__})


list_on_demand(__name__)
