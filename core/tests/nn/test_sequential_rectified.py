"""Batch norm and the ReLU behind it inside of Sequential: one pass, unless somebody could tell."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight
from rushlight import nn
from rushlight.kernels.launch.execution import REFERENCE
from rushlight.ops.neural import normalization

SHAPES = [(70, 600), (8, 40, 11, 13), (4, 3, 70, 80), (3, 20, 5, 11, 12), (16, 64, 3, 17)]
NORMS = {2: nn.BatchNorm1d, 3: nn.BatchNorm1d, 4: nn.BatchNorm2d, 5: nn.BatchNorm3d}
ACTIVATIONS = [nn.ReLU, nn.ReLU6]


@pytest.fixture
def calls(monkeypatch):
    """Whether activations were computed along with batch norm, call by call."""
    found, plain = [], normalization.fits_rectified
    monkeypatch.setattr(
        nn.normalization, "fits_rectified", lambda *given: found.append(plain(*given)) or found[-1]
    )
    return found


def model(shape, activation, dtype=rushlight.float32):
    rushlight.manual_seed(0)
    module = nn.Sequential(NORMS[len(shape)](shape[1]), activation()).to(dtype)
    with rushlight.no_grad():
        for vector in module[0].parameters():
            vector.normal_().mul_(3)
    return module


def inputs(shape, dtype=rushlight.float32):
    x = np.random.default_rng(1).standard_normal(shape)
    return rushlight.tensor(x, dtype=dtype, requires_grad=True)


def one_by_one(module, x):
    for child in module:
        x = child(x)
    return x


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("dtype", [rushlight.float32, rushlight.float64])
def test_agrees_with_modules_one_by_one(shape, activation, dtype, calls):
    results = []
    for run in (lambda m, x: m(x), one_by_one):
        module, x = model(shape, activation, dtype), inputs(shape, dtype)
        out = run(module, x)
        grad = inputs(shape, dtype).detach().flip(0)
        results.append([out, *rushlight.autograd.grad(out, [x, *module.parameters()], grad),
                        *module.buffers()])  # fmt: skip
    assert calls == [True]
    assert rushlight.equal(results[0][0], results[1][0])
    tight = 1e-4 if dtype is rushlight.float32 else 1e-10
    for ours, separate in zip(*results, strict=True):
        rushlight.testing.assert_close(ours, separate, rtol=tight, atol=tight)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_second_derivatives(activation, calls):
    found = []
    for run in (lambda m, x: m(x), one_by_one):
        module, x = model(SHAPES[1], activation), inputs(SHAPES[1])
        out = run(module, x)
        grads = rushlight.autograd.grad((out * out).sum(), [x, *module.parameters()],
                                        create_graph=True)  # fmt: skip
        total = sum((g * g).sum() for g in grads)
        found.append(rushlight.autograd.grad(total, [x, *module.parameters()]))
    assert calls == [True]
    for ours, separate in zip(*found, strict=True):
        rushlight.testing.assert_close(ours, separate, rtol=1e-3, atol=1e-3 * separate.abs().max())


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_agrees_with_the_oracle(activation, calls):
    torch = pytest.importorskip("torch")
    found = []
    for library in (rushlight, torch):
        norm, x = library.nn.BatchNorm2d(40), inputs(SHAPES[1]).detach().numpy()
        x = library.tensor(x, requires_grad=True)
        module = library.nn.Sequential(norm, getattr(library.nn, activation.__name__)())
        out = module(x)
        out.backward(library.tensor(np.random.default_rng(2).standard_normal(SHAPES[1]),
                                    dtype=library.float32))  # fmt: skip
        found.append([out, x.grad, norm.weight.grad, norm.bias.grad, *norm.buffers()])
    assert calls == [True]
    for ours, theirs in zip(*found, strict=True):
        assert np.allclose(ours.detach().numpy(), theirs.detach().numpy(), 1e-4, 1e-4)


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("hook", ["register_forward_hook", "register_forward_pre_hook",
                                  "register_full_backward_hook"])  # fmt: skip
def test_hooks_see_every_module(place, hook, calls):
    module, seen = model(SHAPES[1], nn.ReLU), []
    handle = getattr(module[place], hook)(lambda *given: seen.append(place))
    module(inputs(SHAPES[1])).sum().backward()
    assert seen == [place] and not calls
    handle.remove()
    module(inputs(SHAPES[1]))
    assert calls == [True]


def test_hooks_of_all_modules_see_every_module(calls):
    seen = []
    handle = nn.modules.module.register_module_forward_hook(lambda m, i, o: seen.append(type(m)))
    try:
        model(SHAPES[1], nn.ReLU)(inputs(SHAPES[1]))
    finally:
        handle.remove()
    assert seen == [nn.BatchNorm2d, nn.ReLU, nn.Sequential] and not calls


def test_what_is_not_plain_goes_one_by_one(calls):
    class Mine(nn.ReLU):
        def forward(self, input):
            return input + 1

    module, x = model(SHAPES[1], Mine), inputs(SHAPES[1])
    assert float((module(x) - one_by_one(module, x)).abs().max()) == 0
    module = model(SHAPES[1], nn.ReLU).eval()
    assert rushlight.equal(module(x), one_by_one(module, x))
    module = model(SHAPES[1], nn.ReLU)
    module[1].forward = lambda input: input * 2
    assert float(module(x).min()) < 0
    assert not any(calls)
    rushlight.func.vmap(model(SHAPES[1], nn.ReLU, rushlight.float32).eval())(x[None])
    with pytest.raises(ValueError, match="expected 4D input"):
        model(SHAPES[1], nn.ReLU)(x[0])
    with pytest.raises(RuntimeError, match="should contain"):
        model(SHAPES[1], nn.ReLU)(x[:, :7])
    assert not any(calls)


CONVOLUTIONS = {3: nn.Conv1d, 4: nn.Conv2d, 5: nn.Conv3d}


def evaluated(shape, **options):
    """A convolution and batch norm with statistics and parameters of some size, in eval mode."""
    rushlight.manual_seed(0)
    kind = CONVOLUTIONS[len(shape)]
    module = nn.Sequential(kind(shape[1], 24, 3, **options), NORMS[len(shape)](24), nn.ReLU())
    with rushlight.no_grad():
        for tensor in (*module[1].parameters(), module[1].running_mean):
            tensor.normal_()
        module[1].running_var.uniform_(0.5, 2)
    return module.eval()


@pytest.mark.parametrize("shape", [(2, 8, 200), (2, 8, 20, 17), (2, 4, 12, 13, 11)])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bias": False},
        {"stride": 2, "padding": 1},
        {"groups": 4},
        {"padding": 2, "padding_mode": "circular"},
    ],
)
def test_convolutions_take_the_norm_behind_them_along(shape, options, monkeypatch):
    module, x = evaluated(shape, **options), inputs(shape).detach()
    norms, plain = [], type(module[1]).forward
    with rushlight.no_grad():
        want = one_by_one(module, x)
        monkeypatch.setattr(
            nn.normalization._BatchNorm, "forward", lambda m, v: norms.append(m) or plain(m, v)
        )
        found = module(x)
    assert not norms
    rushlight.testing.assert_close(found, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", [nn.ReLU, nn.ReLU6])
@pytest.mark.parametrize("options", [{}, {"affine": False}, {"bias": False}])
def test_activations_behind_them(kind, options):
    """In place, where nobody sees what it was; statistics and parameters may change between."""
    module = nn.Sequential(nn.Conv2d(8, 24, 3), nn.BatchNorm2d(24, **options), kind(), kind())
    x, seen = inputs((2, 8, 20, 17)).detach(), []
    for _ in range(3):
        module.train()(x)
        module.eval()
        for context in (rushlight.no_grad, rushlight.inference_mode):
            with context():
                want = one_by_one(module, x)
                seen.clear()
                handle = module[2].register_forward_pre_hook(lambda m, v: seen.append(v[0]))
                watched = module(x)
                handle.remove()
                found = module(x)
            assert seen[0].min() < 0
            for out in (watched, found):
                rushlight.testing.assert_close(out, want, rtol=1e-5, atol=1e-5)
                assert out.is_inference() == (context is rushlight.inference_mode)


def test_parametrized_weights_are_those_of_the_parametrization():
    module, x = evaluated((2, 8, 20, 17)), inputs((2, 8, 20, 17)).detach()
    for part in (module[0], module[1]):
        nn.utils.parametrize.register_parametrization(part, "weight", nn.Tanh())
    with rushlight.no_grad():
        rushlight.testing.assert_close(module(x), one_by_one(module, x), rtol=1e-5, atol=1e-5)


def test_when_convolutions_do_not(monkeypatch):
    norms, plain = [], nn.BatchNorm2d.forward
    monkeypatch.setattr(
        nn.normalization._BatchNorm, "forward", lambda m, v: norms.append(m) or plain(m, v)
    )
    module, x = evaluated((2, 8, 20, 17)), inputs((2, 8, 20, 17)).detach()
    module(x)  # recorded: weights require gradients
    with rushlight.no_grad():
        module(x[:1, :, :4, :4])  # fewer outputs than weights
        handle = module[0].register_forward_hook(lambda *given: None)
        module(x)
        handle.remove()
        module.train()(x)
        module.double().eval()(x.double())  # the last: one step again
    assert len(norms) == 4


@pytest.mark.skipif(REFERENCE, reason="the reference has one way only")
def test_no_averages_and_no_affine_parts(calls):
    for options in ({"affine": False}, {"track_running_stats": False}, {"momentum": None}):
        module = nn.Sequential(nn.BatchNorm2d(40, **options), nn.ReLU())
        twin, x = nn.Sequential(nn.BatchNorm2d(40, **options), nn.ReLU()), inputs(SHAPES[1])
        assert rushlight.equal(module(x), one_by_one(twin, x))
        for ours, separate in zip(module.buffers(), twin.buffers(), strict=True):
            assert rushlight.equal(ours, separate)
    assert calls == [True] * 3


EPILOGUES = [
    nn.ReLU(), nn.ReLU(inplace=True), nn.ReLU6(), nn.LeakyReLU(0.3), nn.Hardtanh(-0.2, 0.4),
    nn.Hardswish(), nn.Hardsigmoid(), nn.SiLU(), nn.GELU(), nn.GELU("tanh"),
]  # fmt: skip


@pytest.fixture
def fused(monkeypatch):
    """Whether activations were computed along with convolutions, call by call."""
    found, plain = [], nn.convolution.convolution_then

    def watched(*given):
        out = plain(*given)
        found.append(out is not None)
        return out

    monkeypatch.setattr(nn.convolution, "convolution_then", watched)
    return found


@pytest.mark.skipif(REFERENCE, reason="the reference has one way only")
@pytest.mark.parametrize("activation", EPILOGUES, ids=str)
@pytest.mark.parametrize("shape", [(2, 8, 200), (2, 8, 20, 17), (2, 4, 12, 13, 11)])
@pytest.mark.parametrize("norm", [False, True])
def test_convolutions_take_the_activation_behind_them_along(shape, norm, activation, fused):
    module, x = evaluated(shape), inputs(shape).detach()
    module[2] = activation
    if not norm:
        del module[1]
    with rushlight.no_grad():
        want = one_by_one(module, x.clone())
        module(x)
        fused.clear()
        found = module(x)
        assert fused == [True]
        rushlight.testing.assert_close(found, want, rtol=1e-5, atol=1e-5)
        if not norm:
            assert rushlight.equal(found, want)
        if type(activation) is nn.ReLU:
            module.append(nn.Conv1d(1, 1, 1))[-1] = nn.Identity()  # something behind the activation
            assert rushlight.equal(module(x), found)


@pytest.mark.skipif(REFERENCE, reason="the reference has one way only")
def test_when_convolutions_and_activations_go_one_by_one(fused):
    module, x = nn.Sequential(nn.Conv2d(8, 24, 3), nn.LeakyReLU()), inputs((2, 8, 20, 17)).detach()
    with rushlight.no_grad():
        module(x), module(x)
    assert fused[1]  # at the first call shapes may be new
    fused.clear()
    module(x)  # recorded
    assert fused == []
    with rushlight.no_grad():
        with rushlight.autocast("cpu", rushlight.bfloat16):
            assert module(x).dtype is rushlight.bfloat16
        last = x.contiguous(memory_format=rushlight.channels_last)
        assert module(last).is_contiguous(memory_format=rushlight.channels_last)
        module[1].negative_slope = rushlight.tensor(0.5)
        assert rushlight.equal(module(x), one_by_one(module, x))
        module[1].negative_slope = 0.5
        assert not any(fused)
        assert rushlight.equal(module(x), one_by_one(module, x))
        assert fused[-1]
        seen = []
        handle = module[1].register_forward_hook(lambda m, i, o: seen.append(o))
        fused.clear()
        module(x)
        handle.remove()
        assert len(seen) == 1 and fused == []


@pytest.mark.skipif(REFERENCE, reason="the reference has one way only")
def test_activations_behind_convolutions_and_the_oracle(fused):
    torch = pytest.importorskip("torch")
    x, found = np.random.default_rng(1).standard_normal((2, 8, 20, 17), np.float32), []
    for library in (rushlight, torch):
        library.manual_seed(0)
        module = library.nn.Sequential(
            library.nn.Conv2d(8, 32, 3, padding="same"), library.nn.ReLU(inplace=True),
            library.nn.Conv2d(32, 32, 3, 2, groups=32, padding_mode="reflect", padding=1),
            library.nn.SiLU(), library.nn.Conv2d(32, 16, 1), library.nn.Hardswish(),
        )  # fmt: skip
        with library.no_grad():
            for _ in range(2):
                out = module(library.tensor(x))
        found.append(out.numpy())
    assert fused[-1]
    assert np.allclose(*found, 1e-5, 1e-6)
