"""The names and signatures of ``torch.distributed``, from PyTorch itself."""

from __future__ import annotations

import importlib
import inspect

import pytest

from rushlight.refusals import Refused

# What is PyTorch's machinery of building and logging, and modules that it happens to import.
MACHINERY = frozenset(
    "AllToAllOptions AllreduceCoalescedOptions AllreduceOptions BackendConfig BarrierOptions "
    "BroadcastOptions BuiltinCommHookType GatherOptions GroupName Logger ProcessGroupGloo RankType "
    "BroadcastingTorchSaveReader DynamicMetaLoadPlanner "
    "ReduceOptions ReduceScatterOptions Reducer ScatterOptions autograd breakpoint c10d_logger "
    "config log logging logging_handlers record_comm remote_device rpc shrink_group sys timedelta "
    "torch traceback typing utils".split()
)
MODULES = (
    "distributed", "distributed.nn.functional", "distributed.device_mesh",
    "distributed.checkpoint.state_dict", "distributed.checkpoint.format_utils",
    "distributed.algorithms.ddp_comm_hooks.default_hooks", "futures",
)  # fmt: skip


def _public(module):
    names = getattr(module, "__all__", None) or dir(module)
    return [name for name in names if not name.startswith("_")]


def _parameters(function):
    try:
        return [name for name in inspect.signature(function).parameters if not name.startswith("_")]
    except (TypeError, ValueError):
        return None


@pytest.mark.filterwarnings("ignore:.*reduce_op. is deprecated:FutureWarning")
@pytest.mark.parametrize("path", MODULES)
def test_functions_have_pytorchs_names_and_parameters(path):
    pytest.importorskip("torch")
    theirs = importlib.import_module("torch." + path)
    ours = importlib.import_module("rushlight." + path)
    missing, different = [], []
    for name in _public(theirs):
        item = getattr(theirs, name)
        home = getattr(item, "__module__", "") or ""
        if name in MACHINERY or inspect.ismodule(item) or not home.startswith("torch."):
            continue
        if path != "distributed" and home != theirs.__name__:
            continue  # imported there, and no part of it
        found = getattr(ours, name, None)
        if found is None or isinstance(found, Refused):
            missing.append(name)
        elif inspect.isfunction(item) and _parameters(item) != _parameters(found):
            different.append((name, _parameters(item), _parameters(found)))
    assert not missing
    assert not different


@pytest.mark.parametrize("name", sorted(MACHINERY - {"sys", "torch", "typing", "logging"}))
def test_machinery_refuses_when_it_is_used(name):
    dist = importlib.import_module("rushlight.distributed")
    found = getattr(dist, name)
    assert isinstance(found, Refused) or inspect.ismodule(found)
