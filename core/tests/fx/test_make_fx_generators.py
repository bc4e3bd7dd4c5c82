"""Generators of the function's own in captured programs."""

import pytest

import rushlight
from rushlight.fx.experimental.proxy_tensor import make_fx

# Of each call PyTorch's overload.
DRAWS = {
    "rand.generator": lambda library, x, g: library.rand(3, generator=g) + x,
    "randn.generator": lambda library, x, g: library.randn(3, generator=g) + x,
    "randperm.generator": lambda library, x, g: library.randperm(5, generator=g),
    "randint.low_generator": lambda library, x, g: library.randint(2, 9, (3,), generator=g),
    "normal_.default": lambda library, x, g: x.clone().normal_(generator=g),
    "uniform_.default": lambda library, x, g: x.clone().uniform_(generator=g),
    "bernoulli.default": lambda library, x, g: library.bernoulli(x, generator=g),
    "multinomial.default": lambda library, x, g: library.multinomial(x, 2, generator=g),
    "normal.Tensor_float": lambda library, x, g: library.normal(x, 2.0, generator=g),
}


def traced(library, trace, name, mode):
    """The module of a function that draws from two generators, these, and the function."""
    several = [library.Generator().manual_seed(seed) for seed in (1, 2)]

    def function(x):
        return [DRAWS[name](library, x, each) for each in (*several, several[0])]

    return trace(function, tracing_mode=mode)(library.ones(3) * 0.5), several, function


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
@pytest.mark.parametrize("name", DRAWS)
def test_programs_draw_from_the_generators(name, mode):
    module, several, function = traced(rushlight, make_fx, name, mode)
    if mode != "real":  # shapes alone draw no numbers
        fresh = [rushlight.Generator().manual_seed(seed).get_state().tolist() for seed in (1, 2)]
        assert [each.get_state().tolist() for each in several] == fresh
    x, found = rushlight.ones(3) * 0.5, []
    for call in (module, function):
        for each, seed in zip(several, (5, 6), strict=True):
            each.manual_seed(seed)
        found.append([each.tolist() for _ in range(2) for each in call(x)])
    assert found[0] == found[1]
    assert [getattr(module, f"_opaque_obj{i}") is each for i, each in enumerate(several)] == [
        True, True,
    ]  # fmt: skip


def nodes(module):
    found = [(n.op, str(n.target)) for n in module.graph.nodes if n.op != "placeholder"]
    return [(op, target.removeprefix("aten.")) for op, target in found]


@pytest.mark.parametrize("name", DRAWS)
def test_nodes_are_pytorchs(name):
    torch = pytest.importorskip("torch")
    trace = pytest.importorskip("torch.fx.experimental.proxy_tensor").make_fx
    ours = nodes(traced(rushlight, make_fx, name, "fake")[0])
    assert ("call_function", name) in ours
    assert ours == nodes(traced(torch, trace, name, "fake")[0])
