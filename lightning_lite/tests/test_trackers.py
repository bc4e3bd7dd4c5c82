"""fastai's callbacks that follow a number, and its predictions, compared with fastai's own."""

from __future__ import annotations

import importlib.util
import io
import json
import tarfile
import zipfile
from functools import partial
from pathlib import Path

import pytest

import rushlight as rl
from lightning_lite import easy
from lightning_lite.errors import MisconfigurationException
from rushlight import nn

FOLDER = Path(__file__).with_name("recorded")
RECORDED = json.loads((FOLDER / "fastai_trackers.json").read_text())
_spec = importlib.util.spec_from_file_location("trackers", FOLDER / "fastai_trackers.py")
programs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(programs)
QUIET = {"enable_progress_bar": False, "accelerator": "cpu"}


def make_learner(folder, **options):
    rl.manual_seed(5)
    model = programs.make_model(nn)
    adam = partial(rl.optim.AdamW, betas=(0.9, 0.99), eps=1e-5, weight_decay=0.0)
    data = programs.make_loader(rl, 24, 1), programs.make_loader(rl, 8, 2)
    loss = options.pop("loss_func", None) or nn.MSELoss()
    return easy.Learner(data, model, loss, adam, path=folder, **QUIET, **options)


@pytest.mark.filterwarnings("ignore:the loss is inf:RuntimeWarning")
@pytest.mark.parametrize("name", RECORDED["trackers"])
def test_trackers_do_as_fastais(name, tmp_path):
    kind, options = programs.TRACKERS[name]
    loss = programs.exploding(nn) if name == "not finite" else None
    callback = getattr(easy, kind)(**options)
    metric = programs.told_metric(rl)
    learn = make_learner(tmp_path, metrics=metric, cbs=callback, loss_func=loss)
    learn.fit(8, 0.02)
    expected = RECORDED["trackers"][name]
    # fastai leaves the epoch at once; here it is validated, as everywhere in the Trainer.
    epochs = 1 if name == "not finite" else expected["epochs"]
    # fastai sees a loss after its step, and counts the batch before.
    batches = expected["batches"] + (name == "not finite")
    assert len(learn.recorder.values) == epochs
    assert len(learn.recorder.losses) == batches
    assert sorted(each.stem for each in tmp_path.glob("models/*")) == expected["files"]
    assert learn.opt.param_groups[-1]["lr"] == pytest.approx(expected["rate"])
    assert programs.sums(learn.model) == pytest.approx(expected["weights"], rel=2e-4, nan_ok=True)


def test_a_saved_model_is_loaded_by_name(tmp_path, same):
    callback = easy.SaveModelCallback("told", fname="best", with_opt=True)
    learn = make_learner(tmp_path, metrics=programs.told_metric(rl), cbs=callback)
    learn.fit(8, 0.02)
    assert callback.best == pytest.approx(0.7) and callback.best_epoch == 4
    assert callback.last_saved_path == tmp_path / "models" / "best.pt"
    other = make_learner(tmp_path).load("best")
    same(other.model.state_dict(), learn.model.state_dict())
    same(other.opt.state_dict(), learn.opt.state_dict())


def test_a_best_number_is_kept_from_training_to_training(tmp_path):
    import operator

    kept = easy.TrackerCallback("told", comp=operator.lt, reset_on_fit=False)
    anew = easy.TrackerCallback("told")
    learn = make_learner(tmp_path, metrics=programs.told_metric(rl), cbs=[kept, anew])
    learn.fit(6, 0.01)
    assert (kept.best, anew.best) == (pytest.approx(0.1), pytest.approx(0.7))
    learn.fit(2, 0.01)
    assert (kept.best, anew.best) == (pytest.approx(0.1), pytest.approx(0.3))
    assert anew.best_epoch == 1 and not kept.new_best and anew.new_best


def test_trackers_that_cannot_work(tmp_path):
    learn = make_learner(tmp_path, cbs=easy.EarlyStoppingCallback("acuracy"))
    with pytest.raises(MisconfigurationException, match=r"'acuracy' was not logged.*valid_loss"):
        learn.fit(1)
    with pytest.raises(ValueError, match="TrackerCallback: comp='more'"):
        easy.TrackerCallback(comp="more")
    with pytest.raises(ValueError, match="EarlyStoppingCallback: patience=0"):
        easy.EarlyStoppingCallback(patience=0)
    with pytest.raises(ValueError, match="factor=0.5"):
        easy.ReduceLROnPlateau(factor=0.5)
    with pytest.raises(ValueError, match="exclude each other"):
        easy.SaveModelCallback(every_epoch=True, at_end=True)


class Double(easy.Transform):
    """Doubles inputs in training."""

    split_idx = 0

    def value(self, part):
        return 2 * part


