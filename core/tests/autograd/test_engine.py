"""The backward pass: accumulation, retention, hooks, second order, errors, memory."""

import gc
import threading
import weakref

import pytest

import rushlight
from rushlight.autograd import grad


def leaf(*values):
    return rushlight.tensor(values, requires_grad=True)


def test_gradients_of_several_paths_add_up():
    x = leaf(1.0, 2.0)
    (x * x + 3 * x).sum().backward()
    assert x.grad.tolist() == [5.0, 7.0]
    (2 * x).sum().backward()
    assert x.grad.tolist() == [7.0, 9.0]


def test_first_gradients_do_not_share_memory():
    x, y = leaf(1.0), leaf(2.0)
    (x + y).sum().backward()
    x.grad.zero_()
    assert y.grad.item() == 1.0


def test_a_gradient_given_by_the_user_stays_his():
    x, given = leaf(1.0, 2.0), rushlight.ones(2)
    (x * 1).backward(given)
    x.grad.zero_()
    assert given.tolist() == [1.0, 1.0]


def test_saved_tensors_are_freed_unless_retained():
    x = leaf(2.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 8.0
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()


def test_nodes_that_saved_nothing_run_again():
    x = leaf(2.0)
    shared = x.expand(3)
    for _ in range(2):
        (shared * rushlight.ones(3)).sum().backward()
    assert x.grad.tolist() == [6.0]

    class Square(rushlight.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    y = Square.apply(x)
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_non_scalar_output_needs_a_gradient():
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        leaf(1.0, 2.0).mul(2).backward()
    with pytest.raises(RuntimeError, match="does not require grad"):
        rushlight.ones(1).backward()
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        leaf(1.0, 2.0).mul(2).backward(rushlight.ones(3))


def test_grad_leaves_leaves_alone_and_reports_unused_inputs():
    x, y = leaf(3.0), leaf(4.0)
    (gx,) = grad((x * x).sum(), [x])
    assert gx.item() == 6.0 and x.grad is None
    with pytest.raises(RuntimeError, match="appears to not have been used"):
        grad((x * x).sum(), [x, y])
    assert grad((x * x).sum(), [x, y], allow_unused=True)[1] is None
    assert grad((x * x).sum(), [y], materialize_grads=True)[0].tolist() == [0.0]


def test_grad_of_an_intermediate():
    x = leaf(3.0)
    middle = x * 2
    (g,) = grad((middle * middle).sum(), [middle])
    assert g.item() == 12.0


def test_third_derivative():
    x = leaf(2.0)
    (first,) = grad((x**4).sum(), [x], create_graph=True)
    (second,) = grad(first.sum(), [x], create_graph=True)
    (third,) = grad(second.sum(), [x])
    assert [t.item() for t in (first, second, third)] == [32.0, 48.0, 48.0]


def test_backward_into_some_inputs_only():
    x, y = leaf(1.0), leaf(2.0)
    (x * y).sum().backward(inputs=[x])
    assert x.grad.item() == 2.0 and y.grad is None


def test_leaf_is_accumulated_before_older_nodes_run():
    order = []
    first, second = leaf(1.0), leaf(2.0)
    middle = first * 3
    middle.register_hook(lambda g: order.append("middle"))
    second.register_post_accumulate_grad_hook(lambda t: order.append("second"))
    (middle * second).sum().backward()
    assert order == ["second", "middle"]


def test_hooks_see_the_sum_and_may_replace_it():
    x = leaf(1.0)
    seen = []
    handle = x.register_hook(lambda g: (seen.append(g.item()), g * 10)[1])
    (x * 2 + x * 3).sum().backward()
    assert seen == [5.0] and x.grad.item() == 50.0
    handle.remove()
    (x * 1).sum().backward()
    assert x.grad.item() == 51.0


def test_node_hooks_and_prehooks():
    x = leaf(1.0)
    y = x * 3
    seen = []
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 2,))
    y.grad_fn.register_hook(
        lambda inputs, outputs: seen.append((inputs[0].item(), outputs[0].item()))
    )
    y.sum().backward()
    assert seen == [(6.0, 2.0)] and x.grad.item() == 6.0


def test_retain_grad_of_an_intermediate():
    x = leaf(2.0)
    y = x * 3
    y.retain_grad()
    (y * y).sum().backward()
    assert y.grad.item() == 12.0 and y.retains_grad


