"""Random numbers: PyTorch's for a seed, and the stream left where PyTorch leaves it."""

import numpy as np
import pytest

import rushlight
from rushlight.kernels.random import shuffling
from rushlight.kernels.random.engine import MersenneTwister

torch = pytest.importorskip("torch")
COUNTS = (1, 5, 15, 16, 17, 40, 333, 1009)


def streams(call, dtype, exact=True):
    """The same call in both after one seed: equal numbers, and equal ones after them."""
    for count in COUNTS:
        found = []
        for lib in (rushlight, torch):
            lib.manual_seed(3)
            out = call(lib, count, getattr(lib, dtype))
            wide = out.double() if out.is_floating_point() else out.long()
            found.append((wide.numpy(), lib.rand(3).numpy()))
        (ours, next_ours), (theirs, next_theirs) = found
        if exact:
            np.testing.assert_array_equal(ours, theirs, err_msg=str(count))
        else:
            np.testing.assert_allclose(ours, theirs, rtol=4e-7, atol=4e-7, err_msg=str(count))
        np.testing.assert_array_equal(next_ours, next_theirs, err_msg=str(count))


FLOATS = ("float32", "float64", "bfloat16", "float16")
EXACT = {
    "uniform_": lambda lib, n, d: lib.empty(n, dtype=d).uniform_(-2, 3),
    "rand": lambda lib, n, d: lib.rand(n, dtype=d),
    "geometric_": lambda lib, n, d: lib.empty(n, dtype=d).geometric_(0.3),
    "random_": lambda lib, n, d: lib.empty(n, dtype=d).random_(),
    "random_ below 2^30": lambda lib, n, d: lib.empty(n, dtype=lib.int64).random_(1 << 30),
    "randint below 2^28": lambda lib, n, d: lib.randint(-7, (1 << 28) - 8, (n,)),
    "randint from 2^28": lambda lib, n, d: lib.randint(-7, (1 << 28) - 7, (n,)),
    "random_ between": lambda lib, n, d: lib.empty(n, dtype=d).random_(-3, 9),
    "bernoulli_": lambda lib, n, d: lib.empty(n, dtype=d).bernoulli_(0.3),
    "bernoulli_ tensor": lambda lib, n, d: lib.empty(n, dtype=d).bernoulli_(chances(lib, n, d)),
    "bernoulli": lambda lib, n, d: lib.bernoulli(chances(lib, n, d)),
    "bernoulli p": lambda lib, n, d: lib.bernoulli(chances(lib, n, d), 0.7),
    "poisson": lambda lib, n, d: lib.poisson(chances(lib, n, d) * 40),
    "randint": lambda lib, n, d: lib.randint(3, 17, (n,), dtype=d),
    "randint_like": lambda lib, n, d: lib.randint_like(lib.empty(n, dtype=d), 17),
}
CLOSE = {
    "normal_": lambda lib, n, d: lib.empty(n, dtype=d).normal_(),
    "randn": lambda lib, n, d: lib.randn(n, dtype=d),
    "exponential_": lambda lib, n, d: lib.empty(n, dtype=d).exponential_(1.5),
    "cauchy_": lambda lib, n, d: lib.empty(n, dtype=d).cauchy_(0, 1).clamp(-9, 9),
    "log_normal_": lambda lib, n, d: lib.empty(n, dtype=d).log_normal_(0.5, 0.2),
    "normal": lambda lib, n, d: lib.normal(lib.zeros(n, dtype=d), lib.ones(n, dtype=d)),
    "normal size of tensors": lambda lib, n, d: lib.normal(
        lib.tensor(0.0), lib.tensor(1.0), (n,), dtype=d
    ),
    "normal size": lambda lib, n, d: lib.normal(0.0, 1.0, (n,), dtype=d),
}


