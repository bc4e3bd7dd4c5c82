"""`grad`, `vjp`, `jvp`, Jacobians, `linearize`: structures, aux values, what they refuse."""

import numpy as np
import pytest

import rushlight
from rushlight.func import (
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
    vmap,
)

X = rushlight.tensor([0.5, -1.0, 2.0], dtype=rushlight.float64)


def test_grad_by_several_arguments_and_structures():
    def f(tree, scale, power):
        return (tree["a"] * scale[0] + tree["b"][0] ** power).sum()

    tree = {"a": X, "b": [X * 2]}
    by_tree, by_scale = grad(f, argnums=(0, 1))(tree, (X.sum(),), 2)
    assert rushlight.allclose(by_tree["a"], X.sum().expand(3))
    assert rushlight.allclose(by_tree["b"][0], 4 * X)
    assert rushlight.allclose(by_scale[0], X.sum())


def test_aux_values():
    f = lambda x: ((x**2).sum(), {"twice": 2 * x})
    slope, aux = grad(f, has_aux=True)(X)
    assert slope.tolist() == (2 * X).tolist()
    assert aux["twice"].tolist() == (2 * X).tolist()
    assert not aux["twice"].requires_grad
    slope, (value, aux) = grad_and_value(f, has_aux=True)(X)
    assert value.item() == (X**2).sum().item()
    out, pull, aux = vjp(f, X, has_aux=True)
    assert pull(rushlight.ones_like(out))[0].tolist() == (2 * X).tolist()
    values, tangents, aux = jvp(f, (X,), (X,), has_aux=True)
    assert aux["twice"].tolist() == (2 * X).tolist()
    for transform in (jacrev, jacfwd):
        matrix, aux = transform(f, has_aux=True)(X)
        assert matrix.tolist() == (2 * X).tolist()
        assert aux["twice"].tolist() == (2 * X).tolist()


def test_results_belong_to_no_graph_unless_something_outside_does():
    assert not grad(lambda x: (x**3).sum())(X).requires_grad
    out, pull = vjp(lambda x: x**3, X)
    assert not out.requires_grad
    assert not pull(X)[0].requires_grad
    weight = X.clone().requires_grad_()
    slope = grad(lambda x: (x**2 * weight).sum())(X)
    slope.sum().backward()
    assert weight.grad.tolist() == (2 * X).tolist()
    leaf = X.clone().requires_grad_()
    grad(lambda x: (x**3).sum())(leaf).sum().backward()
    assert rushlight.allclose(leaf.grad, 6 * X)
    with rushlight.no_grad():
        assert not grad(lambda x: (x**2 * weight).sum())(leaf).requires_grad


def test_no_confusion_of_levels():
    inner = lambda x: grad(lambda y: x + y)(rushlight.tensor(1.0))
    assert grad(lambda x: x * inner(x))(rushlight.tensor(3.0)).item() == 1.0
    derivative = lambda f, x: jvp(f, (x,), (rushlight.ones_like(x),))[1]
    inner = lambda x: derivative(lambda y: x + y, rushlight.tensor(1.0))
    assert derivative(lambda x: x * inner(x), rushlight.tensor(3.0)).item() == 1.0


def test_an_input_without_influence_has_gradient_zero():
    assert grad(lambda x, y: y.sum())(X, X).tolist() == [0.0] * 3
    assert jvp(lambda x: rushlight.ones(2), (X,), (X,))[1].tolist() == [0.0, 0.0]
    with pytest.raises(RuntimeError, match="independent of the inputs"):
        jvp(lambda x: rushlight.ones(2), (X,), (X,), strict=True)


def test_jacobians_of_structures():
    f = lambda x, y: {"product": x.outer(y), "sum": (x.sum() + y.sum(),)}
    y = rushlight.tensor([1.0, 3.0], dtype=rushlight.float64)
    for transform in (jacrev, jacfwd):
        found = transform(f, argnums=(0, 1))(X, y)
        assert found["product"][0].shape == (3, 2, 3)
        assert found["product"][1].shape == (3, 2, 2)
        assert found["sum"][0][1].tolist() == [1.0, 1.0]
        np.testing.assert_allclose(found["product"][1][:, 1, 1].numpy(), X.numpy())


