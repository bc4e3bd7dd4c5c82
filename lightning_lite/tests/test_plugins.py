"""Exchangeable parts: precision, checkpoint files, strategies, accelerators."""

from __future__ import annotations

import pytest

import lightning_lite as L
import rushlight as rl
from lightning_lite import accelerators, plugins, strategies
from lightning_lite.errors import MisconfigurationException
from lightning_lite.finiteness import check_finite_loss
from lightning_lite.plugins.collectives import SingleDeviceCollective
from lightning_lite.plugins.environments import LightningEnvironment, SLURMEnvironment
from lightning_lite.plugins.layer_sync import TorchSyncBatchNorm
from lightning_lite.plugins.precision import LightningDoublePrecisionModule
from lightning_lite.strategies import fsdp_options
from rushlight.distributed.fsdp import MixedPrecision, MixedPrecisionPolicy


@pytest.mark.parametrize(
    ("plugin", "precision"),
    [
        (plugins.DoublePrecision, "64-true"),
        (lambda: plugins.HalfPrecision("bf16-true"), "bf16-true"),
        (lambda: plugins.MixedPrecision("bf16-mixed", "cpu"), "bf16-mixed"),
        (plugins.Precision, "32-true"),
    ],
)
def test_precision_as_a_plugin_is_the_argument(
    plugin, precision, model_class, loader, trainer, same
):
    def train(**options):
        L.seed_everything(3, verbose=False)
        model = model_class()
        run = trainer(limit_val_batches=0, **options)
        run.fit(model, loader())
        return run, model.state_dict()

    run, weights = train(plugins=[plugin()])
    assert run.precision == precision == run.precision_plugin.precision
    same(weights, train(precision=precision)[1])


def test_a_module_in_float64(model_class):
    wrapped = LightningDoublePrecisionModule(model_class(width=6))
    x = rl.randn(3, 4)
    assert wrapped(x).dtype is rl.float64 and wrapped.hparams.width == 6
    assert rl.allclose(wrapped(x), wrapped.module(x.double()))
    assert wrapped.predict_step((x, rl.tensor(1)), 0).dtype is rl.float64
    assert rl.get_default_dtype() is rl.float32
    with pytest.raises(AttributeError, match="nothing"):
        wrapped.nothing  # noqa: B018


def test_finite_losses():
    check_finite_loss(None)
    check_finite_loss(rl.tensor([1.0, 2.0]))
    with pytest.raises(ValueError, match="training_step is tensor"):
        check_finite_loss(rl.tensor([1.0, float("nan")]))


def test_plugins_that_contradict():
    with pytest.raises(ValueError, match="give one"):
        L.Trainer(max_epochs=1, precision="64-true", plugins=plugins.DoublePrecision())
    with pytest.raises(MisconfigurationException, match="int"):
        L.Trainer(max_epochs=1, plugins=[3])
    with pytest.raises(ValueError, match="16-mixed"):
        plugins.MixedPrecision("32-true", "cpu")
    with pytest.raises(MisconfigurationException, match="scales no losses"):
        plugins.MixedPrecision("bf16-mixed", "cpu", scaler=rl.amp.GradScaler("cpu"))
    with pytest.raises(ValueError, match="bf16-true"):
        plugins.HalfPrecision("32-true")


class Noting(plugins.TorchCheckpointIO):
    """Notes what is written, read and removed."""

    def __init__(self):
        self.calls = []

    def save_checkpoint(self, checkpoint, path, storage_options=None):
        self.calls.append(("save", str(path)))
        super().save_checkpoint(checkpoint, path, storage_options)

    def load_checkpoint(self, path, map_location=None, weights_only=None):
        self.calls.append(("load", str(path)))
        return super().load_checkpoint(path, map_location, weights_only)

    def remove_checkpoint(self, path):
        self.calls.append(("remove", str(path)))
        super().remove_checkpoint(path)


def test_checkpoint_io_of_ones_own(model_class, loader, trainer, tmp_path):
    io = Noting()
    keeper = L.callbacks.ModelCheckpoint(tmp_path / "c", filename="{epoch}")
    run = trainer(plugins=io, callbacks=[keeper], max_epochs=2, limit_val_batches=0)
    run.fit(model_class(), loader())
    first, second = (str(tmp_path / "c" / f"epoch={n}.ckpt") for n in (0, 1))
    assert io.calls == [("save", first), ("save", second), ("remove", first)]
    run = trainer(plugins=io, max_epochs=3, limit_val_batches=0, enable_checkpointing=False)
    run.fit(model_class(), loader(), ckpt_path=second)
    assert io.calls[3:] == [("load", second)] and run.current_epoch == 3
    assert run.strategy.checkpoint_io is io
    with pytest.raises(TypeError, match="storage_options"):
        plugins.TorchCheckpointIO().save_checkpoint({}, second, storage_options={})


