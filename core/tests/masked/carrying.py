"""Programs with masked tensors, run here and by PyTorch, and what they give compared."""

import warnings

import torch

import rushlight
from rushlight.testing.oracle import assert_same

DATA = [[0.5, -1.25, 2.0], [3.5, 0.75, -6.0]]
MASK = [[True, False, True], [False, True, True]]


def carrying(lib, data=DATA, mask=MASK, requires_grad=False, dtype=None):
    """A masked tensor of either library, from lists."""
    return lib.masked.masked_tensor(lib.tensor(data, dtype=dtype), lib.tensor(mask), requires_grad)


def same(ours, theirs):
    """Equal masks, layouts and dtypes; elements that count are close to PyTorch's."""
    if isinstance(theirs, list | tuple):
        assert len(ours) == len(theirs)
        for pair in zip(ours, theirs, strict=True):
            same(*pair)
        return
    masked = torch.masked.is_masked_tensor(theirs)
    assert rushlight.masked.is_masked_tensor(ours) == masked
    if not masked:
        assert_same(ours, theirs)
        return
    assert repr(ours.layout).partition(".")[2] == repr(theirs.layout).partition(".")[2]
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert ours.requires_grad == theirs.requires_grad
    a, b = ours.detach().to_dense(), theirs.detach().to_dense()
    assert_same(a.get_mask(), b.get_mask())
    assert_same(a.to_tensor(0), b.to_tensor(0))


def both(program):
    """What ``program(lib)`` gives with either library is the same."""
    ours = program(rushlight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch calls its masked tensors a prototype
        theirs = program(torch)
        same(ours, theirs)


def same_text(program):
    """``repr`` of what ``program(lib)`` gives is the same, but for the library's name."""
    ours = repr(program(rushlight)).replace("rushlight", "torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert ours == repr(program(torch))


def same_error(program, text):
    """Both raise an error of the same type, and PyTorch's text begins ours too, or is `text`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        errors = [_error(program, lib) for lib in (rushlight, torch)]
    ours, theirs = errors
    assert type(ours) is type(theirs), errors
    for error in errors:
        assert text in str(error).replace("rushlight", "torch")


def _error(program, lib):
    try:
        program(lib)
    except Exception as error:
        return error
    raise AssertionError(f"{lib.__name__}: no error")
