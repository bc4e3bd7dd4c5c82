"""Hooks on what the graph keeps and on several gradients, against PyTorch."""

import gc
import weakref

import numpy as np
import pytest

import rushlight
from rushlight.autograd import graph
from rushlight.utils.checkpoint import checkpoint

torch = pytest.importorskip("torch")
LIBRARIES = (rushlight, torch)


def both(program):
    """What a program gives in both libraries."""
    return [program(library) for library in LIBRARIES]


def numbers(tensor):
    return np.asarray(tensor.detach().numpy(), np.float64).round(4).tolist()


def leaf(library, values=(1.5, -0.5, 2.0)):
    return library.tensor(values, requires_grad=True)


class Cube(rushlight.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = x**3
        ctx.save_for_backward(x, out)
        return out

    @staticmethod
    def backward(ctx, grad):
        x, out = ctx.saved_tensors
        return grad * 3 * out / x


class TorchCube(torch.autograd.Function):
    forward, backward = Cube.forward, Cube.backward


PROGRAMS = {
    "elementwise": lambda lib, x: (x * x).exp().sin().sum(),
    "in place": lambda lib, x: x.clone().mul_(x).exp_().sum(),
    "a view in place": lambda lib, x: _view_write(x * 1).sum(),
    "layer": lambda lib, x: lib.nn.functional.linear(x, x.expand(2, 3) * 2).tanh().sum(),
    "normalized": lambda lib, x: lib.nn.functional.softmax(x * 2, 0).log().prod(),
    "indexed": lambda lib, x: x[lib.tensor([0, 2, 2])].pow(3).sum(),
    "joined": lambda lib, x: lib.cat([x, x * x]).cumprod(0).sum(),
    "function": lambda lib, x: (Cube if lib is rushlight else TorchCube).apply(x).exp().sum(),
}


def _view_write(y):
    y[:2].mul_(y[1:] * 3)
    return y * y


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("twice", (False, True))
def test_gradients_through_packed_tensors(name, twice):
    """What is saved goes to NumPy arrays and comes back; first and second derivatives agree."""

    def program(library):
        x = leaf(library)
        seen = []

        def pack(tensor):
            seen.append(tuple(tensor.shape))
            return tensor.detach().numpy().copy()

        hooks = library.autograd.graph.saved_tensors_hooks
        with hooks(pack, lambda array: library.from_numpy(array.copy())):
            out = PROGRAMS[name](library, x)
        (found,) = library.autograd.grad(out, x, create_graph=twice)
        assert seen
        if twice:
            (found,) = library.autograd.grad((found * found).sum(), x)
        return numbers(found)

    ours, theirs = both(program)
    np.testing.assert_allclose(ours, theirs, rtol=1e-3)


def test_every_saved_tensor_is_packed_once():
    def program(library):
        seen = []
        x = leaf(library)
        hooks = library.autograd.graph.saved_tensors_hooks
        with hooks(lambda t: (seen.append(numbers(t)), t)[1], lambda t: t):
            y = (x * x).exp()
            y.clone().mul_(x).exp_().sum().backward()
        return sorted(seen)

    ours, theirs = both(program)
    np.testing.assert_allclose(ours, theirs, rtol=1e-4)


def test_hooks_nest_and_end():
    x = leaf(rushlight)
    order = []

    def named(name):
        return graph.saved_tensors_hooks(
            lambda t: (order.append(f"pack {name}"), t)[1],
            lambda t: (order.append(f"unpack {name}"), t)[1],
        )

    with named("outer"):
        first = x.exp()
        with named("inner"):
            second = first.exp()
        third = second.exp()
    last = third.exp()
    last.sum().backward()
    assert order == [f"pack {n}" for n in ("outer", "inner", "outer")] + [
        f"unpack {n}" for n in ("outer", "inner", "outer")
    ]
    assert x.grad.isfinite().any()


def test_wrong_hooks():
    x = leaf(rushlight)
    with graph.saved_tensors_hooks(lambda t: t, lambda t: 3):
        y = x.exp()
    with pytest.raises(TypeError, match="unpack_hook expected to be a Tensor but got .* int"):
        y.sum().backward()
    with (
        pytest.raises(RuntimeError, match="pack hook is modifying its input in place"),
        graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t),
    ):
        (x * 2).exp()
    with (
        graph.disable_saved_tensors_hooks("not here"),
        pytest.raises(RuntimeError, match="not here"),
        graph.saved_tensors_hooks(lambda t: t, lambda t: t),
    ):
        x.exp()
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        x.exp().sum().backward()  # all is as before


def test_save_on_cpu_and_in_a_module():
    model = rushlight.nn.Sequential(rushlight.nn.Linear(3, 4), rushlight.nn.ReLU())
    x = rushlight.ones(2, 3)
    expected = rushlight.autograd.grad(model(x).sum(), model[0].weight)[0]
    with graph.save_on_cpu(pin_memory=True):
        out = model(x)
    assert rushlight.autograd.grad(out.sum(), model[0].weight)[0].equal(expected)


def test_what_was_saved_may_be_written_to():
    def program(library):
        x = leaf(library)
        with library.autograd.graph.allow_mutation_on_saved_tensors():
            y = x.clone()
            z = y.sin()
            w = y * y
            y.mul_(2)
            (z + w).sum().backward()
        return numbers(x.grad)

    ours, theirs = both(program)
    assert ours == theirs
    x = leaf(rushlight)
    y = x.clone()
    z = y.sin()
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_packed_values_are_freed_as_backward_goes():
    class Kept:
        pass

    x, alive = leaf(rushlight), []

    def pack(tensor):
        kept = Kept()
        kept.tensor = tensor.detach()
        alive.append(weakref.ref(kept))
        return kept

    gc.disable()
    try:
        with graph.saved_tensors_hooks(pack, lambda kept: kept.tensor):
            y = x.exp().sin().sum()
        assert len(alive) == 2 and all(ref() is not None for ref in alive)
        y.backward()
        assert all(ref() is None for ref in alive)
    finally:
        gc.enable()


