"""Collectives and messages of several processes, compared with PyTorch and gloo."""

from __future__ import annotations

import importlib

import jobs
import pytest

from rushlight import distributed as dist

CASES = importlib.import_module("job").load(str(jobs.HERE / "collective_cases.py"))
NAMES = sorted(CASES.CASES)
SIZE = 2


@pytest.mark.parametrize("name", NAMES)
def test_ranks_get_what_pytorchs_get(name, job_outcomes):
    ours = job_outcomes("rushlight", "collective_cases.py", SIZE)
    theirs = job_outcomes("torch", "collective_cases.py", SIZE)
    for rank in range(SIZE):
        mine, other = ours[rank][name], theirs[rank][name]
        if other[0] == "error" and "gloo refuses" in other[2]:
            continue  # gloo does not take it; the test below tells what is right
        if other[0] == "error":
            assert mine[0] == "error", mine
            named = ("ValueError", "TypeError", "RuntimeError")
            kinds = {kind for kind in other[1] if kind in named}
            # gloo's RuntimeErrors about arguments are ValueErrors here, too.
            assert kinds & set(mine[1]) or kinds == {"RuntimeError"} and "ValueError" in mine[1]
        else:
            assert mine == other


@pytest.mark.parametrize("dtype", CASES.DTYPES)
@pytest.mark.parametrize("op", CASES.OPS)
def test_reductions_of_four_ranks_are_those_of_the_stacked_tensors(dtype, op, job_outcomes):
    torch = pytest.importorskip("torch")
    found = job_outcomes("rushlight", "collective_cases.py", 4)
    rows = [CASES.values(torch, rank, dtype) for rank in range(4)]
    inexact = rows[0].is_floating_point() or rows[0].is_complex()
    refuses = op[0] == "B" and inexact or op == "AVG" and not inexact
    refuses = refuses or op in ("PRODUCT", "MIN", "MAX") and rows[0].is_complex()
    for rank in range(4):
        kind, *rest = found[rank][f"all_reduce_{dtype}_{op}"]
        if refuses:
            assert kind == "error", rest
            continue
        assert kind == "value", rest
        wide = torch.complex128 if rows[0].is_complex() else torch.float64 if inexact else None
        wide = torch.int64 if wide is None and dtype != "bool" else wide or torch.bool
        stacked = torch.stack([row.to(wide) for row in rows])
        assert rest[0][3] == _reduced(torch, op, stacked).tolist()


def _reduced(torch, op, stacked):
    if stacked.dtype is torch.bool:
        fold = {"SUM": torch.any, "MAX": torch.any, "BOR": torch.any}.get(op)
        return (fold or torch.all)(stacked, 0) if op != "BXOR" else stacked.sum(0) % 2 == 1
    if op in ("SUM", "AVG"):
        return stacked.sum(0) / (4 if op == "AVG" else 1) if op == "AVG" else stacked.sum(0)
    if op in ("MIN", "MAX"):
        return getattr(torch, "a" + op.lower())(stacked, 0)
    if op == "PRODUCT":
        return stacked.prod(0)
    name = {"BAND": "bitwise_and", "BOR": "bitwise_or", "BXOR": "bitwise_xor"}[op]
    total = stacked[0]
    for row in stacked[1:]:
        total = getattr(torch, name)(total, row)
    return total


@pytest.mark.parametrize(
    "name", [name for name in NAMES if not name.startswith(("all_reduce_", "refused_"))]
)
def test_four_ranks_end_every_case(name, job_outcomes):
    found = job_outcomes("rushlight", "collective_cases.py", 4)
    assert [outcome[name][0] for outcome in found] == ["value"] * 4


def test_errors_say_what_was_expected(job_outcomes):
    found = job_outcomes("rushlight", "collective_cases.py", SIZE)[0]
    assert "invalid src rank 5; the group's ranks are [0, 1]" in found["refused_root"][2]
    assert "Expected parameter `tensor`" in found["refused_no_tensor"][2]
    assert "should be within the world_size" in found["refused_group_rank"][2]


def test_without_a_group_there_is_no_rank():
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        dist.get_rank()
    assert not dist.is_initialized()
