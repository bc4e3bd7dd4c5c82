"""fastai: a tabular-like learner with one-cycle, mixed losses, export and load."""

import tempfile
from pathlib import Path

import torch
from common import report
from fastai.basics import DataLoaders, Learner, MSELossFlat, load_learner, mae
from fastai.callback.schedule import fit_one_cycle  # noqa: F401 - it adds a method
from fastai.data.core import Datasets

torch.manual_seed(2)
ROWS = torch.randn(64, 4)


def row(index):
    """An input."""
    return ROWS[index]


def total(index):
    """What is wanted of it."""
    return ROWS[index].sum(0, keepdim=True)


def loaders():
    data = Datasets(list(range(64)), [[row], [total]])
    return DataLoaders.from_dsets(data, data, bs=16, shuffle=False)


def main():
    found = {}
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    with tempfile.TemporaryDirectory() as folder:
        learner = Learner(loaders(), net, loss_func=MSELossFlat(), metrics=mae, path=Path(folder))
        with learner.no_bar(), learner.no_logging():
            learner.fit_one_cycle(3, 1e-2)
            found["values"] = [list(map(float, row)) for row in learner.recorder.values]
            found["rates"] = list(map(float, learner.recorder.lrs))
            learner.save("kept")
            before = net(torch.ones(1, 4)).detach().clone()
            torch.nn.init.zeros_(net[0].weight)
            learner.load("kept")
            found["reloaded"] = (net(torch.ones(1, 4)) - before).abs().max()
            found["validated"] = list(map(float, learner.validate()))
            learner.export("learner.pkl")
            again = load_learner(Path(folder, "learner.pkl"))
            found["exported"] = again.model(torch.ones(1, 4))
    report(**found)


main()
