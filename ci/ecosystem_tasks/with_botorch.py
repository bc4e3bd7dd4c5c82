"""botorch: a fitted process, acquisition functions and their optimum."""

import warnings

import torch
from botorch.acquisition import LogExpectedImprovement, UpperConfidenceBound, qExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from common import report
from gpytorch.mlls import ExactMarginalLogLikelihood

warnings.filterwarnings("ignore")


def main():
    torch.manual_seed(0)
    x = torch.rand(12, 2, dtype=torch.float64)
    y = -((x - 0.4) ** 2).sum(1, keepdim=True) + 0.01 * torch.randn(12, 1, dtype=torch.float64)
    model = SingleTaskGP(x, y)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    points = torch.rand(5, 1, 2, dtype=torch.float64)
    upper = UpperConfidenceBound(model, beta=0.2)
    found = {"upper": upper(points), "improved": LogExpectedImprovement(model, y.max())(points)}
    sampler = SobolQMCNormalSampler(torch.Size([32]), seed=3)
    found["several"] = qExpectedImprovement(model, y.max(), sampler=sampler)(points)
    bounds = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
    torch.manual_seed(1)
    best, value = optimize_acqf(upper, bounds, q=1, num_restarts=3, raw_samples=16)
    found["best"] = [best.round(decimals=2), value]
    report(**found)


main()