@pytest.mark.parametrize("chunk_size", [1, 2, 5])
def test_jacrev_in_chunks(chunk_size):
    f = lambda x: (x.sin(), x.outer(x))
    for a, b in zip(jacrev(f, chunk_size=chunk_size)(X), jacfwd(f)(X), strict=True):
        assert rushlight.allclose(a, b)


def test_hessian_of_two_arguments():
    f = lambda x, y: (x**2 * y).sum()
    (xx, xy), (yx, yy) = hessian(f, argnums=(0, 1))(X, 3 * X)
    assert rushlight.allclose(xx, rushlight.diag(6 * X))
    assert rushlight.allclose(xy, rushlight.diag(2 * X))
    assert rushlight.allclose(yx, xy.mT)
    assert not yy.any()


def test_linearize_runs_the_function_once():
    calls = []

    def f(x):
        calls.append(1)
        return x.sin() * x, x.sum()

    (value, total), push = linearize(f, X)
    assert rushlight.allclose(value, X.sin() * X)
    for tangent in (X, rushlight.ones_like(X)):
        expected = jvp(lambda x: (x.sin() * x, x.sum()), (X,), (tangent,))[1]
        for a, b in zip(push(tangent), expected, strict=True):
            assert rushlight.allclose(a, b)
            assert not a.requires_grad
    assert len(calls) == 1


def test_writes_inside_of_derivatives():
    def f(x):
        y = x.clone()
        part = y[1:]
        y.mul_(x)
        part += x[:2]
        y[0] = x[2] * x[1]
        return y

    expected = jacrev(f)(X)
    step = 1e-6
    for column, unit in enumerate(rushlight.eye(3, dtype=rushlight.float64)):
        slope = (f(X + step * unit) - f(X - step * unit)) / (2 * step)
        assert rushlight.allclose(expected[:, column], slope, atol=1e-6)
    assert rushlight.allclose(jacfwd(f)(X), expected)
    both = rushlight.stack([X, X * 2])
    assert rushlight.allclose(vmap(jacrev(f))(both)[0], expected)
    assert rushlight.allclose(vmap(jacfwd(f))(both)[0], expected)


def test_a_tensor_made_inside_becomes_dual_by_a_write():
    def f(x):
        out = rushlight.zeros(2, dtype=rushlight.float64)
        view = out[:1]
        out.copy_(x[:2] ** 2)
        return view * 3

    assert rushlight.allclose(jacfwd(f)(X), jacrev(f)(X))


def test_complex_functions():
    z = rushlight.tensor([1.0 + 2.0j, -0.5 + 0.3j], dtype=rushlight.complex128)
    t = rushlight.tensor([0.2 - 1.0j, 1.0 + 0.1j], dtype=rushlight.complex128)
    for f in (lambda z: z.exp() * z, lambda z: z.abs(), lambda z: z.conj() * z, lambda z: z.real):
        step = 1e-6
        slope = (f(z + step * t) - f(z - step * t)) / (2 * step)
        assert rushlight.allclose(jvp(f, (z,), (t,))[1], slope, atol=1e-7)


def test_wrong_calls_say_what_is_wrong():
    with pytest.raises(RuntimeError, match="return a scalar tensor, got tensor with 1 dims"):
        grad(lambda x: x)(X)
    with pytest.raises(RuntimeError, match="single tensor"):
        grad(lambda x: (x.sum(), x))(X)
    with pytest.raises(RuntimeError, match="floating point"):
        grad(lambda x: x.sum())(rushlight.arange(3))
    with pytest.raises(RuntimeError, match="argnum=2"):
        grad(lambda x: x.sum(), argnums=2)(X)
    with pytest.raises(RuntimeError, match="unique"):
        jacrev(lambda x: x, argnums=(0, 0))
    with pytest.raises(RuntimeError, match="primals to be a tuple"):
        jvp(lambda x: x, X, (X,))
    with pytest.raises(RuntimeError, match="same python structure"):
        jvp(lambda x: x, (X,), (X, X))
    with pytest.raises(RuntimeError, match=r"\(output, aux\)"):
        vjp(lambda x: x, X, has_aux=True)
    _, pull = vjp(lambda x: x, X)
    with pytest.raises(RuntimeError, match="shape"):
        pull(rushlight.ones(2))
    with pytest.raises(RuntimeError, match="at least one Tensor"):
        jvp(lambda: X, (), ())
    with pytest.raises(ValueError, match="primal to be floating point"):
        jvp(lambda x: x, (rushlight.arange(3),), (rushlight.arange(3),))
    with pytest.raises(RuntimeError, match="All outputs of f must be floating-point"):
        jacrev(lambda x: x.long())(X)
    with pytest.raises(RuntimeError, match="requires_grad_"):
        vmap(lambda x: x.requires_grad_())(X)


