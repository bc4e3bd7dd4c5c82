"""Fabric: a loop of one's own on one device."""

from __future__ import annotations

import csv

import pytest

import rushlight as rl
from lightning_lite import Fabric, fabric
from lightning_lite.fabric import cli
from lightning_lite.fabric.loggers import CSVLogger
from lightning_lite.fabric.wrappers import (
    _FabricDataLoader,
    _FabricModule,
    _FabricOptimizer,
    _unwrap_objects,
)
from lightning_lite.utilities import Throughput, ThroughputMonitor, measure_flops
from rushlight import nn


@pytest.fixture
def cpu():
    return Fabric(accelerator="cpu")


def test_what_it_is(cpu):
    assert cpu.device == rl.device("cpu") and cpu.world_size == 1 and cpu.is_global_zero
    assert cpu.global_rank == cpu.local_rank == cpu.node_rank == 0
    assert cpu.strategy.root_device == cpu.device and cpu.logger is None
    assert type(cpu.accelerator).__name__ == "CPUAccelerator"
    for options in ({"strategy": "deepspeed"}, {"strategy": "xla"}):
        with pytest.raises(NotImplementedError):
            Fabric(**options)


def test_wrapping(cpu, loader):
    model = nn.Linear(4, 1)
    optimizer = rl.optim.SGD(model.parameters(), lr=0.1)
    scheduler = rl.optim.lr_scheduler.StepLR(optimizer, 1)
    made, stepper, same = cpu.setup(model, optimizer, scheduler=scheduler)
    data = cpu.setup_dataloaders(loader())
    assert isinstance(made, _FabricModule) and made.module is model and same is scheduler
    assert isinstance(stepper, _FabricOptimizer) and stepper.optimizer is optimizer
    assert isinstance(data, _FabricDataLoader) and len(data) == 6 and data.batch_size == 4
    assert all(map(fabric.is_wrapped, (made, stepper, data))) and not fabric.is_wrapped(model)
    given = _unwrap_objects({"a": [made, stepper], "b": (data, 3)})
    assert given["a"] == [model, optimizer] and given["b"][1] == 3
    assert list(made.state_dict()) == ["weight", "bias"] and made.in_features == 4
    assert stepper.param_groups is optimizer.param_groups
    for again in (made, stepper, data):
        setup = cpu.setup_dataloaders if again is data else cpu.setup_module
        with pytest.raises(ValueError, match="set up before"):
            (cpu.setup_optimizers if again is stepper else setup)(again)
    with pytest.raises(TypeError, match="expected an Optimizer"):
        cpu.setup(nn.Linear(1, 1), 3)
    with pytest.raises(ValueError, match="one loader"):
        cpu.setup_dataloaders()
    with pytest.raises(ValueError, match="one optimizer"):
        cpu.setup_optimizers()


def test_float16_skips_steps_that_overflow():
    half = Fabric(accelerator="cpu", precision="16-mixed")
    model = nn.Linear(1, 1, bias=False)
    model, optimizer = half.setup(model, rl.optim.SGD(model.parameters(), lr=0.1))
    before = model.weight.item()
    half.backward((model(rl.ones(1, 1)) * float("inf")).sum())
    optimizer.step()
    assert model.weight.item() == before and half._precision.scaler.get_scale() < 2.0**16
    optimizer.zero_grad()
    half.backward(model(rl.ones(1, 1)).sum())
    optimizer.step()
    assert model.weight.item() == pytest.approx(before - 0.1, rel=1e-3)


def test_methods_that_run_like_a_call():
    double = Fabric(accelerator="cpu", precision="64-true")

    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def forward(self, x):
            return self.layer(x)

        def training_step(self, x):
            return self.layer(x).dtype

        def measure(self, x):
            return self.layer(x).dtype

    model = double.setup(Two())
    x = rl.ones(1, 2)
    assert model(x).dtype is rl.float32 and model.training_step(x) is rl.float64
    with pytest.raises(RuntimeError):
        model.measure(x)
    model.mark_forward_method("measure")
    assert model.measure(x) is rl.float64
    with pytest.raises(AttributeError, match="no method 'nothing'"):
        model.mark_forward_method("nothing")


def test_clipping(cpu):
    model = nn.Linear(3, 1)
    model, optimizer = cpu.setup(model, rl.optim.SGD(model.parameters(), lr=1.0))
    cpu.backward(100 * model(rl.ones(1, 3)).sum())
    norm = cpu.clip_gradients(model, optimizer, max_norm=1.0)
    assert float(norm) == pytest.approx(200.0)
    cpu.clip_gradients(model, optimizer, clip_val=0.25)
    assert float(model.weight.grad.max()) == 0.25
    for wrong in ({}, {"clip_val": 1.0, "max_norm": 1.0}):
        with pytest.raises(ValueError, match="give one of"):
            cpu.clip_gradients(model, optimizer, **wrong)


def test_files(cpu, tmp_path):
    model = nn.Linear(2, 2)
    made, optimizer = cpu.setup(model, rl.optim.Adam(model.parameters()))
    path = tmp_path / "x.ckpt"
    state = {"model": made, "optimizer": optimizer, "epoch": 3}
    cpu.save(path, state, filter={"model": lambda name, value: name != "bias"})
    saved = rl.load(path)
    assert list(saved["model"]) == ["weight"] and saved["epoch"] == 3
    with pytest.raises(KeyError, match="rate"):
        cpu.load(path, {"rate": 1})
    assert cpu.load(path, {"rate": 1}, strict=False)["epoch"] == 3
    with pytest.raises(KeyError, match="filters of"):
        cpu.save(path, state, filter={"other": lambda name, value: True})
    with pytest.raises(TypeError, match="dictionary of functions"):
        cpu.save(path, state, filter=lambda name, value: True)
    with pytest.raises(FileNotFoundError, match="y.ckpt"):
        cpu.load(tmp_path / "y.ckpt")
    rl.save(model.state_dict(), path)
    other = cpu.setup(nn.Linear(2, 2))
    cpu.load_raw(path, other)
    assert rl.equal(other.weight, model.weight)
    assert cpu.load(path, cpu.setup(nn.Linear(2, 2))) == {}


