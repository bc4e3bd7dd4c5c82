"""Results that lie in memory as PyTorch's do, where its op table has no sample that shows it."""

from __future__ import annotations

import warnings

import pytest

import rushlight

torch = pytest.importorskip("torch")

FORMS = {
    "rows": lambda L, x: x,
    "channels last": lambda L, x: x.contiguous(memory_format=L.channels_last),
    "transposed": lambda L, x: x.transpose(0, 3),
    "permuted": lambda L, x: x.permute(2, 0, 3, 1),
    "with gaps": lambda L, x: x[:, :, ::2],
}
CASES = {
    "complex": lambda L, x: L.complex(x, x),
    "conj": lambda L, x: L.complex(x, x).conj(),
    "real": lambda L, x: L.complex(x, x).real,
    "polar": lambda L, x: L.polar(x.abs(), x),
    "index_fill": lambda L, x: x.index_fill(1, L.tensor([0, 1]), 0.0),
    "index_put": lambda L, x: x.index_put((L.tensor([0, 1]),), L.tensor(1.0)),
    "renorm": lambda L, x: x.renorm(2, 1, 1.0),
    "roll": lambda L, x: x.roll(1),
    "roll along": lambda L, x: x.roll(1, 1),
    "rot90": lambda L, x: x.rot90(1, (1, 3)),
    "rot90 by nothing": lambda L, x: x.rot90(0),
    "rot90 by half": lambda L, x: x.rot90(2),
    "take_along_dim": lambda L, x: L.take_along_dim(x, x.argsort(1), 1),
    "gather": lambda L, x: x.gather(1, x.argsort(1)),
    "masked_fill": lambda L, x: x.masked_fill(x > 3, 0.0),
    "index last": lambda L, x: x[..., [0, 1]],
    "index two": lambda L, x: x[:, L.tensor([0, 1]), L.tensor([0, 1])],
    "one_hot": lambda L, x: L.nn.functional.one_hot(x.long() % 7),
    "select_scatter": lambda L, x: x.select_scatter(L.zeros(x.select(1, 0).shape), 1, 0),
    "slice_scatter": lambda L, x: x.slice_scatter(L.zeros(x[:, :1].shape), 1, 0, 1),
    "diagonal_scatter": lambda L, x: x.diagonal_scatter(L.zeros(x.diagonal().shape)),
    "conj_physical": lambda L, x: x.conj_physical(),
    "conj_physical of complex": lambda L, x: L.complex(x, x).conj_physical(),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_tensor_that_is_as_asked_comes_back_itself(form):
    def run(L, format, dtype):
        x = FORMS[form](L, L.arange(120.0).reshape(2, 3, 4, 5))
        y = x.to(getattr(L, dtype), memory_format=getattr(L, format))
        return y is x, y.stride()

    for format in ("contiguous_format", "channels_last", "preserve_format"):
        for dtype in ("float32", "float64"):
            assert run(rushlight, format, dtype) == run(torch, format, dtype), (format, dtype)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", CASES)
def test_strides(name, form):
    def run(L):
        x = FORMS[form](L, L.arange(120.0).reshape(2, 3, 4, 5))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return CASES[name](L, x)

    found, expected = run(rushlight), run(torch)
    assert (tuple(found.shape), found.stride()) == (tuple(expected.shape), expected.stride())
    same = torch.view_as_real(expected.resolve_conj()) if expected.is_complex() else expected
    ours = rushlight.view_as_real(found.resolve_conj()) if found.is_complex() else found
    torch.testing.assert_close(torch.from_numpy(ours.numpy().copy()), same)


def test_elements_that_lie_over_one_another_are_scattered_into_rows():
    def run(L):
        x = L.arange(5.0).expand(3, 5)
        return x.select_scatter(L.ones(5), 0, 1)

    found, expected = run(rushlight), run(torch)
    assert (found.stride(), found.tolist()) == (expected.stride(), expected.tolist())


def test_permuted_gaps_stay():
    def run(L):
        x = L.arange(120.0).reshape(2, 3, 4, 5)[:, 1:, :, ::2].transpose(1, 2)
        return x.select_scatter(L.ones(2, 2, 3), 1, 2)

    found, expected = run(rushlight), run(torch)
    assert (found.stride(), found.tolist()) == (expected.stride(), expected.tolist())


def test_scattered_gaps_have_gradients():
    leaf = rushlight.ones(4, 6, requires_grad=True)
    source = rushlight.zeros(3, requires_grad=True)
    (leaf[:, ::2].select_scatter(source, 0, 1) * 2).sum().backward()
    assert leaf.grad.tolist() == [
        [2.0 * (i != 1 and j % 2 == 0) for j in range(6)] for i in range(4)
    ]
    assert source.grad.tolist() == [2.0] * 3
