"""Normalizations agree with PyTorch: gradients to second order, transforms, dtypes, errors."""

from __future__ import annotations

import pytest

import rushlight

torch = pytest.importorskip("torch")
LIBRARIES = (torch, rushlight)


def statistics(x):
    """A running mean and variance."""
    mean = x.new_tensor([0.5, -1.0, 0.0, 0.3, 2.0, 0.1])
    return mean, mean * mean + 0.2


CALLS = {
    "group": (lambda F, x, w, b: F.group_norm(x, 3, w, b), (4, 6, 5, 7)),
    "group, one": (lambda F, x, w, b: F.group_norm(x, 1, w, b), (4, 6, 40)),
    "group, no bias": (lambda F, x, w, b: F.group_norm(x, 2, w), (4, 6)),
    "group, bare": (lambda F, x, w, b: F.group_norm(x, 2), (4, 6)),
    "group, turned": (lambda F, x, w, b: F.group_norm(x.transpose(2, 3), 6, w), (2, 6, 5, 7)),
    "instance": (lambda F, x, w, b: F.instance_norm(x, None, None, w, b), (3, 6, 4, 5)),
    "rms": (lambda F, x, w, b: F.rms_norm(x, (6,), w), (4, 5, 6)),
    "rms, two dims": (lambda F, x, w, b: F.rms_norm(x, (5, 6), None, 1e-3), (4, 5, 6)),
    "layer": (lambda F, x, w, b: F.layer_norm(x, (6,), w, b), (4, 5, 6)),
    "batch": (lambda F, x, w, b: F.batch_norm(x, None, None, w, b, True), (4, 6, 5)),
    "batch, eval": (lambda F, x, w, b: F.batch_norm(x, *statistics(x), w, b), (4, 6, 5)),
    "batch, eval of planes": (
        lambda F, x, w, b: F.batch_norm(x, *statistics(x), w, b),
        (3, 6, 5, 7),
    ),
    "instance, eval": (
        lambda F, x, w, b: F.instance_norm(x, *statistics(x), w, b, False),
        (3, 6, 4, 5),
    ),
}


