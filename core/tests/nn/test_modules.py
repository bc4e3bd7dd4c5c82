"""Modules: registration, state dicts, hooks, and agreement with PyTorch under one seed."""

import copy
import pickle

import numpy as np
import pytest

import rushlight
from rushlight import nn

LAYERS = {
    "Linear": (lambda nn: nn.Linear(5, 3), (4, 5)),
    "Linear without bias": (lambda nn: nn.Linear(5, 3, bias=False), (2, 4, 5)),
    "Bilinear": (lambda nn: nn.Bilinear(5, 4, 3), [(6, 5), (6, 4)]),
    "Conv1d": (lambda nn: nn.Conv1d(2, 4, 3, stride=2, padding=1, dilation=2), (3, 2, 11)),
    "Conv2d": (lambda nn: nn.Conv2d(4, 6, (3, 2), padding=(1, 0), groups=2), (2, 4, 7, 6)),
    "Conv2d same": (lambda nn: nn.Conv2d(2, 3, 4, padding="same"), (2, 2, 7, 6)),
    "Conv2d reflect": (
        lambda nn: nn.Conv2d(2, 3, 3, padding=1, padding_mode="reflect"), (2, 2, 7, 6)
    ),
    "Conv3d": (lambda nn: nn.Conv3d(2, 3, 2), (2, 2, 4, 4, 3)),
    "ConvTranspose1d": (lambda nn: nn.ConvTranspose1d(2, 4, 3, stride=2, padding=1), (3, 2, 6)),
    "ConvTranspose2d": (
        lambda nn: nn.ConvTranspose2d(4, 6, 3, 2, 1, output_padding=1, groups=2), (2, 4, 5, 6)
    ),
    "BatchNorm1d": (lambda nn: nn.BatchNorm1d(3), (6, 3)),
    "BatchNorm2d": (lambda nn: nn.BatchNorm2d(3, momentum=None), (2, 3, 4, 5)),
    "LayerNorm": (lambda nn: nn.LayerNorm((4, 5)), (2, 3, 4, 5)),
    "RMSNorm": (lambda nn: nn.RMSNorm(5), (2, 3, 5)),
    "GroupNorm": (lambda nn: nn.GroupNorm(2, 4), (2, 4, 5)),
    "InstanceNorm2d": (lambda nn: nn.InstanceNorm2d(3, affine=True), (2, 3, 4, 5)),
    "MaxPool2d": (lambda nn: nn.MaxPool2d(3, 2, 1, ceil_mode=True), (2, 3, 8, 7)),
    "MaxPool1d": (lambda nn: nn.MaxPool1d(3, dilation=2), (2, 3, 12)),
    "AvgPool2d": (lambda nn: nn.AvgPool2d(3, 2, 1, count_include_pad=False), (2, 3, 8, 7)),
    "AvgPool1d": (lambda nn: nn.AvgPool1d(3), (2, 3, 12)),
    "AdaptiveAvgPool2d": (lambda nn: nn.AdaptiveAvgPool2d((3, None)), (2, 3, 8, 7)),
    "AdaptiveMaxPool2d": (lambda nn: nn.AdaptiveMaxPool2d(2), (2, 3, 8, 7)),
    "Dropout": (lambda nn: nn.Dropout(0.3), (5, 6)),
    "Dropout2d": (lambda nn: nn.Dropout2d(0.3), (5, 6, 2, 2)),
    "PReLU": (lambda nn: nn.PReLU(3), (2, 3, 4)),
    "GLU": (lambda nn: nn.GLU(1), (2, 4)),
    "Softmax": (lambda nn: nn.Softmax(1), (2, 4)),
    "LogSoftmax": (lambda nn: nn.LogSoftmax(-1), (2, 4)),
    "Sequential": (
        lambda nn: nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Unflatten(1, (2, 2)), nn.Flatten()),
        (3, 5),
    ),
    "LSTM": (lambda nn: nn.LSTM(5, 4, 2, bidirectional=True, batch_first=True), (3, 6, 5)),
    "LSTM unbatched": (lambda nn: nn.LSTM(5, 4), (6, 5)),
    "GRU": (lambda nn: nn.GRU(5, 4, 2), (6, 3, 5)),
    "RNN": (lambda nn: nn.RNN(5, 4, nonlinearity="relu", bidirectional=True), (6, 3, 5)),
    "LSTMCell": (lambda nn: nn.LSTMCell(5, 4), (3, 5)),
    "GRUCell": (lambda nn: nn.GRUCell(5, 4), (3, 5)),
}  # fmt: skip
SIMPLE = ["ReLU", "ReLU6", "SELU", "SiLU", "Mish", "Hardswish", "Hardsigmoid", "LeakyReLU", "ELU",
          "CELU", "Softplus", "Softshrink", "Hardshrink", "Sigmoid", "Tanh", "LogSigmoid",
          "Softsign", "Tanhshrink", "GELU", "Hardtanh"]  # fmt: skip
