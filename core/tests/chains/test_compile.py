"""``rushlight.compile``: chains give what eager calls give, forward and backward, in one node."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

import pytest

import rushlight
from rushlight import nn
from rushlight.capture.compiling import OptimizedModule, compile
from rushlight.chains.deferred import Deferred
from rushlight.chains.expressions import can_join
from rushlight.ops._table.op import REQUIRED, TABLE

SHAPE = (1024, 128)  # as small as chains are
EXTRA = {"threshold": (0.3, 0.1), "clamp": (0.3, 0.5)}


def takes_tensors_alone(op):
    """Whether a call needs nothing but tensors."""
    others = set(range(len(op.names))) - set(op.tensor_positions)
    return all(op.defaults[position] is not REQUIRED for position in others)


JOINING = sorted(
    name
    for name, op in TABLE.items()
    if can_join(op) and (name in EXTRA or takes_tensors_alone(op))
)


def inputs(count=1, low=0.1, high=0.9):
    rushlight.manual_seed(0)
    made = [rushlight.rand(SHAPE) * (high - low) + low for _ in range(count)]
    return [x.requires_grad_() for x in made]


def both(function, *arguments):
    """Results and gradients of a function as it is and compiled."""
    found = []
    for call in (function, compile(function)):
        for x in arguments:
            x.grad = None
        out = call(*arguments)
        if out.requires_grad:
            (out * out).sum().backward()
        found.append((out.detach(), [x.grad for x in arguments]))
    return found


def check(function, *arguments, tolerance=1e-5):
    (eager, eager_grads), (chained, chained_grads) = both(function, *arguments)
    assert chained.dtype is eager.dtype
    rushlight.testing.assert_close(chained, eager, rtol=tolerance, atol=tolerance, equal_nan=True)
    for a, b in zip(chained_grads, eager_grads, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            rushlight.testing.assert_close(a, b, rtol=1e-4, atol=1e-4, equal_nan=True)


@pytest.mark.parametrize("name", JOINING)
def test_every_op_that_joins(name):
    """The op in the middle of a chain, fed by a call and feeding one."""
    op = TABLE[name]
    count = len(op.tensor_positions)
    required = [op.defaults[p] is not None for p in op.tensor_positions]
    extra = EXTRA.get(name, ())

    def function(*tensors):
        operands = [x * 0.75 if i == 0 else x for i, x in enumerate(tensors)]
        return op.function(*operands, *extra) * 1.5 + tensors[0]

    check(function, *inputs(count if all(required) and not extra else 1))


def test_activation_written_out():
    def gelu(x, b, w):
        y = x * w + b
        return 0.5 * y * (1 + rushlight.tanh(0.7978845608 * (y + 0.044715 * y**3))) - x

    x, b, w = inputs(3, -1.0, 1.0)
    check(gelu, x, b[0].detach().requires_grad_(), w[0].detach().requires_grad_())


def test_one_node():
    (x,) = inputs()
    out = compile(lambda x: (x * 2 + 1).sin() * x)(x)
    assert type(out) is rushlight.Tensor
    assert out.grad_fn.name().startswith("Chain")
    assert all(type(f).__name__ == "AccumulateGrad" for f, _ in out.grad_fn.next_functions)


def test_second_order():
    (x,) = inputs()
    call = compile(lambda x: (x * x).sin() * 2.0)
    (first,) = rushlight.autograd.grad(call(x).sum(), x, create_graph=True)
    (second,) = rushlight.autograd.grad(first.sum(), x)
    expected = 4 * (x * x).cos() - 8 * x * x * (x * x).sin()
    rushlight.testing.assert_close(second, expected.detach(), rtol=1e-5, atol=1e-5)


def test_new_numbers_make_no_new_op():
    from rushlight.chains import expressions

    (x,) = inputs()
    call = compile(lambda x, a: (x * a).sin() + a)
    call(x, 0.25)
    made = len(expressions._made)
    for a in (0.5, 0.75, 3.25):
        rushlight.testing.assert_close(call(x, a), (x * a).sin() + a)
    assert len(expressions._made) == made


def test_results_between_are_not_kept():
    (x,) = inputs()
    seen = []

    def function(x):
        y = x * 2
        seen.append(weakref.ref(y))
        assert type(y) is Deferred
        return y.sin()

    compile(function)(x)
    gc.collect()
    assert seen[0]() is None


def test_looking_at_elements():
    (x,) = inputs()

    def function(x):
        y = x * 2
        assert y.shape == SHAPE
        assert y.ndim == 2
        assert y.requires_grad
        if y.sum() > 0:
            y = y + float(y[0, 0])
        return y.numel(), y

    count, y = compile(function)(x)
    assert count == y.numel() == x.numel()
    rushlight.testing.assert_close(y, x * 2 + float(x[0, 0] * 2))


def test_writing_in_place():
    def function(x):
        y = x * 2
        y.add_(1)
        z = y.sin()
        x.mul_(0.0)
        x[0] = 3.0
        return z + x

    results = []
    for call in (function, compile(function)):
        (x,) = inputs()
        results.append(call(x.detach()))
    rushlight.testing.assert_close(results[1], results[0])


def test_writing_into_what_waits():
    """It joins the chain; what was made of the value before keeps the value before."""

    def function(x):
        y = x * 2
        z = y + 1
        y.mul_(3.0).add_(x).sub_(0.5)
        y += x
        return y, z

    (x,) = inputs(1, -1.0, 1.0)
    y, z = compile(function)(x)
    assert y.grad_fn.name().startswith("Chain")
    rushlight.testing.assert_close(z, x * 2 + 1)
    rushlight.testing.assert_close(y, x * 8 - 0.5)
    check(lambda x: function(x)[0], x)


def test_writing_without_recording():
    def function(x):
        y = x * 2
        with rushlight.no_grad():
            y.mul_(3.0)
        return y

    (x,) = inputs()
    y = compile(function)(x)
    y.sum().backward()
    rushlight.testing.assert_close(y, x * 6)
    rushlight.testing.assert_close(x.grad, rushlight.full(SHAPE, 2.0))


def test_inference_mode():
    (x,) = inputs()
    with rushlight.inference_mode():
        y = compile(lambda x: (x * 2).sin())(x)
    assert y.is_inference()
    assert not y.requires_grad
    rushlight.testing.assert_close(y.clone(), (x * 2).sin().detach())


def test_normalization_in_eval_joins():
    rushlight.manual_seed(2)
    layers = nn.Sequential(nn.BatchNorm2d(8), nn.ReLU(inplace=True)).eval()
    layers[0].running_mean.uniform_()
    layers[0].running_var.uniform_(0.5, 2.0)
    x = rushlight.randn(4, 8, 64, 64)
    with rushlight.no_grad():
        before = layers(x)
        rushlight.testing.assert_close(compile(layers)(x), before)
    out = compile(layers)(x)
    assert out.grad_fn.name().startswith("Chain")


def test_writing_past_the_ops_is_noticed():
    (x,) = inputs()
    x = x.detach()

    def function(x):
        y = x * 2
        other = rushlight.from_numpy(x.numpy())
        other._storage = x._storage
        x._storage.version += 1
        return y + 1

    x.storage()  # it has one from here on
    x.add_(0.0)
    with pytest.raises(RuntimeError, match="modified in place"):
        compile(function)(x)


def test_grad_modes_inside():
    (x,) = inputs()

    def function(x):
        with rushlight.no_grad():
            h = x * 2 + 1
        k = x * 3
        return h, k, (k + h).sum()

    h, k, total = compile(function)(x)
    total.backward()
    assert not h.requires_grad
    assert k.requires_grad
    rushlight.testing.assert_close(x.grad, rushlight.full(SHAPE, 3.0))


def test_small_other_dtypes_and_errors_are_as_ever():
    call = compile(lambda x, y: x + y * 2)
    for dtype in (rushlight.float64, rushlight.int64, rushlight.bfloat16):
        x = rushlight.ones(SHAPE, dtype=dtype)
        assert call(x, x).dtype is dtype
    assert call(rushlight.ones(3), rushlight.ones(3)).tolist() == [3.0, 3.0, 3.0]
    with pytest.raises(RuntimeError, match="The size of tensor"):
        call(rushlight.ones(100, 128), rushlight.ones(100, 100))


def test_error_leaves_the_interpreters_in_order():
    (x,) = inputs()
    kept = []

    def function(x):
        kept.append(x * 2)
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        compile(function)(x)
    rushlight.testing.assert_close(kept[0] + 1, x * 2 + 1)


def test_under_autocast():
    (x,) = inputs()
    weight = rushlight.rand(128, 128)
    call = compile(lambda x: (x * 2) @ weight + 1)
    with rushlight.autocast("cpu"):
        assert call(x).dtype is rushlight.bfloat16


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(128, 128)

    def forward(self, x):
        y = self.linear(x)
        return y * rushlight.sigmoid(y) + x


def test_module():
    rushlight.manual_seed(1)
    module = Gated()
    (x,) = inputs()
    compiled = rushlight.compile(module)
    assert isinstance(compiled, OptimizedModule)
    assert list(compiled.state_dict()) == ["_orig_mod.linear.weight", "_orig_mod.linear.bias"]
    assert compiled.linear is module.linear
    rushlight.testing.assert_close(compiled(x), module(x))
    compiled.eval()
    assert not module.training
    again = pickle.loads(pickle.dumps(compiled))
    rushlight.testing.assert_close(again(x), module(x))
    assert copy.deepcopy(compiled)._orig_mod is not module


def test_module_in_place():
    module = Gated()
    (x,) = inputs()
    before = module(x)
    module.compile()
    assert module(x).grad_fn.name().startswith("Chain")
    rushlight.testing.assert_close(module(x), before)
    twin = copy.deepcopy(module)
    assert twin.forward.module is twin
    rushlight.testing.assert_close(twin(x), before)


def test_what_does_not_pay_runs_as_it_is():
    """The first call of a kind tells; the results are the same to the bit."""
    kinds = []

    def function(x):
        y = x * 2
        kinds.append(type(y) is Deferred)
        return ((y + 1) * x - 0.5).sin()

    call = compile(function)
    few, many = rushlight.rand(1024, 128), rushlight.rand(1024, 1024)
    first, second = call(few), call(few)
    assert kinds == [True, False]
    assert rushlight.equal(first, second)
    kinds.clear()
    call(many), call(many), call(few), call(few.requires_grad_())
    assert kinds == [True, True, False, False]
    with rushlight.no_grad():
        call(many)
    assert kinds[-1]


def test_modules_of_both_modes_are_told_apart():
    kinds = []

    class Layer(nn.Module):
        def forward(self, x):
            y = x * 2
            kinds.append(type(y) is Deferred)
            return (y + 1).sin() if self.training else y + 1

    module, x = Layer(), rushlight.rand(SHAPE)
    module.compile()
    for training in (True, True, False, False):
        module.train(training)(x)
    assert kinds == [True, False, True, False]


def test_a_compiled_module_is_pickled():
    module = Gated()
    module.compile()
    again = pickle.loads(pickle.dumps(module))
    assert again.forward.module is again
    (x,) = inputs()
    rushlight.testing.assert_close(again(x), module(x))


def test_arguments():
    def function(x):
        return x

    assert rushlight.compile(function, disable=True) is function
    assert rushlight.compile(function, backend="eager")(3) == 3
    assert rushlight.compile(fullgraph=True, dynamic=False, mode="max-autotune")(function)(3) == 3
    with pytest.raises(RuntimeError, match="backend must be"):
        rushlight.compile(function, backend="nope")
    with pytest.raises(RuntimeError, match="mode must be one of"):
        rushlight.compile(function, mode="nope")
    with pytest.raises(RuntimeError, match="not both"):
        rushlight.compile(function, mode="default", options={})
    with pytest.raises(TypeError, match="must be callable"):
        rushlight.compile(3)
