"""Parameters that some ranks divide and others repeat, compared with PyTorch's and gloo, and with
one process."""

from __future__ import annotations

import importlib

import jobs
import pytest

same = importlib.import_module("job").same
CASES = importlib.import_module("job").load(str(jobs.HERE / "fsdp_hybrid_cases.py"))
FILE = "fsdp_hybrid_cases.py"


@pytest.mark.parametrize("name", sorted(set(CASES.CASES) - CASES.OURS))
def test_ranks_get_what_pytorchs_get(name, job_outcomes):
    ours, theirs = (job_outcomes(framework, FILE, 4) for framework in ("rushlight", "torch"))
    for mine, other in zip(ours, theirs, strict=True):
        assert other[name][0] == "value", other[name]
        assert mine[name][0] == "value", mine[name]
        assert same(mine[name][1], other[name][1]), (mine[name], other[name])


def test_training_is_that_of_one_process(job_outcomes):
    for outcome in job_outcomes("rushlight", FILE, 4):
        kind, gaps = outcome["one_process_with_the_whole_batch"][:2]
        assert kind == "value", gaps
        assert max(gaps) <= 1e-6


def test_each_rank_holds_its_share(job_outcomes):
    for rank, outcome in enumerate(job_outcomes("rushlight", FILE, 4)):
        half, everything = outcome["shares"][1]
        assert everything == 1.0
        assert 0.4 < half < 0.6, rank


def test_states_of_optimizers_are_those_of_full_sharding(job_outcomes):
    for outcome in job_outcomes("rushlight", FILE, 4):
        kind, (gaps, count) = outcome["optimizers"][:2]
        assert kind == "value"
        assert max(gaps) <= 1e-6 and count > 200


def test_all_ranks_take_the_states_of_the_first(job_outcomes):
    for outcome in job_outcomes("rushlight", FILE, 4):
        assert outcome["states_of_rank_0"][:2] == ("value", True)


def test_checkpoints_go_to_another_layout(job_outcomes):
    for outcome in job_outcomes("rushlight", FILE, 4):
        assert outcome["checkpoints_go_to_another_layout"][:2] == ("value", 0.0)


def test_ranks_of_a_machine_divide(job_outcomes):
    for outcome in job_outcomes("rushlight", FILE, 4):
        kind, (mesh, size, said) = outcome["rows_of_a_machine"][:2]
        assert (kind, mesh, size) == ("value", [[0, 1], [2, 3]], 2)
        assert "LOCAL_WORLD_SIZE=3 ranks a machine of 4" in said
