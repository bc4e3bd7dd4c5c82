"""Hooks of tensors, nodes and several gradients: who is called, when and with what."""

import pickle
from collections import OrderedDict

import numpy as np
import pytest

import rushlight
from rushlight import nn
from rushlight.autograd import graph
from rushlight.utils.hooks import RemovableHandle

torch = pytest.importorskip("torch")


class Log(list):
    """What a program saw: tensors as numbers, errors as their types."""

    def __call__(self, *values):
        self.append([_plain(v) for v in values])

    def error(self, call):
        try:
            call()
        except (RuntimeError, TypeError, ValueError, AssertionError) as error:
            self(type(error).__name__)
        else:
            self("no error")


def _plain(value):
    if isinstance(value, (rushlight.Tensor, torch.Tensor)):
        array = np.asarray(value.detach().numpy())
        return [float(f"{v:.4g}") for v in array.ravel()], array.shape
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value


def agree(program):
    """Check that a program ``(library, log)`` sees the same in both libraries."""
    logs = []
    for library in (rushlight, torch):
        program(library, log := Log())
        logs.append(log)
    assert logs[0] == logs[1] and logs[0]


def leaf(lib, *values):
    return lib.tensor(values or (1.0, 2.0), requires_grad=True)


def test_what_a_hook_may_return():
    def program(lib, log):
        for bad in (
            1,
            "x",
            lambda g: (g,),
            lambda g: g.double(),
            lambda g: g[:1],
            lambda g: g.long(),
        ):
            for place in range(2):
                x = leaf(lib)
                y = x * 2
                (x, y)[place].register_hook(bad if callable(bad) else lambda g, bad=bad: bad)
                log.error(lambda y=y: y.sum().backward())
                log(x.grad)

    agree(program)


def test_what_a_hook_of_a_node_may_return():
    results = (
        lambda gi: gi[0] * 2, lambda gi: [gi[0]], lambda gi: (3,), lambda gi: (gi[0][:1],),
        lambda gi: (gi[0], gi[0]), lambda gi: (gi[0] * 5,), lambda gi: (None,),
    )  # fmt: skip

    def program(lib, log):
        for result in results:
            x = leaf(lib)
            y = x.exp()
            y.grad_fn.register_hook(lambda gi, go, result=result: result(gi))
            log.error(lambda y=y: y.sum().backward())
            log(x.grad)
        for result in (lambda go: 3, lambda go: (go[0], go[0]), lambda go: (go[0] * 3,)):
            x = leaf(lib)
            y = x.exp()
            y.grad_fn.register_prehook(result)
            log.error(lambda y=y: y.sum().backward())
            log(x.grad)

    agree(program)


def test_retained_gradients_follow_writes_in_place():
    def program(lib, log):
        x = leaf(lib)
        y = x * 2
        y.retain_grad()
        y.register_hook(lambda g: log("before", g))
        y.mul_(3)
        y.add_(1)
        y.register_hook(lambda g: log("after", g))
        y.sum().backward()
        log(y.grad, x.grad, y.retains_grad)
        x = leaf(lib)
        y = x * 2
        view = y[:1]
        view.retain_grad()
        y.retain_grad()
        view.mul_(3)
        (y.sum() + view.sum()).backward()
        log(x.grad, y.grad, view.grad)

    agree(program)


def test_a_pass_limited_to_inputs_calls_no_other_hooks():
    def program(lib, log):
        x, w = leaf(lib), leaf(lib, 3.0, 4.0)
        y = x * w
        other = (x + w).sum()
        x.register_hook(lambda g: log("x"))
        w.register_hook(lambda g: log("w"))
        y.register_hook(lambda g: log("y"))
        (y.sum() + other).backward(inputs=[x], retain_graph=True)
        log(w.grad)
        y.grad_fn.register_hook(lambda gi, go: log("node", go))
        y.grad_fn.register_prehook(lambda go: log("node first", go))
        (y.sum() + other).backward(inputs=[y])
        log(y.grad, y.retains_grad)
        log.error(lambda: y.sum().backward())  # the node of y has run
        log.error(lambda: other.backward(inputs=[lib.ones(2)]))

    agree(program)


def test_gradients_are_taken_before_the_hooks_of_a_node_that_runs():
    def program(lib, log):
        x = leaf(lib)
        y = x * 2
        y.grad_fn.register_prehook(lambda go: (go[0] * 10,))
        y.register_hook(lambda g: g * 7)
        x.register_hook(lambda g: g * 5)
        log(lib.autograd.grad((y * 3).sum(), [y, x], retain_graph=True))
        log(lib.autograd.grad((y * 3).sum(), y))

    agree(program)


