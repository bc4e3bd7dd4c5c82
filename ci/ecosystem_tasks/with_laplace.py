"""laplace-torch: posteriors of a network's weights, of three shapes, fitted, tuned and sampled."""

import torch
from common import report, train
from laplace import Laplace, marglik_training
from laplace.curvature import BackPackGGN, CurvlinopsEF, CurvlinopsGGN
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def network(outputs):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, outputs))


def fitted(kind, targets, x, **options):
    """The posterior of a trained network, its evidence before and after tuning, its answers."""
    loss = nn.functional.cross_entropy if kind == "classification" else nn.functional.mse_loss
    net = network(3 if kind == "classification" else 1)
    losses = train(net, x, lambda m, x: loss(m(x), targets), 20, 0.05)
    posterior = Laplace(net, kind, **options)
    posterior.fit(DataLoader(TensorDataset(x, targets), batch_size=8))
    before = posterior.log_marginal_likelihood()
    posterior.optimize_prior_precision(method="marglik", n_steps=10, lr=0.1)
    torch.manual_seed(1)
    found = {
        "losses": losses[-1], "before": before, "after": posterior.log_marginal_likelihood(),
        "prior": posterior.prior_precision, "predicted": posterior(x[:4]),
        "sampled": posterior.predictive_samples(x[:4], n_samples=3),
    }  # fmt: skip
    if kind == "classification":
        found["by samples"] = posterior(x[:4], pred_type="glm", link_approx="mc", n_samples=5)
        found["bridge"] = posterior(x[:4], link_approx="bridge")
    return found


def main():
    torch.manual_seed(2)
    x = torch.randn(24, 3)
    labels, values = (x[:, 0] * 2).long().clamp(-1, 1) + 1, x.sin().sum(1, keepdim=True)
    found = {}
    for shape in ("full", "kron", "diag"):
        for weights in ("all", "last_layer"):
            options = {"subset_of_weights": weights, "hessian_structure": shape}
            found[f"classes {shape} {weights}"] = fitted("classification", labels, x, **options)
    for shape in ("full", "kron", "diag"):
        found[f"values {shape}"] = fitted(
            "regression", values, x, hessian_structure=shape, subset_of_weights="all"
        )
    options = {"hessian_structure": "diag", "subset_of_weights": "all"}
    for backend in (CurvlinopsEF, BackPackGGN):
        found[backend.__name__] = fitted("classification", labels, x, backend=backend, **options)
    _, net, margliks, losses = marglik_training(
        network(1), DataLoader(TensorDataset(x, values), 8), likelihood="regression",
        hessian_structure="kron", backend=CurvlinopsGGN, n_epochs=6, n_epochs_burnin=2,
        marglik_frequency=2, n_hypersteps=3, optimizer_kwargs={"lr": 0.01},
    )  # fmt: skip
    found["trained"] = [net(x), margliks, losses]
    report(**found)


main()
