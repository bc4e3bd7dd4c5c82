"""A run's folder explains itself."""

from __future__ import annotations

import json
import math
import re

import pytest

import lightning_lite as L
from lightning_lite import callbacks
from lightning_lite.callbacks.curves import picture, ticks


def test_page_of_a_run(model_class, loader, trainer, tmp_path):
    page = callbacks.RunPage(tmp_path / "page")
    run = trainer(callbacks=[page], max_epochs=3, log_every_n_steps=2)
    run.fit(model_class(lr=0.05), loader(), loader(8))
    facts = json.loads((tmp_path / "page" / "run.json").read_text())
    assert facts["status"] == "finished" and facts["progress"] == {"epochs": 3, "steps": 18}
    assert facts["hyper-parameters"] == {"lr": 0.05, "kind": "none", "width": 8}
    assert facts["trainer"]["max_epochs"] == 3 and facts["environment"]["seed"] == "0"
    assert set(facts["sources"]) >= {"commit"} and "Linear" in facts["layers"]
    text = (tmp_path / "page" / "index.html").read_text()
    assert text.count("<svg") == len([c for c in page.curves.values() if len(c) > 1])
    assert "<figcaption>val_loss</figcaption>" in text and "<script" not in text
    steps = [step for step, _ in page.curves["train_loss_step"]]
    assert steps == sorted(set(steps)) and len(steps) >= 9
    assert not list((tmp_path / "page").glob("*.part"))


def test_curves_go_on_after_a_resume(model_class, loader, trainer, tmp_path):
    def fit(epochs, **more):
        page = callbacks.RunPage(tmp_path / "page")
        keeper = callbacks.ModelCheckpoint(tmp_path, filename="kept", every_n_epochs=2)
        run = trainer(callbacks=[page, keeper], max_epochs=epochs, log_every_n_steps=2)
        run.fit(model_class(), loader(), loader(8), **more)
        return page.curves

    L.seed_everything(3, verbose=False)
    whole = fit(4)
    (tmp_path / "kept.ckpt").unlink(missing_ok=True)
    (tmp_path / "kept-v1.ckpt").unlink(missing_ok=True)
    L.seed_everything(3, verbose=False)
    fit(2)
    assert fit(4, ckpt_path=tmp_path / "kept.ckpt") == whole


def test_a_run_that_fails_says_so(model_class, loader, trainer, tmp_path):
    class Broken(model_class):
        def on_train_epoch_end(self):
            raise RuntimeError("out of <paper>")

    page = callbacks.RunPage(tmp_path)
    with pytest.raises(RuntimeError, match="paper"):
        trainer(callbacks=[page], limit_val_batches=0).fit(Broken(), loader())
    assert "out of &lt;paper&gt;" in (tmp_path / "index.html").read_text()


def test_pictures():
    text = picture([(0, 1.0), (5, math.nan), (10, 3.0)])
    (line,) = re.findall(r'polyline points="([^"]*)"', text)
    (x0, y0), (x1, y1) = (map(float, each.split(",")) for each in line.split())
    assert x0 < x1 and y0 > y1
    assert "polyline" in picture([(3, 2.0)]) and "no finite" in picture([(0, math.inf)])
    assert ticks(0.0, 0.37) == [0.0, 0.1, 0.2, 0.3] and ticks(2, 2) == [2]
