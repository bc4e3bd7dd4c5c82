"""Callbacks that freeze, average and prune go on exactly after a resume; what others write."""

from __future__ import annotations

import csv

import pytest

import lightning_lite as L
import rushlight as rl
from lightning_lite import callbacks
from lightning_lite.errors import MisconfigurationException
from rushlight import nn


class WithBackbone(L.LightningModule):
    """A backbone with batch normalization, and a head."""

    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh())
        self.head = nn.Linear(8, 1)

    def training_step(self, batch, batch_idx):
        loss = nn.functional.mse_loss(self.head(self.backbone(batch[0])), batch[1])
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        output = self.head(self.backbone(batch[0]))
        self.log("val_loss", nn.functional.mse_loss(output, batch[1]))

    def configure_optimizers(self):
        needed = [each for each in self.parameters() if each.requires_grad]
        optimizer = rl.optim.Adam(needed, lr=0.02)
        plateau = rl.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
        return {"optimizer": optimizer, "lr_scheduler": plateau, "monitor": "val_loss"}


STATEFUL = {
    "finetuning": lambda: callbacks.BackboneFinetuning(1, train_bn=False),
    "late finetuning": lambda: callbacks.BackboneFinetuning(3),
    "swa": lambda: callbacks.StochasticWeightAveraging(0.01, 2, annealing_epochs=2),
    "late swa": lambda: callbacks.StochasticWeightAveraging(0.01, 4, annealing_strategy="linear"),
    "average": lambda: callbacks.WeightAveraging(),
    "moving average": lambda: callbacks.EMAWeightAveraging(decay=0.8, update_every_n_steps=2),
    "spikes": lambda: callbacks.SpikeDetection(atol=1e6, rtol=None),
}


@pytest.mark.parametrize("name", STATEFUL)
@pytest.mark.filterwarnings("ignore")
def test_training_goes_on_exactly(name, loader, trainer, tmp_path, same):
    def fit(epochs, path=None):
        keeper = callbacks.ModelCheckpoint(tmp_path, filename="{epoch}", save_top_k=-1)
        run = trainer(max_epochs=4, callbacks=[STATEFUL[name](), keeper])
        if epochs < 4:
            stop = callbacks.LambdaCallback(
                on_train_epoch_end=lambda t, m: setattr(
                    t, "should_stop", t.current_epoch + 1 == epochs
                )
            )
            run.callbacks.insert(0, stop)
        model = WithBackbone()
        run.fit(model, loader(), loader(8), ckpt_path=path)
        return run, model

    L.seed_everything(3, verbose=False)
    whole, expected = fit(4)
    for path in tmp_path.glob("*.ckpt"):
        path.unlink()
    L.seed_everything(3, verbose=False)
    fit(2)
    L.seed_everything(9, verbose=False)
    run, model = fit(4, tmp_path / "epoch=1.ckpt")
    same(dict(model.state_dict()), dict(expected.state_dict()))
    rates = [[group["lr"] for group in each.optimizers[0].param_groups] for each in (run, whole)]
    assert rates[0] == rates[1]


def test_a_checkpoint_holds_the_average(loader, trainer, tmp_path):
    keeper = callbacks.ModelCheckpoint(tmp_path, filename="x")
    run = trainer(max_epochs=2, callbacks=[callbacks.WeightAveraging(), keeper])
    model = WithBackbone()
    run.fit(model, loader(), loader(8))
    saved = rl.load(keeper.best_model_path)
    assert rl.equal(saved["state_dict"]["head.weight"], model.head.weight)
    assert not rl.equal(saved["current_model_state"]["head.weight"], model.head.weight)


def test_statistics_are_measured_under_the_mean(loader, trainer):
    model = WithBackbone()
    average = callbacks.StochasticWeightAveraging(0.01, 1)
    run = trainer(max_epochs=3, callbacks=[average], limit_val_batches=0)
    model.configure_optimizers = lambda: rl.optim.SGD(model.parameters(), lr=0.05)
    run.fit(model, loader(20))
    inputs = rl.cat([batch[0] for batch in loader(20)])
    hidden = model.backbone[0](inputs)
    mean = rl.stack([part.mean(0) for part in hidden.split(4)]).mean(0)
    assert rl.allclose(model.backbone[1].running_mean, mean, atol=1e-5)
    assert model.backbone[1].momentum == 0.1


MISTAKES = [
    (lambda: callbacks.StochasticWeightAveraging(0), "swa_lrs=0"),
    (lambda: callbacks.StochasticWeightAveraging(0.1, 1.5), "swa_epoch_start=1.5"),
    (lambda: callbacks.StochasticWeightAveraging(0.1, avg_fn=3), "avg_fn=3"),
    (lambda: callbacks.ModelPruning("other"), "pruning_fn='other'"),
    (lambda: callbacks.ModelPruning("ln_structured"), "needs pruning_dim"),
    (lambda: callbacks.ModelPruning("random_structured", pruning_dim=0), "use_global_unstructured"),
    (lambda: callbacks.ModelPruning("l1_unstructured", amount="x"), "amount='x'"),
    (lambda: callbacks.ModelPruning("l1_unstructured", verbose=3), "verbose=3"),
]


