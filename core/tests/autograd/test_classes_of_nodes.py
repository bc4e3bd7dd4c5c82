"""The class of every node is that of its name, as programs that walk a graph read it."""

from __future__ import annotations

import gc
import weakref

import pytest

import rushlight
from rushlight.autograd.graph import Node
from rushlight.tensor import construction

torch = pytest.importorskip("torch")
LIBRARIES = (rushlight, torch)


def _function(lib):
    class Cube(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 3 * grad * x * x

    return Cube


PROGRAMS = {
    "scalars": lambda lib, x: (x * 2 + 1).pow(2).mean(),
    "shared": lambda lib, x: (lambda y: (y * y).sum() + y.exp().sum())(x.sin()),
    "views": lambda lib, x: x.t()[1:].unsqueeze(0).cos().sum(),
    "several outputs": lambda lib, x: sum(lib.unbind(x * x)[::2]).sum(),
    "joined": lambda lib, x: lib.cat([x, x.tanh()]).amax(0).sum(),
    "function": lambda lib, x: _function(lib).apply(x * 3).sum(),
    "in place": lambda lib, x: x.clone().mul_(x).exp_().sum(),
}


def _leaf(lib):
    return lib.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], requires_grad=True)


def _walked(node, found):
    """Every node below one, each once, in the order of a depth-first walk."""
    if node is not None and node not in found:
        found.append(node)
        for below, _ in node.next_functions:
            _walked(below, found)
    return found


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_classes_are_called_as_pytorchs(program):
    ours, theirs = (
        [
            (type(n).__name__, n.__class__.__qualname__, n.name(), n.requires_grad)
            for n in _walked(program(lib, _leaf(lib)).grad_fn, [])
        ]
        for lib in LIBRARIES
    )
    assert ours == theirs


def test_one_class_for_one_name():
    x = _leaf(rushlight)
    first, second = (x * 2).grad_fn, (x * 3).grad_fn
    assert type(first) is type(second) is not type((x + 1).grad_fn)
    assert repr(type(first)) == repr(type((_leaf(torch) * 2).grad_fn)) == "<class 'MulBackward0'>"
    assert repr(first).startswith("<MulBackward0 object at 0x")
    assert repr(first.next_functions[0][0]).startswith("<AccumulateGrad object at 0x")


def test_functions_of_users_have_classes_of_their_own():
    class MulBackward0(rushlight.autograd.Function):
        name = "MulBackward0"

        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, grad):
            return 2 * grad

    x = _leaf(rushlight)
    of_user, of_op = type(MulBackward0.apply(x).grad_fn), type((x * 2).grad_fn)
    assert of_user.__module__ == "rushlight.autograd.function"
    assert of_op.__module__ == "builtins" and of_op is not of_user


def test_all_are_nodes():
    for lib in LIBRARIES:
        for program in PROGRAMS.values():
            nodes = _walked(program(lib, _leaf(lib)).grad_fn, [])
            assert all(isinstance(node, lib.autograd.graph.Node) for node in nodes)
            assert all(issubclass(type(node), lib.autograd.graph.Node) for node in nodes)
            kinds = [isinstance(n, lib.autograd.function.BackwardCFunction) for n in nodes]
            assert kinds == ["Cube" in type(n).__name__ for n in nodes]


def test_a_function_is_known_by_its_node():
    for lib in LIBRARIES:
        cube = _function(lib)
        node = cube.apply(_leaf(lib)).grad_fn
        assert type(node).__name__ == node.name() == "CubeBackward"
        assert node._forward_cls is cube


def _gradients(lib, program, walk, way):
    x = _leaf(lib)
    y = program(lib, x)
    if walk:
        assert type(y.grad_fn) is not Node and all(
            type(node) is not Node for node in _walked(y.grad_fn, [])
        )
    if way == "backward":
        y.backward()
        return [x.grad]
    if way == "twice":
        y.backward(retain_graph=True)
        y.backward()
        return [x.grad]
    if way == "hooked":
        y.grad_fn.register_prehook(lambda grads: tuple(g * 2 for g in grads))
        y.backward()
        return [x.grad]
    (first,) = lib.autograd.grad(y, x, create_graph=True)
    if walk:
        _walked(first.grad_fn, [])
    return [first, *lib.autograd.grad(first.sum(), x, materialize_grads=True)]


@pytest.mark.parametrize("way", ("backward", "twice", "hooked", "second order"))
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_gradients_are_those_of_a_graph_that_nobody_looked_at(program, way):
    plain, walked = (_gradients(rushlight, program, walk, way) for walk in (False, True))
    theirs = _gradients(torch, program, False, way)
    for a, b, c in zip(plain, walked, theirs, strict=True):
        assert a.equal(b)
        assert rushlight.allclose(a, rushlight.from_numpy(c.detach().numpy()), rtol=1e-5)


def _by_machine_code(monkeypatch, look):
    """Of calls that record, and of a pass: whether machine code did each."""
    found = []

    def spied(call):
        def spy(*args):
            result = call(*args)
            found.append((call, result is not NotImplemented))
            return result

        return spy

    y = _leaf(rushlight) * 2
    if look:
        assert type(y.grad_fn) is not Node
    with monkeypatch.context() as patch:
        for name in ("noted", "viewed", "below", "handed"):
            patch.setattr(construction, name, spied(getattr(construction, name)))
        z = y.softmax(1) + y.unsqueeze(0).flip(0)
        (z * y.sum(0)).mean().backward()
    return found


def test_a_look_costs_no_later_call_its_machine_code(monkeypatch):
    _by_machine_code(monkeypatch, False)  # compiles what is needed
    plain, looked = (_by_machine_code(monkeypatch, look) for look in (False, True))
    assert len(plain) > 4 and plain == looked


def test_transforms_and_checkpoints_look_through_named_nodes():
    def program(lib, run):
        x = _leaf(lib)
        y = x * 2
        _walked(y.grad_fn, [])
        out = run(lambda t: (t * t).sin(), y)
        _walked(out.grad_fn, [])
        return lib.autograd.grad(out.sum(), x)[0]

    ours = program(rushlight, lambda f, t: rushlight.func.vmap(f)(t))
    theirs = program(torch, lambda f, t: torch.func.vmap(f)(t))
    assert rushlight.allclose(ours, rushlight.from_numpy(theirs.numpy()))
    checkpoint = rushlight.utils.checkpoint.checkpoint
    assert ours.equal(program(rushlight, lambda f, t: checkpoint(f, t, use_reentrant=False)))


# ---------------------------------------------------------------------------------- ends of a graph
def test_the_end_at_a_leaf_is_one_object():
    for lib in LIBRARIES:
        x, other = _leaf(lib), _leaf(lib)
        y, z = x * x, x.exp()
        (first, _), (second, _) = y.grad_fn.next_functions
        assert first is second is z.grad_fn.next_functions[0][0]
        assert first is not other.exp().grad_fn.next_functions[0][0]
        assert first.variable is x and first.next_functions == ()
        first.metadata["note"] = 3
        assert z.grad_fn.next_functions[0][0].metadata == {"note": 3}
        assert lib.autograd.graph.get_gradient_edge(x).node is first


def test_ends_live_with_the_graph_and_let_their_leaves_go():
    x = _leaf(rushlight)
    leaf, y = weakref.ref(x), x.exp()
    number = id(y.grad_fn.next_functions[0][0])
    gc.collect()
    assert id(y.grad_fn.next_functions[0][0]) == number
    end = weakref.ref(y.grad_fn.next_functions[0][0])
    del x, y
    assert leaf() is None and end() is None