def test_graph_is_visible():
    x = leaf(1.0)
    y = (x + 1) * x
    assert y.grad_fn.name() == "MulBackward0"
    (add, _), (accumulate, _) = y.grad_fn.next_functions
    assert add.name() == "AddBackward0" and accumulate.variable is x
    assert x.is_leaf and not y.is_leaf


def test_no_grad_forms():
    x = leaf(1.0)
    with rushlight.no_grad():
        assert not (x * 2).requires_grad
        with rushlight.enable_grad():
            assert (x * 2).requires_grad

    @rushlight.no_grad()
    def off():
        return x * 2

    @rushlight.no_grad
    def off_too():
        return x * 2

    @rushlight.no_grad()
    def generated():
        yield x * 2
        yield x * 3

    assert not off().requires_grad and not off_too().requires_grad
    for y in generated():
        assert not y.requires_grad and (x * 2).requires_grad
    with rushlight.set_grad_enabled(False):
        assert not rushlight.is_grad_enabled()
    assert rushlight.is_grad_enabled()


def test_inference_tensors_stay_out_of_graphs():
    with rushlight.inference_mode():
        y = rushlight.ones(2) * 2
    assert y.is_inference() and not y.requires_grad
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        (x * y).sum()
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        y.add_(1)


def test_deep_chain_without_recursion():
    x = leaf(1.0)
    y = x
    for _ in range(20_000):
        y = y + 0.0
    y.sum().backward()
    assert x.grad.item() == 1.0


def test_graphs_die_without_the_collector():
    gc.disable()
    try:
        x = leaf(1.0, 2.0)
        y = (x.exp() * x).sigmoid()
        node = weakref.ref(y.grad_fn)
        del y
        assert node() is None
        z = x.exp()
        z.sum().backward()
        node = weakref.ref(z.grad_fn)
        del z
        assert node() is None
    finally:
        gc.enable()


def test_threads_accumulate_into_one_leaf():
    x = leaf(1.0)

    def work():
        for _ in range(200):
            (x * 1.0).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x.grad.item() == 800.0


def test_mixed_dtypes_give_each_input_its_own():
    x = leaf(1.0, 2.0)
    y = rushlight.tensor([3.0, 4.0], dtype=rushlight.float64, requires_grad=True)
    (x * y).sum().backward()
    assert x.grad.dtype is rushlight.float32 and y.grad.dtype is rushlight.float64
    assert x.grad.tolist() == [3.0, 4.0]


def test_only_floats_require_grad():
    with pytest.raises(RuntimeError, match="floating point"):
        rushlight.tensor([1], requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf variables"):
        (leaf(1.0) * 2).requires_grad_(False)


def test_anomaly_mode_names_the_forward_line():
    x = leaf(0.0)
    with (
        rushlight.autograd.set_detect_anomaly(True),
        pytest.warns(UserWarning, match="the_line_at_fault"),
        pytest.raises(RuntimeError, match="returned nan values"),
    ):
        the_line_at_fault = x.sqrt() * 0.0
        the_line_at_fault.sum().backward()
    assert not rushlight.is_anomaly_enabled()


def test_inference_marks_results_of_every_way_into_an_op():
    x = rushlight.ones(2, 2)
    calls = (
        lambda: x * 2, lambda: x * x, lambda: x.exp(), lambda: x.sum(), lambda: x[[0]],
        lambda: x @ x, lambda: x.sort().values, lambda: x.clone(),
    )  # fmt: skip
    for call in calls:
        for _ in range(3):  # the first call is general, later ones take the short way
            call()
        with rushlight.inference_mode():
            assert call().is_inference()
            with rushlight.inference_mode(False):
                assert not call().is_inference()
        assert not call().is_inference()


def test_integers_and_booleans_carry_no_gradient():
    x = rushlight.tensor([1.5, -2.0, 3.0], requires_grad=True)
    for made in (x.int(), x.long(), x.bool(), x.byte(), x.to(rushlight.int16), (2 * x).int()):
        assert not made.requires_grad and made.grad_fn is None
    assert x.double().requires_grad and x.to(rushlight.complex64).requires_grad
    (x * x.int()).sum().backward()
    assert x.grad.tolist() == [1.0, -2.0, 3.0]


def _leaf(*values):
    return rushlight.tensor(values, dtype=rushlight.float64, requires_grad=True)


def test_gradients_take_the_dtype_of_their_outputs():
    for given in (rushlight.ones(2, dtype=rushlight.int64), rushlight.ones(2)):
        x = _leaf(1.0, 2.0)
        (x * 2).backward(given)
        assert x.grad.dtype is rushlight.float64
        assert x.grad.tolist() == [2, 2]


def test_arguments_of_grad():
    grad, x, y = rushlight.autograd.grad, _leaf(1.0, 2.0), _leaf(3.0)
    assert grad((x * x).sum(), {"x": x})["x"].tolist() == [2, 4]
    with pytest.raises(RuntimeError, match="cannot be empty"):
        grad((x * x).sum(), ())
    with pytest.raises(RuntimeError, match="at index 1 appears to not have been used"):
        grad((x * x).sum(), (x, y))
    with pytest.raises(ValueError, match="allow_unused to be True or not passed"):
        grad((x * x).sum(), (x, y), materialize_grads=True, allow_unused=False)
    _, zeros = grad((x * x).sum(), (x, y), materialize_grads=True, create_graph=True)
    assert zeros.tolist() == [0]
    assert zeros.requires_grad


def test_edges_in_place_of_tensors():
    x = _leaf(1.0, 2.0)
    y = x * 2
    edge, leaf = (rushlight.autograd.graph.get_gradient_edge(t) for t in (y, x))
    to_edge, to_leaf = rushlight.autograd.grad((y * y).sum(), (edge, leaf), retain_graph=True)
    assert to_edge.tolist() == [4, 8]
    assert to_leaf.tolist() == [8, 16]
    seed = rushlight.ones(2, dtype=rushlight.float64)
    assert rushlight.autograd.grad(edge, x, seed, retain_graph=True)[0].tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="needs its gradient"):
        rushlight.autograd.grad(edge, x)


