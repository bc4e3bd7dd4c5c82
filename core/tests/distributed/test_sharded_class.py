"""FullyShardedDataParallel, compared with PyTorch's and gloo, and with one process."""

from __future__ import annotations

import functools
import importlib

import jobs
import pytest

import rushlight
from rushlight import nn
from rushlight.distributed import fsdp
from rushlight.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    CheckpointImpl,
    apply_activation_checkpointing,
    checkpoint_wrapper,
    offload_wrapper,
)
from rushlight.distributed.fsdp import FullyShardedDataParallel, wrap

same = importlib.import_module("job").same
CASES = importlib.import_module("job").load(str(jobs.HERE / "fsdp_class_cases.py"))
FILE = "fsdp_class_cases.py"


@pytest.mark.parametrize("name", sorted(set(CASES.CASES) - CASES.OURS))
def test_ranks_get_what_pytorchs_get(name, job_outcomes):
    ours, theirs = (job_outcomes(framework, FILE, 2) for framework in ("rushlight", "torch"))
    for mine, other in zip(ours, theirs, strict=True):
        assert other[name][0] == "value", other[name]
        assert mine[name][0] == "value", mine[name]
        assert same(mine[name][1], other[name][1]), (mine[name], other[name])


@pytest.mark.parametrize("size", [2, 4])
def test_training_is_that_of_one_process(size, job_outcomes):
    for outcome in job_outcomes("rushlight", FILE, size):
        kind, gaps = outcome["one_process_with_the_whole_batch"][:2]
        assert kind == "value", gaps
        assert max(gaps) <= 1e-6


@pytest.mark.parametrize("name", sorted(CASES.CASES))
def test_four_ranks_end_every_case(name, job_outcomes):
    found = job_outcomes("rushlight", FILE, 4)
    assert [outcome[name][0] for outcome in found] == ["value"] * 4, found[0][name]


@pytest.mark.parametrize("size", [2, 4])
def test_optimizers_states(size, job_outcomes):
    for rank, outcome in enumerate(job_outcomes("rushlight", FILE, size)):
        gap, numbers, equal_names, ends, listed, equal_groups = outcome["optimizers_states"][1]
        assert gap <= 1e-6
        assert equal_names and equal_groups
        assert numbers == listed == list(range(8))
        assert ends == [0.0, 0.0]
        (weights, state), difference = outcome["on_one_rank"][1]
        assert len(weights) == (0 if rank else 8)
        assert state == ([] if rank else ["param_groups", "state"])
        assert difference == 0.0


def test_rank_0_comes_first(job_outcomes):
    first, second = job_outcomes("rushlight", FILE, 2)
    assert first["rank_0_first"] == second["rank_0_first"]


def test_each_rank_holds_its_share_alone(job_outcomes):
    for outcome in job_outcomes("rushlight", FILE, 4):
        left, parameters, everything = outcome["memory"][1]
        assert left == 0
        assert parameters <= 0.26 and everything <= 0.3


@pytest.fixture
def one_rank():
    dist = rushlight.distributed
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def test_what_is_not_there_is_refused_by_name(one_rank):
    kind = FullyShardedDataParallel
    with pytest.raises(NotImplementedError, match="keep_low_precision_grads"):
        kind(nn.Linear(2, 2), mixed_precision=fsdp.MixedPrecision(keep_low_precision_grads=True))
    with pytest.raises(NotImplementedError, match="pass one of 1, or a hybrid strategy"):
        mesh = rushlight.distributed.init_device_mesh("cpu", (1, 1))
        kind(nn.Linear(2, 2), device_mesh=mesh)
    model = kind(nn.Linear(2, 2))
    with pytest.raises(NotImplementedError, match="register_comm_hook is not available; use"):
        model.register_comm_hook(None, print)
    with pytest.raises(NotImplementedError, match="writeback=True and rank0_only=True"):
        kind.summon_full_params(model, rank0_only=True)
    with pytest.raises(NotImplementedError, match="pass optim="):
        kind.shard_full_optim_state_dict({}, model)


def test_arguments_that_do_not_fit_are_named(one_rank):
    kind = FullyShardedDataParallel
    with pytest.raises(ValueError, match="a pair of groups is for hybrid sharding"):
        kind(nn.Linear(2, 2), process_group=(None, None))
    with pytest.raises(ValueError, match="both ignored_modules and ignored_states"):
        kind(nn.Linear(2, 2), ignored_modules=[], ignored_states=[])
    with pytest.raises(
        TypeError, match="ignored_modules and ignored_states hold modules .* got int"
    ):
        kind(nn.Linear(2, 2), ignored_states=[3])
    with pytest.raises(ValueError, match="sharded modules inside already"):
        policy = wrap.ModuleWrapPolicy({nn.Linear})
        kind(nn.Sequential(kind(nn.Linear(2, 2))), auto_wrap_policy=policy)
    model = kind(nn.Linear(2, 2))
    with pytest.raises(RuntimeError, match="Expected .*FullStateDictConfig.* but got"):
        kind.set_state_dict_type(
            model, fsdp.StateDictType.FULL_STATE_DICT, fsdp.ShardedStateDictConfig()
        )
    policy = wrap.CustomPolicy(lambda module: "yes")
    with pytest.raises(ValueError, match="should return False/True or a kwarg dict, .* yes"):
        kind(nn.Sequential(nn.Linear(2, 2)), auto_wrap_policy=policy)
    with rushlight.device("meta"):
        bare = nn.Module()
        bare.weight = nn.Parameter(rushlight.ones(2, 2))
    with pytest.raises(ValueError, match="no reset_parameters\\(\\); pass param_init_fn"):
        kind(bare)


