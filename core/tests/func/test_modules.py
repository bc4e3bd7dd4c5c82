"""Modules as functions of their parameters."""

import pytest

import rushlight
from rushlight.func import (
    functional_call,
    grad,
    replace_all_batch_norm_modules_,
    stack_module_state,
    vmap,
)

nn = rushlight.nn


def test_functional_call_leaves_the_module_as_it_was():
    layer = nn.Linear(2, 2)
    own = layer.weight
    zeros = {"weight": rushlight.zeros(2, 2), "bias": rushlight.ones(2)}
    assert functional_call(layer, zeros, rushlight.ones(3, 2)).tolist() == [[1.0, 1.0]] * 3
    assert layer.weight is own
    out = functional_call(layer, [{"weight": zeros["weight"]}, {"bias": zeros["bias"]}],
                          (rushlight.ones(2),))  # fmt: skip
    assert out.tolist() == [1.0, 1.0]


def test_buffers_that_the_module_changes_come_back():
    norm = nn.BatchNorm1d(2)
    state = {k: v.clone() for k, v in norm.named_buffers()}
    functional_call(norm, state, rushlight.randn(8, 2) + 5)
    assert state["num_batches_tracked"].item() == 1
    assert (state["running_mean"] > 0.1).all()
    assert not norm.running_mean.any()


def test_tied_weights():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(2, 2, bias=False)
            self.second = nn.Linear(2, 2, bias=False)
            self.second.weight = self.first.weight

        def forward(self, x):
            return self.second(self.first(x))

    model, x = Tied(), rushlight.ones(2)
    twice = {"first.weight": 2 * rushlight.eye(2)}
    assert functional_call(model, twice, x).tolist() == [4.0, 4.0]
    once = functional_call(model, twice, x, tie_weights=False)
    assert rushlight.allclose(once, 2 * (model.first.weight @ x))
    both = {**twice, "second.weight": rushlight.eye(2)}
    with pytest.raises(ValueError, match="are tied"):
        functional_call(model, both, x)


def test_wrong_calls_say_what_is_wrong():
    layer = nn.Linear(2, 2)
    with pytest.raises(RuntimeError, match=r"Missing key\(s\): 'bias'"):
        functional_call(layer, {"weight": layer.weight}, rushlight.ones(2), strict=True)
    with pytest.raises(RuntimeError, match="Unexpected"):
        functional_call(layer, {"other": layer.weight}, rushlight.ones(2), strict=True)
    layer_out = functional_call(layer, {"other": layer.weight}, rushlight.ones(2))
    assert rushlight.equal(layer_out, layer(rushlight.ones(2)))
    with pytest.raises(ValueError, match="multiple dictionaries"):
        functional_call(layer, [{"bias": layer.bias}, {"bias": layer.bias}], rushlight.ones(2))
    with pytest.raises(ValueError, match="to be a dict"):
        functional_call(layer, layer.weight, rushlight.ones(2))
    with pytest.raises(RuntimeError, match="at least one model"):
        stack_module_state([])
    with pytest.raises(RuntimeError, match="same class"):
        stack_module_state([nn.Linear(2, 2), nn.ReLU()])


def test_an_ensemble():
    models = [nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).eval() for _ in range(3)]
    parameters, buffers = stack_module_state(models)
    assert parameters["0.weight"].shape == (3, 4, 3)
    assert parameters["0.weight"].is_leaf
    assert parameters["0.weight"].requires_grad
    x = rushlight.randn(5, 3)
    run = lambda p, b, x: functional_call(models[0], (p, b), (x,))
    out = vmap(run, (0, 0, None))(parameters, buffers, x)
    for i, model in enumerate(models):
        assert rushlight.allclose(out[i], model(x), atol=1e-6)


def test_batch_norm_inside_of_vmap():
    norm, x = nn.BatchNorm2d(3), rushlight.randn(4, 2, 3, 5, 5)
    with pytest.raises(RuntimeError, match="replace_all_batch_norm_modules_"):
        vmap(norm)(x)
    replaced = replace_all_batch_norm_modules_(nn.Sequential(norm))
    out = vmap(replaced)(x)
    assert rushlight.allclose(out[1], replaced(x[1]), atol=1e-5)


def _check(module, x):
    """`vmap` of a module, and of its gradients, against a loop."""
    module = module.double()
    parameters = {n: p.detach() for n, p in module.named_parameters()}

    def run(p, x):
        out = functional_call(module, p, (x,))
        return out[0] if isinstance(out, tuple) else out

    out = vmap(run, (None, 0))(parameters, x)
    assert rushlight.allclose(out, rushlight.stack([run(parameters, row) for row in x]))
    slopes = grad(lambda p, x: (run(p, x) ** 2).sum(), argnums=(0, 1))
    by_parameters, by_input = vmap(slopes, (None, 0))(parameters, x)
    for i, row in enumerate(x):
        expected, other = slopes(parameters, row)
        assert rushlight.allclose(by_input[i], other)
        for name, value in expected.items():
            assert rushlight.allclose(by_parameters[name][i], value)


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: nn.LSTM(4, 3, 2), (5, 2, 4)),
        (lambda: nn.GRU(4, 3, bidirectional=True), (5, 2, 4)),
        (lambda: nn.RNN(4, 3), (5, 2, 4)),
        (lambda: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True), (2, 5, 4)),
        (lambda: nn.Conv1d(4, 6, 3, groups=2), (2, 4, 7)),
        (lambda: nn.Conv2d(2, 3, 3, padding=1, stride=2), (2, 2, 6, 6)),
        (lambda: nn.ConvTranspose2d(2, 3, 3, stride=2), (1, 2, 4, 4)),
        (lambda: nn.GroupNorm(2, 4), (2, 4, 3)),
        (lambda: nn.LayerNorm(4), (3, 4)),
        (lambda: nn.BatchNorm1d(4, track_running_stats=False), (5, 4)),
        (lambda: nn.Sequential(nn.Upsample(scale_factor=2, mode="bilinear")), (1, 2, 3, 3)),
        (lambda: nn.MaxPool2d(2), (1, 2, 4, 4)),
        (lambda: nn.PReLU(), (3, 4)),
    ],
)
def test_modules(make, shape):
    rushlight.manual_seed(0)
    _check(make(), rushlight.randn(3, *shape, dtype=rushlight.float64))


def test_jacobian_of_a_recurrent_layer():
    rushlight.manual_seed(0)
    layer = nn.LSTM(3, 2).double()
    x = rushlight.randn(4, 1, 3, dtype=rushlight.float64)
    run = lambda x: layer(x)[0]
    reverse = rushlight.func.jacrev(run)(x)
    assert reverse.shape == (4, 1, 2, 4, 1, 3)
    assert rushlight.allclose(reverse, rushlight.func.jacfwd(run)(x))


def test_functional_call_with_names_of_parts_that_are_not_there():
    layer = nn.Sequential(nn.Linear(2, 2))
    with pytest.raises(AttributeError, match="other"):
        functional_call(layer, {"other.weight": rushlight.ones(2, 2)}, rushlight.ones(1, 2))
    found = functional_call(layer, {"0.other": rushlight.ones(2)}, rushlight.ones(1, 2))
    assert found.tolist() == layer(rushlight.ones(1, 2)).tolist()
