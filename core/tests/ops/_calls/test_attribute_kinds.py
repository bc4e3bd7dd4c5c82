"""Sizes one by one or together, and arguments of another kind than their parameter asks for."""

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")

SPREAD = [
    ("view", (2, 3), (3, 2)), ("reshape", (2, 3), (3, 2)), ("expand", (2, 1, 3), (2, 2, 3)),
    ("permute", (2, 1, 3), (2, 0, 1)), ("repeat", (2, 3), (2, 2)), ("tile", (2, 3), (2, 2)),
    ("broadcast_to", (2, 1, 3), (2, 2, 3)), ("flip", (2, 3), (0, 1)), ("new_zeros", (2,), (2, 3)),
    ("new_ones", (2,), (2, 3)), ("new_empty", (2,), (2, 3)), ("squeeze", (2, 1, 3, 1), (1, 3)),
    ("squeeze_", (2, 1, 3, 1), (1, 3)), ("resize_", (2, 3), (3, 2)), ("hsplit", (6, 4), (1, 3)),
    ("count_nonzero", (2, 3), (0, 1)), ("vsplit", (6, 4), (1, 3)), ("dsplit", (2, 2, 4), (1, 3)),
]  # fmt: skip
FORMS = {
    "one by one": lambda lib, sizes: sizes,
    "tuple": lambda lib, sizes: (sizes,),
    "list": lambda lib, sizes: (list(sizes),),
    "size": lambda lib, sizes: (lib.Size(sizes),),
    "integers of numpy": lambda lib, sizes: tuple(map(np.int64, sizes)),
    "tuple of integers of numpy": lambda lib, sizes: (tuple(map(np.int32, sizes)),),
    "tensors": lambda lib, sizes: (tuple(map(lib.tensor, sizes)),),
    "truth values": lambda lib, sizes: (tuple(map(bool, sizes)),),
    "floats": lambda lib, sizes: (tuple(map(float, sizes)),),
    "a string": lambda lib, sizes: ("ab",),
    "an array": lambda lib, sizes: (np.array(sizes),),
}


def _outcome(lib, name, shape, arguments, keywords=()):
    x = lib.arange(float(np.prod(shape))).reshape(shape)
    try:
        found = getattr(x, name)(*arguments, **dict(keywords))
    except Exception as error:
        return type(error)
    pieces = found if isinstance(found, tuple | list) else [found]
    return [(tuple(p.shape), tuple(p.stride())) for p in pieces]


@pytest.mark.parametrize(("name", "shape", "sizes"), SPREAD, ids=[s[0] for s in SPREAD])
def test_sizes(name, shape, sizes):
    for form, arguments in FORMS.items():
        ours, theirs = (
            _outcome(lib, name, shape, arguments(lib, sizes)) for lib in (rushlight, torch)
        )
        assert ours == theirs, f"{name}: {form}"


@pytest.mark.parametrize("name", ["view", "new_zeros", "new_ones", "new_empty", "resize_"])
def test_size_as_a_keyword(name):
    ours, theirs = (
        _outcome(lib, name, (2, 3), (), [("size", (3, 2))]) for lib in (rushlight, torch)
    )
    assert isinstance(theirs, list)
    assert ours == theirs


@pytest.mark.parametrize("name", ["new_zeros", "new_ones", "new_empty", "resize_"])
def test_no_size(name):
    for lib in (rushlight, torch):
        assert _outcome(lib, name, (2, 3), ()) is TypeError
        assert _outcome(lib, name, (2, 3), (), [("dims", (3, 2))]) is TypeError


REDUCTIONS = ["sum", "mean", "amax", "logsumexp", "all", "any", "nansum", "prod", "max", "argmax"]


@pytest.mark.parametrize("name", [*REDUCTIONS, "var", "std", "sort", "topk", "softmax", "cumsum"])
@pytest.mark.parametrize(
    "arguments",
    [(0, 1), (0, None), (0, "x"), (True,), (0.0,), ("x",), ((0.0,),), (np.int64(0),),
     (0, np.bool_(True))],
    ids=str,
)  # fmt: skip
def test_kinds(name, arguments):
    """Twice: the second call goes the short way that the first one has made."""
    if (name, len(arguments)) in (("softmax", 2), ("cumsum", 2)) or name == "topk":
        arguments = (1, *arguments) if name == "topk" else arguments[:1]
    if name in ("var", "std") and arguments == (0, None):
        arguments = (0,)
    for _ in range(2):
        ours, theirs = (_outcome(lib, name, (2, 3), arguments) for lib in (rushlight, torch))
        assert ours == theirs


def test_messages():
    x = rushlight.ones(2, 3)
    with pytest.raises(TypeError, match=r"transpose\(\): argument 'dim0' must be .*, not str"):
        x.transpose("ab", 1)
    with pytest.raises(TypeError, match=r"sum\(\): argument 'keepdim' must be bool, not int"):
        x.sum(0, 1)
    with pytest.raises(TypeError, match="element of type float at position 1"):
        x.flip((0, 1.0))


def test_unbiased_in_the_place_of_dim():
    x = rushlight.arange(6.0).reshape(2, 3)
    assert x.var(False).item() == pytest.approx(torch.arange(6.0).var(False).item())
    with pytest.raises(TypeError):
        x.var(0, 1)


@pytest.mark.parametrize("name", ["outer", "cdist", "take_along_dim"])
def test_every_tensor_of_a_composite_is_asked_for(name):
    for library in (rushlight, torch):
        x = library.rand(3) if name == "outer" else library.rand(3, 3)
        with pytest.raises(TypeError, match=f"{name}.*Tensor"):
            getattr(library, name)(x, "a")


@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes_take_no_other_keywords(name):
    for library in (rushlight, torch):
        x = library.rand(3, 3)
        for keywords in ({"bogus": 1}, {"keepdim": True}):
            with pytest.raises(TypeError, match=name):
                getattr(library, name)(x, **keywords)
        assert getattr(library, name)(x, other=x).tolist() == x.tolist()
        assert getattr(library, name)(x, dim=1, keepdim=True)[0].shape == (3, 1)
