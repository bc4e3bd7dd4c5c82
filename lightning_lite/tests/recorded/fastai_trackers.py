"""Trainings that follow a number, and predictions, which `test_trackers.py` compares with fastai's.

`python fastai_trackers.py` runs them with fastai and writes `fastai_trackers.json`.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

# What the metric says of each epoch.
TOLD = [0.5, 0.6, 0.6, 0.59, 0.7, 0.1, 0.2, 0.3]
TRACKERS = {
    "stop": ("EarlyStoppingCallback", {"monitor": "told"}),
    "stop late": ("EarlyStoppingCallback", {"monitor": "told", "patience": 3}),
    "stop less": ("EarlyStoppingCallback", {"monitor": "told", "comp": "less", "patience": 5}),
    "stop by much": ("EarlyStoppingCallback", {"monitor": "told", "min_delta": 0.15}),
    "stop by loss": ("EarlyStoppingCallback", {"monitor": "valid_loss", "patience": 2}),
    "lower": ("ReduceLROnPlateau", {"monitor": "told", "factor": 2.0}),
    "lower to": ("ReduceLROnPlateau", {"monitor": "told", "min_lr": 0.004}),
    "lower late": ("ReduceLROnPlateau", {"monitor": "told", "patience": 2}),
    "save": ("SaveModelCallback", {"monitor": "told", "fname": "best"}),
    "save least": ("SaveModelCallback", {"monitor": "told", "comp": "less", "with_opt": True}),
    "save last": ("SaveModelCallback", {"monitor": "told", "at_end": True}),
    "save each": ("SaveModelCallback", {"monitor": "told", "every_epoch": 3}),
    "not finite": ("TerminateOnNaNCallback", {}),
}
TTA = {
    "usual": {},
    "both": {"beta": None, "n": 2},
    "largest": {"use_max": True, "n": 3},
    "training data": {"ds_idx": 0, "n": 1, "beta": 0.5},
}


def make_model(nn):
    """Two layers."""
    return nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 1))


def make_loader(rl, count, seed):
    """Rows of a sum, in batches of 4."""
    generator = rl.Generator().manual_seed(seed)
    x = rl.randn(count, 4, generator=generator)
    data = rl.utils.data.TensorDataset(x, x.sum(1, keepdim=True))
    return rl.utils.data.DataLoader(data, batch_size=4)


def told_metric(rl):
    """A metric that says one number of `TOLD` for each epoch of two batches."""
    calls = []

    def told(output, target):
        calls.append(0)
        return rl.tensor(TOLD[(len(calls) - 1) // 2])

    return told


def exploding(nn):
    """A loss that is not finite from the fourth call on."""
    calls = []

    def loss(output, target):
        calls.append(0)
        found = nn.functional.mse_loss(output, target)
        return found * (float("inf") if len(calls) >= 4 else 1.0)

    return loss


def sums(model):
    """A number for each parameter."""
    return [round(each.detach().double().abs().sum().item(), 6) for each in model.parameters()]


def rows(rl):
    """Twelve samples of four numbers with one of three classes."""
    x = rl.linspace(-2.0, 2.0, 48).reshape(12, 4).sin()
    return [(each, number % 3) for number, each in enumerate(x)]


def classifier(rl):
    """A layer with given weights."""
    layer = rl.nn.Linear(4, 3)
    with rl.no_grad():
        layer.weight.copy_(rl.linspace(-1.0, 1.2, 12).reshape(3, 4))
        layer.bias.copy_(rl.tensor([0.1, 0.0, -0.2]))
    return layer


def record():
    """Run them with fastai."""
    from functools import partial

    import fastai
    import numpy as np
    import torch
    from fastai.callback import tracker
    from fastai.data.core import DataLoaders
    from fastai.learner import Learner
    from fastai.optimizer import Adam

    found = {}
    for name, (kind, options) in TRACKERS.items():
        options = dict(options)
        if "comp" in options:
            options["comp"] = getattr(np, options["comp"])
        torch.manual_seed(5)
        model = make_model(torch.nn)
        with tempfile.TemporaryDirectory() as folder:
            learn = Learner(
                DataLoaders(make_loader(torch, 24, 1), make_loader(torch, 8, 2)),
                model,
                exploding(torch.nn) if name == "not finite" else torch.nn.MSELoss(),
                opt_func=partial(Adam, wd=0.0),
                metrics=told_metric(torch),
                cbs=[getattr(tracker, kind)(**options)],
                path=Path(folder),
            )
            with learn.no_bar(), learn.no_logging():
                learn.fit(8, 0.02)
            files = sorted(each.stem for each in Path(folder).glob("models/*"))
        found[name] = {
            "epochs": len(learn.recorder.values),
            "rate": round(float(learn.opt.hypers[-1]["lr"]), 9),
            "batches": len(learn.recorder.losses),
            "files": files,
            "weights": sums(model),
        }
    versions = {"fastai": fastai.__version__, "torch": torch.__version__}
    answers = {"versions": versions, "trackers": found, **predictions(torch)}
    text = json.dumps(answers).replace('{"epochs"', '\n{"epochs"')
    Path(__file__).with_name("fastai_trackers.json").write_text(text + "\n")


def predictions(torch):
    """What fastai predicts, of samples once and several times."""
    from fastai.data.block import CategoryBlock, DataBlock, TransformBlock
    from fastai.data.transforms import IndexSplitter
    from fastai.learner import Learner
    from fasttransform import Transform

    class Double(Transform):
        split_idx = 0

        def encodes(self, x):
            return 2 * x if x.is_floating_point() else x

    data = rows(torch)
    block = DataBlock(
        (TransformBlock(), CategoryBlock(vocab=[0, 1, 2])),
        get_x=lambda number: data[number][0],
        get_y=lambda number: data[number][1],
        splitter=IndexSplitter([1, 4, 5, 8, 11]),
        batch_tfms=[Double()],
    )
    dls = block.dataloaders(list(range(12)), bs=3, num_workers=0, shuffle=False)
    learn = Learner(dls, classifier(torch))
    with learn.no_bar(), learn.no_logging():
        told = learn.get_preds(with_input=True, with_decoded=True, with_loss=True)
        item = learn.predict(2, with_input=True)
        several = {name: learn.tta(**options) for name, options in TTA.items()}

    def plain(value):
        if isinstance(value, (tuple, list)):
            return [plain(each) for each in value]
        return value.tolist() if hasattr(value, "tolist") else value

    return {"preds": plain(told), "item": plain(item), "tta": plain_dict(several, plain)}


def plain_dict(values, plain):
    """All values as numbers and lists."""
    return {name: plain(each) for name, each in values.items()}


if __name__ == "__main__":
    record()
