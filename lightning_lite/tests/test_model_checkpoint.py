"""ModelCheckpoint: what it keeps, under which names, and when it writes."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

import lightning_lite as L
import rushlight as rl
from lightning_lite.callbacks import LambdaCallback, ModelCheckpoint
from lightning_lite.checkpoint_names import format_name


@pytest.fixture
def kept(model_class, loader, trainer, tmp_path):
    """Trains with scripted validation values; returns the callback and the sorted file names."""

    def run(values, rows=22, trainer_options=None, callback_class=ModelCheckpoint, **options):
        class Scripted(model_class):
            def validation_step(self, batch, batch_idx):
                self.log("val_loss", values[self.current_epoch])

        folder = tmp_path / "kept"
        keep = callback_class(dirpath=folder, **options)
        settings = {"max_epochs": len(values), **(trainer_options or {})}
        trainer(callbacks=[keep], **settings).fit(Scripted(), loader(rows), loader(8))
        names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
        return keep, names

    return run


def test_without_a_monitor_the_newest_is_kept(kept):
    keep, names = kept([3.0, 2.0, 1.0])
    assert names == ["epoch=2-step=18.ckpt"]
    assert Path(keep.best_model_path).name == names[0]
    assert keep.best_model_score is None


def test_the_best_are_kept(kept):
    keep, names = kept(
        [3.0, 1.0, 2.0, 5.0, 1.5],
        monitor="val_loss",
        save_top_k=2,
        filename="{epoch}-{val_loss:.1f}",
    )
    assert names == ["epoch=1-val_loss=1.0.ckpt", "epoch=4-val_loss=1.5.ckpt"]
    assert Path(keep.best_model_path).name == names[0]
    assert keep.best_model_score.item() == 1.0
    assert Path(keep.kth_best_model_path).name == names[1]
    assert {Path(path).name: score.item() for path, score in keep.best_k_models.items()} == {
        "epoch=1-val_loss=1.0.ckpt": 1.0,
        "epoch=4-val_loss=1.5.ckpt": 1.5,
    }


def test_the_largest_are_kept(kept):
    _, names = kept([3.0, 1.0, 4.0], monitor="val_loss", mode="max", filename="{epoch}")
    assert names == ["epoch=2.ckpt"]


def test_a_value_that_is_not_a_number_is_the_worst(kept):
    keep, names = kept([3.0, float("nan"), 2.0], monitor="val_loss", filename="{epoch}")
    assert names == ["epoch=2.ckpt"] and keep.best_model_score.item() == 2.0


def test_all_are_kept(kept):
    _, names = kept([3.0, 1.0, 2.0], save_top_k=-1, filename="{epoch:02d}")
    assert names == ["epoch=00.ckpt", "epoch=01.ckpt", "epoch=02.ckpt"]


def test_none_are_kept(kept):
    assert kept([3.0, 1.0], save_top_k=0)[1] == []


def test_names_that_are_taken_get_a_number(kept):
    _, names = kept([3.0, 1.0, 2.0], save_top_k=-1, filename="model")
    assert names == ["model-v1.ckpt", "model-v2.ckpt", "model.ckpt"]
    _, again = kept([3.0], save_top_k=-1, filename="model", enable_version_counter=False)
    assert again == names


def test_the_last_is_kept_beside_the_best(kept):
    keep, names = kept([1.0, 2.0], monitor="val_loss", filename="{epoch}", save_last=True)
    assert names == ["epoch=0.ckpt", "last.ckpt"]
    assert Path(keep.last_model_path).name == "last.ckpt"
    assert rl.load(keep.last_model_path)["epoch"] == 0  # as Lightning: when a best one is written


def test_the_last_may_be_a_link(kept):
    keep, names = kept([1.0, 2.0], save_top_k=-1, filename="{epoch}", save_last="link")
    assert names == ["epoch=0.ckpt", "epoch=1.ckpt", "last.ckpt"]
    assert Path(keep.last_model_path).is_symlink()
    assert rl.load(keep.last_model_path)["epoch"] == 1


def test_the_last_alone(kept):
    _, names = kept([1.0, 2.0], save_top_k=0, save_last=True)
    assert names == ["last.ckpt"]


def test_the_name_of_the_last_may_be_changed(kept):
    class Named(ModelCheckpoint):
        CHECKPOINT_NAME_LAST = "final-{epoch}"

    _, names = kept([1.0, 2.0], callback_class=Named, save_top_k=0, save_last=True)
    assert names == ["final-epoch=1.ckpt"]


def test_every_second_epoch(kept):
    _, names = kept([1.0] * 5, save_top_k=-1, every_n_epochs=2, filename="{epoch}")
    assert names == ["epoch=1.ckpt", "epoch=3.ckpt"]


def test_every_fourth_step(kept):
    _, names = kept([1.0] * 2, save_top_k=-1, every_n_train_steps=4)
    assert names == ["epoch=0-step=4.ckpt", "epoch=1-step=12.ckpt", "epoch=1-step=8.ckpt"]


def test_by_the_clock(kept):
    _, names = kept([1.0], save_top_k=-1, train_time_interval=timedelta(seconds=0))
    assert len(names) == 6


def test_after_each_validation_inside_an_epoch(kept):
    options = {"val_check_interval": 0.5}
    _, names = kept([1.0], save_top_k=-1, trainer_options=options)
    assert names == ["epoch=0-step=3.ckpt", "epoch=0-step=6.ckpt"]


def test_a_value_that_comes_with_validation_is_waited_for(kept):
    _, names = kept(
        [1.0, 2.0],
        rows=24,
        monitor="val_loss",
        save_top_k=-1,
        every_n_train_steps=6,
        filename="{step}",
    )
    assert names == ["step=12.ckpt", "step=6.ckpt"]


def test_weights_alone(kept):
    keep, _ = kept([1.0], save_weights_only=True)
    saved = rl.load(keep.best_model_path)
    assert "optimizer_states" not in saved and "loops" not in saved
    assert "state_dict" in saved and saved["hyper_parameters"]["lr"] == 0.01


def test_on_an_exception(model_class, loader, trainer, tmp_path):
    def fail(run, module, batch, batch_idx):
        if batch_idx == 3:
            raise ZeroDivisionError

    keep = ModelCheckpoint(dirpath=tmp_path / "kept", save_on_exception=True)
    run = trainer(callbacks=[keep, LambdaCallback(on_train_batch_start=fail)])
    with pytest.raises(ZeroDivisionError):
        run.fit(model_class(), loader(), loader(8))
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["epoch=0-step=3.ckpt"]


def test_the_folder_is_the_loggers(model_class, loader, trainer, tmp_path):
    run = trainer(logger=True)
    run.fit(model_class(), loader(), loader(8))
    expected = tmp_path / "lightning_logs" / "version_0" / "checkpoints" / "epoch=0-step=6.ckpt"
    assert run.checkpoint_callback.best_model_path == str(expected)


def test_the_folder_without_a_logger(model_class, loader, trainer, tmp_path):
    trainer().fit(model_class(), loader(), loader(8))
    assert [p.name for p in (tmp_path / "checkpoints").iterdir()] == ["epoch=0-step=6.ckpt"]


def test_last_is_found_again_in_the_next_version(model_class, loader, trainer):
    class Keep(ModelCheckpoint):
        def __init__(self):
            super().__init__(save_last=True)

    first = trainer(max_epochs=2, logger=True, callbacks=[Keep()])
    first.fit(model_class(), loader(), loader(8))
    second = trainer(max_epochs=3, logger=True, callbacks=[Keep()])
    second.fit(model_class(), loader(), loader(8), ckpt_path="last")
    assert second.ckpt_path == first.checkpoint_callback.last_model_path
    assert second.global_step == 18


def test_last_without_a_file_warns(model_class, loader, trainer):
    with pytest.warns(UserWarning, match="no last checkpoint"):
        trainer().fit(model_class(), loader(), loader(8), ckpt_path="last")


def test_best_is_used_by_name(model_class, loader, trainer, tmp_path):
    class Scripted(model_class):
        def validation_step(self, batch, batch_idx):
            self.log("val_loss", [1.0, 2.0, 3.0][self.current_epoch])

    keep = ModelCheckpoint(dirpath=tmp_path / "kept", monitor="val_loss")
    run = trainer(max_epochs=3, callbacks=[keep])
    model = Scripted()
    run.fit(model, loader(), loader(8))
    final = model.net[0].weight.clone()
    run.test(ckpt_path="best", dataloaders=loader(8), verbose=False)
    assert not rl.equal(model.net[0].weight, final)
    assert run.ckpt_path == keep.best_model_path


def test_an_unlogged_monitor_is_named(kept):
    with pytest.raises(L.MisconfigurationException, match=r"'accuracy' was not logged.*val_loss"):
        kept([1.0], monitor="accuracy")


MISTAKES = [
    ({"mode": "best"}, "mode 'best'"),
    ({"save_top_k": -2}, "save_top_k=-2"),
    ({"save_top_k": 3}, "needs a monitor"),
    ({"every_n_epochs": -1}, "every_n_epochs=-1"),
    ({"every_n_epochs": 1, "every_n_train_steps": 2}, "give one of"),
]


@pytest.mark.parametrize(("options", "text"), MISTAKES)
def test_mistaken_options_are_named(options, text):
    with pytest.raises(L.MisconfigurationException, match=text):
        ModelCheckpoint(**options)


@pytest.mark.parametrize(
    ("template", "equals", "expected"),
    [
        ("{epoch}-{step}", "=", "epoch=3-step=40"),
        ("{epoch:03d}", None, "003"),
        ("best-{val/loss:.3f}", None, "best-0.250"),
        ("{val/loss:.2f}", "=", "val/loss=0.25"),
        ("{missing:.1f}", "=", "missing=0.0"),
        ("plain", "=", "plain"),
    ],
)
def test_names(template, equals, expected):
    values = {"epoch": 3, "step": 40, "val/loss": rl.tensor(0.25)}
    assert format_name(template, values, equals) == expected


def test_the_last_checkpoint_of_an_earlier_training_stays(tmp_path, model_class, loader, trainer):
    """Names as Lightning 2.6.6 gives them."""

    def run(epochs, path=None, **options):
        kept = L.callbacks.ModelCheckpoint(dirpath=tmp_path / "kept", save_top_k=0, **options)
        trainer(max_epochs=epochs, callbacks=[kept]).fit(
            model_class(), loader(), loader(4), ckpt_path=path
        )
        return Path(kept.last_model_path).name, sorted(os.listdir(tmp_path / "kept"))

    first = tmp_path / "kept" / "last.ckpt"
    assert run(1, save_last=True) == ("last.ckpt", ["last.ckpt"])
    content = first.read_bytes()
    assert run(1, save_last=True) == ("last-v1.ckpt", ["last-v1.ckpt", "last.ckpt"])
    assert first.read_bytes() == content
    # A training that goes on writes its own file again.
    assert run(2, first, save_last=True) == ("last.ckpt", ["last-v1.ckpt", "last.ckpt"])
    assert first.read_bytes() != content
    known = ("last.ckpt", ["last-v1.ckpt", "last.ckpt"])
    assert run(1, save_last=True, enable_version_counter=False) == known
