"""Validation, test and prediction by themselves."""

from __future__ import annotations

import pytest

import lightning_lite as L
import rushlight as rl
from lightning_lite.callbacks import LambdaCallback, ModelCheckpoint
from rushlight import nn

F = nn.functional


def test_test_returns_what_was_logged(model_class, loader, trainer):
    model = model_class()
    (found,) = trainer().test(model, loader(10), verbose=False)
    x, y = loader(10).dataset.tensors
    with rl.no_grad():
        expected = F.mse_loss(model(x), y).item()
    assert found == {"test_loss": pytest.approx(expected, rel=1e-5), "two": 2.0}


def test_validate_prints_a_table(model_class, loader, trainer, capsys):
    trainer().validate(model_class(), loader(8))
    text = capsys.readouterr().out
    assert "validate metric" in text and "val_loss" in text


def test_several_loaders_are_told_apart(model_class, loader, trainer, capsys):
    class Several(model_class):
        def validation_step(self, batch, batch_idx, dataloader_idx=0):
            self.log("number", float(dataloader_idx))
            self.log("same", float(dataloader_idx + batch_idx), add_dataloader_idx=False)

    run = trainer()
    found = run.validate(Several(), [loader(8), loader(4, seed=3)])
    assert [values[f"number/dataloader_idx_{n}"] for n, values in enumerate(found)] == [0.0, 1.0]
    assert found[0]["same"] == pytest.approx((0 + 1 + 1) / 3)
    assert run.callback_metrics["number/dataloader_idx_1"].item() == 1.0
    assert "loader 1" in capsys.readouterr().out


def test_a_single_loader_needs_no_number(model_class, loader, trainer):
    seen = []

    class Asks(model_class):
        def test_step(self, batch, batch_idx, dataloader_idx):
            seen.append(dataloader_idx)

    trainer().test(Asks(), loader(4), verbose=False)
    assert seen == [0]


def test_predictions_are_returned(model_class, loader, trainer):
    model = model_class()
    data = loader(10)
    found = trainer().predict(model, data)
    with rl.no_grad():
        expected = model(data.dataset.tensors[0])
    assert [len(each) for each in found] == [4, 4, 2]
    rl.testing.assert_close(rl.cat(found), expected)
    both = trainer().predict(model, [data, loader(4)])
    assert [len(each) for each in both] == [3, 1]
    assert trainer().predict(model, data, return_predictions=False) is None


def test_predict_step_defaults_to_forward(trainer, loader):
    class Double(L.LightningModule):
        def forward(self, batch):
            return batch[0] * 2

    data = loader(4)
    (found,) = trainer().predict(Double(), data)
    assert rl.equal(found, data.dataset.tensors[0] * 2)


def test_nothing_is_recorded_and_modes_come_back(model_class, loader, trainer):
    seen = []

    class Look(model_class):
        def test_step(self, batch, batch_idx):
            output = self(batch[0])
            seen.append((output.requires_grad, rl.is_inference_mode_enabled(), self.training))

    model = Look()
    model.train()
    model.net[1].eval()
    trainer().test(model, loader(4), verbose=False)
    trainer(inference_mode=False).test(model, loader(4), verbose=False)
    assert seen == [(False, True, False), (False, False, False)]
    assert model.training and model.net[0].training and not model.net[1].training


def test_limits(model_class, loader, trainer):
    counts = {"test": 0, "predict": 0}

    def count(kind):
        def add(*arguments):
            counts[kind] += 1

        return add

    callback = LambdaCallback(
        on_test_batch_end=count("test"), on_predict_batch_end=count("predict")
    )
    run = trainer(limit_test_batches=3, limit_predict_batches=0.5, callbacks=[callback])
    run.test(model_class(), loader(40), verbose=False)
    run.predict(model_class(), loader(40))
    assert counts == {"test": 3, "predict": 5}


def test_loaders_of_the_module_are_used(model_class, loader, trainer):
    class Own(model_class):
        def train_dataloader(self):
            return loader()

        def val_dataloader(self):
            return [loader(8), loader(4)]

        def test_dataloader(self):
            return loader(8)

        def predict_dataloader(self):
            return loader(8)

        def validation_step(self, batch, batch_idx, dataloader_idx=0):
            self.log("val_loss", 1.0)

    run, model = trainer(), Own()
    run.fit(model)
    assert len(run.validate(model, verbose=False)) == 2
    assert len(run.test(model, verbose=False)) == 1
    assert len(run.predict(model)) == 2


def test_without_a_model_the_best_weights_are_used(model_class, loader, trainer, tmp_path):
    class Scripted(model_class):
        def validation_step(self, batch, batch_idx):
            self.log("val_loss", [1.0, 2.0][self.current_epoch])

    keep = ModelCheckpoint(dirpath=tmp_path / "kept", monitor="val_loss")
    run, model = trainer(max_epochs=2, callbacks=[keep]), Scripted()
    run.fit(model, loader(), loader(8))
    run.test(dataloaders=loader(8), verbose=False)
    expected = rl.load(keep.best_model_path)["state_dict"]
    assert rl.equal(model.state_dict()["net.0.weight"], expected["net.0.weight"])


def test_without_any_model_it_is_refused(trainer, loader):
    with pytest.raises(TypeError, match="give a LightningModule"):
        trainer().test(dataloaders=loader(4))


def test_missing_steps_and_data_are_named(loader, trainer):
    class Empty(L.LightningModule):
        pass

    with pytest.raises(L.MisconfigurationException, match="does not define test_step"):
        trainer().test(Empty(), loader(4))
    with pytest.raises(L.MisconfigurationException, match="define predict_dataloader"):
        trainer().predict(Empty())


def test_nothing_is_counted_as_training(model_class, loader, trainer):
    run, model = trainer(), model_class()
    run.fit(model, loader(), loader(8))
    run.validate(model, loader(8), verbose=False)
    assert (run.current_epoch, run.global_step) == (1, 6)
    assert run.state.finished and run.state.stage is None
