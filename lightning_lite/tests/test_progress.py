"""Progress bars: what they show, and that they can be switched off."""

from __future__ import annotations

import io
import re

import pytest

import lightning_lite as L
from lightning_lite.callbacks import Callback, ProgressBar, RichProgressBar, TQDMProgressBar
from lightning_lite.callbacks.progress import RichProgressBarTheme


def fit_with(bar, model_class, loader, trainer, **options):
    run = trainer(enable_progress_bar=None, callbacks=[bar], max_epochs=2, **options)
    run.fit(model_class(), loader(), loader(8))
    return run


def test_tqdm_shows_epochs_and_numbers(model_class, loader, trainer, capsys):
    fit_with(TQDMProgressBar(leave=True), model_class, loader, trainer)
    text = capsys.readouterr().out
    assert "Sanity check" in text
    assert re.search(r"Epoch 0: 100%.*6/6", text)
    assert re.search(r"Epoch 1: 100%.*val_loss=\d.*train_loss_epoch=\d", text)


def test_tqdm_shows_tests_and_predictions(model_class, loader, trainer, capsys):
    run = trainer(enable_progress_bar=None)
    assert type(run.progress_bar_callback) is TQDMProgressBar
    run.test(model_class(), [loader(8), loader(4)], verbose=False)
    run.predict(model_class(), loader(8))
    text = capsys.readouterr().out
    assert "Test 1: 100%" in text and "Predict: 100%" in text


def test_tqdm_at_rate_zero_is_silent(model_class, loader, trainer, capsys):
    bar = TQDMProgressBar(refresh_rate=0)
    fit_with(bar, model_class, loader, trainer)
    assert bar.is_disabled
    captured = capsys.readouterr()
    assert "Epoch" not in captured.out + captured.err


def test_printing_goes_above_the_bar(model_class, loader, trainer, capsys):
    class Says(model_class):
        def on_train_batch_end(self, outputs, batch, batch_idx):
            self.print("batch", batch_idx)

    fit_with(TQDMProgressBar(), Says, loader, trainer)
    assert "batch 5\n" in capsys.readouterr().out


def test_rich_shows_epochs_and_numbers(model_class, loader, trainer, capsys):
    pytest.importorskip("rich")
    bar = RichProgressBar(console_kwargs={"force_terminal": True, "width": 160})
    fit_with(bar, model_class, loader, trainer)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().out)
    assert "Epoch 1" in text and "6/6" in text
    assert "val_loss" in text and "train_loss_epoch" in text
    bar.disable()
    assert bar.is_disabled
    bar.enable()
    assert bar.is_enabled


def test_richs_columns(model_class, loader, trainer, capsys):
    pytest.importorskip("rich")
    from rich.progress import TextColumn

    class Own(RichProgressBar):
        def configure_columns(self, trainer):
            return [TextColumn("at {task.completed}"), *super().configure_columns(trainer)[2:3]]

    theme = RichProgressBarTheme(metrics_format=".1e", metrics_text_delimiter="; ")
    bar = Own(leave=True, theme=theme, console_kwargs={"force_terminal": True, "width": 160})
    fit_with(bar, model_class, loader, trainer)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().out)
    assert "at 6" in text and "6/6" in text
    assert re.search(r"val_loss: \d\.\de[+-]\d\d; train_loss_epoch: \d\.\de", text)


