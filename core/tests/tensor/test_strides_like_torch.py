"""Results lie in memory as PyTorch's do: the same strides for dimensions longer than one.

``ci/pytorch/strides.py`` compares them over PyTorch's own op table; these are cases that its
samples do not have.
"""

import pytest

import rushlight

torch = pytest.importorskip("torch")


def rows(L):
    return L.arange(24.0).reshape(2, 3, 4)


def turned(L):
    """(4, 3, 2), by columns."""
    return rows(L).transpose(0, 2)


def image(L):
    return L.arange(48.0).reshape(2, 3, 2, 4).contiguous(memory_format=L.channels_last)


def i(L):
    return L.tensor([0, 1])


CASES = {
    "index after a slice": lambda L: rows(L)[:, :, [0, 1]],
    "index between slices": lambda L: rows(L)[:, [0, 1]],
    "index before slices": lambda L: turned(L)[i(L)],
    "index of a turned tensor": lambda L: turned(L)[:, [0, 1]],
    "two indices at the end": lambda L: rows(L)[:, i(L)[:, None], i(L)],
    "two indices apart": lambda L: rows(L)[i(L), :, i(L)],
    "index of channels": lambda L: image(L)[:, [0, 2]],
    "index of columns": lambda L: image(L)[:, :, :, [0, 1]],
    "index and step": lambda L: rows(L)[:, i(L), ::2],
    "index and new dimension": lambda L: rows(L)[:, i(L), None],
    "table of indices": lambda L: rows(L)[:, L.tensor([[0, 1], [2, 0]])],
    "turned table of indices": lambda L: rows(L)[:, L.tensor([[0, 1], [2, 0]]).t()],
    "mask after a slice": lambda L: rows(L)[:, rows(L)[0] > 3],
    "masked_fill": lambda L: turned(L).masked_fill(turned(L) > 3, 0),
    "masked_fill of an image": lambda L: image(L).masked_fill(image(L) > 3, 0),
    "masked_fill, broadcast": lambda L: turned(L).masked_fill(L.tensor([True, False]), 0),
    "one_hot": lambda L: L.nn.functional.one_hot(L.arange(6).reshape(2, 3).t(), 7),
    "rot90": lambda L: L.rot90(turned(L), 1, (0, 1)),
    "rot90 of rows": lambda L: L.rot90(rows(L), 3, (1, 2)),
    "flip": lambda L: turned(L).flip(0),
    "flip of an image": lambda L: image(L).flip(1),
    "roll": lambda L: rows(L).transpose(0, 1).roll(1, 0),
    "roll of an image": lambda L: image(L).roll(1, 2),
    "sort": lambda L: image(L).sort(1)[0],
    "argsort": lambda L: turned(L).argsort(1),
    "tril": lambda L: image(L).tril(),
    "group_norm": lambda L: L.nn.functional.group_norm(image(L), 1),
    "reflection": lambda L: L.nn.functional.pad(image(L), (1, 1, 0, 1), "reflect"),
    "bilinear": lambda L: L.nn.functional.interpolate(image(L), scale_factor=2, mode="bilinear"),
    "nearest": lambda L: L.nn.functional.interpolate(image(L), size=(3, 5)),
    "places of maxima": lambda L: L.nn.functional.max_pool2d(image(L), 2, return_indices=True)[1],
    "channel_shuffle": lambda L: L.nn.functional.channel_shuffle(image(L), 3),
    "permute_copy": lambda L: L.permute_copy(rows(L), (2, 0, 1)),
    "diag_embed": lambda L: L.diag_embed(rows(L), 1, 1, 2),
    "ravel": lambda L: rows(L)[:, :, ::2].ravel(),
    "mH": lambda L: rows(L)[:, :, ::2].mH,
    "conj": lambda L: rows(L)[:, :, ::2].conj(),
    "nonzero_static": lambda L: L.nonzero_static(rows(L), size=3),
}


@pytest.mark.parametrize("name", CASES)
def test_strides(name):
    ours, theirs = CASES[name](rushlight), CASES[name](torch)
    assert tuple(ours.shape) == tuple(theirs.shape)
    torch.testing.assert_close(torch.from_numpy(ours.contiguous().numpy()), theirs.contiguous())
    long = [d for d, n in enumerate(theirs.shape) if n > 1]
    assert [ours.stride(d) for d in long] == [theirs.stride(d) for d in long]


def test_what_is_real_is_its_own_conjugate():
    x = rushlight.arange(6.0).reshape(2, 3)
    assert x.conj() is x
    x.mH[0, 1] = 7.0  # a view
    assert x[1, 0].item() == 7.0
