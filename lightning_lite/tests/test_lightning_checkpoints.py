"""Training goes on from checkpoints that Lightning 2.6.6 wrote, and ours have its entries.

The files and what Lightning made of them were recorded by `ci/lightning_checkpoints.py --record`,
which also lets Lightning go on from ours.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

import rushlight as rl
from lightning_lite import lightning_loops
from lightning_lite.errors import MisconfigurationException
from lightning_lite.state import Next, Progress

FOLDER = Path(__file__).with_name("recorded")
ENDS = json.loads((FOLDER / "exchanged.json").read_text())
_spec = importlib.util.spec_from_file_location("exchanged", FOLDER / "exchanged.py")
exchanged = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(exchanged)


@pytest.mark.parametrize("name", sorted(ENDS))
def test_training_goes_on_from_lightnings_checkpoint(name):
    found, expected = exchanged.resume("ours", str(FOLDER / name)), ENDS[name]
    assert found.pop("weights") == pytest.approx(expected["weights"], rel=1e-4)
    assert found == {key: expected[key] for key in found}


def test_weights_of_lightnings_checkpoint():
    path = FOLDER / "step-validation.ckpt"
    kind = type(exchanged.make_model(*exchanged.sides("ours"), "epoch"))
    model = kind.load_from_checkpoint(path)
    assert model.hparams.kind == "step"
    assert rl.equal(model.net[0].weight, rl.load(path)["state_dict"]["net.0.weight"])


PROGRESS = {
    "in a batch": Progress(1, 3, 9, 9, 8, 2, False, next=Next.AFTER_BATCH),
    "after a validation": Progress(1, 3, 9, 9, 8, 2, False, next=Next.AFTER_VALIDATION),
    "between epochs": Progress(2, 6, 12, 12, 12, 2, True, next=Next.EPOCH),
}


@pytest.mark.parametrize("name", PROGRESS)
def test_our_numbers_come_back_from_lightnings(name):
    given = PROGRESS[name]
    given.validated_batches = [4]
    written = lightning_loops.fit_loop(given)
    assert lightning_loops.is_lightnings(written)
    assert lightning_loops.progress_of(written, given.optimizer_steps) == given


def test_our_checkpoints_have_lightnings_entries(model_class, loader, trainer, tmp_path):
    theirs = rl.load(FOLDER / "epoch-epoch.ckpt")
    run = trainer(max_epochs=2, limit_val_batches=0)
    run.fit(model_class(kind="epoch"), loader())
    run.save_checkpoint(tmp_path / "x.ckpt")
    ours = rl.load(tmp_path / "x.ckpt")
    assert set(theirs) <= set(ours) and set(theirs["loops"]) <= set(ours["loops"])
    assert set(theirs["loops"]["fit_loop"]) <= set(ours["loops"]["fit_loop"])
    assert not lightning_loops.is_lightnings(ours["loops"]["fit_loop"])


def test_weights_alone_are_no_checkpoint_to_go_on_from(model_class, loader, trainer, tmp_path):
    saved = rl.load(FOLDER / "epoch-epoch.ckpt")
    del saved["loops"], saved["optimizer_states"]
    rl.save(saved, tmp_path / "x.ckpt")
    with pytest.raises(MisconfigurationException, match="lacks.*loops.*optimizer_states"):
        trainer(limit_val_batches=0).fit(model_class(), loader(), ckpt_path=tmp_path / "x.ckpt")