def chances(lib, count, dtype):
    """Numbers in [0, 1] that both libraries hold exactly."""
    values = np.arange(count) % 9 / 8
    return lib.from_numpy(values).to(dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", EXACT)
def test_same_numbers(name, dtype):
    streams(EXACT[name], dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", CLOSE)
def test_same_numbers_but_for_rounding(name, dtype):
    streams(CLOSE[name], dtype, exact=dtype in ("bfloat16", "float16"))


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "int8", "bool"])
def test_integers(dtype):
    streams(lambda lib, n, d: lib.empty(n, dtype=d).random_(), dtype)
    streams(lambda lib, n, d: lib.empty(n, dtype=d).bernoulli_(0.4), dtype)
    if dtype != "bool":
        streams(lambda lib, n, d: lib.randperm(min(n, 100), dtype=d), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_drawn_indices_and_binomials(dtype):
    streams(lambda lib, n, d: lib.multinomial(chances(lib, n + 4, d), 2), dtype)
    streams(lambda lib, n, d: lib.multinomial(chances(lib, 12, d).reshape(2, 6), n, True), dtype)
    streams(lambda lib, n, d: lib.binomial(chances(lib, n, d) * 64, chances(lib, n, d)), dtype)


def test_complex_normals():
    for lib in (rushlight, torch):
        lib.manual_seed(5)
    ours, theirs = rushlight.randn(9, dtype=rushlight.complex64), torch.randn(9, dtype=torch.cfloat)
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6, atol=1e-7)


def test_own_generator_and_out():
    ours, theirs = rushlight.Generator().manual_seed(8), torch.Generator().manual_seed(8)
    rates = np.array([0.0, 3.0, 80.0])
    np.testing.assert_array_equal(
        rushlight.poisson(rushlight.from_numpy(rates), ours).numpy(),
        torch.poisson(torch.from_numpy(rates), theirs).numpy(),
    )
    out = rushlight.empty(3)
    assert rushlight.normal(0.0, 1.0, (3,), generator=ours, out=out) is out
    expected = torch.normal(0.0, 1.0, (3,), generator=theirs)
    np.testing.assert_allclose(out.numpy(), expected.numpy(), rtol=1e-6)


def test_filling_cuts_the_gradient():
    x = rushlight.ones(3, requires_grad=True)
    y = x * 2
    y.uniform_()
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]
    p = rushlight.tensor([0.5], requires_grad=True)
    rushlight.bernoulli(p).sum().backward()
    assert p.grad.tolist() == [0.0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: x.uniform_(2, 1), "from=2"),
        (lambda x: x.normal_(0, -1), "std"),
        (lambda x: x.exponential_(0), "lambda"),
        (lambda x: x.cauchy_(0, 0), "sigma"),
        (lambda x: x.geometric_(1), "p="),
        (lambda x: x.log_normal_(0, 0), "std"),
        (lambda x: x.random_(5, 3), "less than"),
        (lambda x: x.char().random_(0, 300), "out of bounds"),
        (lambda x: x.bernoulli_(1.5), "p"),
        (lambda x: rushlight.bernoulli(x * 0 + 2), "p_in"),
        (lambda x: rushlight.poisson(x * 0 - 1), "non-negative"),
        (lambda x: rushlight.normal(x, x * 0 - 1), "std >= 0"),
        (lambda x: rushlight.multinomial(x * 0, 1), "sum of probabilities"),
        (lambda x: rushlight.multinomial(x * 0 + 1, 9), "without replacement"),
        (lambda x: rushlight.multinomial(x * 0 + 1, 0), "n_sample <= 0"),
        (lambda x: rushlight.multinomial(x.long(), 1), "floating-point"),
        (lambda x: rushlight.binomial(x, x.double()), "one floating-point dtype"),
        (lambda x: x.long().uniform_(), "not implemented"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(RuntimeError, match=words):
        call(rushlight.ones(4))


def test_a_size_wants_numbers():
    for mean in (rushlight.zeros(3), rushlight.tensor(0.0, requires_grad=True)):
        with pytest.raises(TypeError, match="with a size, mean and std must be numbers"):
            rushlight.normal(mean, 1.0, (3,))


def test_fills_go_through_memory_in_order():
    for fill in ("uniform_", "normal_", "exponential_", "bernoulli_"):
        found = []
        for lib in (rushlight, torch):
            lib.manual_seed(2)
            whole = lib.zeros(4, 6, 5)
            for part in (whole.permute(2, 0, 1), whole[:, ::2], whole):
                getattr(part, fill)()
                found.append(part.clone().contiguous().numpy())
        for ours, theirs in zip(found[:3], found[3:], strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=4e-7, atol=4e-7, err_msg=fill)


def test_likes_keep_strides():
    for name in ("rand_like", "randn_like"):
        found = []
        for lib in (rushlight, torch):
            lib.manual_seed(2)
            out = getattr(lib, name)(lib.zeros(5, 4).t())
            found.append((out.stride(), out.contiguous().numpy()))
        assert found[0][0] == found[1][0]
        np.testing.assert_allclose(found[0][1], found[1][1], rtol=4e-7, atol=4e-7)


@pytest.mark.parametrize("ends", [(-0.3, 0.3), (-1e-3, 7.25), (2.5, 1e9), (-1e280, 1e280)])
def test_double_uniforms_are_rounded_once(ends):
    rushlight.manual_seed(8), torch.manual_seed(8)
    ours = rushlight.empty(20000, dtype=rushlight.float64).uniform_(*ends)
    theirs = torch.empty(20000, dtype=torch.float64).uniform_(*ends)
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


@pytest.mark.parametrize("size", [(), (7,), (3, 20)])
def test_complex_rand(size):
    rushlight.manual_seed(4), torch.manual_seed(4)
    ours = rushlight.rand(size, dtype=rushlight.complex64)
    theirs = torch.rand(size, dtype=torch.complex64)
    assert ours.dtype is rushlight.complex64 and ours.tolist() == theirs.tolist()
    out = rushlight.empty(size, dtype=rushlight.complex128)
    theirs = torch.rand(size, out=torch.empty(size, dtype=torch.complex128))
    assert rushlight.rand(size, out=out) is out and out.tolist() == theirs.tolist()


def test_complex_uniforms():
    for lib in (rushlight, torch):
        lib.manual_seed(5)
    ours = rushlight.empty(7, dtype=rushlight.complex128).uniform_(-1, 2)
    theirs = torch.empty(7, dtype=torch.complex128).uniform_(-1, 2)
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
    for lib in (rushlight, torch):
        lib.manual_seed(5)
    ours = rushlight.empty(3, dtype=rushlight.complex64).normal_(-2, 0.5)
    theirs = torch.empty(3, dtype=torch.complex64).normal_(-2, 0.5)
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6)