def test_async_checkpoints_hold_the_state_at_the_call(tmp_path):
    io = plugins.AsyncCheckpointIO()
    weight = rl.ones(3)
    io.save_checkpoint({"state_dict": {"w": weight}}, tmp_path / "a.ckpt")
    weight.zero_()
    assert io.load_checkpoint(tmp_path / "a.ckpt")["state_dict"]["w"].tolist() == [1.0] * 3
    io.remove_checkpoint(tmp_path / "a.ckpt")
    io.teardown()
    assert not (tmp_path / "a.ckpt").exists()
    io.save_checkpoint({}, tmp_path / "x" / "\0")
    with pytest.raises(ValueError, match="null"):
        io.teardown()


def test_async_checkpoints_in_a_training(model_class, loader, trainer, tmp_path, same):
    def train(folder, *more):
        L.seed_everything(3, verbose=False)
        keeper = L.callbacks.ModelCheckpoint(tmp_path / folder, save_top_k=-1, filename="{epoch}")
        run = trainer(callbacks=[keeper], max_epochs=2, limit_val_batches=0, plugins=list(more))
        run.fit(model_class(), loader())
        return [rl.load(tmp_path / folder / f"epoch={n}.ckpt")["state_dict"] for n in (0, 1)]

    same(train("a", plugins.AsyncCheckpointIO()), train("b"))


def test_strategies_of_one_process(model_class, loader, trainer, same):
    def weights(**options):
        L.seed_everything(3, verbose=False)
        model = model_class()
        trainer(limit_val_batches=0, **options).fit(model, loader())
        return model.state_dict()

    alone = weights()
    for given in ("ddp", "ddp_find_unused_parameters_true", strategies.DDPStrategy()):
        same(weights(strategy=given, devices=1), alone)
    same(weights(strategy=strategies.SingleDeviceStrategy("cpu")), alone)
    same(weights(strategy="fsdp", devices=1), alone)
    with pytest.raises(NotImplementedError, match="'fsdp'"):
        trainer(strategy="deepspeed_stage_2")
    with pytest.raises(NotImplementedError, match="state_dict_type='sharded'"):
        strategies.FSDPStrategy(state_dict_type="sharded")
    with pytest.raises(ValueError, match="start_method='thread'"):
        strategies.DDPStrategy(start_method="thread")


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"sharding_strategy": "HALF"}, ValueError, "sharding_strategy='HALF'"),
        ({"device_mesh": (1, 2)}, ValueError, "is for sharding_strategy='HYBRID_SHARD'"),
        (
            {"device_mesh": (4,), "sharding_strategy": "HYBRID_SHARD"},
            ValueError,
            "expected two sizes",
        ),
        ({"auto_wrap_policy": {3}}, TypeError, "classes of modules"),
        ({"auto_wrap_policy": 3}, TypeError, "auto_wrap_policy=3"),
        ({"mixed_precision": rl.float16}, TypeError, "MixedPrecisionPolicy"),
        ({"mixed_precision": MixedPrecision(buffer_dtype=rl.float16)}, NotImplementedError, "buff"),
        (
            {"activation_checkpointing": [], "activation_checkpointing_policy": set()},
            ValueError,
            "give one of",
        ),
    ],
)
def test_options_that_fsdp_refuses(options, error, told):
    with pytest.raises(error, match=told):
        strategies.FSDPStrategy(**options)


def test_precisions_of_parts():
    """Inputs of the model are cast, those of its parts are not, as in PyTorch."""
    given = MixedPrecision(rl.float16, rl.float32)
    root, inner = fsdp_options.precisions(given)
    assert (root.param_dtype, root.reduce_dtype) == (rl.float16, rl.float32)
    assert root.cast_forward_inputs and not inner.cast_forward_inputs
    policy = MixedPrecisionPolicy(rl.bfloat16)
    assert fsdp_options.precisions(policy) == (policy, policy)


