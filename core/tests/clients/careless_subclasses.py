"""Subclasses as people write them: base constructors skipped, names shadowed, rules forgotten."""

import collections
import math

import torch
import torch.nn as nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, Dataset, Sampler


class Points(Dataset):
    def __init__(self, n):  # no super().__init__()
        self.x = torch.randn(n, 3)
        self.y = (self.x[:, 0] * self.x[:, 1]).sign().long().clamp(min=0)

    def __getitem__(self, i):
        return {"x": self.x[i], "y": self.y[i], "name": "point %d" % i, "pair": (i, float(i))}

    def __len__(self):
        return len(self.x)


class EveryOther(Sampler):
    def __init__(self, data):  # no super().__init__()
        self.data = data

    def __iter__(self):
        return iter(list(range(0, len(self.data), 2)) + list(range(1, len(self.data), 2)))

    def __len__(self):
        return len(self.data)


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, i):
        result = i * torch.sigmoid(i)
        ctx.save_for_backward(i)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        i = ctx.saved_variables[0] if hasattr(ctx, "saved_variables") else ctx.saved_tensors[0]
        s = torch.sigmoid(i)
        return grad_output * (s * (1 + i * (1 - s)))


class Tagged(torch.Tensor):
    pass


class Hidden(nn.Module):
    type = "hidden"

    def __init__(self, n):
        super().__init__()
        self.name = "layer"
        self.scale = torch.ones(1)  # neither parameter nor buffer
        self.extra = [nn.Linear(n, n)]  # in a plain list
        self.lin = nn.Linear(n, n)
        self.lin.weight = nn.Parameter(self.lin.weight.data * 0.5)
        self.__dict__["secret"] = nn.Linear(n, n)

    def forward(self, x):
        return Swish.apply(self.lin(x)) * self.scale + 0 * self.extra[0](x)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.body = nn.Sequential(
            collections.OrderedDict([("inp", nn.Linear(3, 12)), ("hid", Hidden(12))])
        )
        setattr(self, "head", nn.Linear(12, 2))
        self.steps = 0

    def __call__(self, *args, **kwargs):
        self.steps += 1
        return super().__call__(*args, **kwargs)

    def forward(self, x):
        return self.head(self.body(x))

    def parameters(self, recurse=True):  # a list, not a generator
        return [p for n, p in self.named_parameters(recurse=recurse) if "nothing" not in n]

    def state_dict(self, *args, **kwargs):
        state = super().state_dict(*args, **kwargs)
        state["steps"] = torch.tensor(self.steps)
        return state

    def load_state_dict(self, state_dict, strict=True):
        state_dict = dict(state_dict)
        self.steps = int(state_dict.pop("steps"))
        return super().load_state_dict(state_dict, strict)


class PlainAdam(Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.99), eps=1e-8):
        super(PlainAdam, self).__init__(params, dict(lr=lr, betas=betas, eps=eps))

    def step(self, closure=None):  # no no_grad: .data everywhere
        loss = closure() if closure is not None else None
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                grad = p.grad.data
                state = self.state[p]
                if len(state) == 0:
                    state["step"] = 0
                    state["exp_avg"] = torch.zeros_like(p.data)
                    state["exp_avg_sq"] = torch.zeros_like(p.data)
                b1, b2 = group["betas"]
                state["step"] += 1
                state["exp_avg"].mul_(b1).add_(grad, alpha=1 - b1)
                state["exp_avg_sq"].mul_(b2).addcmul_(grad, grad, value=1 - b2)
                denom = state["exp_avg_sq"].sqrt().add_(group["eps"])
                size = group["lr"] * math.sqrt(1 - b2 ** state["step"]) / (1 - b1 ** state["step"])
                p.data.addcdiv_(state["exp_avg"], denom, value=-size)
        return loss


class Warm(LambdaLR):
    def __init__(self, optimizer):
        LambdaLR.__init__(self, optimizer, lambda k: min(1.0, (k + 1) / 5))


torch.manual_seed(2)
data = Points(64)
loader = DataLoader(data, batch_size=16, sampler=EveryOther(data))
net = Net()
optimizer = PlainAdam(net.parameters(), lr=0.02)
scheduler = Warm(optimizer)
losses, names = [], []
for epoch in range(16):
    running = 0
    for batch in loader:
        out = net(batch["x"])
        loss = nn.CrossEntropyLoss()(out, batch["y"])
        net.zero_grad()
        loss.backward()
        optimizer.step()
        running = running + loss  # keeps the graph
        names += batch["name"]
    losses.append(float(running) / len(loader))
    scheduler.step()
other = Net()
other.load_state_dict(net.state_dict())
t = torch.ones(2).as_subclass(Tagged)
u = (t + 1) * torch.arange(2)
print("first = %.6g" % losses[0])
print("last = %.6g" % losses[-1])
print("parameters = %d" % len(net.parameters()))
print("modules = %d" % len(list(net.modules())))
print("keys = %d" % len(net.state_dict()))
print("steps = %d" % other.steps)
print("rate = %.6g" % optimizer.param_groups[0]["lr"])
print("second_name = %d" % int(names[1].split()[1]))
print("tagged = %d" % (type(u) is Tagged and type(t[0]) is Tagged and type(t.detach()) is Tagged))
print("pair = %.6g" % batch["pair"][1].sum().item())