def test_few_normals_continue_each_other():
    """Below 16 they come one by one, in pairs, of which one may be left for the next call."""
    for lib in (rushlight, torch):
        lib.manual_seed(7)
    for count in (3, 1, 0, 4, 15, 20, 2, 1):
        for dtype in ("float32", "float64"):
            ours = rushlight.randn(count, dtype=getattr(rushlight, dtype))
            theirs = torch.randn(count, dtype=getattr(torch, dtype))
            np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-6)


def test_sizes_asked_for_again():
    """In the default dtype and on the default device, whatever these are then."""
    for lib in (rushlight, torch):
        lib.manual_seed(8)
    for size in ((4, 8), ((4, 8),), (32,), (4, 8), ([4, 8],), (32,)):
        for name in ("rand", "randn"):
            ours, theirs = (getattr(lib, name)(*size) for lib in (rushlight, torch))
            np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-6)
    with pytest.raises(TypeError):
        rushlight.rand(4.0, 8)
    with rushlight.inference_mode():
        assert rushlight.randn(4, 8).is_inference()
    with rushlight.device("meta"):
        assert rushlight.randn(4, 8).is_meta
    rushlight.set_default_dtype(rushlight.float64)
    try:
        assert rushlight.randn(4, 8).dtype is rushlight.float64
    finally:
        rushlight.set_default_dtype(rushlight.float32)


