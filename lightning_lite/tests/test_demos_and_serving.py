"""Demo models train, missing data are named, and served models answer as they say."""

from __future__ import annotations

import math
import urllib.request

import pytest

import rushlight as rl
from lightning_lite.demos import mnist_datamodule
from lightning_lite.demos.boring_classes import BoringModel, IterableBoringDataModule
from lightning_lite.demos.lstm import LightningLSTM, SequenceSampler
from lightning_lite.demos.transformer import PositionalEncoding, WikiText2
from lightning_lite.serve import ServableModule, ServableModuleValidator
from rushlight.utils.data import DataLoader


@pytest.fixture
def text(tmp_path):
    (tmp_path / "wikitext-2.txt").write_text("a b c d e\nb c d\n" * 40)
    return tmp_path


def test_positions_are_sines_and_cosines():
    added = PositionalEncoding(4).eval()(rl.zeros(1, 3, 4))[0]
    expected = [
        [f(p / 10000 ** (2 * k / 4)) for k in range(2) for f in (math.sin, math.cos)]
        for p in range(3)
    ]
    assert rl.allclose(added, rl.tensor(expected), atol=1e-6)


def test_text_that_is_not_there(tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise OSError("no network")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    with pytest.raises(FileNotFoundError, match="no network.*https://.*train.txt"):
        WikiText2(tmp_path)
    with pytest.raises(FileNotFoundError, match="download=False"):
        WikiText2(tmp_path, download=False)


def test_a_language_model_learns(text, trainer):
    data = WikiText2(text, block_size=6)
    inputs, target = data[2]
    assert target[:-1].tolist() == inputs[1:].tolist() and data.vocab_size == 6
    model = LightningLSTM(vocab_size=data.vocab_size)
    model.model = type(model.model)(data.vocab_size, ninp=8, nhid=8, nlayers=1, dropout=0.0)
    loader = DataLoader(data, batch_sampler=SequenceSampler(data, 4))
    losses = []
    model.prepare_data = lambda: None  # the text is there
    model.log = lambda name, value, **options: losses.append(float(value))
    assert model.configure_optimizers().param_groups[0]["lr"] == 20  # chaotic for so small a one
    model.configure_optimizers = lambda: rl.optim.SGD(model.parameters(), lr=3.0)
    trainer(max_epochs=6).fit(model, loader)
    assert losses[-1] < 0.5 * losses[0] and model.hidden is None


def test_several_loaders_without_length(trainer):
    class Two(BoringModel):
        def training_step(self, batch, batch_idx):
            return self.step(batch[0]) + self.step(batch[1])

    run = trainer(limit_train_batches=4, limit_val_batches=0)
    run.fit(Two(), datamodule=IterableBoringDataModule())
    assert run.global_step == 4


def test_digits_come_from_vision(monkeypatch):
    module = mnist_datamodule.MNISTDataModule(val_split=3)
    assert module.num_classes == 10 and module.name == "mnist"
    monkeypatch.setitem(__import__("sys").modules, "rushlight_vision", None)
    with pytest.raises(ModuleNotFoundError, match="rushlight-vision"):
        mnist_datamodule.MNIST("data")


class Served(BoringModel, ServableModule):
    """Adds the numbers of a request up."""

    answer = 6.0

    def configure_payload(self):
        return {"body": {"x": [1.0, 2.0, 3.0]}}

    def configure_serialization(self):
        return {"x": rl.tensor}, {"total": lambda tensor: tensor.item()}

    def serve_step(self, x):
        assert not self.training
        return {"total": x.sum()}

    def configure_response(self):
        return {"total": self.answer}


def test_served_module_is_checked_before_training(trainer):
    check = ServableModuleValidator()
    trainer(callbacks=[check], limit_train_batches=1).fit(Served())
    assert check.successful and check.state_dict() == {"successful": True}
    wrong = Served()
    wrong.answer = 7.0
    with pytest.raises(ValueError, match="7.0"):
        trainer(callbacks=[ServableModuleValidator()], limit_train_batches=1).fit(wrong)
    check = ServableModuleValidator(exit_on_failure=False)
    trainer(callbacks=[check], limit_train_batches=1).fit(wrong)
    assert check.successful is False
    with pytest.raises(TypeError, match="no ServableModule"):
        trainer(callbacks=[ServableModuleValidator()], limit_train_batches=1).fit(BoringModel())