def test_flat_parameters_that_do_not_fit_are_refused(one_rank):
    kind, local = FullyShardedDataParallel, fsdp.StateDictType.LOCAL_STATE_DICT
    model = kind(nn.Linear(2, 2))
    kind.set_state_dict_type(model, local)
    assert isinstance(kind.get_state_dict_type(model).state_dict_config, fsdp.LocalStateDictConfig)
    with pytest.raises(RuntimeError, match="'_flat_param' is missing, which .*LOCAL_STATE_DICT"):
        model.load_state_dict({"weight": rushlight.ones(2, 2), "bias": rushlight.ones(2)})
    with pytest.raises(RuntimeError, match=r"a DTensor of shape \(6,\), got Tensor of shape \(5,"):
        model.load_state_dict({"_flat_param": rushlight.ones(5)})
    whole = kind(nn.Linear(2, 2), sharding_strategy=fsdp.ShardingStrategy.NO_SHARD)
    kind.set_state_dict_type(whole, local)
    with pytest.raises(RuntimeError, match="not of ShardingStrategy.NO_SHARD; use FULL_STATE_DICT"):
        whole.state_dict()
    mixed = kind(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2).double()))
    kind.set_state_dict_type(mixed, local)
    with pytest.raises(ValueError, match="of a unit have one dtype, got .*float32.*float64"):
        mixed.state_dict()


def test_shared_parameters_are_flattened_once(one_rank):
    model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    model[1].weight = model[0].weight
    kind = FullyShardedDataParallel
    model = kind(model)
    with kind.state_dict_type(model, fsdp.StateDictType.LOCAL_STATE_DICT):
        found = model.state_dict()
        assert list(found) == ["_flat_param"] and found["_flat_param"].shape == (4,)
        before = found["_flat_param"].to_local().clone()
        with rushlight.no_grad():
            next(model.parameters()).zero_()
        assert rushlight.equal(found["_flat_param"].to_local(), before)  # a copy
        model.load_state_dict(found)
    assert rushlight.equal(model.state_dict()["1.weight"].reshape(-1), before)


def test_ignored_parameters_stay_whole(one_rank):
    inner = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2))
    model = FullyShardedDataParallel(inner, ignored_modules=[inner[1]])
    kinds = [hasattr(p, "to_local") for p in model.parameters()]
    assert kinds == [True, True, False, False]
    model(rushlight.ones(1, 2)).sum().backward()
    assert all(p.grad is not None for p in model.parameters())


def test_attributes_and_items_are_those_of_the_module(one_rank):
    model = FullyShardedDataParallel(nn.Sequential(nn.Linear(2, 3), nn.Tanh()))
    assert model[1] is model.module[1]
    assert model.check_is_root()
    assert FullyShardedDataParallel(nn.Linear(2, 3)).in_features == 2
    with pytest.raises(AttributeError, match="widths"):
        model.widths  # noqa: B018


def deep():
    return nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.Tanh(), nn.Linear(4, 2)))


@pytest.mark.parametrize("implementation", CheckpointImpl)
def test_checkpointed_modules_give_the_same(implementation):
    rushlight.manual_seed(0)
    plain, x = deep(), rushlight.randn(5, 3)
    states = plain.state_dict()
    model = deep()
    apply_activation_checkpointing(
        model,
        checkpoint_wrapper_fn=functools.partial(checkpoint_wrapper, checkpoint_impl=implementation),
        check_fn=lambda module: isinstance(module, nn.Linear),
    )
    model.load_state_dict(states)
    assert list(model.state_dict()) == list(states)
    assert type(model[1][1]).__name__ == "CheckpointWrapper"
    assert model[1][1].out_features == 2
    x.requires_grad_()
    for each in (plain, model):
        each(x).square().sum().backward()
    for a, b in zip(plain.parameters(), model.parameters(), strict=True):
        rushlight.testing.assert_close(a.grad, b.grad)


def test_a_policy_chooses_what_is_checkpointed():
    model = deep()
    apply_activation_checkpointing(model, auto_wrap_policy=wrap.ModuleWrapPolicy({nn.Sequential}))
    assert [type(m).__name__ for m in model] == ["Linear", "CheckpointWrapper"]


def test_offloaded_activations_give_the_same():
    layer = nn.Linear(3, 4)
    offloaded, x = offload_wrapper(layer), rushlight.randn(2, 3, requires_grad=True)
    (found,) = rushlight.autograd.grad(offloaded(x).square().sum(), x)
    (expected,) = rushlight.autograd.grad(layer(x).square().sum(), x)
    assert rushlight.equal(found, expected)
    assert list(offloaded.state_dict()) == ["weight", "bias"]


def test_what_the_policy_of_sizes_leaves_out():
    """Programs add to PyTorch's sets."""
    by_size = wrap.size_based_auto_wrap_policy
    assert by_size.EXCLUDE_WRAP_MODULES == {nn.ModuleList, nn.ModuleDict}
    assert by_size.FORCE_LEAF_MODULES == {nn.MultiheadAttention}
    asked = {"recurse": True, "nonwrapped_numel": 10, "min_num_params": 5}
    assert by_size(nn.Linear(1, 1), **asked)
    assert not by_size(nn.MultiheadAttention(2, 1), **asked)