MANY = {
    "uniform_": lambda lib, n: lib.empty(n).uniform_(-2, 3),
    "rand": lambda lib, n: lib.rand(3, n // 3),
    "randint": lambda lib, n: lib.randint(-5, 12, (n,)),
    "bernoulli_": lambda lib, n: lib.empty(n).bernoulli_(0.3),
    "normal_": lambda lib, n: lib.empty(n).normal_(1, 2),
    "randn": lambda lib, n: lib.randn(3, n // 3),
}


@pytest.mark.parametrize("name", MANY)
@pytest.mark.parametrize("count", [16384, 16391, 262147, 400_002])
def test_many_numbers(name, count):
    found = []
    for lib in (rushlight, torch):
        lib.manual_seed(4)
        found.append((MANY[name](lib, count).numpy(), lib.rand(3).numpy()))
    (ours, next_ours), (theirs, next_theirs) = found
    error = 1e-6 if name in ("normal_", "randn") else 0
    np.testing.assert_allclose(ours, theirs, rtol=error, atol=error)
    np.testing.assert_array_equal(next_ours, next_theirs)


@pytest.mark.parametrize("name", MANY)
def test_same_numbers_for_any_number_of_threads(name):
    before, found = rushlight.get_num_threads(), []
    try:
        for count in (1, 2, 5):
            rushlight.set_num_threads(count)
            rushlight.manual_seed(4)
            found.append(MANY[name](rushlight, 70_007).numpy().tobytes())
    finally:
        rushlight.set_num_threads(before)
    assert found[0] == found[1] == found[2]


TURNED = {
    "multinomial": lambda lib, t: lib.multinomial(t, 3),
    "multinomial of one": lambda lib, t: lib.multinomial(t, 1, replacement=True),
    "randint_like": lambda lib, t: lib.randint_like(t, 9),
    "rand_like": lambda lib, t: lib.rand_like(t),
    "gumbel_softmax": lambda lib, t: lib.nn.functional.gumbel_softmax(t),
    "dropout": lambda lib, t: lib.nn.functional.dropout(t, 0.4),
    "bernoulli": lambda lib, t: lib.bernoulli(t),
}


@pytest.mark.parametrize("name", TURNED)
def test_numbers_of_transposed_tensors(name):
    """Some follow the order in memory, some that of the elements."""
    values = np.random.default_rng(0).uniform(0.1, 0.9, (7, 5)).astype(np.float32)
    found = []
    for lib in (rushlight, torch):
        lib.manual_seed(4)
        out = TURNED[name](lib, lib.from_numpy(values.copy()).t())
        found.append((out.numpy(), out.stride(), lib.rand(3).numpy()))
    (ours, strides, behind), (theirs, expected, after) = found
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    np.testing.assert_array_equal(behind, after)
    assert strides == expected or not name.endswith("_like")


def test_few_normals_by_one_call_are_the_engines_own():
    """Once kernels run, short draws take calls of their own, which share what pairs leave over."""
    rushlight.randn(64, 64) @ rushlight.randn(64, 64)
    engine = MersenneTwister(11)
    generator = rushlight.Generator().manual_seed(11)
    filled = rushlight.empty(3)
    for count in (1, 3, 15, 2, 1, 1, 8, 16, 5, 0, 7):
        want = engine.normal(count, 2.0, 0.5, False, False)
        found = rushlight.normal(2.0, 0.5, (count,), generator=generator)
        assert np.allclose(found.numpy(), want, 1e-6, 1e-6)
        assert count >= 16 or found.tolist() == want.astype(np.float32).tolist()
        filled.normal_(generator=generator)
        assert filled.tolist() == engine.normal(3, 0.0, 1.0, False).astype(np.float32).tolist()
        order = rushlight.randperm(count, generator=generator)
        steps = engine.swap_steps(count)
        assert order.tolist() == (shuffling.permutation(steps).tolist() if count else [])
    assert bytes(generator.get_state().tolist()) == engine.get_state()


@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 3)])
def test_chances_by_one_call(shape):
    rushlight.randn(64, 64) @ rushlight.randn(64, 64)
    chances = rushlight.rand(shape)
    generator, same = (rushlight.Generator().manual_seed(4) for _ in range(2))
    for _ in range(3):
        found = rushlight.bernoulli(chances, generator=generator)
        want = (rushlight.rand(shape, generator=same) < chances).float()
        assert rushlight.equal(found, want) and found.dtype is rushlight.float32
    with pytest.raises(RuntimeError, match="p_in"):
        rushlight.bernoulli(rushlight.tensor([0.5, float("nan")]))


@pytest.mark.parametrize("shape", [(), (1,), (3, 5), (1, 40), (0, 2), (300, 7)])
def test_samples_alike_are_pytorchs(shape):
    """The first time and those that are prepared, dense or not, in single and double precision."""
    torch = pytest.importorskip("torch")
    for dtype in ("float32", "float64"):
        theirs = torch.empty(*shape, 2, dtype=getattr(torch, dtype))[..., 0]
        ours = rushlight.empty(*shape, 2, dtype=getattr(rushlight, dtype))[..., 0]
        for make in (lambda t: t.contiguous(), lambda t: t):
            torch.manual_seed(3)
            rushlight.manual_seed(3)
            for name in ("rand_like", "randn_like", "rand_like", "randn_like"):
                wanted = getattr(torch, name)(make(theirs))
                found = getattr(rushlight, name)(make(ours), requires_grad=True)
                assert found.requires_grad and found.shape == tuple(wanted.shape)
                assert not wanted.numel() or found.stride() == wanted.stride()
                np.testing.assert_allclose(
                    found.detach().numpy(), wanted.numpy(), rtol=2e-6, atol=1e-7
                )
