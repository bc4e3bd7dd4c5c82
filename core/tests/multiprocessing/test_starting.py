"""Starting processes together: results, failures, exits, grace."""

import os
import pickle
import signal
import time

import pytest

import rushlight
import rushlight.multiprocessing as mp

METHODS = ("fork", "spawn", "forkserver")


def fill(index, tensor):
    tensor[index] = index + 1


@pytest.mark.parametrize("method", METHODS)
def test_every_process_gets_its_number(method):
    tensor = rushlight.zeros(3).share_memory_()
    assert mp.start_processes(fill, (tensor,), nprocs=3, start_method=method) is None
    assert tensor.tolist() == [1.0, 2.0, 3.0]


def raise_in_one(index):
    if index == 1:
        raise ValueError("this one fails")
    time.sleep(60)


def leave(index):
    os._exit(3)


def die(index):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_failure_ends_the_others_and_is_raised():
    start = time.monotonic()
    with pytest.raises(
        mp.ProcessRaisedException, match="(?s)Process 1 terminated .*this one f"
    ) as e:
        mp.start_processes(raise_in_one, nprocs=2, start_method="fork")
    assert e.value.error_index == 1 and e.value.error_pid > 0
    assert time.monotonic() - start < 30  # the other one sleeps for a minute


def test_exits_and_signals_are_told_apart():
    with pytest.raises(
        mp.ProcessExitedException, match="process 0 terminated with exit code 3"
    ) as e:
        mp.start_processes(leave, start_method="fork")
    assert e.value.exit_code == 3
    with pytest.raises(mp.ProcessExitedException, match="terminated with signal SIGKILL") as e:
        mp.start_processes(die, start_method="fork")
    assert e.value.exit_code == -9 and e.value.signal_name == "SIGKILL"
    again = pickle.loads(pickle.dumps(e.value))
    assert (again.error_index, again.error_pid, again.signal_name) == (
        0, e.value.error_pid, "SIGKILL",
    )  # fmt: skip


def test_the_context_can_be_joined_step_by_step():
    tensor = rushlight.zeros(2).share_memory_()
    context = mp.start_processes(fill, (tensor,), nprocs=2, join=False, start_method="fork")
    assert len(context.pids()) == 2
    while not context.join(timeout=30):
        continue
    assert tensor.tolist() == [1.0, 2.0] and context.join()


def test_another_start_method_for_spawn_is_warned_of():
    tensor = rushlight.zeros(1).share_memory_()
    with pytest.warns(FutureWarning, match="start_processes"):
        mp.spawn(fill, (tensor,), start_method="fork")
    assert tensor.item() == 1