def test_hooks_are_called_without_a_gradient_too():
    def program(lib, log):
        x = leaf(lib)
        a, b = lib.stack([x.clone(), x * 2]).unbind(0)
        b.register_hook(lambda g: log("b", g))
        lib.autograd.graph.register_multi_grad_hook((a, b), lambda grads: log(grads))
        a.sum().backward()

        class Nothing(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 1

            @staticmethod
            def backward(ctx, g):
                return None

        class Seen(Nothing):
            @staticmethod
            def backward(ctx, g):
                log("zeros", g)
                return g

        x = leaf(lib)
        x.register_hook(lambda g: log("leaf", g))
        x.register_post_accumulate_grad_hook(lambda t: log("after", t.grad))
        Nothing.apply(x.exp()).sum().backward()
        Nothing.apply(Seen.apply(x)).sum().backward()
        log(x.grad)

    agree(program)


def test_order_at_a_leaf():
    def program(lib, log):
        x = leaf(lib)
        end = x.view_as(x).grad_fn.next_functions[0][0]
        end.register_hook(lambda gi, go: log("node", gi, go))
        end.register_prehook(lambda go: log("node first", go))
        x.register_hook(lambda g: log("tensor"))
        x.register_post_accumulate_grad_hook(lambda t: log("after"))
        (x * 2).sum().backward()
        x.register_post_accumulate_grad_hook(lambda t: 5)
        log.error(lambda: x.sum().backward())
        log.error(lambda: lib.ones(2).register_post_accumulate_grad_hook(print))

    agree(program)


def test_several_gradients_of_a_limited_pass():
    def program(lib, log):
        a, b = leaf(lib), leaf(lib, 3.0, 4.0)
        c, d = a * b, a + b
        handle = lib.autograd.graph.register_multi_grad_hook((a, b, c, d), lambda g: log(g))
        log(isinstance(handle, lib.utils.hooks.RemovableHandle))
        (c + d).sum().backward(retain_graph=True, inputs=[a])
        (c + d).sum().backward(inputs=[c])
        with handle:
            pass
        (a * b).sum().backward()

    agree(program)


def test_handles():
    x = leaf(rushlight)
    module = nn.Linear(2, 2)
    handles = [
        x.register_hook(print), (x * 2).register_hook(print), module.register_forward_hook(print),
        module.register_full_backward_hook(print), x.register_post_accumulate_grad_hook(print),
    ]  # fmt: skip
    numbers = [h.id for h in handles]
    assert all(type(h) is RemovableHandle for h in handles)
    assert numbers == sorted(set(numbers)) and RemovableHandle.next_id > numbers[-1]
    assert handles[0].hooks_dict_ref() is x._backward_hooks and handles[0].id in x._backward_hooks
    copied, handle = pickle.loads(pickle.dumps((module, handles[2])))
    handle.remove()
    assert len(copied._forward_hooks) == 0 and len(module._forward_hooks) == 1
    hooks, marks = OrderedDict(), OrderedDict()
    with RemovableHandle(hooks, extra_dict=marks) as own:
        hooks[own.id] = marks[own.id] = 1
    assert not hooks and not marks


def test_notes_at_a_node():
    node = (leaf(rushlight) * 2).grad_fn
    assert node.metadata == {}
    node.metadata["mine"] = 3
    assert node.metadata == {"mine": 3}


def test_hooks_on_saved_tensors_are_refused_by_a_decorator():
    @graph.disable_saved_tensors_hooks("not here")
    def call():
        with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            pass

    for _ in range(2):
        with pytest.raises(RuntimeError, match="not here"):
            call()


def test_regions_of_writes_to_saved_tensors():
    def program(lib, log):
        region = lib.autograd.graph.allow_mutation_on_saved_tensors
        x = leaf(lib)
        with region() as context:
            log.error(lambda: region().__enter__())
            y = x.clone().sin()
            z = x.clone().sin()
            context.clear()
            log.error(lambda: y.sum().backward())
        log.error(lambda: z.sum().backward())

    agree(program)


def test_the_gradient_of_a_computed_tensor_is_asked_for():
    x = leaf(rushlight)
    y = x * 2
    with pytest.warns(UserWarning, match="not a leaf Tensor"):
        assert y.grad is None
    y.retain_grad()
    assert y.grad is None and x.grad is None
    with pytest.raises(RuntimeError, match="its own grad"):
        x.grad = x
    x.grad = rushlight.ones(2)
    del x.grad
    assert x.grad is None


def test_the_hook_of_one_call_of_a_module():
    def program(lib, log):
        hook = lib.utils.hooks.BackwardHook(None, [lambda m, gi, go: log(gi, go)], [])
        (x,) = hook.setup_input_hook((leaf(lib),))
        hook.setup_output_hook(x * 3).sum().backward()

    agree(program)
