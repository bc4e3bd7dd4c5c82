"""nn.utils: parametrizations, norms of weights, pruning, fusion, packed sequences, as PyTorch's."""

import copy

import numpy as np
import pytest

import rushlight
from rushlight import nn

torch = pytest.importorskip("torch")
LIBRARIES = (rushlight, torch)


def both(run):
    """The results of one program under both libraries."""
    found = []
    for library in LIBRARIES:
        library.manual_seed(0)
        found.append(run(library))
    return found


def same(run, rtol=1e-5, atol=1e-6):
    ours, theirs = both(run)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        if hasattr(b, "detach"):
            assert a.requires_grad == b.requires_grad
            a, b = a.detach().numpy(), b.detach().numpy()
            np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)
        else:
            assert a == b


def values(library, *shape, seed=0):
    random = np.random.default_rng(seed)
    return library.tensor(random.standard_normal(shape), dtype=library.float32)


def trained(library, module, *inputs):
    """State names, state, output and gradients of a module."""
    out = module(*inputs)
    (out * out * values(library, *out.shape, seed=9)).sum().backward()
    state = module.state_dict()
    names = [n for n, _ in module.named_parameters()]
    return [list(state), names, *state.values(), out, *[p.grad for p in module.parameters()]]


@pytest.mark.filterwarnings("ignore:`.*nn.utils.weight_norm` is deprecated:FutureWarning")
@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm_hook(dim):
    def run(library):
        layer = library.nn.utils.weight_norm(library.nn.Conv1d(3, 4, 2), dim=dim)
        first = trained(library, layer, values(library, 2, 3, 5))
        with library.no_grad():
            layer.weight_g.mul_(2)
        again = layer(values(library, 2, 3, 5))
        library.nn.utils.remove_weight_norm(layer)
        return [*first, again, list(layer.state_dict()), layer.weight, repr(layer)]

    same(run)


def test_spectral_norm_hook():
    def run(library):
        layer = library.nn.utils.spectral_norm(library.nn.Linear(4, 5), n_power_iterations=2)
        first = trained(library, layer, values(library, 3, 4))
        layer.eval()
        second = layer(values(library, 3, 4))
        library.nn.utils.remove_spectral_norm(layer)
        return [*first, second, list(layer.state_dict()), layer.weight]

    same(run)


def test_spectral_norm_of_a_transposed_convolution():
    def run(library):
        layer = library.nn.utils.spectral_norm(library.nn.ConvTranspose2d(2, 3, 2))
        return trained(library, layer, values(library, 1, 2, 4, 4))

    same(run)


@pytest.mark.parametrize("tool", ["weight_norm", "spectral_norm"])
def test_parametrizations(tool):
    def run(library):
        layer = getattr(library.nn.utils.parametrizations, tool)(library.nn.Linear(4, 5))
        first = trained(library, layer, values(library, 3, 4))
        with library.no_grad():
            layer.weight = values(library, 5, 4, seed=3)
        second = layer.eval()(values(library, 3, 4))
        copied = copy.deepcopy(layer)(values(library, 3, 4))
        text = repr(layer)
        library.nn.utils.parametrize.remove_parametrizations(layer, "weight")
        return [*first, second, copied, text, list(layer.state_dict()), layer.weight, repr(layer)]

    same(run)


def symmetric(library):
    class Symmetric(library.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).transpose(-1, -2)

        def right_inverse(self, x):
            return x.triu()

    return Symmetric()


def test_register_parametrization():
    def run(library):
        parametrize = library.nn.utils.parametrize
        layer = library.nn.Linear(3, 3)
        parametrize.register_parametrization(layer, "weight", symmetric(library))
        found = trained(library, layer, values(library, 2, 3))
        with parametrize.cached():
            assert layer.weight is layer.weight
        assert parametrize.is_parametrized(layer) and not parametrize.is_parametrized(layer, "bias")
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
        return [*found, type(layer).__name__, layer.weight]

    same(run)


def test_parametrization_errors():
    parametrize = nn.utils.parametrize
    layer = nn.Linear(3, 2)
    with pytest.raises(ValueError, match="does not have a parameter, a buffer"):
        parametrize.register_parametrization(layer, "nothing", nn.Identity())
    with pytest.raises(ValueError, match="may not change the shape"):
        parametrize.register_parametrization(layer, "weight", nn.Flatten(0))
    parametrize.register_parametrization(layer, "weight", nn.Tanh())
    with pytest.raises(RuntimeError, match="only supported through state_dict"):
        import pickle

        pickle.dumps(layer)


