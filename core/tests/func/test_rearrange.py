"""`rearrange` gives what PyTorch's gives."""

import pytest

import rushlight
from rushlight.func import debug_unwrap, rearrange, vmap

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(
    ("shape", "pattern", "lengths"),
    [
        ((2, 3, 4, 5), "b h w c -> b w h c", {}),
        ((2, 3, 4, 5), "b h w c -> (b h) w c", {}),
        ((2, 3, 4, 5), "b h w c -> h (b w) c", {}),
        ((2, 3, 4, 5), "b h w c -> b (c h w)", {}),
        ((2, 6, 4, 5), "b (h1 h) (w1 w) c -> (b h1 w1) h w c", {"h1": 2, "w1": 2}),
        ((2, 6, 4, 5), "b (h h1) (w w1) c -> b h w (c h1 w1)", {"h1": 2, "w1": 2}),
        ((2, 3, 4), "... c -> c ...", {}),
        ((2, 3, 4), "a ... -> (...) a", {}),
        ((2, 3, 4), "a ... c -> a 1 (... c)", {}),
        ((2, 1, 4), "a 1 c -> c a", {}),
        ((3,), "a -> 1 a 1", {}),
        ((2, 3), "a b -> (a b 1)", {}),
    ],
)
def test_patterns(shape, pattern, lengths):
    x = torch.arange(torch.Size(shape).numel()).reshape(shape)
    expected = torch.func.rearrange(x, pattern, **lengths)
    found = rearrange(rushlight.tensor(x.numpy()), pattern, **lengths)
    assert tuple(found.shape) == tuple(expected.shape)
    assert found.tolist() == expected.tolist()


def test_lists_are_stacked():
    rows = [rushlight.ones(2), rushlight.zeros(2)]
    assert rearrange(rows, "n c -> c n").tolist() == [[1.0, 0.0]] * 2


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("a b", "exactly one"),
        ("a b -> a", "both sides"),
        ("a a -> a", "twice"),
        ("a b c -> a b c", "3 dimensions, the tensor 2"),
        ("(a c) b -> a b c", "all but one"),
        ("a (b -> a b", "unbalanced"),
        ("a 2 -> a 2", "only number"),
        ("a b -> a b?", "mean nothing"),
    ],
)
def test_wrong_patterns(pattern, text):
    with pytest.raises(ValueError, match=text):
        rearrange(rushlight.ones(2, 3), pattern)
    with pytest.raises(ValueError, match="extent 3"):
        rearrange(rushlight.ones(2, 3), "a (b c) -> a b c", b=2)


def test_debug_unwrap():
    seen = []
    x = rushlight.ones(2, 3, 4)
    vmap(vmap(lambda x: seen.append((debug_unwrap(x), debug_unwrap(x, recurse=False))) or x))(x)
    assert seen[0][0].shape == (3, 2, 4) or seen[0][0].shape == (2, 3, 4)
    assert seen[0][1].dim() == 2