for _name in SIMPLE:
    LAYERS[_name] = (lambda nn, name=_name: getattr(nn, name)(), (3, 4))


def run(library, make, shapes):
    """Parameters, outputs and gradients of one module under one seed."""
    library.manual_seed(0)
    module = make(library.nn)
    random = np.random.default_rng(0)
    shapes = shapes if isinstance(shapes, list) else [shapes]
    inputs = [
        library.tensor(random.standard_normal(s), dtype=library.float32, requires_grad=True)
        for s in shapes
    ]
    out = module(*inputs)
    first = out
    while isinstance(first, tuple):
        first = first[0]
    (first * first).sum().backward()
    state = {k: v.detach().numpy() for k, v in module.state_dict().items()}
    gradients = [p.grad.numpy() for p in [*inputs, *module.parameters()] if p.grad is not None]
    return repr(module), state, first.detach().numpy(), gradients


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel")
@pytest.mark.parametrize("name", LAYERS)
def test_layers_agree_with_torch(name):
    torch = pytest.importorskip("torch")
    ours, theirs = run(rushlight, *LAYERS[name]), run(torch, *LAYERS[name])
    assert ours[0] == theirs[0]
    assert list(ours[1]) == list(theirs[1])
    for key in theirs[1]:
        np.testing.assert_allclose(ours[1][key], theirs[1][key], rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(ours[2], theirs[2], rtol=2e-5, atol=2e-6)
    assert len(ours[3]) == len(theirs[3])
    for a, b in zip(ours[3], theirs[3], strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)


LOSSES = {
    "CrossEntropyLoss": ({"label_smoothing": 0.1, "ignore_index": 1}, "classes"),
    "NLLLoss": ({}, "classes"),
    "MSELoss": ({}, "same"),
    "L1Loss": ({"reduction": "sum"}, "same"),
    "SmoothL1Loss": ({"beta": 0.5}, "same"),
    "HuberLoss": ({"delta": 0.7}, "same"),
    "BCEWithLogitsLoss": ({}, "probabilities"),
    "KLDivLoss": ({"reduction": "batchmean"}, "probabilities"),
    "SoftMarginLoss": ({}, "signs"),
    "HingeEmbeddingLoss": ({"margin": 0.5}, "signs"),
    "PoissonNLLLoss": ({"full": True}, "counts"),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_agree_with_torch(name):
    torch = pytest.importorskip("torch")
    options, kind = LOSSES[name]
    random = np.random.default_rng(0)
    scores = random.standard_normal((6, 4))
    target = {
        "classes": random.integers(0, 4, 6), "same": random.standard_normal((6, 4)),
        "probabilities": random.random((6, 4)), "signs": np.sign(random.standard_normal((6, 4))),
        "counts": random.integers(1, 9, (6, 4)).astype(float),
    }[kind]  # fmt: skip
    found = []
    for library in (rushlight, torch):
        x = library.tensor(scores, requires_grad=True)
        loss = getattr(library.nn, name)(**options)(x, library.tensor(target))
        loss.backward()
        found.append((loss.item(), x.grad.numpy()))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-10)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-9, atol=1e-12)


