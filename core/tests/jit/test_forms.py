"""Every layer and function that has a form for archives: PyTorch's results are Rushlight's."""

import subprocess
import sys
from pathlib import Path

import pytest

import rushlight
import rushlight.nn.functional as F
from rushlight import jit, nn
from rushlight.jit import forms
from rushlight.jit.forms import attention, functional  # noqa: F401 - they add to the layers

CHECK = Path(__file__).parent / "check_archives.py"
PLANE, LINE, CUBE, ROW = (2, 4, 6, 6), (2, 4, 6), (2, 4, 4, 4, 4), (3, 4)
# Layers by name: arguments, options, shapes of inputs. All others take no arguments and a row.
LAYERS = {
    "Sequential": ((nn.Linear(4, 2), nn.Tanh()), {}, [ROW]),
    "Linear": ((4, 3), {}, [ROW]),
    "Bilinear": ((4, 4, 2), {}, [ROW, ROW]),
    "Flatten": ((), {}, [PLANE]),
    "Conv1d": ((4, 4, 3), {"padding": "same", "dilation": 2}, [LINE]),
    "Conv2d": ((4, 4, 3), {"stride": 2, "groups": 2, "bias": False}, [PLANE]),
    "Conv3d": ((4, 2, 2), {"padding": 1}, [CUBE]),
    "ConvTranspose1d": ((4, 2, 3), {"stride": 2}, [LINE]),
    "ConvTranspose2d": ((4, 2, 3), {"stride": 2, "output_padding": 1}, [PLANE]),
    "ConvTranspose3d": ((4, 2, 2), {"dilation": 2}, [CUBE]),
    "BatchNorm1d": ((4,), {}, [LINE]),
    "BatchNorm2d": ((4,), {"affine": False, "momentum": None}, [PLANE]),
    "BatchNorm3d": ((4,), {"track_running_stats": False}, [CUBE]),
    "InstanceNorm1d": ((4,), {"affine": True}, [LINE]),
    "InstanceNorm2d": ((4,), {}, [PLANE]),
    "InstanceNorm3d": ((4,), {"track_running_stats": True}, [CUBE]),
    "LayerNorm": (([6, 6],), {}, [PLANE]),
    "GroupNorm": ((2, 4), {}, [PLANE]),
    "Softmax": ((1,), {}, [ROW]),
    "LogSoftmax": ((1,), {}, [ROW]),
    "Softmin": ((1,), {}, [ROW]),
    "Upsample": ((), {"scale_factor": 2.0, "mode": "bilinear"}, [PLANE]),
    "PixelShuffle": ((2,), {}, [PLANE]),
    "PixelUnshuffle": ((2,), {}, [PLANE]),
    "GELU": ((), {"approximate": "tanh"}, [ROW]),
    "PReLU": ((4,), {}, [LINE]),
    "LSTM": ((4, 5, 2), {"bidirectional": True, "proj_size": 3}, [(6, 3, 4)]),
    "GRU": ((4, 5), {"batch_first": True, "bias": False}, [(6, 3, 4)]),
    "RNN": ((4, 5), {"nonlinearity": "relu"}, [(6, 4)]),
    "LSTMCell": ((4, 5), {}, [ROW]),
    "GRUCell": ((4, 5), {}, [(4,)]),
    "MultiheadAttention": ((4, 2), {"batch_first": True}, [LINE[:2] + (4,)] * 3),
    "TransformerEncoderLayer": ((4, 2, 8), {"norm_first": True}, [(5, 3, 4)]),
    "TransformerEncoder": ((nn.TransformerEncoderLayer(4, 2, 8), 2), {}, [(5, 3, 4)]),
    "TransformerDecoderLayer": ((4, 2, 8), {"batch_first": True}, [(3, 5, 4), (3, 2, 4)]),
    "TransformerDecoder": ((nn.TransformerDecoderLayer(4, 2, 8), 2), {}, [(5, 3, 4), (2, 3, 4)]),
    "Transformer": ((4, 2, 1, 1, 8), {"norm_first": True}, [(5, 3, 4), (2, 3, 4)]),
    "RNNCell": ((4, 5), {"nonlinearity": "relu"}, [ROW]),
    "CrossEntropyLoss": ((), {"reduction": "sum"}, [ROW, ROW]),
    "BCELoss": ((), {}, [ROW, ROW]),
    "EmbeddingBag": ((4, 3), {"mode": "max", "padding_idx": -1}, []),
    "Unflatten": ((1, (2, 2)), {}, [ROW]),
    "ChannelShuffle": ((2,), {}, [PLANE]),
    "RMSNorm": (([6, 6],), {"eps": 1e-3}, [PLANE]),
    "LocalResponseNorm": ((3,), {"alpha": 0.5, "k": 2}, [CUBE]),
    "Softmax2d": ((), {}, [PLANE]),
    "Threshold": ((0.5, 2), {}, [ROW]),
    "LPPool1d": ((3, 2), {"stride": 1}, [LINE]),
    "LPPool2d": ((2, (3, 2)), {"ceil_mode": True}, [PLANE]),
    "LPPool3d": ((1.5, 2), {}, [CUBE]),
    "FractionalMaxPool2d": ((2,), {"output_size": 3, "_random_samples": "samples"}, [PLANE]),
    "FractionalMaxPool3d": (
        (2,), {"output_ratio": 0.5, "_random_samples": "samples", "return_indices": True}, [CUBE]
    ),
    "MaxUnpool1d": ((2,), {}, []),
    "MaxUnpool2d": ((2, 2), {}, []),
    "MaxUnpool3d": ((2,), {"stride": 2}, []),
    "Unfold": (((2, 3),), {"padding": 1}, [PLANE]),
    "Fold": (((3, 4), 2), {}, [(2, 8, 6)]),
    "HuberLoss": ((), {"reduction": "sum", "delta": 0.5}, [ROW, ROW]),
    "KLDivLoss": ((), {"reduction": "batchmean", "log_target": True}, [ROW, ROW]),
    "PoissonNLLLoss": ((), {"full": True}, [ROW, ROW]),
    "GaussianNLLLoss": ((), {"full": True}, [ROW, ROW, ROW[:1] + (1,)]),
    "HingeEmbeddingLoss": ((2,), {}, [ROW, "signs"]),
    "SoftMarginLoss": ((), {"reduction": "none"}, [ROW, ROW]),
    "MarginRankingLoss": ((0.5,), {}, [ROW[:1], ROW[:1], "rows of signs"]),
    "CosineEmbeddingLoss": ((0.1,), {"reduction": "sum"}, [ROW, ROW, "rows of signs"]),
    "TripletMarginLoss": ((), {"p": 1.0, "swap": True}, [ROW, ROW, ROW]),
    "MultiMarginLoss": ((), {"margin": 0.5}, [ROW, "classes"]),
    "MultiLabelMarginLoss": ((), {}, [ROW, "labels"]),
    "MultiLabelSoftMarginLoss": ((rushlight.rand(4),), {"reduction": "sum"}, [ROW, ROW]),
    "CTCLoss": ((), {"zero_infinity": True}, []),
    "CosineSimilarity": ((), {"dim": 0}, [ROW, ROW]),
    "PairwiseDistance": ((), {"p": 1, "keepdim": True}, [ROW, ROW]),
}  # fmt: skip
_GIVEN = {
    "signs": rushlight.tensor([[1.0, -1, 1, 1], [-1, 1, 1, -1], [1, 1, -1, -1]]),
    "rows of signs": rushlight.tensor([1, -1, 1]),
    "classes": rushlight.tensor([1, 0, 3]),
    "labels": rushlight.tensor([[1, 0, -1, 2], [3, -1, 0, 0], [0, 1, 2, 3]]),
}
_POOLS = {"1d": LINE, "2d": PLANE, "3d": CUBE}
_FLAT = ("Embedding", "NLLLoss")  # whose inputs are whole numbers
_TWO = ("MSELoss", "L1Loss", "SmoothL1Loss", "BCEWithLogitsLoss")


