"""What custom functions must keep to, and what their contexts know, against PyTorch."""

import pytest

import rushlight

pytest.importorskip("torch")  # what is imported next needs it
from tests.autograd.test_hook_rules import agree, leaf  # noqa: E402


def made(lib, forward, backward=lambda ctx, *g: g if len(g) > 1 else g[0], **more):
    body = {name: staticmethod(f) for name, f in more.items()}
    body |= {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Made", (lib.autograd.Function,), body)


def test_keywords_and_defaults():
    def program(lib, log):
        times = made(lib, lambda ctx, x, k=3: x * k, lambda ctx, g: g)
        log(times.apply(leaf(lib), k=2))
        apart = made(
            lib, lambda x, k=3: x * k, lambda ctx, g: (g * 10, None),
            setup_context=lambda ctx, inputs, output: log(inputs, output),
        )  # fmt: skip
        x = leaf(lib)
        (apart.apply(x) + apart.apply(x, 2) + apart.apply(x, k=4)).sum().backward()
        log(x.grad)
        given = made(
            lib, lambda x, k: (x * 2, k), lambda ctx, g, h: (g, None),
            setup_context=lambda ctx, inputs, output: log(inputs, output),
        )  # fmt: skip
        log(given.apply(leaf(lib), 2))

    agree(program)


def test_gradients_where_there_can_be_none():
    def program(lib, log):
        both = made(lib, lambda ctx, x, k: x * k, lambda ctx, g: (g, g))
        log.error(lambda: both.apply(leaf(lib), 2).sum().backward())
        log.error(lambda: both.apply(leaf(lib), lib.ones(2)).sum().backward())
        turned = made(lib, lambda ctx, x: x * 2, lambda ctx, g: g * (1 + 2j))
        log.error(lambda: turned.apply(leaf(lib)).sum().backward())

    agree(program)


def test_vjp_stands_for_backward():
    def program(lib, log):
        class Only(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def vjp(ctx, g):
                return g * 5

        class Both(Only):
            backward = Only.vjp

        class None_(lib.autograd.Function):
            forward = Only.forward

        x = leaf(lib)
        Only.apply(x).sum().backward()
        log(x.grad)
        log.error(lambda: Both.apply(x).sum().backward())
        log.error(lambda: None_.apply(x).sum().backward())

    agree(program)


def test_what_contexts_are_told():
    def program(lib, log):
        def write(ctx, x, returned, extra):
            x.mul_(2)
            ctx.mark_dirty(x)
            return (x, x * 1)[: 1 + extra] if returned else x * 3

        fun = made(lib, write, lambda ctx, *g: (g[0], None, None))
        x = leaf(lib)
        log(fun.apply(x.clone(), True, False))
        log.error(lambda: fun.apply(x.clone(), False, False))
        log.error(lambda: fun.apply(x.clone()[:1], True, True))
        for call in ("mark_dirty", "mark_non_differentiable", "set_materialize_grads"):
            bad = made(lib, lambda ctx, x, call=call: getattr(ctx, call)(3) or x * 2)
            log.error(lambda bad=bad: bad.apply(x))
        fixed = made(lib, lambda ctx, x: ctx.mark_non_differentiable(x) or x)
        log(fixed.apply(x).requires_grad)

    agree(program)


def test_tensors_marked_that_are_no_inputs():
    def forward(ctx, x):
        out = x * 2
        ctx.mark_dirty(out)
        return out

    with pytest.warns(UserWarning, match="was not an input"):
        made(rushlight, forward).apply(leaf(rushlight))


def test_what_is_known_of_a_call():
    def program(lib, log):
        def backward(ctx, g):
            (out,) = ctx.saved_tensors
            log(ctx.extra, ctx.name(), len(ctx.next_functions), out.requires_grad)
            return g

        def forward(ctx, x):
            out = x.exp()
            ctx.save_for_backward(out)
            return out

        y = made(lib, forward, backward).apply(leaf(lib))
        y.grad_fn.extra = 5
        y.sum().backward()

    agree(program)


def test_views_that_come_out_of_functions():
    def program(lib, log):
        forms = (
            lambda ctx, x: x, lambda ctx, x: x.view(-1), lambda ctx, x: (x * 2).view(-1),
            lambda ctx, x: (x[:1], x[1:]),
        )  # fmt: skip
        for form in forms:
            fun = made(lib, form, lambda ctx, *g: g[0] * 3 if len(g) < 2 else lib.cat(g) * 3)
            x = leaf(lib)
            a = x.clone()
            y = fun.apply(a)
            y = y[0] if isinstance(y, tuple) else y
            log(y._is_view())
            log.error(lambda y=y: y.mul_(2))
            log.error(lambda y=y: y[:1].mul_(2))
            y.sum().backward()
            log(x.grad)
        a = leaf(lib).clone()
        y = made(lib, forms[1]).apply(a)
        a.mul_(2)
        log.error(lambda: y.sum().backward())
        log.error(lambda: y.grad_fn)

    agree(program)


def test_several_views_after_a_write_to_their_base():
    def program(lib, log):
        x = lib.arange(4.0).requires_grad_()
        y = x * 1
        first, second = y.split(2)
        part = second[:1]
        y.mul_(2)
        for view in (first, second, part):
            log.error(lambda view=view: view.sum().backward())
            log.error(lambda view=view: view.grad_fn)
        y.sum().backward()
        log(x.grad)

    agree(program)


def test_functions_are_no_objects():
    fun = made(rushlight, lambda ctx, x: x)
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        found = fun()
    with pytest.raises(RuntimeError, match="non-static forward"):
        found(leaf(rushlight))


def test_wrong_tangents_and_batches():
    class Wrong(rushlight.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def jvp(ctx, t):
            return t[:1]

        @staticmethod
        def vmap(info, in_dims, x):
            return x * 2

    x = rushlight.ones(3, 2)
    with pytest.raises(RuntimeError, match=r"tangent of size \[1\] for an output of size \[2\]"):
        rushlight.func.jvp(Wrong.apply, (x[0],), (x[0],))
    with pytest.raises(RuntimeError, match="to have two returns"):
        rushlight.vmap(Wrong.apply)(x)
