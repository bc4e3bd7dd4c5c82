"""Complex tensors as pairs of reals, their parts, and conjugation."""

import pytest

import rushlight


def test_pairs_share_memory():
    z = rushlight.tensor([[1 + 2j, 3 - 4j], [5j, 6.0]])
    pairs = rushlight.view_as_real(z.t())
    assert pairs.shape == (2, 2, 2) and pairs.stride() == (2, 4, 1)
    pairs[0, 1, 1] = 7.0
    assert z[1, 0].item() == 7j
    assert rushlight.view_as_complex(pairs).data_ptr() == z.data_ptr()


def test_parts_of_a_scalar_are_scalars():
    z = rushlight.tensor(1 + 2j)
    assert z.real.shape == () and z.imag.item() == 2.0
    z.imag.fill_(5.0)
    assert z.item() == 1 + 5j


def test_views_refuse_what_is_no_pair():
    with pytest.raises(RuntimeError, match="size 2"):
        rushlight.view_as_complex(rushlight.ones(3))
    with pytest.raises(RuntimeError, match="stride 1"):
        rushlight.view_as_complex(rushlight.ones(2, 3).t())
    with pytest.raises(RuntimeError, match="only supported for complex"):
        rushlight.view_as_real(rushlight.ones(2))


def test_conjugation_is_done_at_once():
    z = rushlight.tensor([1 + 2j], requires_grad=True)
    out = z.conj()
    assert out.tolist() == [1 - 2j] and not out.is_conj() and out.resolve_conj() is out
    out.imag.sum().backward()
    assert z.grad.tolist() == [-1j]


def test_gradient_through_pairs():
    z = rushlight.tensor([1 + 2j, 3j], requires_grad=True)
    (rushlight.view_as_real(z) ** 2).sum().backward()
    assert z.grad.tolist() == [2 + 4j, 6j]


def test_parts_must_be_of_one_dtype():
    with pytest.raises(RuntimeError, match="one dtype"):
        rushlight.complex(rushlight.ones(2), rushlight.ones(2, dtype=rushlight.float64))
    with pytest.raises(RuntimeError, match="one dtype"):
        rushlight.polar(rushlight.ones(2, dtype=rushlight.int64), rushlight.ones(2))


def test_a_gradient_of_any_strides_passes_through_view_as_real():
    def powers(x):
        return rushlight.view_as_real(rushlight.complex(x[:2], x[2:]) ** 4).flatten()

    x = rushlight.tensor([0.3, -0.7, 1.2, 0.45], dtype=rushlight.float64)
    by_columns = rushlight.func.vmap(powers, in_dims=1, out_dims=-1)
    jacobian = rushlight.func.jacrev(by_columns)(rushlight.stack([x, x * 0.5], 1))
    single = rushlight.func.jacfwd(powers)
    assert rushlight.allclose(jacobian[:, 0, :, 0], single(x))
    assert rushlight.allclose(jacobian[:, 1, :, 1], single(x * 0.5))


def test_conj_physical_of_a_real_tensor_is_the_tensor():
    x = rushlight.arange(6.0).reshape(2, 3)[:, ::2]
    assert x.conj_physical() is x
    assert x.conj_physical_() is x
    out = rushlight.empty(2, 2)
    assert rushlight.conj_physical(x, out=out) is out
    assert out.tolist() == [[0.0, 2.0], [3.0, 5.0]]


@pytest.mark.parametrize("name", ["conj_physical", "conj_physical_", "conj"])
def test_conjugates_have_conjugate_gradients(name):
    leaf = rushlight.tensor([1 + 2j, 3j], requires_grad=True)
    x = getattr(leaf * 1, name)()
    assert x.tolist() == [1 - 2j, -3j]
    (x * (2 + 1j)).imag.sum().backward()
    assert leaf.grad.tolist() == [1 - 2j, 1 - 2j]