def test_orthogonal_is_orthogonal_and_trains():
    for shape in ((4, 4), (5, 3), (3, 5)):
        layer = nn.utils.parametrizations.orthogonal(nn.Linear(shape[1], shape[0]))
        optimizer = rushlight.optim.SGD(layer.parameters(), 0.1)
        layer(values(rushlight, 2, shape[1])).square().sum().backward()
        optimizer.step()
        weight = layer.weight if shape[0] >= shape[1] else layer.weight.t()
        eye = rushlight.eye(min(shape))
        assert rushlight.allclose(weight.t() @ weight, eye, atol=1e-5)


@pytest.mark.parametrize("orthogonal_map", [None, "householder", "matrix_exp", "cayley"])
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
def test_orthogonal_follows_pytorch(orthogonal_map, shape):
    """The same draws, free matrices and weights, before and after a step of training."""
    torch = pytest.importorskip("torch")

    def run(library):
        library.manual_seed(6)
        layer = library.nn.Linear(shape[1], shape[0], dtype=library.float64)
        library.nn.utils.parametrizations.orthogonal(layer, orthogonal_map=orthogonal_map)
        state = [value.detach().clone() for value in layer.state_dict().values()]
        x = library.arange(2.0 * shape[1], dtype=library.float64).sin().view(2, shape[1])
        layer(x).square().sum().backward()
        layer.parametrizations.weight.original.grad.clamp_(-1, 1)
        library.optim.SGD(layer.parameters(), 0.1).step()
        drawn = library.rand(2, dtype=library.float64)
        return [*state, layer.weight.detach(), drawn, list(layer.state_dict())]

    *ours, names = run(rushlight)
    *theirs, expected = run(torch)
    assert names == expected
    for a, b in zip(ours, theirs, strict=True):
        assert (
            a.tolist() == pytest.approx(b.tolist(), abs=1e-9)
            if a.dim() == 1
            else (
                (a - rushlight.tensor(b.tolist(), dtype=rushlight.float64)).abs().max().item()
                < 1e-9
            )
        )


def test_reflections_can_be_assigned_without_a_base():
    layer = nn.Linear(3, 5, dtype=rushlight.float64)
    nn.utils.parametrizations.orthogonal(layer, use_trivialization=False)
    wanted = rushlight.linalg.qr(rushlight.randn(5, 3, dtype=rushlight.float64)).Q
    layer.weight = wanted
    assert rushlight.allclose(layer.weight, wanted, atol=1e-12)
    square = nn.Linear(3, 3)
    nn.utils.parametrizations.orthogonal(square, use_trivialization=False)
    with pytest.raises(NotImplementedError, match="use_trivialization=False"):
        square.weight = rushlight.eye(3)
    made = nn.Linear(3, 5, dtype=rushlight.complex64)
    with pytest.raises(ValueError, match="does not support complex"):
        nn.utils.parametrizations.orthogonal(made, orthogonal_map="householder")


PRUNERS = {
    "l1_unstructured": {"amount": 0.4},
    "random_unstructured": {"amount": 3},
    "ln_structured": {"amount": 0.5, "n": 2, "dim": 0},
    "random_structured": {"amount": 1, "dim": 1},
    "identity": {},
}


@pytest.mark.parametrize("name", PRUNERS)
def test_pruning(name):
    def run(library):
        layer, prune = library.nn.Linear(4, 6), None
        import importlib

        prune = importlib.import_module(library.__name__ + ".nn.utils.prune")
        getattr(prune, name)(layer, "weight", **PRUNERS[name])
        first = trained(library, layer, values(library, 3, 4))
        prune.l1_unstructured(layer, "weight", amount=2)
        second = layer(values(library, 3, 4))
        assert prune.is_pruned(layer)
        prune.remove(layer, "weight")
        return [*first, second, list(layer.state_dict()), layer.weight]

    same(run)


def test_global_pruning():
    def run(library):
        import importlib

        prune = importlib.import_module(library.__name__ + ".nn.utils.prune")
        net = library.nn.Sequential(library.nn.Linear(4, 5), library.nn.Linear(5, 3))
        pairs = [(net[0], "weight"), (net[1], "weight")]
        prune.global_unstructured(pairs, prune.L1Unstructured, amount=0.3)
        return [net[0].weight, net[1].weight, net(values(library, 2, 4))]

    same(run)


