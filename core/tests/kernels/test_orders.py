"""The bits of a result depend on the inputs alone, not on what the process computed before."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import numpy as np

import rushlight
from rushlight.kernels.reduction import small_reduction

PROGRAM = pathlib.Path(__file__).with_name("orders_program.py")


def _run(order):
    process = subprocess.run(
        [sys.executable, PROGRAM, order], capture_output=True, text=True, timeout=400
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def test_every_op_gives_the_same_bits_in_both_orders_of_the_table():
    forwards, backwards = _run("forwards"), _run("backwards")
    assert len({call.split()[0] for call in forwards}) > 350
    differing = [call for call in forwards if forwards[call] != backwards.get(call)]
    assert not differing and len(forwards) == len(backwards)


def test_a_small_function_interrupted_while_it_is_built_is_built_at_the_next_call(monkeypatch):
    small = small_reduction._Small()
    array = np.arange(500, dtype=np.float32) / 7

    def interrupted(*_):
        raise KeyboardInterrupt

    for step in ("_address", "_built", "take_over"):
        with monkeypatch.context() as patch:
            patch.setattr(small_reduction, step, interrupted)
            try:
                small.learn("sum", array, None, False)
            except KeyboardInterrupt:
                pass
            else:
                raise AssertionError(f"{step} was not reached")
        assert small.known["sum"] == {}
    found = small.learn("sum", array, None, False)
    assert found.tobytes() == rushlight.tensor(array).sum().numpy().tobytes()


SUMS = """
import sys
import numpy as np, rushlight as torch
draws = np.random.default_rng(0)
for dtype in (np.float32, np.float64):
    tensors = [torch.tensor(draws.standard_normal((10, 50)).astype(dtype)) for _ in range(100)]
    others = [torch.ones(n, 50, dtype=tensors[0].dtype) for n in range(11, 20)]
    for reduce in (torch.sum, torch.mean):
        before = [reduce(x) for x in others] if "later" in sys.argv else []
        print([reduce(x).item() for x in tensors])
"""


def test_sums_are_the_same_at_first_and_later():
    found = [
        subprocess.run(
            [sys.executable, "-c", SUMS, when], capture_output=True, text=True, timeout=100
        ).stdout
        for when in ("first", "later")
    ]
    assert found[0] == found[1] and found[0].count("\n") == 4