def test_cross_entropy_errors():
    loss = nn.CrossEntropyLoss()
    with pytest.raises(IndexError, match="Target 7 is out of bounds"):
        loss(rushlight.ones(2, 3), rushlight.tensor([0, 7]))
    with pytest.raises(ValueError, match=r"Expected target of shape \[2\] .* got \[3\]"):
        loss(rushlight.ones(2, 3), rushlight.tensor([0, 1, 2]))
    with pytest.raises(RuntimeError, match="expected target of dtype rushlight.int64"):
        loss(rushlight.ones(2, 3), rushlight.ones(2))


def test_embedding_rows_and_gradients():
    torch = pytest.importorskip("torch")
    found = []
    for library in (rushlight, torch):
        library.manual_seed(1)
        table = library.nn.Embedding(6, 3, padding_idx=2, scale_grad_by_freq=True)
        out = table(library.tensor([[0, 2, 5], [5, 5, 1]]))
        (out * out).sum().backward()
        bag = library.nn.EmbeddingBag(6, 3, mode="mean", padding_idx=1)
        bags = bag(library.tensor([0, 1, 4, 4, 5]), library.tensor([0, 2, 2]))
        (bags * bags).sum().backward()
        found.append([t.detach().numpy() for t in (out, table.weight.grad, bags, bag.weight.grad)])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    with pytest.raises(IndexError, match="index out of range in self"):
        nn.Embedding(2, 2)(rushlight.tensor([5]))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.blocks = nn.ModuleList([nn.Linear(4, 4), nn.BatchNorm1d(4)])
        self.named = nn.ModuleDict({"out": nn.Linear(4, 2)})
        self.scale = nn.Parameter(rushlight.ones(1))
        self.register_buffer("mask", rushlight.ones(4))
        self.register_buffer("scratch", rushlight.zeros(1), persistent=False)
        self.shared = self.first

    def forward(self, x):
        x = self.first(x) * self.mask
        for block in self.blocks:
            x = block(x)
        return self.named["out"](x) * self.scale


def test_registration():
    net = Net()
    names = [name for name, _ in net.named_parameters()]
    assert names[0] == "scale" and "blocks.1.weight" in names and "shared.weight" not in names
    assert "shared.weight" in net.state_dict() and "scratch" not in net.state_dict()
    assert [n for n, _ in net.named_buffers()][:2] == ["mask", "scratch"]
    net.scale = None
    assert net.scale is None and "scale" not in net.state_dict()
    with pytest.raises(TypeError, match="cannot assign 'Tensor' as parameter 'scale'"):
        net.scale = rushlight.ones(1)
    with pytest.raises(AttributeError, match="before Module.__init__"):
        type("Late", (nn.Module,), {"__init__": lambda self: setattr(self, "x", nn.ReLU())})()
    with pytest.raises(NotImplementedError, match='missing the required "forward"'):
        nn.Module()(1)
    unmade = type("Unmade", (nn.Module,), {"__init__": lambda self: None})()
    with pytest.raises(AttributeError, match="'Unmade' object has no attribute '_forward_hooks'"):
        unmade(1)


def test_state_dict_errors_list_everything():
    net = Net()
    state = net.state_dict()
    del state["mask"]
    state["extra"] = rushlight.ones(1)
    state["first.weight"] = rushlight.ones(2, 2)
    with pytest.raises(RuntimeError) as caught:
        net.load_state_dict(state)
    text = str(caught.value)
    assert 'Missing key(s) in state_dict: "mask"' in text
    assert 'Unexpected key(s) in state_dict: "extra"' in text
    assert (
        "size mismatch for first.weight: copying a param with shape rushlight.Size([2, 2])" in text
    )
    state["first.weight"] = net.first.weight
    keys = net.load_state_dict(state, strict=False)
    assert keys.missing_keys == ["mask"] and keys.unexpected_keys == ["extra"]


