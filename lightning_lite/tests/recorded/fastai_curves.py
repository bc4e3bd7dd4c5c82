"""Rates, momenta and weights of fastai's ways to train, which `test_easy.py` compares with.

`python fastai_curves.py` runs them with fastai and writes `fastai.json`.
"""

from __future__ import annotations

import json
from pathlib import Path

RUNS = {
    "one cycle": ("fit_one_cycle", (3, 0.02), {}),
    "one cycle, options": ("fit_one_cycle", (2, 0.05), {"pct_start": 0.4, "div": 10.0}),
    "flat cosine": ("fit_flat_cos", (2, 0.02), {}),
    "restarts": ("fit_sgdr", (2, 1, 0.02), {}),
    "by depth": ("fit_one_cycle", (2, slice(0.001, 0.1)), {}),
    "tenth": ("fit_flat_cos", (2, slice(0.05)), {}),
    "fine tune": ("fine_tune", (2, 0.01), {}),
}


def make_model(nn):
    """Three layers."""
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 4), nn.Tanh(), nn.Linear(4, 1))


def groups(model):
    """The layers' parameters, the first layer's first."""
    return [list(layer.parameters()) for layer in model if list(layer.parameters())]


def make_loader(rl, count, seed):
    """Rows of a sum."""
    generator = rl.Generator().manual_seed(seed)
    x = rl.randn(count, 4, generator=generator)
    data = rl.utils.data.TensorDataset(x, x.sum(1, keepdim=True))
    return rl.utils.data.DataLoader(data, batch_size=4)


def sums(model):
    """A number for each parameter."""
    return [round(each.detach().double().abs().sum().item(), 6) for each in model.parameters()]


def fill(rl, model):
    """The same parameters on both sides: a slope over each."""
    with rl.no_grad():
        for each in model.parameters():
            each.copy_(rl.linspace(-0.5, 0.7, each.numel()).reshape(each.shape))
    return model.eval()


def tables(rl, TabularModel, EmbeddingDotBias):
    """What the networks for tables and ratings give."""
    categories = rl.tensor([[0, 1], [2, 3], [1, 0]])
    numbers = rl.tensor([[0.5, -1.0, 2.0], [0.0, 1.0, 0.1], [-2.0, 0.3, 0.7]])
    found = {}
    for name, y_range in (("plain", None), ("range", (1.0, 5.0))):
        model = TabularModel([(3, 2), (4, 3)], 3, 2, [6, 5], y_range=y_range)
        found[f"table {name}"] = fill(rl, model)(categories, numbers).tolist()
        model = EmbeddingDotBias(4, 3, 5, y_range)
        found[f"ratings {name}"] = fill(rl, model)(rl.tensor([[0, 4], [2, 1], [1, 1]])).tolist()
    return found


def record():
    """Run them with fastai."""
    from functools import partial

    import fastai.callback.schedule
    import torch
    from fastai.callback.core import Callback
    from fastai.data.core import DataLoaders
    from fastai.learner import Learner
    from fastai.optimizer import Adam

    rows = []

    class Noting(Callback):
        order = 100

        def before_batch(self):
            if self.training:
                rows.append([list(self.opt.hypers.attrgot("lr")), self.opt.hypers[-1]["mom"]])

    found = {}
    for name, (method, args, kwargs) in RUNS.items():
        rows.clear()
        torch.manual_seed(5)
        model = make_model(torch.nn)
        data = DataLoaders(make_loader(torch, 24, 1), make_loader(torch, 8, 2))
        learn = Learner(
            data,
            model,
            loss_func=torch.nn.MSELoss(),
            opt_func=partial(Adam, wd=0.0),
            splitter=groups,
            cbs=[Noting()],
            train_bn=False,
        )
        with learn.no_bar(), learn.no_logging():
            getattr(learn, method)(*args, **kwargs)
        found[name] = {
            "rates": [[float(f"{each:.6g}") for each in row[0]] for row in rows],
            "momenta": [round(float(row[1]), 6) for row in rows],
            "weights": sums(model),
            "valid": round(float(learn.validate()[0]), 6),
        }
    from fastai.collab import EmbeddingDotBias
    from fastai.tabular.model import TabularModel, emb_sz_rule

    networks = tables(torch, TabularModel, EmbeddingDotBias)
    sizes = [emb_sz_rule(n) for n in (2, 5, 20, 100, 1000, 100_000)]
    versions = {"fastai": fastai.__version__, "torch": torch.__version__}
    text = json.dumps({"versions": versions, "networks": networks, "sizes": sizes, "runs": found})
    Path(__file__).with_name("fastai.json").write_text(
        text.replace('{"rates"', '\n{"rates"') + "\n"
    )


if __name__ == "__main__":
    record()