def _row(kind):
    name = kind.__name__
    if name in LAYERS:
        return LAYERS[name]
    if "Adaptive" in name:
        return (2,), {}, [_POOLS[name[-2:]]]
    if "Pool" in name:
        return (2,), {"ceil_mode": True}, [_POOLS[name[-2:]]]
    if "Pad" in name:
        return (1, 0.5)[: 2 if "Constant" in name else 1], {}, [_POOLS[name[-2:]]]
    if name in ("Dropout1d", "Dropout2d", "Dropout3d"):
        return (), {}, [_POOLS[name[-2:]]]
    return (), {}, [ROW, ROW] if name in _TWO else [ROW]


def _inputs(kind, shapes):
    made = [_GIVEN[s] if isinstance(s, str) else rushlight.rand(*s) for s in shapes]
    if kind.__name__ in ("Embedding", "EmbeddingBag"):
        made = [rushlight.tensor([[1, 2], [0, 3]])]
    if kind.__name__.startswith("MaxUnpool"):
        count = kind.__name__[-2:]
        pool = getattr(F, f"max_pool{count}")
        made = list(pool(rushlight.rand(_POOLS[count]), 2, return_indices=True))
    if kind is nn.CTCLoss:
        lengths = rushlight.tensor([5, 4]), rushlight.tensor([2, 1])
        made = [rushlight.randn(5, 2, 4).log_softmax(-1), rushlight.tensor([[1, 2], [3, 0]])]
        made += lengths
    if kind.__name__ == "NLLLoss":
        made = [rushlight.randn(3, 4), rushlight.tensor([1, 0, 3])]
    return made


