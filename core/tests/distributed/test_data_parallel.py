"""Training by several processes, compared with PyTorch and gloo, and with one process."""

from __future__ import annotations

import importlib

import jobs
import pytest

import rushlight

same = importlib.import_module("job").same
CASES = importlib.import_module("job").load(str(jobs.HERE / "ddp_cases.py"))
SHARED = sorted(set(CASES.CASES) - CASES.OURS)
WHOLE = sorted(name for name in CASES.OURS if name.startswith("whole_batch"))


@pytest.mark.parametrize("name", SHARED)
def test_ranks_train_as_pytorchs_do(name, job_outcomes):
    ours = job_outcomes("rushlight", "ddp_cases.py", 2)
    theirs = job_outcomes("torch", "ddp_cases.py", 2)
    for mine, other in zip(ours, theirs, strict=True):
        assert other[name][0] == "value", other[name]
        assert mine[name][0] == "value", mine[name]
        assert same(mine[name][1], other[name][1]), (mine[name], other[name])


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("name", WHOLE)
def test_fifty_steps_of_all_ranks_are_those_of_one_process(name, size, job_outcomes):
    found = job_outcomes("rushlight", "ddp_cases.py", size)
    for outcome in found:
        assert outcome[name][0] == "value", outcome[name]
        assert outcome[name][1] <= 1e-6


def test_ranks_have_the_same_parameters(job_outcomes):
    found = job_outcomes("rushlight", "ddp_cases.py", 4)
    for name in ("plain", "small_buckets", "bucket_views", "uneven_batches", "zero_redundancy"):
        last = [outcome[name][1] for outcome in found]
        if name in ("bucket_views", "zero_redundancy"):
            last = [each[-1] for each in last]
        assert last[0] == last[1] == last[2] == last[3]


def test_bfloat16_gradients_are_nearly_the_gradients(job_outcomes):
    (found, _) = job_outcomes("rushlight", "ddp_cases.py", 2)
    rounded, full = found["hook_bf16"][1], found["hook_allreduce"][1]
    for one, other in zip(rounded, full, strict=True):
        one, other = rushlight.tensor(one[3]), rushlight.tensor(other[3])
        assert not rushlight.equal(one, other)
        assert rushlight.allclose(one, other, rtol=0, atol=2e-3)


def test_each_rank_keeps_its_share_of_the_states(job_outcomes):
    found = job_outcomes("rushlight", "ddp_cases.py", 2)
    shares = [sum(outcome["zero_redundancy"][1][0]) for outcome in found]
    assert sum(shares) == 6 * 8 + 8 + 8 * 3 + 3
    assert max(shares) < 0.65 * sum(shares)


def test_sparse_gradients_and_devices_are_refused_by_name():
    dist = rushlight.distributed
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        wrap = rushlight.nn.parallel.DistributedDataParallel
        for devices, words in (([0], "parameters on .'cpu'"), ([0, 1], "a single element")):
            with pytest.raises(ValueError, match=words):
                wrap(rushlight.nn.Linear(1, 1), device_ids=devices)
        with pytest.raises(ValueError, match="needs device_ids"):
            wrap(rushlight.nn.Linear(1, 1), output_device=0)
        model = wrap(rushlight.nn.Embedding(3, 2, sparse=True))
        with pytest.raises(NotImplementedError, match="sparse=False"):
            model(rushlight.tensor([1])).sum().backward()
    finally:
        dist.destroy_process_group()


def test_without_a_group_there_is_no_data_parallel():
    with pytest.raises(ValueError, match="init_process_group"):
        rushlight.nn.parallel.DistributedDataParallel(rushlight.nn.Linear(1, 1))


def test_final_callbacks_run_at_the_end_of_the_outermost_backward():
    from rushlight.autograd import engine

    seen = []
    x = rushlight.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda grad: engine.queue_callback(lambda: seen.append(x.grad.tolist())))
    y.sum().backward()
    assert seen == [[2.0, 2.0]]
    with pytest.raises(RuntimeError, match="only be installed during backward"):
        engine.queue_callback(print)
