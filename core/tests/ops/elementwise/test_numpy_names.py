"""NumPy's names of arguments (``axis=``, ``keepdims=``, ``x=``, ``x1=``, ``x2=``), where PyTorch
takes them: every op of the table that is a built-in function there."""

from __future__ import annotations

import warnings

import pytest

import rushlight
from rushlight.ops._table import deferred as _deferred
from rushlight.ops._table.op import TABLE
from rushlight.testing.samples import samples_of

_deferred.load_all()
torch = pytest.importorskip("torch")

NAMES = {
    "dim": ("axis",), "keepdim": ("keepdims",), "input": ("x", "a", "x1"), "other": ("x2",),
}  # fmt: skip


def _there(value):
    if isinstance(value, rushlight.Tensor):
        return torch.tensor(value.tolist(), dtype=getattr(torch, str(value.dtype).split(".")[-1]))
    if isinstance(value, (list, tuple)):
        return type(value)([_there(item) for item in value])
    return value


def _works(call, keywords):
    try:
        call(**keywords)
    except Exception:  # noqa: BLE001 - whatever it refuses
        return False
    return True


BOTH = sorted(
    name
    for name in list(TABLE)
    if name[0] != "_"
    and callable(getattr(rushlight, name, None))
    and type(getattr(torch, name, None)).__name__ == "builtin_function_or_method"
)


def test_enough_of_them():
    assert len(BOTH) > 250


@pytest.mark.parametrize("name", BOTH)
def test_names(name):
    op, ours, theirs = TABLE[name], getattr(rushlight, name), getattr(torch, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for args, given in samples_of(op, rushlight.float64)[:2]:
            named = {**dict(zip(op.names, args, strict=False)), **given}
            if not _works(ours, named) or not _works(theirs, _there_of(named)):
                continue
            for known in NAMES.keys() & named.keys():
                for other in NAMES[known]:
                    keywords = {(other if k == known else k): v for k, v in named.items()}
                    if _works(theirs, _there_of(keywords)):
                        assert _works(ours, keywords), f"{other}= for {known}"


def _there_of(keywords):
    return {name: _there(value) for name, value in keywords.items()}


@pytest.mark.parametrize(
    ("name", "keywords"),
    [("cosine_similarity", {"axis": 0}), ("pairwise_distance", {"keepdims": True})],
)
def test_functions_of_two_vectors(name, keywords):
    data = [[1.0, 2.0, 3.0], [3.0, 1.0, -2.0]], [[0.5, 2.0, 1.0], [1.0, 1.0, 1.0]]
    found = getattr(rushlight.nn.functional, name)(*map(rushlight.tensor, data), **keywords)
    wanted = getattr(torch.nn.functional, name)(*map(torch.tensor, data), **keywords)
    assert rushlight.allclose(found, rushlight.tensor(wanted.tolist()))
    with pytest.raises(TypeError):
        getattr(rushlight.nn.functional, name)(*map(rushlight.tensor, data), axes=0)


def test_a_name_twice():
    x = rushlight.ones(2)
    with pytest.raises(TypeError):
        rushlight.add(x, x=x, other=x)
    with pytest.raises(TypeError):
        rushlight.nn.functional.cosine_similarity(x, x, dim=0, axis=0)
    assert rushlight.add(x1=x, x2=x).tolist() == [2.0, 2.0]
    assert rushlight.exp(x=x * 0).tolist() == [1.0, 1.0]