def test_an_endless_task_of_rich():
    pytest.importorskip("rich")
    from rich.console import Console

    from lightning_lite.callbacks.progress import rich_progress as columns

    progress = columns.CustomProgress(
        columns.CustomBarColumn(), columns.BatchesProcessedColumn("dim"),
        columns.CustomTimeColumn("dim"), columns.ProcessingSpeedColumn("dim"),
        auto_refresh=False, console=Console(width=100, file=io.StringIO(), force_terminal=True),
    )  # fmt: skip
    with progress:
        endless = progress.add_task("endless", total=float("inf"))
        known = progress.add_task("known", total=4, completed=1)
        progress.advance(endless, 3)
        progress.soft_refresh()
    first, second = progress.tasks
    assert (first.id, second.id) == (endless, known) == (0, 1)
    assert isinstance(first, columns.CustomInfiniteTask) and first.time_remaining is None
    made = [[column.render(task) for column in progress.columns] for task in progress.tasks]
    assert made[0][0].pulse and not made[1][0].pulse
    assert [str(row[1]) for row in made] == ["3/--", "1/4"]
    assert str(made[0][2]) == "0:00:00 • -:--:--" and str(made[1][3]).endswith("it/s")
    assert "3/--" in progress.console.file.getvalue()


def test_rich_shows_tests(model_class, loader, trainer, capsys):
    pytest.importorskip("rich")
    bar = RichProgressBar(console_kwargs={"force_terminal": True, "width": 120})
    run = trainer(enable_progress_bar=None, callbacks=[bar])
    run.test(model_class(), loader(8), verbose=False)
    run.predict(model_class(), loader(8))
    text = capsys.readouterr().out
    assert "Test" in text and "Predict" in text


def test_a_bar_of_ones_own(model_class, loader, trainer):
    class Own(ProgressBar):
        def __init__(self):
            super().__init__()
            self.seen = []

        def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
            self.seen.append(self.get_metrics(trainer, pl_module))

    own = Own()
    with pytest.raises(TypeError, match="no trainer yet"):
        _ = own.trainer
    run = fit_with(own, model_class, loader, trainer, logger=True)
    assert own.trainer is run
    assert own.seen[-1]["v_num"] == 0 and "train_loss_step" in own.seen[-1]
    with pytest.raises(NotImplementedError, match="Own does not define disable"):
        own.disable()


def test_one_bar_only():
    with pytest.raises(L.MisconfigurationException, match="one progress bar"):
        L.Trainer(max_epochs=1, callbacks=[TQDMProgressBar(), TQDMProgressBar()])
    with pytest.raises(L.MisconfigurationException, match="enable_progress_bar=False"):
        L.Trainer(max_epochs=1, enable_progress_bar=False, callbacks=[TQDMProgressBar()])


def test_a_bar_ends_when_training_fails(model_class, loader, trainer, capsys):
    class Fails(Callback):
        def on_train_batch_end(self, *arguments):
            raise ZeroDivisionError

    run = trainer(enable_progress_bar=None, callbacks=[Fails()])
    with pytest.raises(ZeroDivisionError):
        run.fit(model_class(), loader(), loader(8))
    assert run.progress_bar_callback._training_bar is None


def test_bars_of_a_subclass(model_class, loader, trainer, capsys):
    made = []

    def own(name):
        def make(self):
            bar = getattr(TQDMProgressBar, name)(self)
            bar.bar_format = "{desc} own {n_fmt}/{total_fmt}"
            made.append((name.split("_")[1], bar.desc.rstrip(": ")))
            return bar

        return make

    kinds = ("sanity", "train", "validation", "test", "predict")
    names = [f"init_{kind}_tqdm" for kind in kinds]
    Own = type("Own", (TQDMProgressBar,), {name: own(name) for name in names})
    bar = Own()
    run = fit_with(bar, model_class, loader, trainer)
    assert bar.total_train_batches == 6 and bar.total_val_batches == 2
    run.test(run.model, loader(8), verbose=False)
    run.predict(run.model, loader(8))
    assert made == [
        ("sanity", "Sanity Checking"),
        ("train", "Training"),
        ("validation", "Validation"),
        ("validation", "Validation"),
        ("test", "Testing"),
        ("predict", "Predicting"),
    ]
    text = capsys.readouterr().out
    assert "Epoch 1:  own 6/6" in text and "Test:  own 2/2" in text
    with pytest.raises(TypeError, match="no bar of training"):
        _ = bar.train_progress_bar