@pytest.fixture
def predicting(tmp_path):
    data = programs.rows(rl)
    block = easy.DataBlock(
        (easy.TransformBlock(), easy.CategoryBlock(vocab=[0, 1, 2])),
        get_x=lambda number: data[number][0],
        get_y=lambda number: data[number][1],
        splitter=easy.IndexSplitter([1, 4, 5, 8, 11]),
    )
    dls = block.dataloaders(list(range(12)), bs=3, shuffle=False, batch_tfms=[Double()])
    loss = easy.CrossEntropyLossFlat()
    return easy.Learner(dls, programs.classifier(rl), loss, path=tmp_path, **QUIET)


def close(found, expected):
    if isinstance(expected, list) and isinstance(found, tuple):
        assert len(found) == len(expected)
        for each, wanted in zip(found, expected, strict=True):
            close(each, wanted)
        return
    rl.testing.assert_close(found, rl.tensor(expected), rtol=1e-5, atol=1e-6, check_dtype=False)


def test_predictions_are_fastais(predicting):
    found = predicting.get_preds(with_input=True, with_decoded=True, with_loss=True)
    close(found, RECORDED["preds"])
    raw = predicting.get_preds(act=lambda outputs: outputs)[0]
    assert rl.allclose(raw.softmax(1), found[1])
    seen, word, number, shares = predicting.predict(2, with_input=True)
    close((seen, number, shares), [RECORDED["item"][0], *RECORDED["item"][2:]])
    assert str(word) == RECORDED["item"][1]


@pytest.mark.parametrize("name", programs.TTA)
def test_outputs_over_changed_samples_are_fastais(predicting, name):
    close(predicting.tta(**programs.TTA[name]), RECORDED["tta"][name])


def test_changed_samples_of_other_loaders(predicting):
    dl = predicting.dls.test_dl([3, 4])
    outputs, targets = predicting.tta(dl=dl, n=2, beta=0.0)
    doubled = rl.stack([programs.rows(rl)[number][0] for number in (3, 4)]) * 2
    assert targets is None
    assert rl.allclose(outputs, predicting.model(doubled).softmax(1))
    plain, _ = predicting.tta(dl=dl, n=1, beta=0.0, batch_tfms=[lambda batch: batch])
    assert rl.allclose(plain, predicting.model(doubled / 2).softmax(1))
    with pytest.raises(ValueError, match="n=0"):
        predicting.tta(n=0)
    with pytest.raises(TypeError, match="holds no samples"):
        predicting.tta(dl=[(rl.ones(1, 4),)])
    with pytest.raises(ValueError, match="tta: ds_idx=3"):
        predicting.tta(ds_idx=3)


def test_an_optimizer_is_made_anew(tmp_path):
    learn = make_learner(tmp_path)
    learn.fit(1, 0.5)
    before = learn.opt
    assert before.state and learn.create_opt() is learn.opt is not before
    assert learn.opt.param_groups[0]["lr"] != 0.5 and not learn.opt.state
    with learn.loss_not_reduced():
        assert learn.loss_func(rl.ones(3, 1), rl.zeros(3, 1)).shape == (3, 1)
    assert learn.loss_func.reduction == "mean"


def test_what_losses_decide():
    outputs = rl.tensor([[[2.0, -1.0], [0.0, 3.0]]])
    flat = easy.CrossEntropyLossFlat(axis=1)
    assert rl.equal(flat.activation(outputs), outputs.softmax(1))
    assert flat.decodes(outputs).tolist() == [[0, 1]]
    several = easy.BCEWithLogitsLossFlat(thresh=0.9)
    shares = several.activation(outputs)
    assert rl.equal(shares, outputs.sigmoid())
    assert several.decodes(shares).tolist() == [[[False, False], [False, True]]]
    for kind in (easy.FocalLossFlat, easy.LabelSmoothingCrossEntropyFlat):
        assert rl.equal(kind().activation(outputs), outputs.softmax(-1))


def archive(path, files):
    """A tar file."""
    with tarfile.open(path, "w:gz") as made:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            made.addfile(entry, io.BytesIO(text))


def test_archives_are_fetched_once(tmp_path):
    source = tmp_path / "small_pets.tgz"
    archive(source, {"pets/one.txt": b"cat", "pets/more/two.txt": b"dog"})
    url = source.as_uri()
    found = easy.untar_data(url, base=tmp_path / "home")
    assert found == tmp_path / "home" / "data" / "small_pets"
    assert (found / "one.txt").read_text() == "cat"
    assert (found / "more" / "two.txt").read_text() == "dog"
    assert (tmp_path / "home" / "archive" / "small_pets.tgz").exists()
    source.unlink()
    (found / "one.txt").write_text("bird")
    assert easy.untar_data(url, base=tmp_path / "home") == found
    archive(source, {"a.txt": b"1", "b.txt": b"2"})
    again = easy.untar_data(url, base=tmp_path / "home", force_download=True)
    assert sorted(each.name for each in again.iterdir()) == ["a.txt", "b.txt"]


