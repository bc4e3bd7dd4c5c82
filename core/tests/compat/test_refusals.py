"""What is not there: importing does no harm, using raises with advice."""

import importlib
import subprocess
import sys

import pytest

import rushlight
from rushlight import refusals


def test_an_absent_module_is_imported_and_its_names_refuse_when_used():
    import rushlight.distributed.pipelining as pipelining
    from rushlight.utils.mobile_optimizer import optimize_for_mobile

    with pytest.raises(NotImplementedError, match="use the model itself"):
        optimize_for_mobile(rushlight.nn.Linear(1, 1))
    with pytest.raises(NotImplementedError, match="distributed.pipelining.Schedule1F1B.step"):
        pipelining.Schedule1F1B.step  # noqa: B018
    with pytest.raises(NotImplementedError, match="package.PackageExporter"):

        class Mine(rushlight.package.PackageExporter):
            """Never made."""


def test_nothing_is_an_instance_of_what_is_not_there():
    from rushlight.distributed.pipelining import PipelineStage

    assert not isinstance(rushlight.nn.Linear(1, 1), PipelineStage)
    absent = rushlight.package.PackageExporter, rushlight.jit.ScriptModule
    assert not isinstance(rushlight.ones(1), absent)
    assert not issubclass(rushlight.nn.Linear, PipelineStage)
    assert (int | rushlight.package.PackageExporter) is not None


@pytest.mark.parametrize("name", sorted(refusals.NAMES))
def test_names_of_the_top_level_refuse_with_advice(name):
    found = getattr(rushlight, name)
    with pytest.raises(NotImplementedError, match=rf"rushlight\.{name} is not available. Instead"):
        found()
    assert refusals.advice_for(name) != refusals.advice_for("no.such.name")


@pytest.mark.parametrize("name", sorted(refusals.ABSENT))
def test_every_absent_module_can_be_imported(name):
    module = importlib.import_module("rushlight." + name)
    if isinstance(module, refusals.AbsentModule):  # until somebody writes it
        with pytest.raises(NotImplementedError, match="Instead: "):
            module.something()


def test_misspelt_names_of_the_top_level_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'compil'"):
        rushlight.compil  # noqa: B018
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("rushlight.nothing_of_that_name")


def test_script_follows_pytorchs_switch(monkeypatch):
    with pytest.raises(TypeError, match="expected a function, a module or a class"):
        rushlight.jit.script(len)
    monkeypatch.setenv("PYTORCH_JIT", "0")
    assert rushlight.jit.script(len) is len


def test_late_names_cost_no_import_time():
    late = "refusals directory".split()
    text = "import sys, rushlight; print(*sorted(m for m in sys.modules if 'rushlight.' in m))"
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    loaded = set(found.stdout.split())
    assert {f"rushlight.{name}" for name in late} <= loaded
    for name in ("amp", "hub", "jit", "distributed", "multiprocessing", "legacy_types", "random"):
        assert f"rushlight.{name}" not in loaded
