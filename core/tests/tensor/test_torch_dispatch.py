"""Subclasses with ``__torch_dispatch__``: told of PyTorch's sequence of ops, with its values."""

import copy
import gc
import io
import math
import sys
import tomllib
import weakref
from pathlib import Path

import pytest
import torch
import torch.utils._python_dispatch  # noqa: F401 - the programs use it

import rushlight
from rushlight.utils._python_dispatch import return_and_correct_aliasing

sys.path.insert(0, str(Path(__file__).parent))

import dispatched_programs as programs  # noqa: E402

DIFFERENCES = tomllib.loads(Path(__file__).with_name("dispatched_differences.toml").read_text())


def close(found, expected):
    """Whether results are equal, numbers up to rounding."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(close(found[k], expected[k]) for k in found)
    if isinstance(expected, list | tuple):
        return len(found) == len(expected) and all(map(close, found, expected))
    if isinstance(expected, float):
        return math.isclose(found, expected, rel_tol=1e-5, abs_tol=1e-6)
    return found == expected


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_classes_are_told_of_pytorch_s_ops(name):
    told, found = programs.run(rushlight, programs.PROGRAMS[name])
    known, expected = programs.run(torch, programs.PROGRAMS[name])
    assert close(found, expected), (found, expected)
    listed = DIFFERENCES.get(name)
    if listed is None:
        assert told == known
    else:
        assert (told, known) == (listed["here"], listed["pytorch"]), listed["reason"]
        assert told != known


def test_each_listed_difference_has_a_program():
    assert DIFFERENCES.keys() <= programs.PROGRAMS.keys()


class Pair(rushlight.Tensor):
    """Two tensors; at module level, so that files can name it."""

    @staticmethod
    def __new__(cls, a, b):
        return rushlight.Tensor._make_wrapper_subclass(
            cls, a.shape, strides=a.stride(), dtype=a.dtype
        )

    def __init__(self, a, b):
        self.a, self.b = a, b

    def __tensor_flatten__(self):
        return ["a", "b"], None

    @staticmethod
    def __tensor_unflatten__(parts, context, size, stride):
        return Pair(parts["a"], parts["b"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        a = func(*[v.a if isinstance(v, Pair) else v for v in args], **(kwargs or {}))
        b = func(*[v.b if isinstance(v, Pair) else v for v in args], **(kwargs or {}))
        return Pair(a, b)


@pytest.mark.parametrize("weights_only", [False, True])
def test_files_hold_the_class_and_its_tensors(weights_only):
    pair = Pair(rushlight.arange(4.0).reshape(2, 2).t(), rushlight.ones(2, 2))
    file = io.BytesIO()
    weight = rushlight.nn.Parameter(pair)
    rushlight.save({"pair": pair, "weight": weight}, file)
    file.seek(0)
    with rushlight.serialization.safe_globals([Pair]):
        loaded = rushlight.load(file, weights_only=weights_only)
    assert type(loaded["pair"]) is Pair and loaded["pair"].stride() == (1, 2)
    assert loaded["pair"].a.tolist() == pair.a.tolist()
    assert isinstance(loaded["weight"], rushlight.nn.Parameter) and loaded["weight"].requires_grad


def test_a_class_that_is_not_allowed_is_not_loaded():
    file = io.BytesIO()
    rushlight.save(Pair(rushlight.ones(2), rushlight.ones(2)), file)
    file.seek(0)
    with pytest.raises(Exception, match="Pair"):
        rushlight.load(file, weights_only=True)


@pytest.mark.parametrize("make", ["SGD", "Adam", "AdamW", "RMSprop"])
def test_optimizers_train_both_tensors(make):
    def trained(wrap):
        weights = [rushlight.arange(4.0).reshape(2, 2), rushlight.full((2, 2), 2.0)]
        leaves = [rushlight.nn.Parameter(w) for w in wrap(weights)]
        optimizer = getattr(rushlight.optim, make)(leaves, lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            for leaf in leaves:
                out = (leaf * leaf).sum()
                out.backward()
            optimizer.step()
        return leaves

    (pair,) = trained(lambda weights: [Pair(*weights)])
    first, second = trained(lambda weights: weights)
    rushlight.testing.assert_close(pair.a, first.detach())
    rushlight.testing.assert_close(pair.b, second.detach())


def test_saved_results_do_not_keep_a_graph_alive():
    x = rushlight.ones(2)
    pair = Pair(x, x).requires_grad_()
    out = pair.exp() * 2
    node, tensor = weakref.ref(out.grad_fn), weakref.ref(out)
    gc.collect()
    gc.disable()
    try:
        del out
        assert tensor() is None and node() is None
    finally:
        gc.enable()


def test_a_second_backward_pass_needs_the_saved_tensors():
    out = Pair(rushlight.ones(2), rushlight.ones(2)).requires_grad_().exp().sum()
    out.backward()
    with pytest.raises(RuntimeError, match="second time"):
        out.backward()


def test_what_has_no_gradient_here_is_refused():
    pair = Pair(rushlight.ones(2, 2), rushlight.ones(2, 2)).requires_grad_()
    y = pair * 1
    view = y[0]
    with pytest.raises(NotImplementedError, match="clone the view"):
        view.mul_(2)
    y.mul_(2)
    with pytest.raises(NotImplementedError, match="take the view after"):
        view * 2
    hooks = rushlight.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)
    with hooks, pytest.raises(NotImplementedError, match="saved_tensors_hooks"):
        pair.exp()


def test_a_leaf_may_not_be_written_to():
    pair = Pair(rushlight.ones(2), rushlight.ones(2)).requires_grad_()
    with pytest.raises(RuntimeError, match="leaf Variable"):
        pair.add_(1)


class First(Pair):
    """A pair whose numbers are those of its first tensor."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is rushlight.ops.aten._local_scalar_dense.default:
            return args[0].a.item()
        return super().__torch_dispatch__(func, types, args, kwargs)


