"""pykan: a Kolmogorov-Arnold network by LBFGS and Adam, scores of its nodes, a symbolic edge."""

import os

import torch
from common import report
from kan import KAN, create_dataset


def target(x):
    """The function that is learnt."""
    return torch.exp(torch.sin(torch.pi * x[:, [0]]) + x[:, [1]] ** 2)


def main():
    os.makedirs("model", exist_ok=True)  # where the library writes its history
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    model = KAN(width=[2, 3, 1], grid=3, k=3, seed=0, auto_save=False)
    data = create_dataset(target, n_var=2, train_num=60, test_num=20, seed=0)
    found = {}
    for name, options in {"lbfgs": {"lamb": 0.001}, "adam": {"lr": 0.01}}.items():
        results = model.fit(
            data,
            opt=name.upper() if name == "lbfgs" else "Adam",
            steps=3,
            update_grid=False,
            **options,
        )
        found[name] = {
            k: [float(v) for v in results[k]] for k in ("train_loss", "test_loss", "reg")
        }
    model.attribute()
    found["scores"] = model.node_scores
    model.fix_symbolic(0, 0, 0, "sin", verbose=False)
    found["symbolic"] = model(data["test_input"])
    report(**found)


main()
