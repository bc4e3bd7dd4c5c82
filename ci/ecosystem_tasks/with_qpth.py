"""qpth, torchode: a quadratic program and parallel equations as layers, their gradients."""

import torch
import torchode
from common import report
from qpth.qp import QPFunction


def main():
    torch.manual_seed(0)
    n, batch = 4, 3
    root = torch.randn(n, n, dtype=torch.float64)
    q = (root @ root.T + torch.eye(n, dtype=torch.float64)).requires_grad_()
    p = torch.randn(batch, n, dtype=torch.float64, requires_grad=True)
    g, h = torch.randn(5, n, dtype=torch.float64), torch.ones(5, dtype=torch.float64)
    a, b = torch.ones(1, n, dtype=torch.float64), torch.zeros(1, dtype=torch.float64)
    z = QPFunction(verbose=-1)(q, p, g, h, a, b)
    z.square().sum().backward()
    found = {"solution": z, "by q": q.grad, "by p": p.grad}

    def swing(t, y, rate):
        return torch.stack([y[:, 1], -rate * y[:, 0].sin()], 1)

    rate = torch.tensor(2.0, requires_grad=True)
    start = torch.tensor([[0.5, 0.0], [1.0, 0.2]])
    times = torch.linspace(0, 2, 6).repeat(2, 1)
    for name, method in {"dopri5": torchode.Dopri5, "tsit5": torchode.Tsit5}.items():
        term = torchode.ODETerm(swing, with_args=True)
        step = method(term=term)
        control = torchode.IntegralController(atol=1e-6, rtol=1e-5, term=term)
        solver = torchode.AutoDiffAdjoint(step, control)
        out = solver.solve(torchode.InitialValueProblem(y0=start, t_eval=times), args=rate)
        slope = torch.autograd.grad(out.ys[:, -1].sum(), rate)[0]
        found[name] = [out.ys, slope, out.status.tolist(), out.stats["n_steps"].tolist()]
    report(**found)


main()
