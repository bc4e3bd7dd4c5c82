"""Modules whose forward takes more than tensors, wrappers, and PyTorch's other paths to layers."""

import copy
import pickle

import numpy as np
import pytest

import rushlight
from rushlight import nn

torch = pytest.importorskip("torch")
LIBRARIES = (rushlight, torch)


def values(library, *shape, seed=0):
    random = np.random.default_rng(seed)
    return library.tensor(random.standard_normal(shape), dtype=library.float32, requires_grad=True)


def same(run, rtol=1e-5, atol=1e-6):
    found = []
    for library in LIBRARIES:
        library.manual_seed(0)
        found.append(run(library))
    assert len(found[0]) == len(found[1])
    for a, b in zip(*found, strict=True):
        if hasattr(b, "detach"):
            np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol, atol)
        else:
            assert a == b


@pytest.mark.parametrize("count", [1, 2, 3])
def test_unpooling_layers(count):
    def run(library):
        pool = getattr(library.nn, f"MaxPool{count}d")(2, 2, return_indices=True)
        unpool = getattr(library.nn, f"MaxUnpool{count}d")(2, stride=2)
        x = values(library, 2, 3, *(5, 4, 6)[:count])
        out = unpool(*pool(x), output_size=x.shape)
        (out * out).sum().backward()
        return [repr(unpool), out, x.grad, tuple(unpool(*pool(x.detach())).shape)]

    same(run)


def test_unpooling_refuses_wrong_sizes():
    out, indices = nn.MaxPool2d(2, return_indices=True)(rushlight.ones(1, 1, 4, 4))
    with pytest.raises(ValueError, match="invalid output_size"):
        nn.MaxUnpool2d(2)(out, indices, output_size=(9, 9))
    with pytest.raises(RuntimeError, match="int64"):
        nn.MaxUnpool2d(2)(out, indices.float())


def test_ctc_layer():
    def run(library):
        loss = library.nn.CTCLoss(blank=3, zero_infinity=True)
        x = values(library, 6, 2, 4)
        target, lengths = library.tensor([[1, 2], [0, 0]]), library.tensor([6, 5])
        found = loss(x.log_softmax(2), target, lengths, library.tensor([2, 1]))
        found.backward()
        return [repr(loss), found, x.grad]

    same(run)


def test_linear_cross_entropy_layer():
    def run(library):
        layer = library.nn.LinearCrossEntropyLoss(3, 4, bias=True, label_smoothing=0.1)
        loss = layer(values(library, 5, 3), library.tensor([0, 1, 2, 3, 0]))
        loss.backward()
        grads = [p.grad for p in layer.parameters()]
        return [repr(layer), list(layer.state_dict()), loss, *grads]

    same(run)


LAZY = {
    "LazyConv1d": ((3, 2), (2, 4, 5)), "LazyConv3d": ((3, 2), (2, 4, 5, 4, 3)),
    "LazyConvTranspose2d": ((3, 2), (2, 4, 5, 4)),
    "LazyConvTranspose3d": ((3, 2), (2, 4, 5, 4, 3)), "LazyBatchNorm1d": ((), (6, 4)),
    "LazyBatchNorm3d": ((), (2, 4, 5, 4, 3)), "LazyInstanceNorm2d": ((), (2, 4, 5, 4)),
    "LazyInstanceNorm3d": ((), (2, 4, 5, 4, 3)),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:Lazy modules are a new feature")
@pytest.mark.parametrize("name", LAZY)
def test_lazy_layers(name):
    def run(library):
        layer = getattr(library.nn, name)(*LAZY[name][0])
        before = [repr(layer), layer.has_uninitialized_params(), list(layer.state_dict())]
        out = layer(values(library, *LAZY[name][1]))
        return [*before, out, repr(layer), *layer.state_dict().values()]

    same(run)


def test_lazy_layers_before_their_first_batch():
    layer = nn.LazyLinear(3)
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized"):
        _ = layer.weight.shape
    for copied in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert copied.has_uninitialized_params()
        assert tuple(copied(rushlight.ones(2, 5)).shape) == (2, 3)
        assert type(copied) is nn.Linear and copied.in_features == 5
    layer.load_state_dict(nn.Linear(4, 3).state_dict())
    assert tuple(layer.weight.shape) == (3, 4)
    assert tuple(layer(rushlight.ones(1, 4)).shape) == (1, 3)


def test_cross_map_normalization_is_the_published_formula():
    x = values(rushlight, 2, 5, 3, 3)
    ours = nn.CrossMapLRN2d(3, alpha=0.2, beta=0.6, k=2.0)(x)
    assert (ours == nn.LocalResponseNorm(3, alpha=0.2, beta=0.6, k=2.0)(x)).all()
    theirs = torch.nn.CrossMapLRN2d(3, alpha=0.2, beta=0.6, k=2.0)(values(torch, 2, 5, 3, 3))
    np.testing.assert_allclose(
        ours.detach().numpy()[:, :2], theirs.detach().numpy()[:, :2], rtol=1e-5
    )


def test_sync_batch_norm_of_one_process_is_batch_norm():
    net = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm2d(3), nn.ReLU()))
    assert isinstance(net[0], nn.SyncBatchNorm) and isinstance(net[1], nn.ReLU)
    x = values(rushlight, 2, 3, 2, 2)
    plain = nn.Sequential(nn.BatchNorm2d(3), nn.ReLU())
    assert rushlight.equal(net(x), plain(x))
    assert rushlight.equal(net[0].running_var, plain[0].running_var)
    net[0].reset_running_stats()
    x = rushlight.ones(2, 3, 2, 2)
    assert rushlight.allclose(net.eval()(x), x / (1 + 1e-5) ** 0.5)


