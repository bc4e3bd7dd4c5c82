"""Models that draw from generators of their own, of either framework."""

# By name: what is made of the framework, the input and the generator.
DRAWN = {
    "rand": lambda t, x, g: x + t.rand(x.shape, generator=g),
    "randn": lambda t, x, g: x + t.randn(3, generator=g),
    "randint": lambda t, x, g: x + t.randint(2, 9, (3,), generator=g),
    "randperm": lambda t, x, g: x + t.randperm(3, generator=g),
    "normal_": lambda t, x, g: x.clone().normal_(1.0, 2.0, generator=g),
    "uniform_": lambda t, x, g: x.clone().uniform_(generator=g),
    "bernoulli": lambda t, x, g: t.bernoulli(x, generator=g),
    "multinomial": lambda t, x, g: t.multinomial(x, 2, generator=g),
    "normal": lambda t, x, g: t.normal(x, x, generator=g),
}
STATES = ("seeded", "drawn")  # of a generator: as a seed makes it, in the middle of its numbers


def model_of(framework, name, state):
    """A model that draws by the function `name` from a generator in a `state`, and has a weight and
    a constant besides."""
    function = DRAWN[name]

    class Drawing(framework.nn.Module):
        def __init__(self):
            super().__init__()
            self.generator = framework.Generator().manual_seed(11)
            self.weight = framework.nn.Parameter(framework.ones(3) * 2)
            self.shift = framework.ones(3)

        def forward(self, x):
            drawn = function(framework, x, self.generator)
            return drawn + (self.weight + self.shift)[: drawn.shape[0]]

    model = Drawing()
    if state == "drawn":
        framework.randn(5, generator=model.generator)
    return model
