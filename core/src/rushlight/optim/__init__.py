"""Optimizers and learning-rate schedulers.

The rarer optimizers and `swa_utils` are imported when they are first named.
"""

import importlib

from rushlight.optim import lr_scheduler
from rushlight.optim.adam import Adam, AdamW
from rushlight.optim.optimizer import Optimizer
from rushlight.optim.sgd import SGD

_RARE = {
    "ASGD": "asgd", "Adadelta": "adadelta", "Adafactor": "adafactor", "Adagrad": "adagrad",
    "Adamax": "adamax", "LBFGS": "lbfgs", "Muon": "muon", "NAdam": "nadam", "RAdam": "radam",
    "RMSprop": "rmsprop", "Rprop": "rprop", "SparseAdam": "sparse_adam",
}  # fmt: skip

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
]


def __getattr__(name):
    if name == "swa_utils":
        return importlib.import_module("rushlight.optim.swa_utils")
    if name not in _RARE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"rushlight.optim.{_RARE[name]}"), name)
    globals()[name] = found
    return found


def __dir__():
    return sorted({*globals(), *__all__})