def test_wrappers_for_several_devices():
    layer = nn.Linear(3, 2)
    wrapped = nn.DataParallel(layer)
    assert list(wrapped.state_dict()) == ["module.weight", "module.bias"]
    assert (wrapped(rushlight.ones(1, 3)) == layer(rushlight.ones(1, 3))).all()
    state = wrapped.state_dict()
    nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    layer.load_state_dict(state)
    with pytest.raises(ValueError, match="make sure to call init_process_group"):
        nn.parallel.DistributedDataParallel(layer)


def test_attention_backends_are_names():
    from rushlight.nn.attention import SDPBackend, sdpa_kernel

    x = values(rushlight, 1, 2, 3, 4)
    attend = nn.functional.scaled_dot_product_attention
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
        assert (attend(x, x, x) == attend(x, x, x)).all()
    assert int(SDPBackend.MATH) == int(torch.nn.attention.SDPBackend.MATH)
    with pytest.raises(AssertionError, match="Backend must be"):
        with sdpa_kernel("fast"):
            pass


def test_pytorch_paths_to_layers():
    import rushlight.nn.modules.batchnorm as batchnorm
    from rushlight.nn.modules.conv import _ConvNd
    from rushlight.nn.modules.loss import _Loss
    from rushlight.nn.modules.utils import _pair, _triple

    assert isinstance(nn.BatchNorm1d(2), batchnorm._BatchNorm)
    assert isinstance(nn.ConvTranspose2d(1, 1, 1), _ConvNd)
    assert (
        isinstance(nn.CTCLoss(), _Loss) and _pair(3) == (3, 3) and _triple((1, 2, 3)) == (1, 2, 3)
    )
    assert nn.modules.linear.Linear is nn.Linear and nn.modules.Module is nn.Module
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = nn.modules.conv.Nothing
    files = {n for n in vars(torch.nn.modules) if not n.startswith("_") and n.islower()}
    assert {n for n in files if not hasattr(nn.modules, n)} <= {"linear_cross_entropy_options"}


def test_recurrent_layers_refuse_bad_input():
    with pytest.raises(ValueError, match="does not match weight dtype"):
        nn.LSTM(3, 4)(rushlight.ones(2, 1, 3).double())
    with pytest.raises(RuntimeError, match=r"Expected hidden size \(1, 2, 4\), got \[1, 3, 4\]"):
        nn.GRU(3, 4)(rushlight.ones(2, 2, 3), rushlight.ones(1, 3, 4))
    with pytest.raises(ValueError, match="only supported for LSTM"):
        nn.RNNBase("GRU", 3, 4, proj_size=2)
    with pytest.warns(UserWarning, match="num_layers greater than 1"):
        nn.RNN(3, 4, dropout=0.5)


def test_parameter_containers():
    def run(library):
        values = library.nn.ParameterList([library.ones(2), library.ones(1, 3), 5])
        named = library.nn.ParameterDict({"a": library.ones(2), "b": library.ones(1, 3)})
        more = named | {"c": library.zeros(1)}
        popped = more.pop("a")
        default = more.setdefault("d", library.ones(4))
        return [
            repr(values).replace("rushlight.", "torch."),
            repr(named).replace("rushlight.", "torch."), list(more), popped, default,
            more.get("x", 3),
            list(reversed(named)), [n for n, _ in more.named_parameters()], more.popitem()[0],
            len(values), list(values.state_dict()),
        ]  # fmt: skip

    same(run)


def test_hooks_of_all_modules():
    hooks, seen = nn.modules.module, []
    handles = [
        hooks.register_module_forward_pre_hook(lambda m, args: seen.append("before")),
        hooks.register_module_forward_hook(lambda m, args, out: out + 1),
        hooks.register_module_full_backward_hook(lambda m, i, o: seen.append("backward")),
        hooks.register_module_parameter_registration_hook(lambda m, n, p: seen.append(n)),
    ]
    try:
        layer = nn.Linear(2, 1)
        out = layer(rushlight.ones(1, 2, requires_grad=True))
        out.sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    assert seen == ["weight", "bias", "before", "backward"]
    assert rushlight.allclose(out, layer(rushlight.ones(1, 2)) + 1)


def test_hooks_that_are_always_called():
    seen = []

    class Broken(nn.Module):
        def forward(self, x):
            raise ValueError("broken")

    module = Broken()
    module.register_forward_hook(lambda m, args, out: seen.append(out), always_call=True)
    with pytest.raises(ValueError, match="broken"):
        module(1)
    assert seen == [None]


def test_submodules_by_name_and_own_convolutions():
    net = nn.Sequential(nn.Sequential(nn.Conv1d(1, 1, 2), nn.ReLU()))
    net.set_submodule("0.1", nn.Tanh())
    assert isinstance(net[0][1], nn.Tanh)
    with pytest.raises(AttributeError, match="has no attribute `7`"):
        net.set_submodule("0.7", nn.Tanh(), strict=True)
    conv, x = net[0][0], rushlight.ones(1, 1, 4)
    doubled = conv._conv_forward(x, conv.weight * 2, None)
    assert rushlight.allclose(doubled, (conv(x) - conv.bias) * 2)
    assert len(nn.Sequential(nn.ReLU()) * 3) == 3
