"""Every module with a batch, or another dimension, of no elements: outputs, gradients of inputs and
of parameters, against PyTorch. Modules, their arguments and inputs are those of PyTorch's table."""

import itertools
import warnings

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
common_modules = pytest.importorskip("torch.testing._internal.common_modules")

MOST = 6  # inputs of one module
# Not compared where PyTorch's own answer is wrong or its check is missing.
LEFT_OUT = {
    "MultiMarginLoss": "reads memory that nothing has written",
    "MultiLabelMarginLoss": "reads memory that nothing has written",
    "LazyConv1d": "without input channels it gives no output channels, and not the bias",
    "LazyConv2d": "the same", "LazyConv3d": "the same",
    "InstanceNorm1d": "in evaluation the size of running statistics is not looked at",
    "InstanceNorm2d": "the same", "InstanceNorm3d": "the same",
    "GroupNorm": "the gradient of the weight, a sum of nothing, is nan where images are empty",
}  # fmt: skip
ENTRIES = {}
for _info in common_modules.module_db:
    ENTRIES.setdefault(_info.module_cls.__name__, _info)


def _mapped(value, change):
    if isinstance(value, torch.Tensor | torch.dtype):
        return change(value)
    if isinstance(value, list | tuple):
        return type(value)(_mapped(v, change) for v in value)
    return {k: _mapped(v, change) for k, v in value.items()} if isinstance(value, dict) else value


def _without(dim):
    def narrowed(tensor):
        if isinstance(tensor, torch.dtype) or tensor.dim() <= dim:
            return tensor
        return tensor.detach().narrow(dim, 0, 0).clone()

    return narrowed


def _ours(value):
    def carried(leaf):
        if isinstance(leaf, torch.dtype):
            return getattr(rushlight, str(leaf)[6:])
        return rushlight.tensor(leaf.detach().numpy())

    return _mapped(value, carried)


def _tensors(value):
    if isinstance(value, torch.Tensor | rushlight.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for v in value for t in _tensors(v)] if isinstance(value, list | tuple) else []


def _run(library, module, args, kwargs):
    """Outputs and gradients, as arrays."""
    inputs = [t for t in _tensors([args, kwargs]) if t.is_floating_point()][:1]
    for tensor in inputs:
        tensor.requires_grad_()
    outputs = _tensors(module(*args, **kwargs))
    tracked = [out for out in outputs if out.requires_grad]
    if tracked:
        library.autograd.backward(tracked, [library.ones_like(out) for out in tracked])
    grads = [t.grad for t in (*inputs, *module.parameters())]
    return [None if t is None else t.detach().numpy() for t in (*outputs, *grads)]


def _cases(info, training):
    """Constructor and forward arguments with one dimension of every tensor empty."""
    made = info.module_inputs_func(
        info, device="cpu", dtype=torch.float32, requires_grad=False, training=training
    )
    for sample in itertools.islice(made, MOST):
        if sample.forward_input is None:
            continue
        forward = sample.forward_input
        for dim in range(4):
            given = _mapped((forward.args, dict(forward.kwargs)), _without(dim))
            if any(not t.numel() for t in _tensors(given)):
                yield sample.constructor_input, given


def _compare(info, constructor, given, training):
    torch.manual_seed(0)
    theirs = info.module_cls(*constructor.args, **constructor.kwargs).train(training)
    own = _ours(given)
    try:
        expected = _run(torch, theirs, *given)
    except (RuntimeError, ValueError, IndexError, AssertionError, NotImplementedError):
        return False  # which ours need not refuse
    rushlight.manual_seed(0)
    module = getattr(rushlight.nn, info.module_cls.__name__)(
        *_ours(constructor.args), **_ours(constructor.kwargs)
    ).train(training)
    found = _run(rushlight, module, *own)
    _assert_close(found, expected)
    return True


def _assert_close(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert (a is None) == (b is None)
        if b is not None:
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


def _plain(constructor):
    """Whether a constructor takes no modules or functions, which are the other library's."""
    values = (*constructor.args, *constructor.kwargs.values())
    return not any(callable(v) for v in values)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", sorted(set(ENTRIES) - set(LEFT_OUT)))
def test_module(name, training):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for constructor, given in _cases(ENTRIES[name], training):
            if _plain(constructor):
                _compare(ENTRIES[name], constructor, given, training)


def test_the_table_has_cases():
    """The generator itself: PyTorch takes some of the calls, so that they are compared."""
    info = ENTRIES["Linear"]
    assert sum(_compare(info, *case, True) for case in _cases(info, True)) >= 2


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("options", [{}, {"bidirectional": True, "num_layers": 2}], ids=str)
def test_recurrent_modules(kind, options):
    module = getattr(rushlight.nn, kind)(3, 4, **options)
    x = rushlight.zeros(2, 0, 3, requires_grad=True)
    out = module(x)[0]
    out.sum().backward()
    assert x.grad.shape == (2, 0, 3)
    assert all(p.grad.count_nonzero() == 0 for p in module.parameters())
    with pytest.raises(RuntimeError, match="sequence length"):
        module(rushlight.zeros(0, 2, 3))


@pytest.mark.parametrize("name", ["LayerNorm", "RMSNorm"])
@pytest.mark.parametrize("shape", [0, (0,), (2, 0)], ids=str)
def test_runs_of_no_elements(name, shape):
    module = getattr(rushlight.nn, name)(shape)
    size = (shape,) if isinstance(shape, int) else shape
    x = rushlight.zeros(3, *size, requires_grad=True)
    for _ in range(2):
        module(x).sum().backward()
    assert x.grad.shape == x.shape
    assert all(p.grad.shape == p.shape for p in module.parameters())


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("shape", [(3, 0, 4), (0, 2, 4), (0, 0, 4)], ids=str)
def test_attention(shape, need_weights):
    module = rushlight.nn.MultiheadAttention(4, 2)
    x = rushlight.zeros(shape, requires_grad=True)
    out, weights = module(x, x, x, need_weights=need_weights)
    assert out.shape == shape
    assert weights is None or weights.shape == (shape[1], shape[0], shape[0])
    out.sum().backward()
    assert x.grad.shape == shape
