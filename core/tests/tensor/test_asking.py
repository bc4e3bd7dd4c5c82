"""What classes with ``__torch_function__`` are asked about: PyTorch's functions, by its names."""

import json
import sys
from pathlib import Path

import pytest
import torch

import rushlight

sys.path.insert(0, str(Path(__file__).parent))

import asked_programs as programs  # noqa: E402

RECORD = json.loads(Path(__file__).with_name("asked_calls.json").read_text())
CALLS = {
    name: (kind, int(number))
    for kind, by_number in RECORD.items()
    for number, names in by_number.items()
    for name in names.split()
}
# Constants of the class here, which nobody is asked about.
CONSTANTS = (
    "_base _grad is_ipu is_maia is_mkldnn is_mps is_mtia is_nested is_quantized is_sparse "
    "is_sparse_csr is_vulkan is_xla is_xpu layout"
).split()
# Other differences: what is asked about here.
OTHERS = {
    "__invert__": ["bitwise_not"],
    "__iter__": ["unbind"],  # PyTorch asks about `dim` before
    "resize_as_": ["resize_as"],
    "true_divide_": ["div_"],
    "divide_": ["div_"],
    "untyped_storage": ["untyped_storage"],  # the type of its result has another name
    # Python never calls these with two tensors; here the operator is asked about
    "__rdiv__": ["div"],
    "__rfloordiv__": ["__floordiv__"],
    "__rmatmul__": ["matmul"],
    "__rmod__": ["remainder"],
    "__rpow__": ["pow"],
    "__rsub__": ["sub"],
    "__rtruediv__": ["div"],
}


def _op_of_alias(name):
    """The name of the op that a method is another name of."""
    op = getattr(getattr(rushlight.Tensor, name), "op", None)
    names = () if op is None else op.aliases
    if name in names:
        return op.name
    return op.name + "_" if name.endswith("_") and name[:-1] in names else None


@pytest.mark.parametrize("name", [name for name in CALLS if name != "index"])
def test_methods_and_properties_ask_about_themselves(name):
    ours = programs.asked_by_method(rushlight, name, *CALLS[name])
    theirs = programs.asked_by_method(torch, name, *CALLS[name])
    if name in CONSTANTS:
        assert ours[0] == [] and theirs[0] == ["__get__"]
    elif name in OTHERS or _op_of_alias(name):
        assert ours[0] == OTHERS.get(name, [_op_of_alias(name)]) and ours != theirs
    else:
        assert ours == theirs


@pytest.mark.parametrize("name", programs.programs(rushlight, rushlight.Tensor))
def test_tensors_of_subclasses_are_asked_beside_plain_ones(name):
    assert programs.asked_by_program(rushlight, name) == programs.asked_by_program(torch, name)


def test_the_sweep_knows_every_method():
    missing = {
        name
        for name in vars(rushlight.Tensor)
        if not name.startswith("_") and name not in CALLS and hasattr(torch.Tensor, name)
    }
    # no arguments of the sweep suit these, or there is nothing to compare on the CPU
    assert len(missing) < 60, sorted(missing)


def test_functions_are_those_of_the_class():
    seen = []

    class Seen(rushlight.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append((func, args, kwargs))
            return super().__torch_function__(func, types, args, kwargs or {})

    x = rushlight.ones(2, 3).as_subclass(Seen)
    x.detach(), x.shape, x.size(1), x.to(rushlight.float64, copy=True)  # noqa: B018
    x.requires_grad = True
    Tensor = rushlight.Tensor
    assert [func for func, _, _ in seen] == [
        Tensor.detach, Tensor.shape.__get__, Tensor.size, Tensor.to, Tensor.requires_grad.__set__,
    ]  # fmt: skip
    assert all(args[0] is x for _, args, _ in seen)
    assert seen[2][1][1:] == (1,) and seen[3][2] == {"copy": True} and seen[4][1][1:] == (True,)
    assert x.requires_grad and x.shape == (2, 3)


def test_an_answer_takes_the_place_of_the_method():
    class Answers(rushlight.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__

    x = rushlight.ones(2).as_subclass(Answers)
    assert x.numpy() == x.__class__.numpy(x) == "numpy"
    assert (x.dtype, x[0], x.float(), x.tolist()) == ("__get__", "__getitem__", "float", "tolist")
    assert rushlight.ones(2).copy_(x) == "copy_"


def test_methods_of_the_class_itself_and_of_its_bases_are_kept():
    class Mixin:
        def numpy(self):
            return "of the mixin"

    class Own(Mixin, rushlight.Tensor):
        @property
        def shape(self):
            return "own"

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__

    class Derived(Own):
        def tolist(self):
            return "derived"

    x = rushlight.ones(2).as_subclass(Derived)
    assert (x.shape, x.numpy(), x.tolist(), x.dim()) == ("own", "of the mixin", "derived", "dim")


def test_nobody_is_asked_where_functions_are_disabled():
    cls, names = programs.logged(rushlight)
    x = rushlight.ones(2).as_subclass(cls)
    with rushlight._C.DisableTorchFunctionSubclass():
        assert x.shape == (2,) and x.detach().tolist() == [1.0, 1.0]
    assert names == []


def test_plain_subclasses_get_no_forms():
    class Meters(rushlight.Tensor):
        pass

    assert set(vars(Meters)) <= {"__module__", "__doc__", "__qualname__", "__firstlineno__",
                                 "__static_attributes__", "__slotnames__", "__dict__"}  # fmt: skip


def test_results_of_several_tensors_have_types_of_their_own():
    x = rushlight.tensor([3.0, 1.0, 2.0])
    found = x.topk(2)
    assert type(found) is rushlight.return_types.topk and found.indices.tolist() == [0, 2]
    theirs = torch.tensor([3.0, 1.0, 2.0]).topk(2)
    assert repr(found) == repr(theirs).replace("torch.return_types", "rushlight.return_types")
    for kind in rushlight.return_types.all_return_types:
        peer = getattr(torch.return_types, kind.__name__)
        assert all(hasattr(peer, field) for field in kind._fields)
        assert peer.n_fields == len(kind._fields)
        assert kind.__module__ == "rushlight.return_types"
    with pytest.raises(AttributeError):
        _ = rushlight.return_types.nothing