def test_unsafe_archives_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("FASTAI_HOME", str(tmp_path / "home"))
    archive(tmp_path / "bad.tgz", {"../out.txt": b"1"})
    with pytest.raises(ValueError, match=r"bad\.tgz is truncated, altered or unsafe"):
        easy.untar_data((tmp_path / "bad.tgz").as_uri())
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as made:
        made.writestr("../out.txt", "1")
    with pytest.raises(ValueError, match="leads out of the folder"):
        easy.untar_data((tmp_path / "bad.zip").as_uri())
    (tmp_path / "cut.tgz").write_bytes((tmp_path / "bad.tgz").read_bytes()[:20])
    with pytest.raises(ValueError, match=r"cut\.tgz is truncated"):
        easy.untar_data((tmp_path / "cut.tgz").as_uri())
    with pytest.raises(ValueError, match="expected a name that ends in"):
        easy.untar_data("https://example.org/files.rar")
    assert not (tmp_path / "out.txt").exists()
    assert not list((tmp_path / "home" / "data").iterdir())


def test_addresses_of_fastais_data():
    assert easy.URLs.MNIST_SAMPLE == "https://s3.amazonaws.com/fast-ai-sample/mnist_sample.tgz"
    assert easy.URLs.PETS == "https://s3.amazonaws.com/fast-ai-imageclas/oxford-iiit-pet.tgz"
    names = [name for name in vars(easy.URLs) if not name.startswith("_")]
    assert len(names) > 50
    assert all(getattr(easy.URLs, name).startswith("https://") for name in names)


def test_seeds():
    import random

    import numpy as np

    for seed in (3, 2**32 + 3):
        easy.set_seed(seed)
        first = rl.rand(2).tolist(), random.random(), float(np.random.rand())
        rl.manual_seed(seed)
        random.seed(seed % (2**32 - 1))
        np.random.seed(seed % (2**32 - 1))
        assert first == (rl.rand(2).tolist(), random.random(), float(np.random.rand()))
    kept = rl.backends.cudnn.deterministic, rl.backends.cudnn.benchmark
    try:
        easy.set_seed(1, reproducible=True)
        assert rl.backends.cudnn.deterministic and not rl.backends.cudnn.benchmark
    finally:
        rl.backends.cudnn.deterministic, rl.backends.cudnn.benchmark = kept


def test_masks_that_are_most_wrong(tmp_path):
    pytest.importorskip("matplotlib").use("agg")
    x, y = rl.rand(6, 3, 4, 4), (rl.arange(96) % 2).reshape(6, 4, 4)
    data = rl.utils.data.DataLoader(rl.utils.data.TensorDataset(x, y), batch_size=4)
    loss = easy.CrossEntropyLossFlat(axis=1)
    learn = easy.Learner((data, data), nn.Conv2d(3, 2, 1), loss, path=tmp_path, **QUIET)
    told = easy.SegmentationInterpretation.from_learner(learn)
    each = nn.functional.cross_entropy(learn.model(x), y, reduction="none").mean((1, 2))
    assert rl.allclose(told.losses, each) and told.outputs.shape == (6, 2, 4, 4)
    drawn = [axes.get_title() for axes in told.plot_top_losses(k=2).axes]
    worst = [f"{value:.2f}" for value in each.topk(2).values.tolist()]
    assert drawn[::2] == [f"actual, loss {value}" for value in worst]
    assert drawn[1::2] == [f"predicted, loss {value}" for value in worst]


def test_numbers_that_are_most_wrong(tmp_path):
    pytest.importorskip("matplotlib").use("agg")
    x, y = rl.rand(4, 1, 3, 3), rl.arange(4.0)[:, None]
    data = rl.utils.data.DataLoader(rl.utils.data.TensorDataset(x, y), batch_size=4)
    net = nn.Sequential(nn.Flatten(), nn.Linear(9, 1))
    learn = easy.Learner((data, data), net, easy.MSELossFlat(), path=tmp_path, **QUIET)
    told = easy.Interpretation.from_learner(learn)
    (worst,), (position,) = told.top_losses(1)
    assert float(worst) == pytest.approx(float((net(x) - y).square().max()), rel=1e-5)
    title = told.plot_top_losses(1).axes[0].get_title().split(" / ")
    assert float(title[1]) == float(y[position]) and title[2] == f"{float(worst):.2f}"