def test_numbers_are_read_of_tensors_that_require_grad():
    pair = First(rushlight.tensor(2.5), rushlight.tensor(1.0)).requires_grad_()
    assert (pair.item(), float(pair)) == (2.5, 2.5)


def test_bad_arguments_of_wrappers_are_named():
    make = rushlight.Tensor._make_wrapper_subclass

    class Plain(rushlight.Tensor):
        pass

    cases = [
        (TypeError, "must define __torch_dispatch__", lambda: make(Plain, (2,))),
        (TypeError, "inherit from Tensor", lambda: make(int, (2,))),
        (TypeError, "'size'.*not int", lambda: make(Pair, 2)),
        (RuntimeError, "dimensionality of strides", lambda: make(Pair, (2,), strides=(1, 1))),
        (TypeError, "unexpected keyword argument 'foo'", lambda: make(Pair, (2,), foo=1)),
        (NotImplementedError, "dispatch_device", lambda: make(Pair, (2,), dispatch_device=True)),
        (RuntimeError, "floating point", lambda: make(Pair, (2,), dtype=rushlight.int64,
                                                     requires_grad=True)),
    ]  # fmt: skip
    for kind, text, call in cases:
        with pytest.raises(kind, match=text):
            call()


def test_elements_that_are_not_there_are_not_read():
    pair = Pair(rushlight.ones(2), rushlight.ones(2))
    assert repr(pair) == "Pair(..., size=(2,), dtype=rushlight.float32)"
    with pytest.raises(RuntimeError, match="storage"):
        pair.untyped_storage()
    with pytest.raises(RuntimeError, match="has none"):
        rushlight.nonzero(rushlight.ones(2)).numpy() + pair._array


def test_handlers_that_return_notimplemented_are_an_error():
    class Nothing(Pair):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError, match="aten.exp.default.*Nothing"):
        Nothing(rushlight.ones(2), rushlight.ones(2)).exp()


def test_a_handler_that_raises_leaves_everything_in_order():
    class Failing(Pair):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            raise ValueError("not today")

    failing = Failing(rushlight.ones(2), rushlight.ones(2)).requires_grad_()
    for call in (failing.exp, lambda: failing[0], lambda: failing.softmax(0)):
        with pytest.raises(ValueError, match="not today"):
            call()
    assert rushlight.is_grad_enabled() and not rushlight.tensor.__module__.startswith("torch")
    x = rushlight.ones(2, requires_grad=True)
    assert (x * 2)[0].requires_grad


def test_writes_are_returned_as_their_argument():
    x, aten = rushlight.ones(2), rushlight.ops.aten
    out = rushlight.zeros(2)
    assert return_and_correct_aliasing(aten.add_.Tensor, (x, 1), {}, out) is x
    assert return_and_correct_aliasing(aten.add.Tensor, (x, 1), {}, out) is out


def test_copies_of_modules_have_their_own_tensors():
    model = rushlight.nn.Linear(2, 2)
    model.weight = rushlight.nn.Parameter(Pair(rushlight.ones(2, 2), rushlight.ones(2, 2)))
    other = copy.deepcopy(model)
    assert isinstance(other.weight, rushlight.nn.Parameter) and other.weight.requires_grad
    assert type(other.weight) is Pair and other.weight.a is not model.weight.a


def test_custom_operators_are_told_whole():
    from rushlight.library import custom_op

    @custom_op("dispatched::twice", mutates_args=())
    def twice(x: rushlight.Tensor) -> rushlight.Tensor:
        return x * 2

    told = []

    class Told(Pair):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            told.append(str(func))
            return func(args[0].a)

    assert twice(Told(rushlight.ones(2), rushlight.ones(2))).tolist() == [2.0, 2.0]
    assert told == ["dispatched.twice.default"]
