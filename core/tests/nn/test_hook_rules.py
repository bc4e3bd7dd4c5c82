"""Hooks of modules: who is called, when, with what, and what is refused, against PyTorch."""

import warnings
from collections import namedtuple

import pytest

import rushlight
from rushlight import nn

torch = pytest.importorskip("torch")  # what is imported next needs it
from tests.autograd.test_hook_rules import agree, leaf  # noqa: E402

Pair = namedtuple("Pair", "a b")


def module(lib, forward):
    return type("Own", (lib.nn.Module,), {"forward": lambda self, *a, **k: forward(*a, **k)})()


def warned(log, call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        log.error(call)
    log([(w.category.__name__, str(w.message)[:40]) for w in found])


def test_gradients_that_hooks_see():
    forms = {
        "two": lambda a, b: (a * 2, b * 3),
        "mixed": lambda a, b: (a * 2, "text", None),
        "integers": lambda a, b: (a * b, a.argmax()),
        "named": lambda a, b: Pair(a * 2, b),
        "list": lambda a, b: [a * 2, b],
        "dict": lambda a, b: {"a": a * 2},
        "nothing": lambda a, b: None,
    }

    def program(lib, log):
        for form in forms.values():
            for plain in (False, True):
                m = module(lib, form)
                m.register_full_backward_hook(lambda m, gi, go: log(gi, go))
                m.register_full_backward_pre_hook(lambda m, go: log(go))
                a, b = leaf(lib), lib.ones(2) if plain else leaf(lib, 3.0, 4.0)
                out = []
                warned(log, lambda m=m, a=a, b=b, out=out: out.append(m(a, b)))
                log(type(out[0]).__name__)
                if isinstance(out[0], tuple):
                    out[0][0].sum().backward()
                    log(a.grad, b.grad)

    agree(program)


def test_hooks_without_a_gradient_of_an_input():
    def program(lib, log):
        m = lib.nn.Linear(2, 1)
        lib.nn.init.ones_(m.weight)
        m.register_full_backward_hook(lambda m, gi, go: log(gi, go))
        warned(log, lambda: m(lib.ones(2)).sum().backward())
        m.register_full_backward_hook(lambda m, gi, go: (go[0],))
        warned(log, lambda: m(lib.ones(2)).sum().backward())

    agree(program)


def test_wrong_numbers_of_results():
    def program(lib, log):
        for hook in (lambda m, g, *r: (g[0], g[0]), lambda m, g, *r: (g[0] * 10,)):
            for kind in ("register_full_backward_hook", "register_full_backward_pre_hook"):
                m, x = lib.nn.Identity(), leaf(lib)
                getattr(m, kind)(hook)
                log.error(lambda m=m, x=x: m(x).sum().backward())
                log(x.grad)

    agree(program)


def test_order_of_hooks_around_a_call():
    def program(lib, log):
        m, x = lib.nn.Identity(), leaf(lib)
        m.register_forward_hook(lambda m, a, o: o * 2)
        m.register_full_backward_hook(lambda m, gi, go: log(gi, go))
        y = m(x).sum()
        m.register_full_backward_hook(lambda m, gi, go: log("later"))
        y.backward(retain_graph=True)
        for key in list(m._backward_hooks):
            del m._backward_hooks[key]
        y.backward()

    agree(program)


def test_outputs_of_hooked_modules_are_not_written_to():
    def program(lib, log):
        m = lib.nn.Identity()
        m.register_full_backward_hook(lambda m, gi, go: None)
        log.error(lambda: m(leaf(lib) * 1).mul_(2))
        log.error(lambda: (m(leaf(lib) * 1) + 0).mul_(2))

    agree(program)


def test_hooks_that_are_always_called():
    def program(lib, log):
        def fail(m, a, o):
            raise RuntimeError("a hook")

        m = lib.nn.Identity()
        m.register_forward_hook(fail)
        handle = m.register_forward_hook(
            lambda m, a, k, o: log(a, k, o), always_call=True, with_kwargs=True
        )
        log.error(lambda: m(leaf(lib)))
        handle.remove()
        log(len(m._forward_hooks_with_kwargs), len(m._forward_hooks_always_called))
        log.error(lambda: m(leaf(lib)))

    agree(program)


def test_hooks_of_all_modules():
    def program(lib, log):
        hooks = lib.nn.modules.module
        add = module(lib, lambda a, b=2: a + b)
        with hooks.register_module_forward_hook(lambda m, a, k, o: log(k, o), with_kwargs=True):
            add(leaf(lib), b=7)
        with hooks.register_module_forward_hook(lambda m, a, o: log(o), always_call=True):
            log.error(lambda: add())
        with hooks.register_module_full_backward_hook(lambda m, gi, go: log(gi, go)):
            lib.nn.Identity()(leaf(lib)).sum().backward()
            log.error(lambda: hooks.register_module_backward_hook(print))

    agree(program)
    rushlight.nn.module._former_kind.globally = None
    torch = pytest.importorskip("torch")
    torch.nn.modules.module._global_is_full_backward_hook = None


def test_hooks_of_the_former_kind():
    def program(lib, log):
        m, x = lib.nn.Identity(), leaf(lib)
        m.register_backward_hook(lambda m, gi, go: log(gi, go))
        log.error(lambda: m.register_full_backward_hook(print))
        warned(log, lambda: m(x * 2).sum().backward())
        for form in (lambda a: (a * 2).exp(), lambda a: a.exp(), lambda a: (a * 2, a.exp())):
            m = module(lib, form)
            m.register_backward_hook(lambda m, gi, go: log(gi, go))
            warned(log, lambda m=m: sum(m(leaf(lib) * 1)).sum().backward())
        m = lib.nn.Identity()
        m.register_full_backward_hook(print)
        log.error(lambda: m.register_backward_hook(print))
        log(m._is_full_backward_hook)

    agree(program)


def test_hooks_of_state_dicts():
    def program(lib, log):
        m = lib.nn.Linear(2, 1)
        m.register_state_dict_post_hook(lambda m, state, prefix, meta: {"other": 1})
        log.error(m.state_dict)
        m = lib.nn.Linear(2, 1)

        def hook(*args):
            log("called")

        m.register_state_dict_post_hook(hook)
        log.error(lambda: m._register_state_dict_hook(hook))
        m.register_load_state_dict_post_hook(lambda m, keys: 5)
        log.error(lambda: m.load_state_dict(m.state_dict()))

    agree(program)


def test_hooks_of_all_modules_see_gradients_and_what_is_registered():
    def program(lib):
        hooks, seen = lib.nn.modules.module, []
        handles = [
            hooks.register_module_full_backward_pre_hook(lambda module, grads: (2 * grads[0],)),
            hooks.register_module_buffer_registration_hook(
                lambda module, name, buffer: seen.append(name) or buffer + 1
            ),
            hooks.register_module_module_registration_hook(
                lambda module, name, child: seen.append((name, type(child).__name__))
            ),
            hooks.register_module_parameter_registration_hook(
                lambda module, name, parameter: seen.append((name, tuple(parameter.shape)))
            ),
        ]
        norm = lib.nn.BatchNorm1d(2)
        model = lib.nn.Sequential(lib.nn.Identity(), norm)
        x = lib.ones(2, requires_grad=True)
        model[0](x).sum().backward()
        for handle in handles:
            handle.remove()
        lib.nn.BatchNorm1d(3)
        model[0](x).sum().backward()
        return seen, x.grad.tolist(), norm.running_mean.tolist(), norm.running_var.tolist()

    assert program(rushlight) == program(torch)


def test_modules_saved_before_there_were_all_kinds_of_hooks():
    state = dict(nn.Linear(2, 1).__dict__)
    for name in [n for n in state if "hooks" in n or n.startswith("_non_persistent")]:
        if name not in ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks"):
            del state[name]
    found = nn.Linear.__new__(nn.Linear)
    found.__setstate__(state)
    called = []
    found.register_forward_hook(lambda *a: called.append(1))
    assert found(rushlight.ones(2)).shape == (1,) and called == [1]


def test_saving_a_tensor_with_hooks_warns(tmp_path):
    x = leaf(rushlight)
    x.register_hook(print)
    with pytest.warns(UserWarning, match="will not be serialized"):
        rushlight.save(x, tmp_path / "x.pt")
