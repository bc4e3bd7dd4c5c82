"""Modules whose graphs are compared with PyTorch's, `nn` and `F` being either's."""


def modules(nn, F, Tensor):
    """The modules by name."""

    class Layers(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.last = nn.Conv2d(3, 4, 3, padding=1), nn.Linear(4, 2)

        def forward(self, x: Tensor):
            x = F.max_pool2d(self.conv(x).relu(), 2)
            return self.last(x.mean([2, 3]))

    class Loops(nn.Module):
        def forward(self, x: Tensor, n: int):
            for i in range(n):
                x = x + i
            k = 0
            while k < n:
                k += 2
            return x * k

    class Branches(nn.Module):
        def forward(self, x: Tensor, flag: bool):
            if flag:
                y = x.exp()
            else:
                y = x - 1
            return y.sigmoid()

    class Lists(nn.Module):
        def forward(self, xs: list[Tensor]):
            out: list[Tensor] = []
            for x in xs:
                out.append(x.tanh())
            return out

    class Parts(nn.Module):
        def forward(self, x: Tensor):
            return x[0, 1:], x[None], {"a": x.shape[0]}

    class Children(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Branches()
            self.layers = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 2))

        def forward(self, x: Tensor):
            return self.inner(self.layers(x), True)

    class Options(nn.Module):
        def forward(self, x: Tensor, y: Tensor | None = None):
            if y is not None:
                x = x.add(y, alpha=2)
            return x.softmax(-1), x.sum(1, keepdim=True)

    class Numbers(nn.Module):
        def forward(self, a: int, b: float, names: dict[str, int]):
            assert a > 0, "positive"
            return a // 2 + len(names), -b * 3.0

    made = (Layers, Loops, Branches, Lists, Parts, Children, Options, Numbers)
    return {each.__name__: each for each in made}
