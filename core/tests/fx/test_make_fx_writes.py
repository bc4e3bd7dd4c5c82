"""`make_fx` of writes at an index of the program into tensors that ask for gradients."""

import numpy as np
import pytest

import rushlight
from rushlight.fx.experimental.proxy_tensor import make_fx


def programs(torch):
    """By name: functions of a matrix and a vector that ask for gradients, and of an index."""

    def mask(x, v, i):
        y = x * 1
        y[x > 0] = x[x > 0] * 2
        return y

    def rows(x, v, i):
        y = x * 1
        y[i] = v
        return y

    def columns(x, v, i):
        y = x * 2
        y[:, i] = v[:1] * 2
        return torch.autograd.grad(y.pow(2).sum(), (x, v))

    def added(x, v, i):
        y = x * 2
        y[i, i] = v[:2]
        y[i] += 1
        return y

    def number(x, v, i):
        y = x * 1
        y[x > 2] = 7.0
        return torch.autograd.grad((y * y).sum(), x)

    def in_a_row(x, v, i):
        y = x * 2
        y[0, i] = v[i]
        return torch.autograd.grad((y * y).sum(), (x, v))

    def put(x, v, i):
        other = (x * 1).index_put_((i, i), v[i], accumulate=True)
        return x.index_put((i,), v).sum(), other

    def constant(x, v, i):
        y = torch.zeros(2, 3)
        y[i] = x * 2
        return torch.autograd.grad((y * y).sum(), x)

    def by_views(x, v, i):
        y = torch.zeros(2, 3)
        y[0] = x[0] * v
        y[:, 2] = v[0]
        return y

    def earlier_view(x, v, i):
        y = torch.zeros(2, 3)
        z = y[0]
        z.copy_(v * 2)
        return y, torch.autograd.grad((y * y).sum(), v)

    def view_of_a_written_base(x, v, i):
        y = torch.zeros(2, 3)
        z, w = y[0], y.t()
        y[0] = v
        return z + 1, w, torch.autograd.grad((z * w[:, 0]).sum(), v)

    def other_shapes(x, v, i):
        y = torch.zeros(2, 3)
        flat = y.view(6)
        flat[:3] = v
        flat.view(3, 2).mul_(v[:, None])
        y.t().add_(x.t())
        return y, flat, torch.autograd.grad((y * y * y).sum(), (x, v))

    def views_of_views(x, v, i):
        y = torch.zeros(2, 2, 3)
        z = y[0][1]
        z += v
        z.unsqueeze(0).mul_(3)
        y[0].sub_(x)
        return z, y, torch.autograd.grad((z * z).sum(), (x, v))

    indexed = mask, rows, columns, added, number, in_a_row, put, constant, by_views
    found = *indexed, earlier_view, view_of_a_written_base, other_shapes, views_of_views
    return {function.__name__: function for function in found}


NAMES = tuple(programs(rushlight))


def arguments(torch, scale):
    x = (torch.arange(6.0).reshape(2, 3) - 1) * scale
    v = torch.arange(3.0) + scale
    return x.requires_grad_(), v.requires_grad_(), torch.tensor([1, 0] if scale > 0 else [0, 1])


def plain(values):
    if isinstance(values, tuple | list):
        return [plain(value) for value in values]
    return values.tolist()


@pytest.mark.parametrize("name", NAMES)
def test_writes_at_an_index(name):
    function = programs(rushlight)[name]
    module = make_fx(function)(*arguments(rushlight, 1))
    # masks of the example's count alone: sizes are those of the example
    scale = 1 if name in ("mask", "number") else -2
    given = arguments(rushlight, scale)
    assert plain(module(*given)) == plain(function(*given))
    torch = pytest.importorskip("torch")
    expected = programs(torch)[name](*arguments(torch, scale))
    assert plain(module(*given)) == plain(expected)


@pytest.mark.parametrize("name", ["mask", "rows", "added", "put"])
def test_calls_are_pytorchs_without_writes(name):
    torch = pytest.importorskip("torch")
    from torch.fx.experimental.proxy_tensor import make_fx as theirs

    found, expected = (
        [
            str(node.target).replace("_.", ".")
            for node in made(programs(framework)[name])(*arguments(framework, 1)).graph.nodes
            if node.op == "call_function"
        ]
        for framework, made in ((rushlight, make_fx), (torch, theirs))
    )
    assert found == expected


