"""Modes of modules: what the user set stays in training, as in Lightning 2.2 and later."""

from __future__ import annotations

import pytest

import lightning_lite as L
import rushlight as rl
from lightning_lite import easy
from rushlight import nn


@pytest.fixture
def module():
    """A frozen layer of batch normalization before a layer that learns."""

    class Frozen(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.backbone, self.head = nn.BatchNorm1d(4), nn.Linear(4, 1)

        def forward(self, x):
            return self.head(self.backbone(x))

        def training_step(self, batch, batch_idx):
            assert self.head.training
            return nn.functional.mse_loss(self(batch[0]), batch[1])

        def validation_step(self, batch, batch_idx):
            assert not any(each.training for each in self.modules())

        def configure_optimizers(self):
            return rl.optim.SGD(self.parameters(), lr=0.01)

    return Frozen()


def test_a_frozen_layer_keeps_its_statistics(module, loader, trainer):
    module.backbone.eval()
    before = module.backbone.running_mean.clone()
    with pytest.warns(UserWarning, match="1 modules are in eval mode and stay in it: backbone"):
        trainer(max_epochs=2).fit(module, loader(), loader())
    assert rl.equal(module.backbone.running_mean, before)
    assert module.training and module.head.training and not module.backbone.training


def test_a_layer_in_training_gathers_statistics(module, loader, trainer):
    before = module.backbone.running_mean.clone()
    trainer(max_epochs=1).fit(module, loader(), loader())
    assert not rl.equal(module.backbone.running_mean, before)


def test_an_error_inside_validation_leaves_the_modes(module, loader, trainer):
    class Raises(L.Callback):
        def on_validation_batch_end(self, *arguments):
            raise KeyError("here")

    with pytest.raises(KeyError, match="here"):
        trainer(callbacks=[Raises()]).fit(module, loader(), loader())
    assert all(each.training for each in module.modules())


def test_a_learner_trains_all_layers(loader):
    model = nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 1)).eval()
    learn = easy.Learner((loader(), loader()), model, nn.MSELoss(), enable_progress_bar=False)
    learn.fit(1)
    assert model[0].running_mean.abs().sum() > 0 and all(m.training for m in model.modules())


def test_a_compiled_module_is_refused(module, loader, trainer):
    with pytest.raises(TypeError, match="model is the result of compile; give the LightningModule"):
        trainer().fit(rl.compile(module), loader())