@pytest.mark.parametrize(("make", "text"), MISTAKES, ids=[text for _, text in MISTAKES])
def test_mistaken_arguments_are_named(make, text):
    with pytest.raises(MisconfigurationException, match=text):
        make()


def test_models_that_cannot_be_finetuned(model_class, loader, trainer):
    class Bare(model_class):
        backbone = None

        def setup(self, stage):
            self.backbone = 3

    with pytest.raises((MisconfigurationException, AttributeError), match="backbone|modules"):
        trainer(callbacks=[callbacks.BackboneFinetuning()]).fit(Bare(), loader(), loader(4))
    with pytest.raises(NotImplementedError, match="freeze_before_training"):
        trainer(callbacks=[callbacks.BaseFinetuning()]).fit(model_class(), loader(), loader(4))


def test_pruned_share_is_told(model_class, loader, trainer, monkeypatch):
    told = []
    monkeypatch.setattr("lightning_lite.callbacks.pruning.info", told.append)
    pruning = callbacks.ModelPruning(
        "l1_unstructured", amount=0.25, verbose=2, use_lottery_ticket_hypothesis=False
    )
    model = model_class()
    trainer(max_epochs=1, callbacks=[pruning], limit_val_batches=0).fit(model, loader())
    zeros = sum(int((each == 0).sum()) for each in model.parameters())
    assert zeros == round(0.25 * 49) and f"{zeros}/49" in told[0] and "Linear.weight" in told[1]
    assert [name for name, _ in model.named_buffers()] == []


def test_statistics_of_the_device_are_logged(model_class, loader, trainer, tmp_path):
    def columns(**options):
        folder = tmp_path / str(options)
        run = trainer(
            logger=L.loggers.CSVLogger(folder),
            callbacks=[callbacks.DeviceStatsMonitor(**options)],
            log_every_n_steps=2,
            limit_val_batches=0,
        )
        run.fit(model_class(), loader())
        with open(next(folder.rglob("metrics.csv")), newline="") as file:
            return {name for row in csv.DictReader(file) for name in row if row[name]}

    found = columns()
    assert {
        f"DeviceStatsMonitor.on_train_batch_{when}/cpu_vm_percent" for when in ("start", "end")
    } <= found or not any("DeviceStats" in name for name in found)
    assert not any("DeviceStats" in name for name in columns(cpu_stats=False))
    with pytest.raises(MisconfigurationException, match="no logger"):
        run = trainer(callbacks=[callbacks.DeviceStatsMonitor()], limit_val_batches=0)
        run.fit(model_class(), loader())


def test_checkpoint_of_an_exception(model_class, loader, trainer, tmp_path, same):
    class Breaks(model_class):
        def training_step(self, batch, batch_idx):
            if self.trainer.global_step == 8 and not hasattr(self, "mended"):
                raise RuntimeError("broken")
            return super().training_step(batch, batch_idx)

    def fit(model, **more):
        keeper = callbacks.OnExceptionCheckpoint(tmp_path, "fault")
        run = trainer(max_epochs=3, callbacks=[keeper], limit_val_batches=0)
        run.fit(model, loader(shuffle=True), **more)
        return model

    L.seed_everything(3, verbose=False)
    expected = fit(model_class()).state_dict()
    L.seed_everything(3, verbose=False)
    with pytest.raises(RuntimeError, match="broken"):
        fit(Breaks())
    mended = Breaks()
    mended.mended = True
    fit(mended, ckpt_path=tmp_path / "fault.ckpt")
    same(dict(mended.state_dict()), dict(expected))
    with pytest.raises(ValueError, match="filename"):
        callbacks.OnExceptionCheckpoint(tmp_path, "")


def test_rich_summary(model_class, loader, trainer, capsys):
    pytest.importorskip("rich")
    summary = callbacks.RichModelSummary(max_depth=2)
    run = trainer(enable_model_summary=None, callbacks=[summary], limit_val_batches=0)
    run.fit(model_class(), loader())
    text = capsys.readouterr().out
    assert "net.0" in text and "Linear" in text and "49 parameters in all" in text.replace("\n", "")


def test_positions_of_a_random_order_are_not_told(model_class, loader, trainer):
    seen = []

    class Writer(callbacks.BasePredictionWriter):
        def write_on_epoch_end(self, run, module, predictions, batch_indices):
            seen.append((len(predictions), batch_indices))

    trainer(callbacks=[Writer("epoch")]).predict(model_class(), loader(8, shuffle=True))
    assert seen == [(2, [[None, None]])]
    with pytest.raises(ValueError, match="write_interval='never'"):
        Writer("never")


def test_a_jump_of_the_loss_ends_training(model_class, loader, trainer, tmp_path):
    class Jumps(model_class):
        def training_step(self, batch, batch_idx):
            loss = super().training_step(batch, batch_idx)
            return loss * 1e6 if batch_idx == 4 else loss

    watch = callbacks.SpikeDetection(exclude_batches_path=tmp_path / "skip.json")
    with pytest.raises(RuntimeError, match="batch 4"):
        trainer(callbacks=[watch], limit_val_batches=0).fit(Jumps(), loader())
    assert (tmp_path / "skip.json").read_text() == "[4]"
