"""The same numbers as PyTorch's CPU generator for the same seed."""

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")

EXACT = {
    "rand": lambda m: m.rand(33),
    "rand of doubles": lambda m: m.rand(7, dtype=m.float64),
    "few normals": lambda m: m.randn(5),
    "normals of doubles": lambda m: m.randn(20, dtype=m.float64),
    "randint": lambda m: m.randint(3, 100, (50,)),
    "wide randint": lambda m: m.randint(0, 2**40, (5,)),
    "randperm": lambda m: m.randperm(100),
    "uniform_": lambda m: m.empty(50).uniform_(-0.3, 0.7),
    "bernoulli_": lambda m: m.empty(50).bernoulli_(0.3),
    "dropout": lambda m: m.nn.functional.dropout(m.ones(50), 0.3),
    "exponential_": lambda m: m.empty(50).exponential_(),
    "multinomial": lambda m: m.multinomial(m.tensor([0.1, 0.5, 0.4]), 2),
    "multinomial with replacement": lambda m: m.multinomial(m.tensor([0.1, 0.5, 0.4]), 20, True),
    "random_": lambda m: m.empty(5, dtype=m.int64).random_(),
    "kaiming_uniform_": lambda m: m.nn.init.kaiming_uniform_(m.empty(20, 20)),
    "linear": lambda m: m.nn.Linear(784, 128).weight.detach(),
    "embedding": lambda m: m.nn.Embedding(3, 4).weight.detach(),
}
CLOSE = {
    "randn": lambda m: m.randn(100),
    "normal_": lambda m: m.empty(40).normal_(1, 2),
    "trunc_normal_": lambda m: m.nn.init.trunc_normal_(m.empty(50)),
    "narrow trunc_normal_": lambda m: m.nn.init.trunc_normal_(m.empty(50), a=1.0, b=1.5),
    "orthogonal_": lambda m: m.nn.init.orthogonal_(m.empty(5, 4)),
}


def both(draw):
    rushlight.manual_seed(5)
    torch.manual_seed(5)
    ours, theirs = draw(rushlight), draw(torch)
    # What follows a sampler must agree too: as many draws were used.
    assert rushlight.rand(1).item() == torch.rand(1).item()
    return ours.numpy(), theirs.numpy()


@pytest.mark.parametrize("name", EXACT)
def test_bit_equal_samples(name):
    ours, theirs = both(EXACT[name])
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", CLOSE)
def test_samples_within_rounding(name):
    ours, theirs = both(CLOSE[name])
    np.testing.assert_allclose(ours, theirs, rtol=5e-7, atol=5e-7)


def test_states_are_interchangeable():
    rushlight.manual_seed(7)
    torch.manual_seed(7)
    for library in (rushlight, torch):
        library.rand(700)
        library.randn(3)
    ours, theirs = rushlight.get_rng_state(), torch.get_rng_state()
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
    rushlight.set_rng_state(rushlight.from_numpy(theirs.numpy().copy()))
    torch.set_rng_state(torch.from_numpy(ours.numpy().copy()))
    np.testing.assert_array_equal(rushlight.randn(5).numpy(), torch.randn(5).numpy())


def test_generators_are_separate_streams():
    generator = rushlight.Generator().manual_seed(3)
    expected = torch.rand(4, generator=torch.Generator().manual_seed(3)).numpy()
    before = rushlight.get_rng_state()
    np.testing.assert_array_equal(rushlight.rand(4, generator=generator).numpy(), expected)
    assert (rushlight.get_rng_state() == before).all()
    with pytest.raises(RuntimeError, match="RNG state is wrong size"):
        generator.set_state(rushlight.zeros(3, dtype=rushlight.uint8))
