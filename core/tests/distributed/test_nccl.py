"""Tensors of GPUs, exchanged by NCCL's stand-in on emulated devices: as those of the CPU by MPI."""

from __future__ import annotations

import importlib
from datetime import timedelta
from types import SimpleNamespace

import jobs
import pytest

import rushlight
from rushlight import distributed as dist
from rushlight.distributed.watchdog import Watchdog
from rushlight.distributed.works import Work

SIZE = 4
SMALL_FLOATS = ("hook_bf16", "hook_fp16", "hook_wrapped")
JOB = importlib.import_module("job")
FILES = {
    name: JOB.load(str(jobs.HERE / name))
    for name in ("collective_cases.py", "ddp_cases.py", "fsdp_cases.py", "gradient_cases.py")
}
CASES = [
    (file, name)
    for file, module in FILES.items()
    for name in sorted({*module.CASES} - {*getattr(module, "NOT_ON_GPUS", ())})
]


@pytest.mark.parametrize(("file", "name"), CASES)
def test_gpus_compute_what_the_cpu_computes(file, name, job_outcomes):
    ours = job_outcomes("rushlight", file, SIZE)
    found = job_outcomes("rushlight", file, SIZE, on_gpus=True)
    for rank in range(SIZE):
        if name not in ours[rank]:
            assert name not in found[rank]
            continue
        mine, cpu = found[rank][name], ours[rank][name]
        bits = name.startswith("all_reduce_") and name.endswith(("BAND", "BOR", "BXOR"))
        if name == "questions":
            assert mine[0] == "value" and mine[1][2] == "nccl"
        elif bits and mine[0] == "error" and cpu[0] == "value":
            assert "with NCCL; reduce tensor.cpu()" in mine[2]
        elif cpu[0] == "error":
            assert mine[:2] == cpu[:2]
        else:
            # NCCL adds small floats as they are, MPI in float32.
            assert JOB.same(mine, cpu, 2**-7 if name in SMALL_FLOATS else 2e-5)


# ------------------------------------------------------------------ operations that do not end
class Request:
    """An operation on a stream, which ends when it is told to."""

    def __init__(self):
        self.over = False

    def ended(self):
        """Whether the device has done it."""
        return self.over


def work_of(requests, timeout, obstacle=None, error=None):
    """An operation of a group that two ranks have."""
    carrier = SimpleNamespace(error=lambda: error)
    group = SimpleNamespace(
        timeout=timedelta(seconds=timeout), communicator=carrier, world_rank=0, group_name="0",
        size=lambda: 2, obstacle=lambda work: obstacle, absent=lambda work: "",
    )  # fmt: skip
    return Work(group, "all_reduce", requests).by(carrier)


def idle():
    """A watchdog whose thread does not run."""
    made = Watchdog()
    made.thread = SimpleNamespace(is_alive=lambda: True)
    return made


def test_the_watchdog_forgets_what_has_ended():
    dog, request = idle(), Request()
    dog.watch(work_of([request], 60))
    assert dog.look() is None and len(dog.entries) == 1
    request.over = True
    assert dog.look() is None and not dog.entries


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (
            {"timeout": 1e-6},
            "all_reduce, number 0 in group '0' of 2 ranks, timed out after 1e-06 s",
        ),
        ({"timeout": 60, "obstacle": "cannot end: rank 1 is gone"}, "rank 1 is gone"),
        ({"timeout": 60, "error": "remote process exited"}, "remote process exited"),
    ],
)
def test_the_watchdog_says_why_an_operation_cannot_end(options, reason):
    dog = idle()
    dog.watch(work_of([Request()], **options))
    assert reason in dog.look()


# ----------------------------------------------------------------------------- without a GPU
@pytest.fixture
def no_gpu(monkeypatch):
    """No CUDA, wherever this runs."""
    monkeypatch.setenv("RUSHLIGHT_CUDA", "off")
    yield
    monkeypatch.undo()
    rushlight.cuda.is_available()  # looks at the environment again


def test_without_a_gpu_nccl_says_what_is_missing(no_gpu):
    assert not rushlight.cuda.is_available() and not dist.is_nccl_available()
    assert not dist.is_backend_available("nccl") and dist.is_backend_available("gloo")
    store = dist.HashStore()
    with pytest.raises(RuntimeError, match="doesn't have NCCL built in: .*RUSHLIGHT_CUDA=off"):
        dist.init_process_group("nccl", store=store, rank=0, world_size=1)
    dist.init_process_group("cpu:gloo,cuda:nccl", store=store, rank=0, world_size=1)
    dist.destroy_process_group()
    with pytest.raises(RuntimeError, match="device_type 'cuda' needs NCCL"):
        dist.init_device_mesh("cuda", (1,))


@pytest.mark.parametrize("name", ["cpu:nccl", "carrier pigeon", "cpu:gloo,cuda:pigeon"])
def test_backends_that_do_not_exist_are_refused(name):
    with pytest.raises(ValueError, match="Invalid backend"):
        dist.init_process_group(name, store=dist.HashStore(), rank=0, world_size=1)
