"""Tensors that ``pickle`` itself wrote, by PyTorch and here."""

import io
import pickle

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")


class _HereUnpickler(pickle.Unpickler):
    """What PyTorch's pickles name is found under the same names here."""

    def find_class(self, module, name):
        first, _, rest = module.partition(".")
        home = "rushlight" if first == "torch" else first
        return super().find_class(f"{home}.{rest}" if rest else home, name)


def _read(data):
    return _HereUnpickler(io.BytesIO(data)).load()


VALUES = {
    "rows": lambda lib: lib.arange(6.0).reshape(2, 3),
    "columns": lambda lib: lib.arange(6.0).reshape(2, 3).t(),
    "part": lambda lib: lib.arange(6.0)[2:4],
    "nothing": lambda lib: lib.ones(0, 3),
    "number": lambda lib: lib.tensor(2.5, dtype=lib.float64),
    "int16": lambda lib: lib.tensor([1, -2], dtype=lib.int16),
    "bool": lambda lib: lib.tensor([True, False]),
    "complex64": lambda lib: lib.tensor([1 + 2j]),
    "bfloat16": lambda lib: lib.tensor([1.5, 2.5], dtype=lib.bfloat16),
    "leaf": lambda lib: lib.ones(2, requires_grad=True),
    "parameter": lambda lib: lib.nn.Parameter(lib.ones(2)),
}


def _array(tensor):
    tensor = tensor.detach()
    return (tensor.float() if str(tensor.dtype).endswith("bfloat16") else tensor).numpy()


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("protocol", [2, 4])
def test_tensors(name, protocol):
    theirs = VALUES[name](torch)
    for found in (
        _read(pickle.dumps(theirs, protocol)),
        pickle.loads(pickle.dumps(VALUES[name](rushlight), protocol)),
    ):
        np.testing.assert_array_equal(_array(found), _array(theirs))
        assert str(found.dtype)[10:] == str(theirs.dtype)[6:]
        assert found.requires_grad == theirs.requires_grad
        assert isinstance(found, rushlight.nn.Parameter) == (name == "parameter")
        found.detach().zero_()  # memory of its own
        assert not found.count_nonzero()


def test_states_of_modules():
    theirs = torch.nn.Linear(3, 2)
    module = rushlight.nn.Linear(3, 2)
    module.load_state_dict(_read(pickle.dumps(dict(theirs.state_dict()))))
    np.testing.assert_array_equal(_array(module.weight), _array(theirs.weight))


def test_storages():
    storage = torch.arange(3.0)._typed_storage()
    found = _read(pickle.dumps(storage))
    assert found.dtype is rushlight.float32
    assert list(found) == [0.0, 1.0, 2.0]