def test_modes_apply_and_conversion():
    net = Net().eval()
    assert not net.blocks[1].training
    net.apply(lambda m: nn.init.zeros_(m.weight) if isinstance(m, nn.Linear) else None)
    assert net.first.weight.abs().sum() == 0
    weight = net.first.weight
    net.double()
    assert net.first.weight is weight and weight.dtype is rushlight.float64
    assert net.blocks[1].num_batches_tracked.dtype is rushlight.int64
    with pytest.raises(TypeError, match="only accepts floating point"):
        net.to(rushlight.int64)
    empty = Net().to("meta")
    assert empty.first.weight.is_meta
    assert not empty.to_empty(device="cpu").first.weight.is_meta


def test_forward_hooks():
    layer, seen = nn.Linear(2, 2), []
    layer.register_forward_pre_hook(lambda m, args: (args[0] * 0,))
    handle = layer.register_forward_hook(
        lambda m, args, out: (seen.append(args[0].sum()), out + 1)[1]
    )
    out = layer(rushlight.ones(1, 2))
    assert seen[0] == 0 and rushlight.allclose(out, layer.bias + 1)
    handle.remove()
    layer(rushlight.ones(1, 2))
    assert len(seen) == 1


def test_backward_hooks_see_and_replace_gradients():
    layer, seen = nn.Linear(2, 2), []
    layer.register_full_backward_hook(
        lambda m, inputs, outputs: (
            seen.append((inputs[0].shape, outputs[0].shape)),
            (inputs[0] * 2,),
        )[1]
    )
    x = rushlight.ones(1, 2, requires_grad=True)
    layer(x).sum().backward()
    assert seen == [((1, 2), (1, 2))]
    assert rushlight.allclose(x.grad, layer.weight.sum(0, keepdim=True) * 2)


def test_copies_and_pickles():
    net = Net()
    for copied in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert copied.first is copied.shared
        assert (copied.first.weight == net.first.weight).all()
        assert copied.first.weight is not net.first.weight


def test_containers():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    assert len(net[:2]) == 2 and isinstance(net[-1], nn.Linear)
    del net[1]
    assert [n for n, _ in net.named_children()] == ["0", "1"]
    net.insert(1, nn.Tanh())
    assert isinstance(net[1], nn.Tanh)
    values = nn.ParameterList([rushlight.ones(1), rushlight.ones(2)])
    assert len(list(values.parameters())) == 2 and values[-1].shape == (2,)
    named = nn.ParameterDict({"a": rushlight.ones(1)})
    assert "a" in named and named["a"].requires_grad


def test_clipping_follows_torch():
    torch = pytest.importorskip("torch")
    found = []
    for library in (rushlight, torch):
        p = library.ones(3, requires_grad=True)
        (p * library.tensor([3.0, -4.0, 12.0])).sum().backward()
        norm = library.nn.utils.clip_grad_norm_([p], 2.0)
        clipped = p.grad.tolist()
        library.nn.utils.clip_grad_value_([p], 0.5)
        found.append((norm.item(), clipped, p.grad.tolist()))
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-6)
    assert found[0][0] == found[1][0] and found[0][2] == pytest.approx(found[1][2])


def test_attention_follows_torch():
    torch = pytest.importorskip("torch")
    values = np.random.default_rng(0).standard_normal((3, 2, 4, 5, 6))
    found = []
    for library in (rushlight, torch):
        q, k, v = (library.tensor(x) for x in values)
        attend = library.nn.functional.scaled_dot_product_attention
        mask = library.ones(5, 5).tril() > 0
        found.append(
            [
                attend(q, k, v).numpy(),
                attend(q, k, v, is_causal=True).numpy(),
                attend(q, k, v, mask).numpy(),
                attend(q, k, v, mask.double()).numpy(),
            ]
        )
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)


@pytest.mark.parametrize("p", [0.0, 0.3])
def test_dropout_after_attention_draws_as_pytorch(p):
    """Batch first, the output of attention lies in memory as PyTorch's: dropout follows that."""
    torch = pytest.importorskip("torch")
    found = []
    for library in (rushlight, torch):
        library.manual_seed(3)
        attend = library.nn.MultiheadAttention(8, 2, dropout=p, batch_first=True)
        x = library.randn(3, 5, 8)
        out, _ = attend(x, x, x, need_weights=False)
        found.append(library.nn.functional.dropout(out, 0.5).detach().numpy())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4, atol=1e-5)