def test_gradients_of_gradients():
    def loss(x, i):
        y = x * x
        y[i] = x[i] ** 3
        return (y * y).sum()

    def twice(x, i):
        return rushlight.func.grad(lambda a: rushlight.func.grad(loss)(a, i).sum())(x)

    x, i = rushlight.tensor([1.0, 2.0, 3.0]), rushlight.tensor([2, 0])
    found = make_fx(twice)(x, i)(x * 2, i)
    # of x**6 where it is written, else of x**4
    assert found.tolist() == [30 * 2.0**4, 12 * 4.0**2, 30 * 6.0**4]


@pytest.mark.parametrize("mode", ["real", "symbolic"])
def test_writes_to_buffers_of_a_module(mode):
    class Cache(rushlight.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("keys", rushlight.zeros(1, 6, 2))

        def forward(self, key, place):
            self.keys.index_copy_(1, place, key)
            seen = rushlight.arange(6) <= place
            return (self.keys.sum(-1) * seen).cumsum(-1), self.keys * 2

    def given(place, factor):
        return factor * rushlight.ones(1, 1, 2), rushlight.tensor([place])

    model, whole = Cache(), Cache()
    with pytest.raises(NotImplementedError, match=r"none of its inputs, by aten.index_copy_"):
        make_fx(model, tracing_mode=mode)(*given(1, 3.0))

    def function(keys, key, place):
        found = rushlight.func.functional_call(model, {"keys": keys}, (key, place))
        return *found, keys * 1

    module = make_fx(function, tracing_mode=mode)(rushlight.zeros(1, 6, 2), *given(1, 3.0))
    keys = rushlight.zeros(1, 6, 2)
    for place, factor in ((0, 2.0), (4, 5.0)):
        *found, after = module(keys, *given(place, factor))
        assert plain(found) == plain(whole(*given(place, factor)))
        assert plain(after) == plain(keys) == plain(whole.keys)


@pytest.mark.parametrize("name", ["embedding", "embedding_bag", "cross_entropy", "grid_sample"])
def test_gradients_by_autograd_of_functions_that_are_one_step(name):
    torch = pytest.importorskip("torch")
    from torch.fx.experimental.proxy_tensor import make_fx as theirs

    def function(library):
        functional, number = library.nn.functional, library.tensor
        run = {
            "embedding": lambda w: functional.embedding(number([1, 2, 1]), w).sin(),
            "embedding_bag": lambda w: functional.embedding_bag(number([[1, 2], [1, 0]]), w).sin(),
            "cross_entropy": lambda w: functional.cross_entropy(w, library.arange(3)),
            "grid_sample": lambda w: functional.grid_sample(
                w[None, None], library.full((1, 2, 2, 2), 0.3), align_corners=False
            ).sin(),
        }[name]
        return lambda w: library.autograd.grad(run(w).sum(), w)[0]

    found = []
    for library, made in ((rushlight, make_fx), (torch, theirs)):
        first, second = ((library.arange(12.0).reshape(3, 4) / n).requires_grad_() for n in (7, -3))
        found.append(made(function(library))(first)(second).detach().numpy())
    np.testing.assert_allclose(*found, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_statistics_of_batches_are_those_of_the_call(mode):
    """Running statistics that a program updates while it asks for gradients."""

    def program(x, mean, var):
        def normalized(x):
            out = rushlight.nn.functional.batch_norm(x, mean, var, training=True)
            return out.square().sum()

        return rushlight.func.grad(normalized)(x)

    def arguments(seed):
        rushlight.manual_seed(seed)
        return rushlight.randn(5, 2) + 3, rushlight.zeros(2), rushlight.ones(2)

    module = make_fx(program, tracing_mode=mode)(*arguments(0))
    given, wanted = arguments(1), arguments(1)
    rushlight.testing.assert_close(module(*given), program(*wanted))
    rushlight.testing.assert_close(given, wanted)
    assert not any(node.op == "get_attr" for node in module.graph.nodes)
