"""Programs whose sizes depend on values, for either framework, with arguments of several calls."""


def programs(torch):
    """By name: a module, arguments of the export, arguments of other calls."""
    nn = torch.nn

    class Zeros(nn.Module):
        def forward(self, x, n):
            k = n.item()
            torch._check(k >= 2)
            torch._check(k <= 10)
            return torch.zeros(k, 3) + x.sum()

    class Picked(nn.Module):
        def forward(self, x):
            i = x.nonzero()
            return i.sum(0), x[x > 0] * 2, i.shape[0]

    class Selected(nn.Module):
        def forward(self, x):
            return torch.masked_select(x, x > 0) * 2, torch.unique(x) + 1

    class Split(nn.Module):
        def forward(self, x, sizes):
            a, b = sizes.tolist()
            torch._check(a >= 0)
            torch._check(b >= 0)
            torch._check(a + b == x.shape[0])
            return torch.split(x, [a, b])

    class Sliced(nn.Module):
        def forward(self, x, n):
            k = n.item()
            torch._check(k >= 0)
            torch._check(k < x.shape[0])
            return x[:k], x.narrow(0, k, 1), x[k]

    class Number(nn.Module):
        def forward(self, x, n):
            return x * n.item()

    class Counted(nn.Module):
        def forward(self, x):
            found = torch.unique(x, return_counts=True, return_inverse=True)
            return found, torch.bincount(x, minlength=4)

    class Runs(nn.Module):
        def forward(self, x):
            found = torch.unique_consecutive(x, return_counts=True, return_inverse=True)
            return found, torch.unique_consecutive(x) + 1, torch.unique_consecutive(x[None], dim=1)

    class Repeated(nn.Module):
        def forward(self, x, repeats):
            return x.repeat_interleave(repeats, 0).sum(1), torch.argwhere(x)

    class Arranged(nn.Module):
        def forward(self, x, n):
            k = n.item()
            torch._check(k >= 1)
            torch._check(k <= 8)
            y = torch.arange(k * 2)
            return y.reshape(k, 2) + 1, torch.full((k + 1,), 2.0), x.expand(k, 3)

    class Among(nn.Module):
        def forward(self, x, n):
            k = n.item()
            torch._check(k >= 0)
            torch._check(k + 3 <= x.shape[0])
            return x.narrow(0, k, 3)

    class Limited(nn.Module):
        def forward(self, x, n):
            k = n.item()
            return x * torch.sym_min(k, 2), x + torch.sym_max(k, -3)

    class Pointed(nn.Module):
        def forward(self, x):
            kept = x[x.sum(1) > 0]
            return kept @ torch.ones(3, 4), kept.mean(0)

    class Normalized(nn.Module):
        def forward(self, x):
            least, most = x.min().item(), x.max().item()
            return (x - least) / (most - least), least

    class Blended(nn.Module):
        def forward(self, x, weight):
            w = weight[0].item()
            much = w * 2 + 1.5
            mixed = torch.add(x, x, alpha=much), torch.full((3,), much), x.clamp(min=w)
            return *mixed, x * -much, x * (1 / w), x * w**2, (2 - w) * x, torch.sym_max(w, 0.5) * x

    class Positive(nn.Module):
        def forward(self, x):
            s = x.mean().item()
            torch._check(s > 0)
            return x**s if s > 0 else x

    class Shared(nn.Module):
        def forward(self, x, n):
            k = n.sum().item()
            return x * (k * 0.5), x * (k / 4), x / k

    t = torch.tensor
    x = t([1.0, 0.0, 2.0])
    rows = torch.arange(10.0).reshape(5, 2)
    return {
        "zeros": (Zeros(), (x, t(5)), [(x, t(2)), (x + 1, t(10))]),
        "picked": (Picked(), (x,), [(x + 1,), (x * 0,)]),
        "selected": (Selected(), (x,), [(t([3.0, 3.0, 3.0]),), (-x,)]),
        "split": (Split(), (rows, t([2, 3])), [(rows, t([0, 5])), (rows, t([4, 1]))]),
        "sliced": (Sliced(), (rows, t(2)), [(rows, t(0)), (rows, t(4))]),
        "number": (Number(), (x, t(2)), [(x, t(-7)), (x, t(0))]),
        "counted": (Counted(), (t([1, 2, 2]),), [(t([7, 0, 7]),), (t([3, 3, 3]),)]),
        "runs": (Runs(), (t([1, 2, 2]),), [(t([7, 7, 0]),), (t([3, 3, 3]),)]),
        "repeated": (Repeated(), (rows, t([1, 2, 0, 3, 1])), [(rows * 0, t([0, 0, 1, 0, 0]))]),
        "arranged": (Arranged(), (torch.ones(3), t(3)), [(torch.ones(3), t(1)), (x, t(8))]),
        "among": (Among(), (rows, t(1)), [(rows, t(0)), (rows, t(2))]),
        "limited": (Limited(), (x, t(1)), [(x, t(-7)), (x, t(9)), (x, t(0))]),
        "pointed": (Pointed(), (t([[1.0, 2, 3], [0, -1, 0]]),), [(torch.ones(2, 3),)]),
        "normalized": (Normalized(), (x,), [(x * 3 - 1,), (-x,)]),
        "blended": (Blended(), (x, t([0.5])), [(x, t([0.25])), (x - 1, t([-3.0]))]),
        "positive": (Positive(), (x,), [(x * 3,), (x + 1,)]),
        "shared": (Shared(), (x, t([1, 2])), [(x, t([7, 0])), (x, t([-1, -1]))]),
    }


NAMES = tuple(
    """zeros picked selected split sliced number counted repeated arranged pointed normalized
    blended positive shared""".split()
)