def test_activations_are_computed_again(loader, trainer, same):
    """In one process too. A second training with the strategy changes nothing more, and one with
    another warns that the model is wrapped."""
    calls = []

    class Layer(rl.nn.Linear):
        def forward(self, x):
            calls.append(rl.is_grad_enabled())
            return super().forward(x)

    class Model(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = Layer(4, 1)

        def training_step(self, batch, batch_idx):
            return self.layer(batch[0]).pow(2).mean()

        def configure_optimizers(self):
            return rl.optim.SGD(self.parameters(), lr=0.1)

    def train(**options):
        L.seed_everything(3, verbose=False)
        calls.clear()
        model = Model()
        trainer(max_epochs=1, devices=1, **options).fit(model, loader())
        return model

    plain, once = train(), len(calls)
    strategy = strategies.FSDPStrategy(activation_checkpointing_policy={Layer})
    model = train(strategy=strategy)
    assert len(calls) == 2 * once
    same(model.state_dict(), plain.state_dict())
    names = [name for name, _ in model.named_modules()]
    trainer(max_epochs=1, devices=1, strategy=strategy).fit(model, loader())
    other = strategies.FSDPStrategy(activation_checkpointing=Layer)
    with pytest.warns(UserWarning, match="the policy is not used"):
        trainer(max_epochs=1, devices=1, strategy=other).fit(model, loader())
    assert [name for name, _ in model.named_modules()] == names


def test_what_a_strategy_answers(trainer):
    run = trainer(plugins=[TorchSyncBatchNorm(), LightningEnvironment()])
    strategy, data = run.strategy, rl.ones(2)
    assert strategy.root_device == rl.device("cpu") and strategy.world_size == 1
    assert strategy.broadcast(data) is data and strategy.reduce(data) is data
    assert strategy.all_gather(data) is data and strategy.reduce_boolean_decision(True)
    assert isinstance(run.accelerator, accelerators.CPUAccelerator)
    assert run.device_ids == [0] and run.node_rank == 0 and run.scaler is None
    assert strategy.batch_to_device([data])[0].device.type == "cpu"


def test_accelerators():
    cpu = accelerators.CPUAccelerator()
    assert cpu.parse_devices("3") == 3 and len(cpu.get_parallel_devices(2)) == 2
    assert cpu.is_available() and cpu.auto_device_count() == 1
    for wrong in (0, -1, "auto", 1.5):
        with pytest.raises(TypeError, match="int above 0"):
            cpu.parse_devices(wrong)
    with pytest.raises(ValueError, match="expected cuda"):
        accelerators.CUDAAccelerator().setup_device(rl.device("cpu"))
    assert not accelerators.MPSAccelerator.is_available()
    assert accelerators.find_usable_cuda_devices(0) == []
    if not rl.cuda.is_available():
        with pytest.raises(ValueError, match="there are 0"):
            accelerators.find_usable_cuda_devices()
        with pytest.raises(MisconfigurationException, match="there are 0"):
            accelerators.CUDAAccelerator.parse_devices(2)
    assert L.Trainer(max_epochs=1, accelerator=cpu, logger=False).root_device.type == "cpu"


def test_statistics_of_the_processor():
    stats = accelerators.CPUAccelerator().get_device_stats(rl.device("cpu"))
    assert set(stats) <= {"cpu_vm_percent", "cpu_percent", "cpu_swap_percent"}
    assert all(0 <= value <= 100 for value in stats.values())


def test_slurm_settings(monkeypatch):
    monkeypatch.setenv("SLURM_NTASKS_PER_NODE", "2")
    monkeypatch.setenv("SLURM_NNODES", "3")
    SLURMEnvironment().validate_settings(2, 3)
    with pytest.raises(ValueError, match="ntasks-per-node=2"):
        SLURMEnvironment().validate_settings(4, 3)
    with pytest.raises(ValueError, match="has 3"):
        SLURMEnvironment().validate_settings(2, 1)
    assert SLURMEnvironment.resolve_root_node_address("beta-[06-09]") == "beta-06"


def test_collectives_of_one_process():
    one = SingleDeviceCollective().setup().create_group()
    assert one.group is not None and one.world_size == 1
    assert one.all_gather([], 3) == one.gather(3, []) == [3] and one.scatter(None, [4]) == 4
    one.teardown()
    with pytest.raises(RuntimeError, match="create_group"):
        one.group  # noqa: B018


def test_model_parallel_misuse(model_class, tmp_path):
    strategy = strategies.ModelParallelStrategy(2, 1, save_distributed_checkpoint=False)
    with pytest.raises(RuntimeError, match="not connected yet"):
        strategy.device_mesh  # noqa: B018
    with pytest.raises(RuntimeError, match="data_parallel_size=2 times tensor_parallel_size=1"):
        strategy.setup_environment()
    with pytest.raises(TypeError, match="does not define configure_model"):
        strategy.setup_module(model_class())
    with pytest.raises(TypeError, match="storage_options"):
        strategy.save_checkpoint({}, tmp_path / "a.ckpt", storage_options={})
    with pytest.raises(IsADirectoryError, match="is a folder"):
        strategy.save_checkpoint({}, tmp_path)
    assert model_class().device_mesh is None


def test_precision_of_divided_models():
    scaler = rl.amp.GradScaler("cpu")
    made = plugins.FSDPPrecision("16-mixed", scaler)
    made.run_on("cpu")
    assert made.scaler is scaler
    with pytest.raises(ValueError, match="scales no losses"):
        plugins.FSDPPrecision("bf16-mixed", scaler)
    run = L.Trainer(strategy="fsdp", precision="16-mixed", accelerator="cpu", max_steps=1)
    assert run.precision == "16-mixed" and type(run.precision_plugin) is plugins.FSDPPrecision
    run = L.Trainer(strategy="fsdp", precision="64-true", accelerator="cpu", max_steps=1)
    assert type(run.precision_plugin) is not plugins.FSDPPrecision


def test_one_process_with_a_divided_models_precision(model_class, loader, trainer):
    run = trainer(strategy="fsdp", precision="16-mixed", limit_val_batches=0)
    run.fit(model_class(), loader())
    assert run.global_step > 0 and run.precision_plugin.state_dict()["scale"] > 0


def test_data_parallel_has_one_device():
    with pytest.raises(MisconfigurationException, match="one process"):
        L.Fabric(accelerator="cpu", strategy="dp", devices=2)
    assert L.Fabric(accelerator="cpu", strategy="dp").strategy.strategy_name == "dp"
