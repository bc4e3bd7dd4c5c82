"""How often, how far and with which checks checkpointed parts run again, against PyTorch."""

import contextlib
import functools
import importlib

import pytest

import rushlight

pytest.importorskip("torch")  # what is imported next needs it
from tests.autograd.test_hook_rules import agree, leaf  # noqa: E402


def tools(lib):
    module = importlib.import_module(f"{lib.__name__}.utils.checkpoint")
    return module, functools.partial(module.checkpoint, use_reentrant=False)


def test_the_second_run_ends_with_the_last_saved_tensor():
    def program(lib, log):
        module, run = tools(lib)

        def part(x):
            y = x.sin()
            log("first")
            z = y.exp()
            log("second")
            return z + 1

        for options in ({}, {"early_stop": False}):
            x = leaf(lib)
            run(part, x, **options).sum().backward()
            log(x.grad)
        with module.set_checkpoint_early_stop(False):
            out = run(part, x)
        out.sum().backward()
        run(lambda x: log("nothing saved") or x + 1, x).sum().backward()

        def cleaned(x):
            try:
                return x.sin() * 2
            finally:
                log("cleaned")

        run(cleaned, x).sum().backward()
        log(x.grad)

    agree(program)


@pytest.mark.filterwarnings("ignore:None of the inputs")
def test_nested_parts():
    def program(lib, log):
        _, run = tools(lib)
        again = functools.partial(tools(lib)[0].checkpoint, use_reentrant=True)

        def inner(x):
            log("inner")
            return x.sin().exp()

        def outer(x, run):
            log("outer")
            return run(inner, run(inner, x))

        for kinds in ((run, run), (run, again), (again, run), (again, again)):
            x = leaf(lib)
            kinds[0](outer, x, kinds[1]).sum().backward()
            log(x.grad)
        x = leaf(lib)
        run(lambda x: run(outer, x, run), x).sum().backward()
        log(x.grad)

    agree(program)


def test_parts_that_change():
    def program(lib, log):
        _, run = tools(lib)
        changes = (
            lambda x, again: (x.double() if again else x).sin().sum().exp(),
            lambda x, again: (lib.cat([x, x]) if again else x).sin().sum().exp(),
            lambda x, again: x.sin() if again else x.sin().exp(),
            lambda x, again: x.sin().exp() if again else x.sin(),
            lambda x, again: x.cos() if again else x.sin(),
        )
        for change in changes:
            for options in ({}, {"early_stop": False}):
                x, runs = leaf(lib), []

                def part(x, change=change, runs=runs):
                    runs.append(1)
                    return change(x, len(runs) > 1)

                out = run(part, x, **options)
                log.error(lambda out=out: out.sum().backward())
                log(x.grad)

    agree(program)


def test_hooks_graphs_and_values_of_a_part():
    def program(lib, log):
        _, run = tools(lib)
        hooks = lib.autograd.graph.saved_tensors_hooks
        x = leaf(lib)
        kept = []

        def part(x):
            y = x.sin()
            y.register_hook(lambda g: log("hook", g))
            kept.append(y)
            return y.exp()

        x.register_hook(lambda g: log("leaf"))
        out = run(part, x)
        log(out.grad_fn.name(), out.grad_fn.next_functions[0][0].name())
        (out.sum() + kept[0].sum()).backward()
        log(x.grad)
        with hooks(lambda t: log("pack", t) or t, lambda t: log("unpack") or t):
            out = run(part, x)
        out.sum().backward()

        def watched(x):
            with hooks(lambda t: log("inside", t) or t, lambda t: log("opened") or t):
                return x.sin()

        run(watched, x).sum().backward()
        module = lib.nn.Linear(2, 2)
        module.register_forward_hook(lambda *a: log("forward"))
        module.register_full_backward_hook(lambda *a: log("backward"))
        run(module, x).sum().backward()

    agree(program)


def test_passes_through_a_part():
    def program(lib, log):
        _, run = tools(lib)
        runs = []

        def part(x):
            runs.append(1)
            return (x**3).sin()

        x = leaf(lib)
        out = run(part, x).sum()
        out.backward(retain_graph=True)
        out.backward()
        log.error(out.backward)
        (g,) = lib.autograd.grad(run(part, x).sum(), x, create_graph=True)
        log(lib.autograd.grad(g.sum(), x), len(runs))
        out = run(part, x)
        log(out.grad_fn._saved_self, out.grad_fn._saved_self)

    agree(program)


def test_writes_to_arguments():
    def program(lib, log):
        _, run = tools(lib)
        x = leaf(lib)
        for place in ("arguments", "keywords"):
            a = x.clone()
            call = (a,), {}
            if place == "keywords":
                call = (), {"x": a}
            out = run(lambda x: x.sin(), *call[0], **call[1])
            if place == "arguments":
                a.mul_(2)
                log.error(lambda out=out: out.sum().backward())
        log.error(lambda: run(lambda x: x.mul_(2).sin(), x.clone()).sum().backward())

    agree(program)


def test_contexts_and_arguments():
    def program(lib, log):
        module, run = tools(lib)

        @contextlib.contextmanager
        def around(name):
            log("enter", name)
            yield
            log("exit", name)

        x = leaf(lib)
        out = run(lambda x: x.sin() * 1, x, context_fn=lambda: (around("1"), around("2")))
        log("between")
        out.sum().backward()
        again = functools.partial(module.checkpoint, use_reentrant=True)
        log.error(lambda: again(lambda x: x, x, debug=True))
        out = again(lambda x: x.sin(), x)
        log.error(lambda: lib.autograd.grad(out.sum(), x))
        out = again(lambda x: x.sin(), x)
        log.error(lambda: out.sum().backward(inputs=[x]))

    agree(program)


def test_selection_decides_once():
    def program(lib, log):
        module, run = tools(lib)

        def policy(context, op, *args, **kwargs):
            log(context.is_recompute, str(op))
            save = "sin" in str(op)
            return module.CheckpointPolicy.MUST_SAVE if save else module.CheckpointPolicy(3)

        x = lib.ones(2, 2, requires_grad=True)
        runs = []

        def part(x):
            runs.append(1)
            return (x @ x).sin().mul(len(runs)).exp() @ x

        made = functools.partial(module.create_selective_checkpoint_contexts, policy)
        run(part, x, context_fn=made).sum().backward()
        log(x.grad)

    def names_apart(lib, log):
        program(lib, log)
        log[:] = [entry for entry in log if "mul" not in str(entry)]  # .Tensor there, .default here

    agree(names_apart)


def test_values_wait_for_one_pass_each():
    x = rushlight.ones(4, requires_grad=True)
    runs = []

    def part(x):
        runs.append(1)
        return x.sin(), x.exp()

    a, b = rushlight.utils.checkpoint.checkpoint(part, x, use_reentrant=False)
    a.sum().backward()
    b.sum().backward()  # what the first pass did not need is there still
    assert len(runs) == 2
    assert rushlight.allclose(x.grad, (x.cos() + x.exp()).detach())
    with pytest.raises(RuntimeError, match="second time"):
        b.sum().backward()
