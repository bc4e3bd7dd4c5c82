"""Functions that draw from a generator that they are given draw PyTorch's numbers."""

import pytest

import rushlight

torch = pytest.importorskip("torch")
CALLS = {
    "rand_like": lambda module, x, g: module.rand_like(x, generator=g),
    "rand_like, bytes": lambda module, x, g: module.rand_like(x, generator=g, dtype=module.half),
    "randn_like": lambda module, x, g: module.randn_like(x, generator=g),
    "randn_like, other order": lambda module, x, g: module.randn_like(x.T, generator=g),
    "randint_like": lambda module, x, g: module.randint_like(x, module.tensor(9), generator=g),
    "rrelu": lambda module, x, g: module.rrelu(x, 0.1, 0.3, True, g),
    "rrelu_": lambda module, x, g: module.rrelu_(x.clone(), 0.1, 0.3, True, g),
    "rrelu_, evaluating": lambda module, x, g: module.rrelu_(x.clone(), 0.1, 0.3, False, g),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CALLS)
def test_draws(name, dtype):
    found = []
    for module in (rushlight, torch):
        generator = module.Generator().manual_seed(7)
        module.manual_seed(1)
        x = module.arange(-30.0, 30.0, dtype=getattr(module, dtype)).reshape(6, 10)
        made = CALLS[name](module, x, generator)
        found.append((made.flatten().tolist(), made.stride()))
        found[-1] += (module.rand(2, generator=generator).tolist(),)
        assert module.rand(1).tolist() == _first(module)
    (ours, *rest), (wanted, *others) = found
    # Normals are logarithms and cosines of uniforms, whose last bits differ.
    assert ours == (pytest.approx(wanted, rel=2e-6) if "randn" in name else wanted)
    assert rest == others


def _first(module):
    """The first number of the usual generator after the seed 1."""
    module.manual_seed(1)
    return module.rand(1).tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_slopes_without_a_generator(dtype):
    found = []
    for module in (rushlight, torch):
        module.manual_seed(3)
        x = -module.ones(200, dtype=getattr(module, dtype))
        made = module.nn.functional.rrelu(x, training=True)
        found.append((made.tolist(), module.rrelu(x, 0.1, 0.3, True).tolist()))
    assert found[0] == found[1]


def test_the_largest_number_as_a_tensor():
    x = rushlight.zeros(3)
    with pytest.raises(TypeError, match=r"randint_like\(\): argument 'high' must be int"):
        rushlight.randint_like(x, rushlight.tensor([4, 5]))


def test_options_of_new_tensors():
    assert rushlight.normal(0.0, 1.0, [2], pin_memory=False).shape == (2,)
    made = rushlight.tril_indices(2, 3, dtype=rushlight.float32, requires_grad=True)
    assert made.requires_grad and made.tolist() == [[0, 1, 1], [0, 0, 1]]
    made = rushlight.triu_indices(2, 3, dtype=rushlight.float32, requires_grad=True)
    assert made.requires_grad and made.tolist() == [[0, 0, 0, 1, 1], [0, 1, 2, 1, 2]]
    with pytest.raises(RuntimeError, match="floating point"):
        rushlight.tril_indices(2, 3, requires_grad=True)


def test_mapped_files_with_gradients(tmp_path):
    path = tmp_path / "numbers"
    rushlight.from_file(str(path), shared=True, size=2).fill_(1.5)
    found = rushlight.from_file(str(path), size=2, requires_grad=True)
    found.sum().backward()
    assert found.tolist() == [1.5, 1.5] and found.grad.tolist() == [1.0, 1.0]
