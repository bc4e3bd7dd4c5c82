"""Training in several processes: started in every way, against one process."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from several_processes import LIMIT, check_close, environment, flat

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None, reason="several processes need rushlight[mpi]"
)
PROGRAM = Path(__file__).with_name("strategy_program.py")


def start(folder, strategy: str, devices: int, kind: str, *launcher: str):
    """What a run of the program gave: exit code, output, errors."""
    line = [sys.executable, *launcher, PROGRAM, strategy, devices, folder, kind]
    return subprocess.run(
        list(map(str, line)), env=environment(), capture_output=True, text=True, timeout=LIMIT
    )


def result(folder, strategy: str, devices: int, kind: str, *launcher: str):
    """What the first process of a run found."""
    ended = start(folder, strategy, devices, kind, *launcher)
    assert ended.returncode == 0, ended.stderr
    lines = [line for line in ended.stdout.splitlines() if line.startswith("RESULT")]
    assert len(lines) == 1, ended.stdout
    return json.loads(lines[0].removeprefix("RESULT"))


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """What one process finds with the whole batch."""
    folder = tmp_path_factory.mktemp("alone")
    return {
        kind: result(folder / kind, "auto", 1, kind)["weights"] for kind in ("train", "accumulate")
    }


@pytest.mark.parametrize("strategy", ["ddp", "ddp_spawn", "ddp_fork", "fsdp"])
def test_two_processes_are_one(strategy, alone, tmp_path):
    found = result(tmp_path, strategy, 2, "train")
    check_close(found["weights"], alone["train"])
    assert found["best"] == "epoch=1-step=8.ckpt" and found["step"] == [8, 2]
    assert found["metrics"]["most"] == 1.0
    logged = list(tmp_path.glob("lightning_logs/*/metrics.csv"))
    assert len(logged) == 1 and len(list(tmp_path.rglob("*.ckpt"))) == 1
    if "_" not in strategy:  # the module of this process trained
        assert found["asked"] == {
            "gathered": [1.0, 2.0], "sent": {"from": 1}, "mean": 0.5, "sum": 1.0,
            "decided": [False, True], "world": [2, 1, 2],
        }  # fmt: skip


@pytest.mark.parametrize("strategy", ["ddp", "fsdp"])
def test_gradients_add_up_before_they_are_exchanged(strategy, alone, tmp_path):
    found = result(tmp_path, strategy, 2, "accumulate")
    check_close(found["weights"], alone["accumulate"])


@pytest.mark.parametrize("strategy", ["ddp", "fsdp"])
def test_going_on_is_exact(strategy, tmp_path):
    found = result(tmp_path, strategy, 2, "resume")
    assert found["first"] == found["again"]


def test_processes_of_a_launcher_are_joined(alone, tmp_path):
    launcher = ("-m", "rushlight.distributed.run", "--nproc-per-node=2")
    found = result(tmp_path, "ddp", 2, "train", *launcher)
    check_close(found["weights"], alone["train"])


def test_every_item_is_predicted_once(tmp_path):
    found = result(tmp_path, "ddp", 2, "predict")
    sizes = [len(each) for each in found["all"]]
    assert sizes == [4, 3] and len(set(flat(found["all"]))) == 7


def test_metrics_of_a_learner(tmp_path):
    one = result(tmp_path / "one", "auto", 1, "learn")
    two = result(tmp_path / "two", "ddp", 2, "learn")
    assert one["names"] == two["names"] and len(one["values"]) == 9
    check_close(two["values"], one["values"])
    assert 0 < one["values"][3] < 1, "some outputs are wrong"


@pytest.mark.parametrize("strategy", ["ddp", "ddp_spawn", "fsdp"])
def test_a_loop_of_ones_own(strategy, tmp_path):
    one = result(tmp_path / "one", "auto", 1, "fabric")
    two = result(tmp_path / "two", strategy, 2, "fabric")
    check_close(two["weights"], one["weights"])
    assert (two["mean"], two["ranks"], two["told"]) == (0.5, [0, 1], 1)


@pytest.mark.parametrize("strategy", ["ddp", "fsdp"])
def test_clipping_and_checkpoints_of_a_loop_of_ones_own(strategy, tmp_path):
    one = result(tmp_path / "one", "auto", 1, "fabric_state")
    two = result(tmp_path / "two", strategy, 2, "fabric_state")
    check_close(two["first"], one["first"])
    assert two["first_norms"] == pytest.approx(one["first_norms"], rel=1e-5)
    assert min(one["first_norms"]) > 0.2, "the norm is clipped"
    check_close(two["again"], two["first"])
    assert two["again_norms"] == pytest.approx(two["first_norms"][2:], rel=1e-6)
    assert two["rest"] == {} and one["numbers"] == 43
    # The first of two processes has 4 of 7 rows twice, and the only row of the other two.
    assert two["numbers"] == {"ddp": 43, "fsdp": 4 * 4 + 4 + 7 + 1}[strategy]


def test_options_of_fsdp(tmp_path):
    """Parts, activations and precisions change nothing of what is learnt."""
    plain = result(tmp_path / "one", "auto", 1, "fabric_options")["plain"]
    found = result(tmp_path / "two", "fsdp", 2, "fabric_options")
    assert {name: each["parts"] for name, each in found.items()} == {
        "classes": [2, 2], "size": [1, 0], "function": [2, 0], "custom": [2, 3],
        "strategy": [0, 0], "wide": [0, 0],
    }  # fmt: skip
    for each in found.values():
        assert list(each["weights"]) == list(plain["weights"]), "names are those without wrappers"
        check_close(each["weights"], plain["weights"])


@pytest.mark.parametrize("strategy", ["parts", "whole"])
def test_models_that_divide_themselves(strategy, alone, tmp_path):
    found = result(tmp_path, strategy, 2, "parallel")
    check_close(found["first"], alone["train"])
    assert found["again"] == found["first"] and found["step"] == 8
    assert found["files"] == [f"step={number}.ckpt" for number in range(4, 9)]
    assert set(found["kinds"]) == {"DTensor"}
    if strategy == "parts":
        assert found["inside"] == [".metadata", "__0_0.distcp", "__1_0.distcp", "meta.pt"]


def test_processes_that_compute_a_batch_together(alone, tmp_path):
    found = result(tmp_path, "auto", 2, "together")
    assert found["kwargs"] == {"num_replicas": 1, "rank": 0}
    assert found["seen"] == [[2, 8, True]] * 8
    check_close(found["weights"], alone["train"])


@pytest.mark.parametrize("strategy", ["parts", "whole"])
def test_loops_of_divided_models(strategy, tmp_path):
    one = result(tmp_path / "one", strategy, 1, "fabric_parallel")
    two = result(tmp_path / "two", strategy, 2, "fabric_parallel")
    check_close(two["first"], one["first"])
    check_close(two["again"], two["first"])
    assert two["rest"] == one["rest"] == {} and two["folder"] == (strategy == "parts")


def test_divided_models_in_mixed_precision(alone, tmp_path):
    found = result(tmp_path, "fsdp", 2, "precise")
    assert found["plug-in"] == "FSDPPrecision" and found["kept"] == ["rushlight.float32"]
    assert found["seen"] == ["rushlight.bfloat16"] * 2
    near = pytest.approx(flat(alone["train"]), abs=0.05)
    assert flat(found["weights"]) == near and flat(found["weights"]) != flat(alone["train"])


def test_optimizer_of_whole_parameters_comes_too_early(tmp_path):
    told = result(tmp_path, "fsdp", 2, "fabric_late")["told"]
    assert "SGD" in told and "(7, 4)" in told and "after setup_module" in told


def test_a_loop_from_the_command_line(tmp_path):
    one = result(tmp_path / "one", "auto", 1, "fabric")
    launcher = ("-m", "lightning_lite.fabric.cli", "run", "--devices=2", "--strategy=ddp")
    two = result(tmp_path / "two", "auto", 2, "asked", *launcher)
    check_close(two["weights"], one["weights"])
    assert two["ranks"] == [0, 1]


@pytest.mark.parametrize("strategy", ["ddp", "ddp_spawn"])
def test_a_failing_process_ends_all(strategy, tmp_path):
    begin = time.monotonic()
    ended = start(tmp_path, strategy, 2, "fail")
    assert ended.returncode not in (0, None), ended.stdout
    assert "ArithmeticError: the second process gives up" in ended.stderr
    assert time.monotonic() - begin < LIMIT / 4
