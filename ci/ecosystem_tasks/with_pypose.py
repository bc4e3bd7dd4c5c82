"""pypose: Lie groups as tensors, their exponentials and gradients, optimizers of poses."""

import pypose as pp
import torch
from common import report


class Inverse(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.pose = pp.Parameter(pp.randn_SE3(n))

    def forward(self, x):
        return (self.pose @ x).Log().tensor()


def main():
    torch.manual_seed(0)
    a = pp.randn_so3(4, requires_grad=True)
    x = pp.randn_SE3(3)
    found = {
        "exp": a.Exp().tensor(),
        "matrix": x.matrix(),
        "log": x.Log().tensor(),
        "inv": (x @ x.Inv()).tensor(),
        "adj": x.Adj(x.Log()).tensor(),
        "act": x.Act(torch.randn(3, 3)),
        "euler": pp.euler(pp.randn_SO3(2)),
        "type": type(x.ltype).__name__,
    }
    a.Exp().matrix().sin().sum().backward()
    found["grad"] = a.grad
    found["repr"] = repr(pp.identity_SO3(1))
    net = Inverse(2)
    inp = pp.randn_SE3(2)
    opt = pp.optim.LM(net, strategy=pp.optim.strategy.Constant(damping=1e-6))
    found["lm"] = [float(opt.step(inp)) for _ in range(3)]
    net = Inverse(2)
    opt = torch.optim.Adam(net.parameters(), lr=0.05)
    losses = []
    for _ in range(3):
        opt.zero_grad()
        loss = net(inp).square().sum()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    found["adam"] = losses
    integ = pp.module.IMUPreintegrator(torch.zeros(3), pp.identity_SO3(), torch.zeros(3))
    state = integ(dt=torch.full((1, 5, 1), 0.1), gyro=torch.rand(1, 5, 3), acc=torch.rand(1, 5, 3))
    found["imu"] = {
        k: (v.tensor() if hasattr(v, "tensor") else v)
        for k, v in state.items()
        if k in ("rot", "vel", "pos")
    }
    found["stack"] = torch.cat([x, x]).Log().tensor()
    found["spline"] = pp.chspline(torch.randn(1, 4, 3), 0.5)
    report(**found)


main()
