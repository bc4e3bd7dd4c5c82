"""Functions of NumPy's arrays as functions of tensors, and names that refuse, beside PyTorch's."""

import io

import numpy as np
import pytest

import rushlight

LIBRARIES = ["rushlight", "torch"]


@pytest.fixture(params=LIBRARIES)
def library(request):
    return pytest.importorskip(request.param)


def several(a, b=None, *, table=None):
    """What comes in and goes out, in structures."""
    assert isinstance(a, np.ndarray) and isinstance(table["x"][0], np.ndarray)
    return np.sort(a), {"b": [b, table["x"][0] + 1]}, table["x"][1]


def test_structures_of_tensors(library):
    wrapped = library.compiler.wrap_numpy(several)
    assert wrapped.__name__ == "several" and wrapped.__doc__ == several.__doc__
    x = library.tensor([3.0, 1.0, 2.0])
    table = {"x": (library.tensor([1, 2]), "text")}
    first, second, third = wrapped(x, 5, table=table)
    assert isinstance(first, library.Tensor) and first.tolist() == [1.0, 2.0, 3.0]
    assert second["b"][0] == 5 and third == "text"
    assert second["b"][1].tolist() == [2, 3] and second["b"][1].dtype is library.int64


def test_memory_is_shared(library):
    @library.compiler.wrap_numpy
    def double(a):
        a *= 2
        return a

    x = library.ones(3)
    result = double(x)
    assert x.tolist() == [2.0] * 3 and result.data_ptr() == x.data_ptr()


def test_arrays_stay_arrays(library):
    kinds = []

    @library.compiler.wrap_numpy
    def kind(a):
        kinds.append(type(a))
        return 3

    assert kind(np.ones(2)) == 3 and kinds == [np.ndarray]


def test_gradients_are_refused(library):
    x = library.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="requires grad"):
        library.compiler.wrap_numpy(np.sort)(x)


def program(x):
    return rushlight.compiler.wrap_numpy(np.sort)(x * 2) + 1


@pytest.mark.parametrize("backend", ["inductor", "eager"])
@pytest.mark.filterwarnings("ignore:compile")  # that the call is no single graph
def test_compiled_programs_call_them(backend):
    with rushlight.no_grad():
        result = rushlight.compile(program, backend=backend)(rushlight.tensor([3.0, 1.0]))
    assert result.tolist() == [3.0, 7.0]


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="'fn' must be callable, not int"):
        rushlight.compiler.wrap_numpy(3)


def test_guard_collectives_are_remembered(library):
    switch = library.compiler.set_enable_guard_collectives
    assert [switch(value) for value in (False, True, True, False)] == [False, False, True, True]


def test_compiled_functions_are_loaded_otherwise():
    with pytest.raises(NotImplementedError, match="export.load"):
        rushlight.compiler.load_compiled_function(io.BytesIO())
    with pytest.raises(AttributeError, match="nothing"):
        rushlight.compiler.nothing  # noqa: B018 - the lookup is what fails


def test_names_are_pytorchs():
    torch = pytest.importorskip("torch")
    missing = [name for name in torch.compiler.__all__ if not hasattr(rushlight.compiler, name)]
    assert missing == []
    assert {"wrap_numpy", "save_cache_artifacts"} <= set(dir(rushlight.compiler))
