"""The switch of the fast path: what it accepts, and that calls then are Python."""

import os
import subprocess
import sys

import pytest

from rushlight.settings import _read_fast_path

CODE = """
import rushlight
from rushlight.machine import native_functions, threads
from rushlight.settings import fast_path_is_on
from rushlight.tensor import construction
x = rushlight.arange(6.0).reshape(2, 3)
print(((x + 1)[1] @ x[0]).item(), fast_path_is_on(), native_functions.is_available())
print(type(construction.made) is type(len), type(threads.run) is type(len))
"""


def run(**switches):
    kept = {
        k: v for k, v in os.environ.items() if k not in ("RUSHLIGHT_FAST_PATH", "RUSHLIGHT_DOOR")
    }
    command = [sys.executable, "-c", CODE]
    return subprocess.run(
        command, env={**kept, **switches}, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("environment", "on"),
    [
        ({}, True),
        ({"RUSHLIGHT_FAST_PATH": "on"}, True),
        ({"RUSHLIGHT_FAST_PATH": "off"}, False),
        ({"RUSHLIGHT_DOOR": "python"}, False),
        ({"RUSHLIGHT_DOOR": "compiled"}, True),
        ({"RUSHLIGHT_FAST_PATH": "on", "RUSHLIGHT_DOOR": "python"}, True),
        ({"RUSHLIGHT_FAST_PATH": "off", "RUSHLIGHT_DOOR": "compiled"}, False),
    ],
)
def test_what_the_environment_asks_for(environment, on):
    assert _read_fast_path(environment) is on


@pytest.mark.parametrize("value", ["", "0", "OFF", "python", "1"])
def test_other_values_are_errors(value):
    expected = f"RUSHLIGHT_FAST_PATH must be 'on' or 'off', got {value!r}"
    with pytest.raises(ValueError, match=expected):
        _read_fast_path({"RUSHLIGHT_FAST_PATH": value})


@pytest.mark.parametrize("switch", [{"RUSHLIGHT_FAST_PATH": "off"}, {"RUSHLIGHT_DOOR": "python"}])
def test_off_keeps_to_python(switch):
    done = run(**switch)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["17.0", "False", "False", "False", "False"]


def test_a_wrong_value_ends_the_import():
    done = run(RUSHLIGHT_FAST_PATH="no")
    assert done.returncode != 0
    assert "RUSHLIGHT_FAST_PATH must be 'on' or 'off', got 'no'" in done.stderr