def test_autograd_grad_inside_of_vmap_and_jvp():
    def slope(x):
        y = x * 1
        return rushlight.autograd.grad((y**3).sum(), y)[0] if y.requires_grad else 3 * y**2

    leaf = X.clone().requires_grad_()
    found = vmap(lambda x: rushlight.autograd.grad((x**3).sum(), x)[0])(leaf)
    assert rushlight.allclose(found, 3 * X**2)
    rows = rushlight.eye(3, dtype=rushlight.float64)
    (matrix,) = rushlight.autograd.grad(leaf.sin(), leaf, rows, is_grads_batched=True)
    assert rushlight.allclose(matrix, rushlight.diag(X.cos()))
    assert rushlight.allclose(slope(X), 3 * X**2)


def test_functionalize_renews_several_views():
    def f(x):
        y = x.clone()
        first, second = y.unbind()
        left, right = y.split(2, 1)
        y.mul_(3)
        return first + second, left.sum() - right.sum()

    x = rushlight.arange(6.0).reshape(2, 3)
    for ours, theirs in zip(functionalize(f)(x), f(x), strict=True):
        assert ours.tolist() == theirs.tolist()


def test_functionalize_writes_to_arguments_once():
    def f(x):
        x.add_(1)
        x[0].mul_(2)
        return x.sum()

    a, b = rushlight.ones(3), rushlight.ones(3)
    assert functionalize(f)(a).item() == f(b).item()
    assert rushlight.equal(a, b)
    with pytest.raises(RuntimeError, match="remove"):
        functionalize(f, remove="views")


def test_vectorized_functional():
    from rushlight.autograd.functional import hessian as full
    from rushlight.autograd.functional import jacobian

    f = lambda a, b: (a * b, (a**2).sum() * b)
    args = (X, (2 * X).requires_grad_())
    expected = jacobian(f, args)
    for strategy in ("reverse-mode", "forward-mode"):
        found = jacobian(f, args, vectorize=True, strategy=strategy)
        for row, other in zip(found, expected, strict=True):
            for a, b in zip(row, other, strict=True):
                assert rushlight.allclose(a, b)
                assert not a.requires_grad
    g = lambda a, b: ((a * b) ** 2).sum()
    for strategy in ("reverse-mode", "forward-mode"):
        found = full(g, args, vectorize=True, outer_jacobian_strategy=strategy)
        for row, other in zip(found, full(g, args), strict=True):
            for a, b in zip(row, other, strict=True):
                assert rushlight.allclose(a, b)
    assert jacobian(lambda a: a**3, args[1], create_graph=True, vectorize=True).requires_grad
    with pytest.raises(NotImplementedError, match="vectorize=True"):
        jacobian(f, args, strategy="forward-mode")
    with pytest.raises(RuntimeError, match="not supported together"):
        jacobian(f, args, strict=True, vectorize=True)


def test_transforms_go_on_where_overrides_are_off():
    class Mine(rushlight.Tensor):
        """A subclass without a ``__torch_function__`` of its own."""

    offset = X.as_subclass(Mine)
    found = vmap(grad(lambda x: (offset + 1).sum() * x**2))(X)
    assert rushlight.allclose(found, 2 * X * (X + 1).sum())


def test_errors_leave_no_level_behind():
    from rushlight.tensor.dispatch import STATE, stack

    for transform in (vmap, grad, jacfwd, hessian):
        with pytest.raises(ZeroDivisionError):
            transform(lambda x: x.sum() * (1 // 0))(X)
    assert stack.levels == []
    assert STATE.levels == 0


def test_threads_have_levels_of_their_own():
    import threading

    found, gate = {}, threading.Barrier(3)

    def work(number):
        def f(x):
            gate.wait()
            return (x**number).sum()

        found[number] = hessian(f)(X)

    threads = [threading.Thread(target=work, args=(n,)) for n in (2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n in (2, 3, 4):
        assert rushlight.allclose(found[n], rushlight.diag(n * (n - 1) * X ** (n - 2)))