def test_fusion():
    def run(library):
        conv, bn = library.nn.Conv2d(2, 3, 3, bias=False), library.nn.BatchNorm2d(3)
        conv(values(library, 2, 2, 5, 5)), bn(values(library, 4, 3, 5, 5))
        x = values(library, 1, 2, 6, 6)
        fused = library.nn.utils.fuse_conv_bn_eval(conv.eval(), bn.eval())
        linear, norm = library.nn.Linear(3, 4), library.nn.BatchNorm1d(4)
        norm(values(library, 5, 4))
        flat = library.nn.utils.fuse_linear_bn_eval(linear.eval(), norm.eval())
        return [fused(x), bn(conv(x)), flat(values(library, 2, 3)), list(fused.state_dict())]

    same(run)


def test_functional_call_and_skip_init():
    def run(library):
        layer = library.nn.Linear(3, 2)
        other = {"weight": values(library, 2, 3, seed=4)}
        with pytest.warns(FutureWarning, match="func.functional_call"):
            found = library.nn.utils.stateless.functional_call(layer, other, values(library, 1, 3))
        made = library.nn.utils.skip_init(library.nn.Linear, 3, 2)
        return [found, layer.weight, tuple(made.weight.shape)]

    same(run)


def test_vectors_and_clipping():
    def run(library):
        layer = library.nn.Linear(3, 2)
        utils = library.nn.utils
        vector = utils.parameters_to_vector(layer.parameters())
        utils.vector_to_parameters(vector.detach() * 2, layer.parameters())
        layer(values(library, 4, 3)).sum().backward()
        norm = utils.get_total_norm([p.grad for p in layer.parameters()], norm_type=1.0)
        clipped = utils.clip_grad_norm_(layer.parameters(), 0.5, norm_type=float("inf"))
        return [vector, layer.weight, norm, clipped, layer.weight.grad]

    same(run)


# ------------------------------------------------------------------------------- packed sequences
LENGTHS = [5, 2, 4]


def test_packing_and_padding():
    def run(library):
        rnn = library.nn.utils.rnn
        x = values(library, 3, 5, 2).requires_grad_()
        lengths = library.tensor(LENGTHS)
        packed = rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        padded, back = rnn.pad_packed_sequence(packed, padding_value=-1.0, total_length=6)
        (padded * padded).sum().backward()
        parts = rnn.unpad_sequence(x, lengths, batch_first=True)
        again = rnn.pack_sequence(parts, enforce_sorted=False)
        left = rnn.pad_sequence(parts, batch_first=True, padding_value=7.0, padding_side="left")
        return [*packed, padded, back, x.grad, *again, left, *rnn.unpack_sequence(packed)]

    same(run)


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("kwargs", [
    {}, {"num_layers": 2, "bidirectional": True}, {"num_layers": 2, "dropout": 0.4},
])  # fmt: skip
@pytest.mark.parametrize("ordered", [True, False])
def test_recurrent_layers_on_packed_sequences(name, kwargs, ordered):
    def run(library):
        layer = getattr(library.nn, name)(3, 4, **kwargs)
        x = values(library, 5, 3, 3).requires_grad_()
        lengths = sorted(LENGTHS, reverse=True) if ordered else LENGTHS
        rnn = library.nn.utils.rnn
        packed = rnn.pack_padded_sequence(x, library.tensor(lengths), enforce_sorted=ordered)
        output, state = layer(packed)
        padded, _ = rnn.pad_packed_sequence(output)
        states = state if isinstance(state, tuple) else (state,)
        ((padded * padded).sum() + sum(s.sum() for s in states)).backward()
        return [padded, *states, x.grad, *[p.grad for p in layer.parameters()]]

    same(run, 2e-4, 2e-5)


def test_packing_errors():
    rnn = nn.utils.rnn
    x = rushlight.ones(4, 2, 1)
    with pytest.raises(RuntimeError, match="sorted in decreasing order"):
        rnn.pack_padded_sequence(x, [2, 4])
    with pytest.raises(RuntimeError, match="greater than 0"):
        rnn.pack_padded_sequence(x, [2, 0])
    with pytest.raises(RuntimeError, match="len"):
        rnn.pack_padded_sequence(x, [2])
