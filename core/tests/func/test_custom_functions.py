"""User-defined functions inside of transforms."""

import pytest

import rushlight
import rushlight.autograd.forward_ad as fwAD
from rushlight.autograd import Function
from rushlight.func import grad, hessian, jacfwd, jacrev, jvp, vmap

X = rushlight.tensor([0.5, -1.0, 2.0], dtype=rushlight.float64)


class Cube(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**3, 3 * x**2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output[1])
        ctx.save_for_forward(inputs[0], output[1])

    @staticmethod
    def backward(ctx, grad, grad_slope):
        x, slope = ctx.saved_tensors
        return grad * slope + 6 * grad_slope * x

    @staticmethod
    def jvp(ctx, tangent):
        x, slope = ctx.saved_tensors
        return tangent * slope, 6 * tangent * x


def cube(x):
    return Cube.apply(x)[0]


TRANSFORMS = {
    "grad": lambda f: grad(lambda x: f(x).sum()),
    "jvp": lambda f: lambda x: jvp(f, (x,), (x * 0.5,))[1],
    "vmap": lambda f: lambda x: vmap(f)(rushlight.stack([x, x * 2])),
    "jacrev": jacrev,
    "jacfwd": jacfwd,
}


@pytest.mark.parametrize("outer", TRANSFORMS)
@pytest.mark.parametrize("inner", TRANSFORMS)
def test_every_composition_agrees_with_plain_operations(outer, inner):
    own = TRANSFORMS[outer](TRANSFORMS[inner](cube))(X)
    plain = TRANSFORMS[outer](TRANSFORMS[inner](lambda x: x**3))(X)
    assert own.shape == plain.shape
    assert rushlight.allclose(own, plain)


def test_hessian():
    found = hessian(lambda x: cube(x).sum())(X)
    assert rushlight.allclose(found, rushlight.diag(6 * X))


class Product(Function):
    """A matrix product with a rule of its own."""

    calls = []

    @staticmethod
    def forward(a, b):
        return a @ b

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return Product.apply(grad, b.mT), Product.apply(a.mT, grad)

    @staticmethod
    def vmap(info, in_dims, a, b):
        Product.calls.append((info.batch_size, info.randomness, in_dims))
        a = a.unsqueeze(0) if in_dims[0] is None else a.movedim(in_dims[0], 0)
        b = b.unsqueeze(0) if in_dims[1] is None else b.movedim(in_dims[1], 0)
        return Product.apply(a, b), 0


def test_a_rule_of_its_own_is_called():
    Product.calls.clear()
    a, b = rushlight.randn(4, 2, 3), rushlight.randn(3, 5)
    assert rushlight.allclose(vmap(Product.apply, (0, None))(a, b), a @ b, atol=1e-6)
    assert Product.calls == [(4, "error", (0, None))]
    each = vmap(grad(lambda a, b: Product.apply(a, b).sum()), (0, None))(a, b)
    assert rushlight.allclose(each, b.sum(1).expand(4, 2, 3), atol=1e-6)


class OldStyle(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_forward(x)
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0].exp()

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * ctx.saved_tensors[0].exp()


def test_old_style_works_in_forward_mode_only():
    with fwAD.dual_level():
        out = OldStyle.apply(fwAD.make_dual(X, X))
        assert rushlight.allclose(fwAD.unpack_dual(out).tangent, X * X.exp())
    assert rushlight.allclose(grad(lambda x: OldStyle.apply(x).sum())(X), X.exp())
    with pytest.raises(RuntimeError, match="setup_context"):
        vmap(OldStyle.apply)(X)


def test_missing_rules_are_errors():
    class Plain(Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.kept = 2

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.kept

    with pytest.raises(RuntimeError, match="does not have vmap support"):
        vmap(Plain.apply)(X)
    with pytest.raises(NotImplementedError, match="jvp"):
        jvp(Plain.apply, (X,), (X,))
    assert grad(lambda x: Plain.apply(x).sum())(X).tolist() == [2.0] * 3


class Saving(Function):
    """Saves an output, and has no forward mode."""

    @staticmethod
    def forward(x):
        return x.exp(), x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output[0])

    @staticmethod
    def backward(ctx, grad, other):
        return grad * ctx.saved_tensors[0] + other * 2


@pytest.mark.parametrize("transform", [jacfwd, hessian, lambda f: lambda x: jvp(f, (x,), (x,))])
def test_a_function_that_saves_outputs_says_that_it_has_no_jvp(transform):
    with pytest.raises(NotImplementedError, match="implement the jvp function"):
        transform(lambda x: Saving.apply(x * 1)[0].sum())(X)


@pytest.mark.parametrize(
    ("result", "match"),
    [
        (lambda x: x, "two returns"),
        (lambda x: (x, 0, 0), "two returns"),
        (lambda x: (x, (0, 0)), "incompatible"),
        (lambda x: ((x, x), (0,)), "incompatible"),
    ],
)
def test_what_a_vmap_staticmethod_may_return(result, match):
    class Given(Saving):
        @staticmethod
        def vmap(info, in_dims, x):
            return result(x)

    with pytest.raises(RuntimeError, match=match):
        vmap(Given.apply)(rushlight.stack([X, X]))
