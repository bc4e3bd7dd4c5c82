"""optuna: a search over a network's sizes and rates, with pruning, kept in a file and resumed."""

import tempfile
from pathlib import Path

import optuna
import torch
from common import report
from torch import nn

optuna.logging.set_verbosity(optuna.logging.ERROR)


def task_data():
    """Points of two classes that no straight line separates, as two halves."""
    torch.manual_seed(0)
    x = torch.randn(64, 2)
    return torch.utils.data.random_split(
        torch.utils.data.TensorDataset(x, (x[:, 0] * x[:, 1] > 0).long()), [48, 16]
    )


def build(trial):
    """A network of as many layers as the trial says."""
    layers, width = [], 2
    for i in range(trial.suggest_int("layers", 1, 3)):
        out = trial.suggest_int(f"units {i}", 4, 16)
        layers += [nn.Linear(width, out), nn.ReLU(), nn.Dropout(trial.suggest_float("p", 0, 0.2))]
        width = out
    return nn.Sequential(*layers, nn.Linear(width, 2))


def objective(trial):
    """The loss on held-out points after a few epochs."""
    training, held = task_data()
    net = build(trial)
    kind = trial.suggest_categorical("optimizer", ["Adam", "RMSprop", "SGD"])
    rate = trial.suggest_float("rate", 1e-3, 1e-1, log=True)
    optimizer = getattr(torch.optim, kind)(net.parameters(), lr=rate)
    loader = torch.utils.data.DataLoader(training, 16, shuffle=True)
    x, y = next(iter(torch.utils.data.DataLoader(held, len(held))))
    for epoch in range(4):
        net.train()
        for inputs, labels in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(inputs), labels).backward()
            optimizer.step()
        net.eval()
        with torch.no_grad():
            loss = nn.functional.cross_entropy(net(x), y)
        trial.report(loss.item(), epoch)
        if trial.should_prune():
            raise optuna.TrialPruned
    trial.set_user_attr("right", (net(x).argmax(1) == y).float().mean().item())
    return loss  # a tensor, as programs return it


def summary(study):
    """What every trial tried, and what came of it."""
    return [
        {"state": trial.state.name, "value": trial.value, **trial.params, **trial.user_attrs}
        for trial in study.trials
    ]


def main():
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        place = f"sqlite:///{Path(folder, 'study.db')}"
        study = optuna.create_study(
            storage=place, study_name="net", sampler=optuna.samplers.TPESampler(seed=1),
            pruner=optuna.pruners.MedianPruner(n_startup_trials=3, n_warmup_steps=1),
        )  # fmt: skip
        study.optimize(objective, n_trials=8)
        found["searched"] = summary(study)
        again = optuna.load_study(
            study_name="net", storage=place, sampler=optuna.samplers.RandomSampler(seed=2)
        )
        again.enqueue_trial(
            {"layers": 1, "units 0": 8, "p": 0.0, "optimizer": "Adam", "rate": 0.05}
        )
        again.optimize(objective, n_trials=2)
        found["resumed"] = summary(again)[-2:]
        found["best"] = {"value": again.best_value, **again.best_params}
    grid = optuna.create_study(sampler=optuna.samplers.GridSampler({"x": [0.0, 1.0, 2.0]}, seed=0))
    grid.optimize(lambda trial: torch.tensor(trial.suggest_float("x", 0, 2) - 1).square(), 3)
    found["grid"] = sorted(trial.value for trial in grid.trials)
    report(**found)


main()
