"""Models of nested modules, written once for PyTorch and Rushlight, with equal values."""

import functools


@functools.cache
def classes(framework):
    """The classes of the models, by name, of `torch` or `rushlight`."""
    nn = framework.nn

    class Counter(nn.Module):
        """A buffer that is added to, one of its own, one that is not saved, a constant."""

        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(3, 3)
            self.register_buffer("count", framework.zeros(1))
            self.register_buffer("hidden", framework.ones(3) * 0.5, persistent=False)
            self.shift = framework.ones(3) * 2

        def forward(self, x):
            self.count.add_(1)
            return self.inner(x) * self.hidden + self.shift + self.count

    class Structures(nn.Module):
        """A dict and tuples as results, keyword arguments."""

        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(framework.ones(3) * 1.5)

        def forward(self, x, *, other, factor=2.0):
            return {"sum": x + other * self.scale, "pair": (x * factor, [other - x])}

    class Nested(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.ReLU(), nn.Linear(4, 3)))
            self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(2)])
            self.unused = nn.Linear(2, 2)
            self.drop = nn.Identity()

        def forward(self, x):
            x = self.drop(self.head(x))
            for layer in self.layers:
                x = layer(x)
            return x

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.sub = nn.Sequential(nn.Linear(3, 3), nn.Tanh())

        def forward(self, x):
            return self.sub(self.sub(x) + 1)

    class Alias(nn.Module):
        """One module under two names, one in a list thrice, one parameter in two modules."""

        def __init__(self):
            super().__init__()
            self.sub = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
            self.other = self.sub
            self.layers = nn.ModuleList([nn.Linear(3, 3)] * 3)
            self.tied = nn.Linear(3, 3)
            self.tied.weight = self.layers[0].weight

        def forward(self, x):
            x = self.other(self.sub(x))
            for layer in self.layers:
                x = layer(x)
            return self.tied(x)

    class Mutated(nn.Module):
        def __init__(self):
            super().__init__()
            self.counter = Counter()
            self.register_buffer("calls", framework.zeros(()))

        def forward(self, x):
            self.calls = self.calls + 1
            return self.counter(x) * self.calls + framework.tensor([1.0, 2.0, 3.0])

    class MutatedTwice(nn.Module):
        def __init__(self):
            super().__init__()
            self.counter = Counter()

        def forward(self, x):
            return self.counter(self.counter(x))

    class Between(nn.Module):
        """Structures between modules; parameters of submodules in the parent."""

        def __init__(self):
            super().__init__()
            self.first = Structures()
            self.second = nn.Bilinear(3, 3, 3)
            self.weight = nn.Parameter(framework.ones(3))

        def forward(self, x, y):
            found = self.first(x, other=y * self.weight, factor=3.0)
            left, (right,) = found["pair"]
            result = self.second(left, right) + self.second.bias * self.first.scale
            return {"result": result, "parts": (found["sum"], x)}

    return {
        c.__name__: c
        for c in (Counter, Structures, Nested, Twice, Alias, Mutated, MutatedTwice, Between)
    }


# The models with their numbers of arguments.
MODELS = {"Nested": 1, "Twice": 1, "Alias": 1, "Mutated": 1, "MutatedTwice": 1, "Between": 2}


def made(framework, name):
    """A model and its arguments; parameters are numbered, so that both frameworks have the same."""
    model = classes(framework)[name]()
    step = 1
    with framework.no_grad():
        for parameter in model.parameters():
            count = parameter.numel()
            values = framework.arange(step, step + count) % 7 - 3
            parameter.copy_(values.to(framework.float32).reshape(parameter.shape) / 4)
            step += count
    return model, arguments(framework, MODELS[name])


def arguments(framework, count, dtype="float32"):
    """Matrices with two rows of three numbers."""
    return tuple(
        (framework.arange(i, i + 6) % 5 - 2).to(getattr(framework, dtype)).reshape(2, 3)
        for i in range(count)
    )
