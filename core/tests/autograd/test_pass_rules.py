"""Arguments of backward passes, views and modes, in the corners, against PyTorch."""

import copy
import io
import pickle

import pytest

import rushlight
from rushlight.autograd import forward_ad, functional

pytest.importorskip("torch")  # what is imported next needs it
from tests.autograd.test_hook_rules import agree, leaf  # noqa: E402


def test_former_arguments():
    def program(lib, log):
        x = leaf(lib)
        with pytest.warns(FutureWarning, match="grad_variables"):
            lib.autograd.backward(x * 2, grad_variables=lib.ones(2))
        log(x.grad)
        with pytest.warns(FutureWarning, match="grad_variables"):
            log.error(lambda: lib.autograd.backward(x, lib.ones(2), grad_variables=lib.ones(2)))
        with pytest.warns(FutureWarning, match="only_inputs"):
            lib.autograd.grad(x.sum(), x, only_inputs=False)
        x.sum().backward((lib.tensor(2.0),))
        log(x.grad)

    agree(program)


def test_gradients_of_other_kinds():
    def program(lib, log):
        x = leaf(lib)
        log.error(lambda: (x * 2).backward(lib.ones(2) * (1 + 1j)))
        log.error(lambda: (x * (1 + 1j)).backward(lib.ones(2)))
        (x * 2).backward(lib.ones(2).double())
        log(x.grad)

    agree(program)


def test_edges_as_inputs_of_backward():
    def program(lib, log):
        edge = lib.autograd.graph.get_gradient_edge
        x = leaf(lib)
        y = x * 2
        (y * 3).sum().backward(inputs=[edge(y)])
        log(x.grad)
        (x * 2).sum().backward(inputs=[edge(x)])
        log(x.grad)

    agree(program)


def test_leaves_that_stopped_requiring_gradients():
    def program(lib, log):
        for times in range(3):
            x, w = leaf(lib), leaf(lib, 3.0, 4.0)
            y = (x * w).sum()
            w.register_hook(lambda g: log("hook"))
            w.requires_grad_(False)
            if times:
                x.register_hook(lambda g: None)
            if times > 1:
                w.requires_grad_(True)
            y.backward()
            log(x.grad, w.grad)

    agree(program)


def test_a_batched_pass_calls_hooks_once():
    def program(lib, log):
        x, w = leaf(lib), leaf(lib)
        x.register_hook(lambda g: log(tuple(g.shape)))
        rows = lib.eye(2)
        found = lib.autograd.grad(x * x, [x, w], rows, is_grads_batched=True, allow_unused=True)
        log(found)

    agree(program)


def test_views_made_in_no_grad_mode():
    def program(lib, log):
        x = leaf(lib)
        y = x * 1
        with lib.no_grad():
            view = y[:1]
        log.error(lambda: view.mul_(2))
        y.mul_(3)
        log.error(lambda: view.grad_fn)
        log.error(lambda: view.grad_fn)
        repr(view)
        plain = lib.ones(2)
        with lib.no_grad():
            view = plain[:1]
        plain.mul_(x)
        (plain.sum() * 2).backward()
        log(x.grad)

    agree(program)


def test_recording_inside_of_inference_mode():
    def program(lib, log):
        x = leaf(lib)
        with lib.inference_mode():
            with lib.enable_grad():
                log((x * 2).requires_grad)
            with lib.set_grad_enabled(True):
                log((x * 2).requires_grad)
            with lib.inference_mode(False):
                log((x * 2).requires_grad)
            made = lib.ones(2)
        log(copy.deepcopy(made).is_inference(), made.detach().is_inference())
        log.error(lambda: lib.nn.Parameter(made))
        log(lib.nn.Parameter(made, requires_grad=False).requires_grad)
        lib.autograd.graph.increment_version(made)
        log.error(lambda: lib.autograd.graph.increment_version(3))
        log.error(lambda: lib.autograd.graph.increment_version([3]))

    agree(program)


def test_switches_are_booleans():
    def program(lib, log):
        x = leaf(lib)
        log.error(lambda: x.requires_grad_("yes"))
        log.error(lambda: setattr(x, "requires_grad", None))
        log.error(lambda: lib.set_grad_enabled("yes"))
        log.error(lambda: setattr(x, "data", lib.tensor([1, 2])))
        log.error(lambda: x.set_(lib.ones(2)))
        log(lib.is_grad_enabled())

    agree(program)


def test_computed_tensors_are_pickled_as_leaves():
    x = leaf(rushlight)
    found = pickle.loads(pickle.dumps(x * 2))
    assert found.is_leaf and found.requires_grad and found.tolist() == [2, 4]
    rushlight.save(x * 2, buffer := io.BytesIO())
    buffer.seek(0)
    assert rushlight.load(buffer).tolist() == [2, 4]


def test_writes_that_are_not_counted():
    x = rushlight.ones(2)
    with rushlight.autograd._unsafe_preserve_version_counter(x):
        x.add_(1)
    assert x._version == 0 and x.tolist() == [2, 2]


def test_a_node_is_called():
    x, w = leaf(rushlight), leaf(rushlight, 3.0, 4.0)
    found = (x * w).grad_fn(rushlight.ones(2))
    assert [g.tolist() for g in found] == [[3, 4], [1, 2]]
    assert x.exp().sum().grad_fn(rushlight.tensor(2.0)).tolist() == [2, 2]


def test_strict_derivatives_of_derivatives():
    x = rushlight.ones(2)
    with pytest.raises(RuntimeError, match="strict mode when create_graph=True"):
        functional.jacobian(lambda t: t * 2, x, strict=True, create_graph=True)


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")
def test_backward_in_a_level_of_forward_mode():
    def program(lib, log):
        module = lib.autograd.forward_ad
        x = leaf(lib)
        with module.dual_level():
            dual = module.make_dual(x, lib.ones(2))
            (dual * dual).sum().backward()
            log(x.grad)
            log.error(lambda: module.make_dual(dual, lib.ones(2)))
            log.error(lambda: module.make_dual(lib.ones(2), dual))
        log(module.unpack_dual(dual).primal)

    agree(program)
    x = leaf(rushlight)
    with pytest.raises(RuntimeError, match="inside a functorch transform"):
        rushlight.func.jvp(lambda t: t.sum().backward() or t, (x,), (x,))
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, x)
    assert type(forward_ad.unpack_dual(dual).primal) is rushlight.Tensor