def test_hooks_that_return_what_does_not_fit():
    def run(register):
        x = _leaf(1.0, 2.0)
        y = x * 2
        register(x, y)
        y.sum().backward()

    with pytest.raises(RuntimeError, match="changed the size of value"):
        run(lambda x, y: x.register_hook(lambda g: g[:1]))
    with pytest.raises(TypeError, match="hook returned 'int'"):
        run(lambda x, y: x.register_hook(lambda g: 3))
    with pytest.raises(RuntimeError, match="got 2, but expected 1"):
        run(lambda x, y: y.grad_fn.register_prehook(lambda gs: gs * 2))
    with pytest.raises(RuntimeError, match="incorrect number of values"):
        run(lambda x, y: y.grad_fn.register_hook(lambda gs, outs: gs * 5))


def test_a_kept_gradient_is_that_after_all_hooks():
    x = _leaf(1.0, 2.0)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 3)
    y.sum().backward()
    assert y.grad.tolist() == [3, 3]


def test_hooks_at_the_end_of_the_graph():
    x, seen = _leaf(1.0, 2.0), []
    y = x * 2
    end = y.grad_fn.next_functions[0][0]
    assert end.name() == "torch::autograd::AccumulateGrad"
    end.register_prehook(lambda grads: (grads[0] * 5,))
    end.register_hook(lambda _, outs: seen.append(outs[0].tolist()))
    y.sum().backward()
    assert x.grad.tolist() == [10, 10]
    assert seen == [[10, 10]]


def test_the_end_at_a_leaf_is_a_node_that_can_be_called():
    x, seen = _leaf(1.0, 2.0), []
    end = (x * 2).grad_fn.next_functions[0][0]
    assert isinstance(end, rushlight.autograd.graph.Node)
    assert end.next_functions == () and end._sequence_nr() == 2**64 - 1
    x.register_hook(lambda grad: seen.append(grad.tolist()))
    assert end(rushlight.tensor([3.0, 4.0])) == () and end(rushlight.tensor([1.0, 1.0])) == ()
    assert x.grad.tolist() == [4, 5]
    assert seen == [[3, 4], [1, 1]]
    with pytest.raises(AttributeError, match="AccumulateGrad' object has no attribute '_saved_x'"):
        end._saved_x  # noqa: B018


def test_saved_values_by_name():
    x = _leaf(1.0, 2.0)
    y = x.exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda t: t * 3, lambda t: t)
    y.sum().backward()
    assert rushlight.allclose(x.grad, x.detach().exp() * 3)
    with pytest.raises(AttributeError, match="_saved_other"):
        _ = x.exp().grad_fn._raw_saved_other


def test_recording_is_set_by_keyword():
    with rushlight.set_grad_enabled(mode=False):
        assert not rushlight.is_grad_enabled()
    assert rushlight.is_grad_enabled()
