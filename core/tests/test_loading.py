"""What `import rushlight` does to a program: it loads no part that few programs need, and leaves
the garbage collector as it was."""

import subprocess
import sys

import pytest

RARE = "distributed export onnx jit fx distributions sparse.matrices fft amp testing".split()
COLLECTOR = """
import gc
{before}
import rushlight
print(gc.isenabled(), gc.get_freeze_count())
"""


def printed(program):
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.split()


def test_parts_that_few_programs_need_wait():
    loaded = printed("import sys, rushlight; print(*sys.modules)")
    assert "rushlight.nn.module" in loaded
    assert not [name for name in RARE if f"rushlight.{name}" in loaded]


@pytest.mark.parametrize(
    ("before", "enabled"), [("", "True"), ("gc.disable()", "False")], ids=["on", "off"]
)
def test_the_collector_is_as_it_was(before, enabled):
    assert printed(COLLECTOR.format(before=before)) == [enabled, "0"]


def test_what_a_program_froze_stays_frozen():
    before = "gc.freeze()\nprint(gc.get_freeze_count())"
    frozen, enabled, after = printed(COLLECTOR.format(before=before))
    assert enabled == "True"
    assert int(frozen) / 2 < int(after) <= int(frozen)  # some ended meanwhile; thawed, all would


def test_an_import_that_fails_leaves_the_collector_on():
    program = """
import gc, sys
sys.modules["ml_dtypes"] = None
try:
    import rushlight
except ImportError:
    print(gc.isenabled())
"""
    assert printed(program) == ["True"]
