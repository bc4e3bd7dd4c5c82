"""Closures of loops of one's own, and what stands in for names of older Lightning versions."""

from __future__ import annotations

import subprocess
import sys

import pytest

import rushlight as rl
from lightning_lite import accelerators
from lightning_lite.accelerators.registry import call_register_accelerators
from lightning_lite.closures import (
    AbstractClosure,
    Closure,
    ClosureResult,
    ManualResult,
    OutputResult,
)
from lightning_lite.errors import MisconfigurationException
from lightning_lite.loggers import CSVLogger
from lightning_lite.loggers.csv_logs import ExperimentWriter
from lightning_lite.migration import LEGACY_MODULES, pl_legacy_patch
from lightning_lite.utilities import enums
from rushlight import nn


@pytest.mark.parametrize("optimizer_class", [rl.optim.SGD, rl.optim.LBFGS])
def test_optimizers_call_closures(optimizer_class):
    weight = nn.Parameter(rl.tensor([3.0, -2.0]))
    optimizer = optimizer_class([weight], lr=0.1)
    calls = []

    def step():
        calls.append(weight.detach().clone())
        return ClosureResult.from_training_step_output({"loss": weight.square().sum(), "n": 1})

    closure = Closure(step, rl.Tensor.backward, optimizer.zero_grad)
    for _ in range(40):
        optimizer.step(closure)
    assert float(weight.detach().abs().max()) < 0.02 and len(calls) >= 40
    found = closure.consume_result()
    assert not found.loss.requires_grad and found.extra == {"n": 1}
    assert float(found.loss) == pytest.approx(float(calls[-1].square().sum()))
    with pytest.raises(MisconfigurationException, match="was not called since"):
        closure.consume_result()


def test_gradients_add_up_and_batches_are_skipped():
    weight = nn.Parameter(rl.tensor(3.0))
    outputs = iter([weight * 2, weight * 2, None])

    def step():
        return ClosureResult.from_training_step_output(next(outputs), normalize=4)

    closure = Closure(step, rl.Tensor.backward)
    with rl.no_grad():
        assert closure().item() == closure().item() == 1.5
    assert weight.grad.item() == 1.0
    with pytest.warns(UserWarning, match="returned None"):
        assert closure() is None
    assert closure.consume_result().asdict() == {"loss": None} and weight.grad.item() == 1.0


def test_results():
    class Plain(AbstractClosure):
        def closure(self, number):
            return number + 1

    made = Plain()
    assert made(2) is made and made.consume_result() == 3
    with pytest.raises(NotImplementedError, match="asdict"):
        OutputResult().asdict()
    with pytest.raises(MisconfigurationException, match="'loss' is None"):
        ClosureResult.from_training_step_output({"loss": None})
    with pytest.raises(MisconfigurationException, match="returned int"):
        ManualResult.from_training_step_output(3)
    loss = nn.Parameter(rl.tensor(1.0)) * 2
    for output in (loss, {"loss": loss}):
        found = ManualResult.from_training_step_output(output).asdict()
        assert not found["loss"].requires_grad and found["loss"].item() == 2.0
    assert loss.requires_grad, "what the step returned stays as it is"


def test_an_experiment_writer(tmp_path):
    writer = ExperimentWriter(tmp_path / "run")
    assert (tmp_path / "run").is_dir()
    writer.log_hparams({"lr": 0.1})
    writer.log_hparams({"depth": 2})
    writer.log_metrics({"loss": rl.tensor(1.5)})
    writer.log_metrics({"loss": 0.5, "f1": 1.0}, step=7)
    path = tmp_path / "run" / writer.NAME_METRICS_FILE
    assert not path.exists()
    writer.save()
    assert path.read_text().split() == ["f1,loss,step", ",1.5,0", "1.0,0.5,7"]
    assert writer.hparams == {"lr": 0.1, "depth": 2}
    assert '"depth": 2' in (tmp_path / "run" / writer.NAME_HPARAMS_FILE).read_text()
    logger = CSVLogger(tmp_path, "name")
    logger.experiment.log_metrics({"a": 1.0}, step=3)
    logger.log_metrics({"a": 2.0}, step=4)
    logger.experiment.save()
    with open(logger.metrics_file_path) as file:
        assert file.read().split() == ["a,step", "1.0,3", "2.0,4"]
    assert isinstance(logger.experiment, ExperimentWriter)
    assert logger.experiment.log_dir == logger.log_dir


def test_modules_of_lightning_1():
    modules = set(sys.modules)
    with pl_legacy_patch(), pl_legacy_patch():
        for name in LEGACY_MODULES:
            assert sys.modules[name]._gpus_arg_default(3) == 3
        assert enums._FaultTolerantMode("manual") == "MANUAL"
    assert set(sys.modules) == modules and not hasattr(enums, "_FaultTolerantMode")


def test_registers_of_devices(monkeypatch):
    class Quantum(accelerators.Accelerator):
        @classmethod
        def register_accelerators(cls, accelerator_registry):
            accelerator_registry["quantum"] = cls

    found: dict = {}
    monkeypatch.setattr(accelerators, "Quantum", Quantum, raising=False)
    call_register_accelerators(found, "lightning_lite.accelerators")
    assert found == {"quantum": Quantum}


def test_lightnings_paths(tmp_path):
    program = (
        "from lightning.pytorch.loops.optimization.automatic import Closure, ClosureResult\n"
        "from lightning.pytorch.loops.optimization.closure import AbstractClosure, T\n"
        "from pytorch_lightning.loops.optimization.manual import ManualResult\n"
        "from lightning.pytorch.profilers.pytorch import RegisterRecordFunction, ScheduleWrapper\n"
        "from lightning.pytorch.utilities.migration.utils import pl_legacy_patch\n"
        "from lightning.fabric.strategies.model_parallel import TModel\n"
        "assert issubclass(Closure, AbstractClosure)\n"
        "import pickle\n"
        "names = (b'argparse_utils\\n_gpus_arg_default', b'enums\\n_FaultTolerantMode')\n"
        "pickles = [b'cpytorch_lightning.utilities.' + name + b'\\n.' for name in names]\n"
        "with pl_legacy_patch():\n"
        "    found = [pickle.loads(each)('manual') for each in pickles]\n"
        "print(*found)\n"
        "try:\n"
        "    pickle.loads(pickles[0])\n"
        "except ImportError:\n"
        "    print('gone')\n"
    )
    (tmp_path / "program.py").write_text(program)
    command = [sys.executable, "-m", "rushlight", "run", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "manual manual\ngone", done.stderr