@pytest.mark.parametrize("mode", ("all", "any"))
def test_hooks_on_several_gradients(mode):
    def program(library):
        found = []
        a, b, c, d = (leaf(library) for _ in range(4))
        e = a * b
        tensors = [a, b, c, e, d]
        handle = library.autograd.graph.register_multi_grad_hook(
            tensors,
            lambda g: found.append(
                [None if t is None else numbers(t) for t in (g if mode == "all" else [g])]
            ),
            mode=mode,
        )
        ((e * c).sum() + c.exp().sum()).backward()
        (a * 2 + c).sum().backward()
        if library is rushlight:  # PyTorch cannot tell what a call of grad() reaches
            assert rushlight.autograd.grad((a * c).sum(), [a])[0].equal(c) and found.pop()
        (a.detach() * d).sum().backward()
        handle.remove()
        (a * b).sum().backward()
        return found

    ours, theirs = both(program)
    assert len(ours) == len(theirs) == 3
    if mode == "all":
        assert ours == theirs


def test_edges_versions_and_saved_values():
    def program(library):
        x = leaf(library)
        y = x.exp()
        z = y * x
        module = library.autograd.graph
        edge, end = module.get_gradient_edge(z), module.get_gradient_edge(x)
        before = y._version
        saved = numbers(z.grad_fn._saved_other), numbers(x.sin().grad_fn._saved_self)
        module.increment_version([y])
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.sum().backward()
        with pytest.raises(AttributeError):
            z.grad_fn._saved_nothing  # noqa: B018
        return edge.node.name(), edge.output_nr, type(end.node).__name__, before, saved

    ours, theirs = both(program)
    assert ours == theirs


# ------------------------------------------------------------------------ inside of transforms
def test_hooks_inside_of_transforms():
    """Where a transform records for itself they are refused; PyTorch refuses them in grad too."""
    x = rushlight.ones(2, 3)
    seen = []

    def function(x):
        with graph.saved_tensors_hooks(lambda t: (seen.append(t), t)[1], lambda t: t):
            return x.exp().sum()

    assert rushlight.allclose(rushlight.func.grad(function)(x), x.exp()) and len(seen) == 1
    assert rushlight.allclose(rushlight.func.vmap(function)(x), x.exp().sum(1)) and len(seen) == 1
    with pytest.raises(RuntimeError, match="do not support saved tensor hooks"):
        rushlight.func.vmap(rushlight.func.grad(function))(x)


def _checked(library, reentrant):
    run = checkpoint if library is rushlight else torch.utils.checkpoint.checkpoint

    def function(x):
        return run(lambda t: (t * t).sin(), x, use_reentrant=reentrant).sum()

    return function


def test_checkpoint_inside_of_transforms():
    """Gradients, Jacobians, per-example gradients, forward mode: those without checkpoint."""
    x = rushlight.tensor([[0.3, -1.0, 2.0], [1.0, 0.5, 0.1]])
    moved = rushlight.ones(3)
    plain, checked = (lambda t: (t * t).sin().sum()), _checked(rushlight, False)
    func = rushlight.func
    transforms = {
        "grad": lambda f: func.grad(f)(x[0]),
        "vmap": lambda f: func.vmap(f)(x),
        "vmap of grad": lambda f: func.vmap(func.grad(f))(x),
        "jvp": lambda f: func.jvp(f, (x[0],), (moved,))[1],
        "jacrev": lambda f: func.jacrev(f)(x[0]),
        "jacrev twice": lambda f: func.jacrev(func.jacrev(f))(x[0]),
        "jvp of grad": lambda f: func.jvp(func.grad(f), (x[0],), (moved,))[1],
        "grad of jvp": lambda f: func.grad(lambda t: func.jvp(f, (t,), (moved,))[1])(x[0]),
        "grad of vmap": lambda f: func.grad(lambda t: func.vmap(f)(t).sum())(x),
    }
    for name, transform in transforms.items():
        ours, expected = transform(checked), transform(plain)
        assert rushlight.allclose(ours, expected), name
    with pytest.raises(NotImplementedError, match=r"use jacrev\(jacrev\(f\)\)"):
        func.hessian(checked)(x[0])
    with pytest.raises(RuntimeError, match="use_reentrant=False inside of function transforms"):
        func.vmap(_checked(rushlight, True))(x)


def test_user_hooks_see_the_arguments_of_a_checkpoint_and_not_its_inside():
    x, seen = leaf(rushlight), []
    with graph.saved_tensors_hooks(lambda t: (seen.append(t), t)[1], lambda t: t):
        y = _checked(rushlight, False)(x)
    assert [t is x for t in seen] == [True]
    y.backward()
    assert rushlight.allclose(x.grad, (x * x).cos().detach() * 2 * x.detach())


def test_the_path_of_modes():
    modes = rushlight.autograd.grad_mode
    assert modes.no_grad is rushlight.no_grad and modes.set_grad_enabled
    x = rushlight.ones(2, requires_grad=True)
    with rushlight.autograd.set_multithreading_enabled(False):
        assert not modes.set_multithreading_enabled.enabled
        (x * x).sum().backward()
    assert modes.set_multithreading_enabled.enabled and x.grad.tolist() == [2, 2]
