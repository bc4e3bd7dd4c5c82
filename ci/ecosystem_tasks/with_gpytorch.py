"""gpytorch: exact and variational processes, several kernels, predictions."""

import gpytorch
import torch
from common import report


class Exact(gpytorch.models.ExactGP):
    """A process over a line."""

    def __init__(self, x, y, likelihood, kernel):
        super().__init__(x, y, likelihood)
        self.mean = gpytorch.means.ConstantMean()
        self.kernel = gpytorch.kernels.ScaleKernel(kernel)

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))


class Sparse(gpytorch.models.ApproximateGP):
    """A process by few points."""

    def __init__(self, points):
        strategy = gpytorch.variational.VariationalStrategy(
            self, points, gpytorch.variational.CholeskyVariationalDistribution(len(points))
        )
        super().__init__(strategy)
        self.mean, self.kernel = gpytorch.means.ZeroMean(), gpytorch.kernels.RBFKernel()

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))


def main():
    torch.manual_seed(0)
    x = torch.linspace(0, 1, 25)
    y = torch.sin(6 * x) + 0.1 * torch.randn(25)
    found = {}
    kernels = gpytorch.kernels
    for kernel in (kernels.RBFKernel(), kernels.MaternKernel(1.5), kernels.PeriodicKernel()):
        likelihood = gpytorch.likelihoods.GaussianLikelihood()
        model = Exact(x, y, likelihood, kernel)
        model.train()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        likely = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
        losses = []
        for _ in range(10):
            optimizer.zero_grad()
            loss = -likely(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(float(loss))
        model.eval()
        likelihood.eval()
        with torch.no_grad():
            out = likelihood(model(torch.linspace(0.1, 0.9, 7)))
        found[type(kernel).__name__] = [losses, out.mean, out.variance]
    sparse = Sparse(torch.linspace(0, 1, 5)[:, None])
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    bound = gpytorch.mlls.VariationalELBO(likelihood, sparse, 25)
    optimizer = torch.optim.Adam([*sparse.parameters(), *likelihood.parameters()], lr=0.05)
    losses = []
    for _ in range(10):
        optimizer.zero_grad()
        loss = -bound(sparse(x[:, None]), y)
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    found["sparse"] = losses
    report(**found)


main()