def _plain(value):
    return [_plain(v) for v in value] if isinstance(value, tuple | list) else value


def _keep(folder, name, module, inputs):
    module.save(folder / f"{name}.pt")
    results = [_plain(module(*inputs))]
    rushlight.save((inputs, results), folder / f"{name}.results.pt")
    again = _plain(jit.load(folder / f"{name}.pt")(*inputs))
    for ours, wanted in zip(_tensors(again), _tensors(results[0]), strict=True):
        assert rushlight.allclose(ours, wanted, atol=1e-5), name


def _tensors(value):
    return [t for v in value for t in _tensors(v)] if isinstance(value, list) else [value]


def _check(folder):
    archives, results = folder / "archives", folder / "results"
    archives.mkdir()
    results.mkdir()
    for path in list(folder.glob("*.pt")):
        path.rename((results if ".results." in path.name else archives) / path.name)
    command = [sys.executable, "-W", "ignore", str(CHECK), str(archives), str(results)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_layers(tmp_path):
    pytest.importorskip("torch")
    rushlight.manual_seed(0)
    forms.layers.form_of(nn.Linear)  # which imports all of them
    for kind in forms.layers.FORMS:
        arguments, options, shapes = _row(kind)
        if kind.__name__ == "Embedding":
            arguments, options = (4, 3), {"padding_idx": -1}
        if "_random_samples" in options:
            count = 2 if kind is nn.FractionalMaxPool2d else 3
            options = {**options, "_random_samples": rushlight.rand(2, 4, count)}
        layer = kind(*arguments, **options).eval()
        _keep(tmp_path, kind.__name__, jit.script(layer), _inputs(kind, shapes))
    _check(tmp_path)


def relu_and_more(x):
    y = F.relu6(x) + F.selu(x) + F.silu(x) + F.mish(x) + F.hardswish(x) + F.hardsigmoid(x)
    y = y + F.leaky_relu(x, 0.2) + F.elu(x, 0.5) + F.celu(x, alpha=0.5) + F.hardtanh(x, -0.5, 0.2)
    y = y + F.threshold(x, 0.1, 2.0) + F.logsigmoid(x) + F.softsign(x) + F.tanhshrink(x)
    y = y + F.softmax(x, 1) + F.log_softmax(x, dim=-1) + F.softmin(x, 0) + F.dropout(x, 0.5, False)
    y = F.relu(y.clone(), inplace=True) + F.relu_(x.clone()) + F.alpha_dropout(x, 0.5)
    return y + F.leaky_relu(y.clone(), inplace=True) + F.elu(x.clone(), 1.0, True)


def pooled(x):
    plane = x.abs().reshape(1, 1, 3, 4) + 0.1
    line, cube = plane.squeeze(1), plane.unsqueeze(0)
    y = F.lp_pool1d(line, 3, 2).sum() + F.lp_pool2d(plane, 2, 2, stride=1).sum()
    y = y + F.lp_pool3d(cube, 2.0, [1, 2, 2]).sum()
    a, at = F.max_pool1d(line, 2, return_indices=True)
    b, bt = F.max_pool2d(plane, 2, return_indices=True)
    c, ct = F.max_pool3d(cube, [1, 2, 2], return_indices=True)
    a = F.max_unpool1d(a, at, 2)
    b = F.max_unpool2d(b, bt, 2, output_size=[3, 4])
    return y, a, b, F.max_unpool3d(c, ct, [1, 2, 2], output_size=[1, 3, 4])


def pooled_by_fractions(x):
    plane = x.reshape(1, 1, 3, 4)
    samples = x.abs().flatten()[:3].reshape(1, 1, 3) % 1
    a = F.fractional_max_pool2d(plane, 2, 2, _random_samples=samples[:, :, :2])
    b = F.fractional_max_pool2d(
        plane, [2, 2], output_ratio=0.7, return_indices=True, _random_samples=samples[:, :, :2]
    )
    c = F.fractional_max_pool2d_with_indices(plane, 2, (2, 3), None, True, samples[:, :, 1:])
    cube = x.reshape(1, 1, 3, 2, 2)
    d = F.fractional_max_pool3d(cube, (2, 1, 1), 1, _random_samples=samples)
    e = F.fractional_max_pool3d_with_indices(
        cube, (2, 1, 1), output_ratio=(0.4, 0.7, 0.5), _random_samples=samples
    )
    return a, b, c, d, e


def attended(x):
    q, weight, bias = x.reshape(3, 1, 4), x.new_ones(12, 4) * 0.1 + x.sum() / 9, x.repeat(4, 1)
    out = x[:, :3].new_ones(4, 4) * 0.5
    a = F.multi_head_attention_forward(
        q, q, q, 4, 2, weight, bias[:, 0], None, None, False, 0.0, out, bias[0]
    )
    b = F.multi_head_attention_forward(
        q[:2], q, q, 4, 2, None, bias[:, 1], bias[:1].unsqueeze(0), bias[1:2].unsqueeze(0), True,
        0.5, out, None, training=False, key_padding_mask=x[:1, :3],
        attn_mask=x[:2, :3], use_separate_proj_weight=True, q_proj_weight=weight[:4],
        k_proj_weight=weight[4:8] * 2, v_proj_weight=x[:1].expand(4, 4),
        average_attn_weights=False,
    )  # fmt: skip
    c = F.multi_head_attention_forward(
        x, x, x, 4, 4, weight, None, None, None, False, 0.0, out, None, need_weights=False
    )[0]
    return a, b, c


def more(x):
    rows = (
        F.dropout1d(x.unsqueeze(0), 0.5, False)
        + F.dropout3d(x.reshape(1, 3, 4, 1, 1), 0.5, False).sum()
    )
    y = rows + F.feature_alpha_dropout(x.unsqueeze(0)) + F.gumbel_softmax(x, hard=True).sum()
    bags = F.embedding_bag(rushlight.tensor([0, 2, 1]), x, rushlight.tensor([0, 1]), mode="sum")
    image = x.reshape(1, 3, 2, 2)
    large = F.upsample(image, [3, 3]) + F.upsample_nearest(image, size=[3, 3])
    large = large + F.upsample_bilinear(image, scale_factor=[1.5, 1.5])
    return y, bags, large, F.local_response_norm(image, 2)


def layers(x):
    mean, var = x.mean(0), x.var(0)
    y = F.batch_norm(x, mean, var, eps=1e-3) + F.layer_norm(x, [4]) + F.normalize(x, dim=0)
    rows = x.unsqueeze(-1)
    y = y + F.group_norm(rows, 2).squeeze(-1) + F.dropout2d(rows, 0.5, False).squeeze(-1)
    z = F.embedding(rushlight.tensor([0, 2]), x, padding_idx=1)
    image = x.reshape(1, 3, 2, 2)
    parts = F.unfold(image, [2, 2], padding=[1, 1])
    large = F.interpolate(image, size=[3, 3]) + F.interpolate(image, [3, 3], mode="bicubic")
    normed = F.instance_norm(image) + F.interpolate(image, scale_factor=[1.0, 1.0])
    return y, z, parts, large, normed


def losses(x):
    y, target = x * 2 + 0.1, rushlight.tensor([0, 3, 1])
    loss = F.cross_entropy(x, target, label_smoothing=0.1) + F.nll_loss(x, target, reduction="sum")
    loss = loss + F.mse_loss(x, y) + F.l1_loss(x, y, reduction="none").sum()
    loss = loss + F.smooth_l1_loss(x, y, beta=0.5) + F.huber_loss(x, y, delta=0.5)
    loss = loss + F.kl_div(x, y.softmax(1), reduction="batchmean")
    p = x.sigmoid()
    loss = loss + F.binary_cross_entropy(p, p * 0.5) + F.gaussian_nll_loss(x, y, p)
    rows, target = x[:2].reshape(2, 1, 4), rushlight.tensor([[0], [1], [0]])
    loss = loss + F.linear_cross_entropy(x, rows, target, linear_bias=rows[:, :, 0])
    loss = loss + F.linear_cross_entropy(x, x, target[:, 0], ignore_index=1, reduction="sum")
    loss = loss + F.multilabel_soft_margin_loss(x, p, reduction="none").sum()
    return loss + F.binary_cross_entropy_with_logits(x, p, pos_weight=p)


class Calls(nn.Module):
    def forward(self, x):
        found = relu_and_more(x), layers(x), losses(x), pooled(x), more(x)
        return found, pooled_by_fractions(x), attended(x)


@pytest.mark.filterwarnings("ignore:`nn.functional.upsample")
def test_functions(tmp_path):
    pytest.importorskip("torch")
    _keep(tmp_path, "calls", jit.script(Calls()), [rushlight.randn(3, 4)])
    used = {function.__name__ for function in functional.FORMS}
    text = Path(__file__).read_text()
    assert not [name for name in used if f"F.{name}(" not in text]
    _check(tmp_path)


@pytest.mark.parametrize("way", ["weight_norm", "spectral_norm", "orthogonal", "hooks"])
def test_traces_of_computed_weights(way, tmp_path):
    """What computes a weight, or is called beside a layer, is part of the trace."""
    pytest.importorskip("torch")
    rushlight.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)).eval()
    if way == "hooks":
        model[0].register_forward_pre_hook(lambda module, args: args[0] * 2)
        model[2].register_forward_hook(lambda module, args, result: result + args[0].sum())
    else:
        getattr(nn.utils.parametrizations, way)(model[0])
        model.eval()
    x = rushlight.randn(5, 4)
    _keep(tmp_path, way, jit.trace(model, x), [rushlight.randn(3, 4)])
    traced = jit.load(tmp_path / f"{way}.pt")
    assert rushlight.allclose(traced(x), model(x), atol=1e-6)
    _check(tmp_path)


def test_attention_with_more_positions(tmp_path):
    pytest.importorskip("torch")
    rushlight.manual_seed(0)
    options = {"add_bias_kv": True, "add_zero_attn": True, "kdim": 3, "vdim": 5}
    layer = nn.MultiheadAttention(4, 2, batch_first=True, **options).eval()
    inputs = [rushlight.randn(2, 3, 4), rushlight.randn(2, 6, 3), rushlight.randn(2, 6, 5)]
    _keep(tmp_path, "attention", jit.script(layer), inputs)
    _check(tmp_path)


def test_archives_of_scripted_modules_refuse_computed_weights(tmp_path):
    layer = nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))
    scripted, x = jit.script(layer), rushlight.randn(2, 4)
    assert rushlight.equal(scripted(x), layer(x))
    with pytest.raises(RuntimeError, match="computed by parametrizations.*use jit.trace"):
        scripted.save(tmp_path / "layer.pt")