def test_one_process(cpu, capsys):
    assert cpu.launch(lambda inner, x: (inner is cpu, x), 3) == (True, 3)
    with pytest.raises(TypeError, match="not callable"):
        cpu.launch(3)
    data = {"a": rl.ones(2)}
    assert cpu.broadcast(data) is data and cpu.all_gather(data)["a"].tolist() == [1.0, 1.0]
    assert cpu.all_reduce(rl.ones(2)).tolist() == [1.0, 1.0] and cpu.barrier() is None
    with cpu.rank_zero_first(), cpu.autocast(), cpu.no_backward_sync(cpu.setup(nn.Linear(1, 1))):
        cpu.print("here")
    assert capsys.readouterr().out == "here\n"
    with pytest.raises(TypeError, match="Fabric.setup"):
        cpu.no_backward_sync(nn.Linear(1, 1))


def test_making_tensors():
    double = Fabric(accelerator="cpu", precision="64-true")
    with double.init_module():
        layer = nn.Linear(1, 1)
    with double.init_tensor():
        tensor = rl.zeros(2)
    assert layer.weight.dtype is tensor.dtype is rl.float64 and rl.zeros(1).dtype is rl.float32
    assert double.to_device({"x": tensor})["x"].device.type == "cpu"


def test_logs_and_callbacks(tmp_path, model_class):
    told = []

    class Own:
        def on_after_setup(self, fabric, module):
            told.append(type(module.module).__name__)

        def say(self, *words):
            told.append(words)

    log = CSVLogger(tmp_path, name="runs")
    made = Fabric(accelerator="cpu", loggers=log, callbacks=[Own(), object()])
    made.call("say", 1, 2)
    module = model_class()
    made.setup(module)
    module.log("inside", rl.tensor(0.5))
    made.log_dict({"a": rl.tensor(2.0), "b": 3}, step=4)
    log.save()
    assert told == [(1, 2), "Regression"] and made.logger is log
    with open(next(tmp_path.rglob("metrics.csv")), newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["inside"] == "0.5" and rows[1]["a"] == "2.0" and rows[1]["step"] == "4"


def test_throughput_is_logged(tmp_path):
    log = CSVLogger(tmp_path)
    monitor = ThroughputMonitor(Fabric(accelerator="cpu", loggers=log), window_size=2)
    for step in (1, 2):
        monitor.update(time=2.0 * step, batches=step, samples=8 * step)
        found = monitor.compute_and_log()
    assert found["device/samples_per_sec"] == 4.0 and monitor.step == 1
    for wrong in ({"window_size": 1}, {"world_size": 0}):
        with pytest.raises(ValueError, match="expected"):
            Throughput(**wrong)
    with pytest.raises(ValueError, match="totals only grow"):
        monitor.update(time=1.0, batches=3, samples=30)


def test_operations_are_counted():
    model, x = nn.Linear(4, 8), rl.ones(2, 4)
    assert measure_flops(model, lambda: model(x)) == 2 * 2 * 4 * 8
    assert measure_flops(model, lambda: model(x), lambda y: y.sum()) > 2 * 2 * 4 * 8


def test_arguments_of_the_command_line(monkeypatch):
    monkeypatch.setenv("LT_PRECISION", "bf16-mixed")
    assert Fabric(accelerator="cpu")._precision.precision == "32-true"
    monkeypatch.setenv("LT_CLI_USED", "1")
    monkeypatch.setenv("LT_DEVICES", "1")
    for given in (None, "bf16-mixed"):
        assert Fabric(accelerator="cpu", precision=given)._precision.precision == "bf16-mixed"
    assert Fabric(accelerator="cpu", devices=1).world_size == 1
    with pytest.raises(ValueError, match=r"Fabric\(devices=2\): the command line says '1'"):
        Fabric(accelerator="cpu", devices=2)


def test_processes_of_the_command_line():
    assert [cli._count(each) for each in ("auto", "3", "0,2")] == [1, 3, 2]
    for wrong in ("0", "two", ","):
        with pytest.raises(ValueError, match="devices="):
            cli._count(wrong)


def test_seeding(cpu):
    assert cpu.seed_everything(3, verbose=False) == 3
    first = rl.rand(2)
    cpu.seed_everything(3, verbose=False)
    assert rl.equal(first, rl.rand(2))


def test_optimizers_are_of_their_class():
    """Schedulers take what `setup` gives."""
    loop = Fabric(accelerator="cpu")
    net = nn.Linear(2, 1)
    net, optimizer = loop.setup(net, rl.optim.SGD(net.parameters(), lr=0.8))
    assert isinstance(optimizer, rl.optim.SGD) and not isinstance(optimizer, rl.optim.Adam)
    scheduler = rl.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    for _ in range(2):
        loop.backward(net(rl.ones(1, 2)).sum())
        optimizer.step()
        scheduler.step()
    assert optimizer.param_groups[0]["lr"] == optimizer.optimizer.param_groups[0]["lr"] == 0.2
