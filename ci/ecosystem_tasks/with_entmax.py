"""entmax: sparse relatives of softmax, exact and by bisection, their losses, and gradients."""

import entmax
import torch
from common import report, train

MAPS = {
    "sparsemax": entmax.sparsemax, "entmax15": entmax.entmax15,
    "sparsemax, k": lambda x: entmax.sparsemax(x, k=3),
    "bisected": lambda x: entmax.entmax_bisect(x, alpha=1.3),
    "sparsemax, bisected": entmax.sparsemax_bisect,
    "budget": lambda x: entmax.budget_bisect(x, budget=2),
    "norm": lambda x: entmax.normmax_bisect(x, alpha=2),
}  # fmt: skip
LOSSES = {
    "sparsemax": entmax.SparsemaxLoss, "entmax15": entmax.Entmax15Loss,
    "bisected": lambda: entmax.EntmaxBisectLoss(alpha=1.7),
    "sparsemax, bisected": entmax.SparsemaxBisectLoss,
}  # fmt: skip


def main():
    found = {}
    for name, function in MAPS.items():
        torch.manual_seed(0)
        scores = torch.randn(4, 7, dtype=torch.float64, requires_grad=True)
        out = function(scores)
        (out * torch.arange(7)).sum().backward()
        found[name] = [out, scores.grad]
    alpha = torch.tensor([[1.2], [1.5], [1.9], [2.5]], dtype=torch.float64, requires_grad=True)
    out = entmax.entmax_bisect(scores.detach(), alpha)
    (out * torch.arange(7)).sum().backward()
    found["alpha"] = [out, alpha.grad]
    for name, make in LOSSES.items():
        torch.manual_seed(1)
        net, batch, labels = torch.nn.Linear(5, 4), torch.randn(9, 5), torch.arange(9) % 4
        own = make()
        found[f"losses, {name}"] = train(
            net, batch, lambda m, x, own=own, y=labels: own(m(x), y).mean()
        )
    net = torch.nn.Sequential(torch.nn.Linear(5, 4), entmax.Sparsemax(dim=0), entmax.Entmax15())
    found["layers"] = net(batch)
    report(**found)


main()