def drawn(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def gradients(library, call, shape, dtype):
    """The result, first gradients, and gradients of the sum of their squares."""
    dtype = getattr(library, dtype)
    leaves = [
        library.tensor(v.numpy()).to(dtype).requires_grad_()
        for v in (drawn(*shape), drawn(6, seed=1), drawn(6, seed=2))
    ]
    out = call(library.nn.functional, *leaves)
    grad = library.tensor(drawn(*out.shape, seed=3).numpy()).to(out.dtype)
    plain = library.autograd.grad(out, leaves, grad, retain_graph=True, allow_unused=True)
    first = library.autograd.grad(out, leaves, grad, create_graph=True, allow_unused=True)
    squares = sum((g * g).sum() for g in first if g is not None)
    second = library.autograd.grad(squares, leaves, allow_unused=True)
    return [out, *plain, *first, *second]


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(("dtype", "bound"), [("float64", 1e-12), ("float32", 2e-5)])
def test_gradients_to_second_order(name, dtype, bound):
    for theirs, ours in zip(*(gradients(L, *CALLS[name], dtype) for L in LIBRARIES), strict=True):
        if theirs is None or ours is None:
            # PyTorch leaves out what is constant, or gives zeros for it
            for other in (theirs, ours):
                assert other is None or not other.any()
            continue
        assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
        gap = torch.tensor(ours.detach().tolist(), dtype=torch.float64) - theirs.double()
        assert gap.abs().max() <= bound * (1 + theirs.double().abs().max())


HALVES = {
    "batch, eval": lambda F, x, w, b: F.batch_norm(x, *statistics(w), w, b),
    "group": lambda F, x, w, b: F.group_norm(x, 3, w, b),
    "layer": lambda F, x, w, b: F.layer_norm(x.transpose(1, 3), (6,), w, b),
    "batch": lambda F, x, w, b: F.batch_norm(x, None, None, w, b, True),
    "batch of rows": lambda F, x, w, b: F.batch_norm(
        x.transpose(1, 3).reshape(-1, 6), None, None, w, b, True
    ),
}


def half_gradients(library, name, dtype, rows):
    """The result and first gradients as float64 numbers of PyTorch, and their dtypes."""
    dtypes = [getattr(library, d) for d in (dtype, rows, rows)]
    leaves = [
        library.tensor(v.numpy()).to(d).requires_grad_()
        for v, d in zip((drawn(8, 6, 20, 9) + 1, drawn(6), drawn(6, seed=1)), dtypes, strict=True)
    ]
    out = HALVES[name](library.nn.functional, *leaves)
    grad = library.tensor(drawn(*out.shape, seed=3).numpy()).to(out.dtype)
    found = [out, *library.autograd.grad(out, leaves, grad)]
    numbers = [torch.tensor(v.detach().double().tolist(), dtype=torch.float64) for v in found]
    return numbers, [str(v.dtype).split(".")[1] for v in found]


@pytest.mark.parametrize("name", HALVES)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("wide", [False, True])
def test_half_width_gradients_are_as_exact(name, dtype, wide):
    rows = "float32" if wide else dtype
    exact, _ = half_gradients(torch, name, "float64", "float64")
    (theirs, kinds), (ours, own) = (half_gradients(L, name, dtype, rows) for L in LIBRARIES)
    assert own == kinds
    for a, b, want in zip(ours, theirs, exact, strict=True):
        assert (a - want).norm() <= 1.5 * (b - want).norm()


@pytest.mark.parametrize("name", ["group_norm", "rms_norm"])
@pytest.mark.parametrize("dims", [(0, 0), (0, None), (None, 0)])
def test_every_example_has_gradients_of_its_own(name, dims):
    found = []
    for library in LIBRARIES:
        F = library.nn.functional
        call = {
            "group_norm": lambda x, w, F=F: F.group_norm(x, 2, w, w),
            "rms_norm": lambda x, w, F=F: F.rms_norm(x, (4,), w),
        }[name]
        x, w = (library.tensor(v.numpy()) for v in (drawn(5, 3, 4, 4), drawn(5, 4, seed=1)))
        x, w = x if dims[0] == 0 else x[0], w if dims[1] == 0 else w[0]

        def loss(x, w, call=call):
            return call(x, w).pow(3).sum()

        both = library.func.vmap(library.func.grad(loss, (0, 1)), dims)(x, w)
        tangent = library.func.vmap(
            lambda x, w, call=call, library=library: library.func.jvp(call, (x, w), (x * x, w))[1],
            dims,
        )(x, w)
        found.append([*both, tangent])
    for theirs, ours in zip(*found, strict=True):
        gap = torch.tensor(ours.tolist(), dtype=torch.float64) - theirs
        assert gap.abs().max() <= 1e-10 * theirs.abs().max()


def test_running_statistics_of_instance_norm():
    found = []
    for library in LIBRARIES:
        layer = library.nn.InstanceNorm2d(4, affine=True, track_running_stats=True)
        x = library.tensor(drawn(3, 4, 5, 2).float().numpy())
        layer(x).sum().backward()
        layer(x * 2 + 1)
        layer.eval()
        found.append([layer.running_mean.tolist(), layer.running_var.tolist(), layer(x).tolist()])
    for theirs, ours in zip(*found, strict=True):
        assert torch.allclose(torch.tensor(ours), torch.tensor(theirs), 1e-5, 1e-6)


def test_eps_of_rms_norm_is_that_of_the_dtype_computed_in():
    for dtype in ("bfloat16", "float16", "float32", "float64"):
        theirs, ours = (
            library.nn.functional.rms_norm(
                library.full((4,), 1e-4, dtype=getattr(library, dtype)), (4,)
            ).tolist()
            for library in LIBRARIES
        )
        assert ours == pytest.approx(theirs, rel=1e-2 if "16" in dtype else 1e-6)


def refusal(library, call):
    """The exception's type where it is refused, else the result's dtype."""
    try:
        return str(call(library, library.nn.functional).dtype).split(".")[1]
    except (RuntimeError, ValueError, NotImplementedError) as error:
        return type(error)


REFUSED = {
    "layer of integers": lambda L, F: F.layer_norm(L.ones(2, 6, dtype=L.int64), (6,)),
    "layer of complex": lambda L, F: F.layer_norm(L.ones(2, 6, dtype=L.complex64), (6,)),
    "layer, wide weight": lambda L, F: F.layer_norm(L.ones(2, 6), (6,), L.ones(6, dtype=L.float64)),
    "layer, float32 weight": lambda L, F: F.layer_norm(L.ones(2, 6).bfloat16(), (6,), L.ones(6)),
    "group of integers": lambda L, F: F.group_norm(L.ones(2, 6, 2, dtype=L.int64), 3),
    "group of complex": lambda L, F: F.group_norm(L.ones(2, 6, 2, dtype=L.complex64), 3),
    "group, wide weight": lambda L, F: F.group_norm(L.ones(2, 6, 2), 3, L.ones(6, dtype=L.float64)),
    "group, float32 weight": lambda L, F: F.group_norm(L.ones(2, 6, 2).bfloat16(), 3, L.ones(6)),
    "group, short weight": lambda L, F: F.group_norm(L.ones(2, 6, 2), 3, L.ones(5)),
    "group of one value": lambda L, F: F.group_norm(L.ones(1, 6), 6),
    "groups that do not fit": lambda L, F: F.group_norm(L.ones(2, 6, 2), 4),
    "instance, short weight": lambda L, F: F.instance_norm(L.ones(2, 6, 3), weight=L.ones(5)),
    "instance, half of the statistics": lambda L, F: F.instance_norm(L.ones(2, 6, 3), L.ones(6)),
    "instance of one value": lambda L, F: F.instance_norm(L.ones(2, 6, 1)),
    "rms of integers": lambda L, F: F.rms_norm(L.ones(2, 6, dtype=L.int64), (6,)),
    "rms of complex": lambda L, F: F.rms_norm(L.ones(2, 6, dtype=L.complex64), (6,)),
    "rms, wide weight": lambda L, F: F.rms_norm(L.ones(2, 6), (6,), L.ones(6, dtype=L.float64)),
    "rms, float32 weight": lambda L, F: F.rms_norm(L.ones(2, 6).bfloat16(), (6,), L.ones(6)),
    "batch of integers": lambda L, F: F.batch_norm(
        L.ones(4, 3, dtype=L.int64), None, None, training=True
    ),
}


@pytest.mark.filterwarnings("ignore:Mismatch dtype")
@pytest.mark.parametrize("name", REFUSED)
def test_dtypes_and_refusals(name):
    assert refusal(rushlight, REFUSED[name]) == refusal(torch, REFUSED[name])


def test_errors_name_what_was_given():
    F = rushlight.nn.functional
    with pytest.raises(RuntimeError, match=r"weight of shape \[5\] and input of shape \[2, 6, 2\]"):
        F.group_norm(rushlight.ones(2, 6, 2), 3, rushlight.ones(5))
    with pytest.raises(NotImplementedError, match="layer_norm: not implemented for dtype .*int64"):
        F.layer_norm(rushlight.ones(2, 6, dtype=rushlight.int64), (6,))
    with pytest.raises(RuntimeError, match=r"expected weight, bias .* of rushlight.float32, got"):
        F.layer_norm(rushlight.ones(2, 6), (6,), rushlight.ones(6).double())


@pytest.mark.parametrize("parts", [(0,), (1,), (2,), (0, 2), (1, 2)])
def test_some_gradients_of_evaluation(parts):
    found = []
    for library in LIBRARIES:
        leaves = [
            library.tensor(drawn(*s).numpy()).requires_grad_() for s in ((3, 6, 9, 4), (6,), (6,))
        ]
        out = library.nn.functional.batch_norm(leaves[0], *statistics(leaves[1]), *leaves[1:])
        wanted = [leaves[p] for p in parts]
        found.append(library.autograd.grad((out * out).sum(), wanted))
    for theirs, ours in zip(*found, strict=True):
        assert torch.allclose(torch.tensor(ours.tolist(), dtype=torch.float64), theirs, 1e-10)


def test_evaluation_keeps_channels_last_and_its_gradient_too():
    for library in LIBRARIES:
        x = library.tensor(drawn(3, 6, 9, 4).numpy())
        x = x.contiguous(memory_format=library.channels_last).requires_grad_()
        out = library.nn.functional.batch_norm(x, *statistics(x))
        assert out.is_contiguous(memory_format=library.channels_last)
        (grad,) = library.autograd.grad(out, x, library.ones_like(out))
        assert grad.is_contiguous(memory_format=library.channels_last)


def test_statistics_in_evaluation_have_gradients():
    """PyTorch has none for them."""
    x, mean, var = (rushlight.tensor(drawn(*s).numpy()) for s in ((4, 6, 5), (6,), (6,)))
    mean.requires_grad_()
    out = rushlight.nn.functional.batch_norm(x, mean, var * var)
    (grad,) = rushlight.autograd.grad(out.sum(), mean)
    want = -20 * (var * var + 1e-5).rsqrt()
    assert grad.tolist() == pytest.approx(want.tolist())


def test_transforms_of_evaluation():
    x = rushlight.tensor(drawn(2, 4, 6, 5).numpy())

    def loss(x):
        return rushlight.nn.functional.batch_norm(x, *statistics(x)).pow(3).sum()

    grads = rushlight.func.vmap(rushlight.func.grad(loss))(x)
    for one, found in zip(x, grads, strict=True):
        leaf = one.clone().requires_grad_()
        (want,) = rushlight.autograd.grad(loss(leaf), leaf)
        assert rushlight.allclose(found, want, 1e-10)


@pytest.mark.parametrize("given", [(False, False), (False, True), (True, False)])
def test_evaluation_without_weight_or_bias(given):
    """PyTorch has no second derivative where there is no weight."""
    x, *rows = (rushlight.tensor(drawn(*s).numpy()) for s in ((3, 6, 2), (6,), (6,)))
    rows = [row.requires_grad_() if there else None for row, there in zip(rows, given, strict=True)]
    inputs = (x.requires_grad_(), *rows)

    def call(x, weight, bias):
        return rushlight.nn.functional.batch_norm(x, *statistics(x), weight, bias)

    assert rushlight.autograd.gradcheck(call, inputs)
    assert rushlight.autograd.gradgradcheck(call, inputs)


def test_evaluation_of_half_width_inputs_under_autocast():
    found = []
    for library in LIBRARIES:
        layer = library.nn.BatchNorm1d(6).eval()
        x = library.tensor(drawn(4, 6, 5).numpy()).bfloat16()
        with library.autocast("cpu"):
            found.append(layer(x))
    assert [str(v.dtype).split(".")[1] for v in found] == ["bfloat16"] * 2
    assert torch.allclose(torch.tensor(found[1].tolist()), found[0].float(), 1e-2)
