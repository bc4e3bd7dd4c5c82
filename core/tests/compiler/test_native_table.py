"""The table of native functions says what machine code takes over, and all of it."""

import importlib

import pytest

from rushlight.kernels.reduction.small_reduction import small
from rushlight.machine import native_functions, native_table, np, threads
from rushlight.settings import kernels_mode

ROWS = [(owner, name) for owner in native_table.TABLE for name in native_table.native_names(owner)]
BUILT_IN = type(len)
_SMALL = "kernels.reduction.small_reduction.small"


def holder_of(owner):
    try:
        return importlib.import_module("rushlight." + owner)
    except ModuleNotFoundError:
        module, _, name = owner.rpartition(".")
        return getattr(importlib.import_module("rushlight." + module), name)


@pytest.fixture(scope="module", autouse=True)
def everything_started():
    threads.pool()
    if native_functions.is_available():
        native_functions.doors()
        for name in native_table.native_names(_SMALL):
            for _ in range(8):  # it is patient
                small.learn(name, np.arange(6.0).reshape(2, 3), 1, False)


@pytest.mark.parametrize(("owner", "name"), ROWS)
def test_every_row_is_taken_over(owner, name):
    if not native_functions.is_available() or kernels_mode() == "reference":
        pytest.skip("native calls are off")
    assert (owner, name) in native_table.replaced()
    twin, now = native_table.replaced()[owner, name], getattr(holder_of(owner), name)
    assert now is not twin and not isinstance(twin, BUILT_IN)
    if owner != "kernels.launch.prepared.fast":  # whose functions make native ones
        assert isinstance(now, BUILT_IN)


@pytest.mark.parametrize(("owner", "name"), ROWS)
def test_refusals_answer_not_implemented(owner, name):
    """A row with a dash has a twin that takes no call, another one has a twin that does."""
    twin = native_table.replaced().get((owner, name), getattr(holder_of(owner), name))
    refuses = native_table.TABLE[owner][name].startswith("-")
    if owner == "kernels.launch.prepared.fast":
        assert refuses and (twin is None or twin(None, None, None) is None if name == "several"
                            else twin is None or twin(None) is None)  # fmt: skip
    elif refuses:
        assert twin(None, None, None) is NotImplemented
    else:
        assert twin.__doc__


def test_nothing_else_may_be_replaced():
    class Holder:
        other = None

    with pytest.raises(KeyError, match="no 'other' of tensor.tensor"):
        native_table.take_over("tensor.tensor", Holder, {"other": len})
    assert Holder.other is None
