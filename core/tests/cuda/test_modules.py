"""Modules of `nn` on a CUDA device: results and gradients agree with the CPU."""

from __future__ import annotations

import pytest
from kernel_cases import two_devices

import rushlight
from rushlight import nn
from rushlight.machine.cuda import runtime


def randn(*shape):
    return rushlight.randn(*shape)


def classes(high, *shape):
    return rushlight.randint(0, high, shape)


def lengths(*values):
    return rushlight.tensor(values)


MODULES = {
    "Linear": (lambda: nn.Linear(4, 3), lambda: (randn(2, 5, 4),)),
    "Bilinear": (lambda: nn.Bilinear(3, 4, 2), lambda: (randn(5, 3), randn(5, 4))),
    "Conv1d": (lambda: nn.Conv1d(3, 4, 3, padding=1), lambda: (randn(2, 3, 9),)),
    "Conv2d": (lambda: nn.Conv2d(4, 6, 3, 2, 1, groups=2), lambda: (randn(2, 4, 7, 8),)),
    "Conv2d dilated": (lambda: nn.Conv2d(2, 3, 3, dilation=2), lambda: (randn(1, 2, 9, 9),)),
    "Conv2d depthwise": (lambda: nn.Conv2d(4, 4, 3, groups=4), lambda: (randn(2, 4, 6, 6),)),
    "Conv2d reflected": (
        lambda: nn.Conv2d(2, 3, 3, padding=1, padding_mode="reflect"), lambda: (randn(1, 2, 5, 5),)
    ),
    "Conv3d": (lambda: nn.Conv3d(2, 3, 2), lambda: (randn(1, 2, 4, 4, 4),)),
    "ConvTranspose1d": (lambda: nn.ConvTranspose1d(3, 2, 3, 2), lambda: (randn(2, 3, 5),)),
    "ConvTranspose2d": (
        lambda: nn.ConvTranspose2d(3, 2, 3, 2, 1, 1), lambda: (randn(2, 3, 4, 4),)
    ),
    "MaxPool1d": (lambda: nn.MaxPool1d(2), lambda: (randn(2, 3, 8),)),
    "MaxPool2d": (lambda: nn.MaxPool2d(3, 2, 1), lambda: (randn(2, 3, 8, 8),)),
    "MaxPool3d": (lambda: nn.MaxPool3d(2), lambda: (randn(1, 2, 4, 4, 4),)),
    "AvgPool2d": (lambda: nn.AvgPool2d(3, 2, 1), lambda: (randn(2, 3, 8, 8),)),
    "AdaptiveAvgPool2d": (lambda: nn.AdaptiveAvgPool2d((3, 2)), lambda: (randn(2, 3, 8, 7),)),
    "AdaptiveMaxPool2d": (lambda: nn.AdaptiveMaxPool2d(3), lambda: (randn(2, 3, 8, 7),)),
    "LPPool2d": (lambda: nn.LPPool2d(2, 2), lambda: (randn(2, 3, 8, 8).abs() + 0.1,)),
    "BatchNorm1d": (lambda: nn.BatchNorm1d(4), lambda: (randn(6, 4),)),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(3), lambda: (randn(2, 3, 5, 5),)),
    "BatchNorm2d eval": (lambda: nn.BatchNorm2d(3).eval(), lambda: (randn(2, 3, 5, 5),)),
    "InstanceNorm2d": (lambda: nn.InstanceNorm2d(3, affine=True), lambda: (randn(2, 3, 5, 5),)),
    "LayerNorm": (lambda: nn.LayerNorm((4, 5)), lambda: (randn(3, 4, 5),)),
    "GroupNorm": (lambda: nn.GroupNorm(2, 6), lambda: (randn(2, 6, 4, 4),)),
    "RMSNorm": (lambda: nn.RMSNorm(5), lambda: (randn(3, 4, 5),)),
    "LocalResponseNorm": (lambda: nn.LocalResponseNorm(3), lambda: (randn(2, 5, 4, 4),)),
    "Embedding": (lambda: nn.Embedding(7, 3, padding_idx=0), lambda: (classes(7, 2, 5),)),
    "EmbeddingBag": (
        lambda: nn.EmbeddingBag(7, 3, mode="mean"), lambda: (classes(7, 6), lengths(0, 2, 3))
    ),
    "RNN": (lambda: nn.RNN(3, 4, 2), lambda: (randn(5, 2, 3),)),
    "LSTM": (lambda: nn.LSTM(3, 4, bidirectional=True), lambda: (randn(5, 2, 3),)),
    "GRU": (lambda: nn.GRU(3, 4, batch_first=True), lambda: (randn(2, 5, 3),)),
    "LSTMCell": (lambda: nn.LSTMCell(3, 4), lambda: (randn(2, 3),)),
    "MultiheadAttention": (
        lambda: nn.MultiheadAttention(8, 2, batch_first=True),
        lambda: (randn(2, 5, 8), randn(2, 6, 8), randn(2, 6, 8)),
    ),
    "TransformerEncoderLayer": (
        lambda: nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True),
        lambda: (randn(2, 5, 8),),
    ),
    "Transformer": (
        lambda: nn.Transformer(8, 2, 1, 1, 16, 0.0), lambda: (randn(4, 2, 8), randn(3, 2, 8))
    ),
    "Softmax": (lambda: nn.Softmax(1), lambda: (randn(2, 3, 4),)),
    "LogSoftmax": (lambda: nn.LogSoftmax(-1), lambda: (randn(2, 3, 4),)),
    "GLU": (lambda: nn.GLU(), lambda: (randn(3, 6),)),
    "PReLU": (lambda: nn.PReLU(3), lambda: (randn(2, 3, 4),)),
    "Hardswish": (lambda: nn.Hardswish(), lambda: (randn(20),)),
    "Mish": (lambda: nn.Mish(), lambda: (randn(20),)),
    "Softplus": (lambda: nn.Softplus(2.0, 3.0), lambda: (randn(20),)),
    "Flatten": (lambda: nn.Flatten(), lambda: (randn(2, 3, 4),)),
    "Unfold": (lambda: nn.Unfold(2), lambda: (randn(2, 3, 5, 5),)),
    "Fold": (lambda: nn.Fold((4, 4), 2), lambda: (randn(1, 8, 9),)),
    "PixelShuffle": (lambda: nn.PixelShuffle(2), lambda: (randn(1, 8, 3, 3),)),
    "Upsample nearest": (lambda: nn.Upsample(scale_factor=2), lambda: (randn(1, 2, 3, 3),)),
    "Upsample bilinear": (
        lambda: nn.Upsample(scale_factor=2, mode="bilinear"), lambda: (randn(1, 2, 3, 3),)
    ),
    "Upsample bicubic": (
        lambda: nn.Upsample((5, 6), mode="bicubic"), lambda: (randn(1, 2, 3, 3),)
    ),
    "ReflectionPad2d": (lambda: nn.ReflectionPad2d(2), lambda: (randn(1, 2, 4, 4),)),
    "ZeroPad2d": (lambda: nn.ZeroPad2d((1, 2, 0, 1)), lambda: (randn(1, 2, 4, 4),)),
    "CircularPad1d": (lambda: nn.CircularPad1d(2), lambda: (randn(1, 2, 5),)),
    "CosineSimilarity": (lambda: nn.CosineSimilarity(), lambda: (randn(4, 5), randn(4, 5))),
    "PairwiseDistance": (lambda: nn.PairwiseDistance(), lambda: (randn(4, 5), randn(4, 5))),
    "CrossEntropyLoss": (
        lambda: nn.CrossEntropyLoss(label_smoothing=0.1), lambda: (randn(4, 5), classes(5, 4))
    ),
    "CrossEntropyLoss of images": (
        lambda: nn.CrossEntropyLoss(ignore_index=0),
        lambda: (randn(2, 5, 3, 3), classes(5, 2, 3, 3)),
    ),
    "NLLLoss": (lambda: nn.NLLLoss(), lambda: (randn(4, 5), classes(5, 4))),
    "MSELoss": (lambda: nn.MSELoss(), lambda: (randn(4, 5), randn(4, 5))),
    "L1Loss": (lambda: nn.L1Loss(), lambda: (randn(4, 5), randn(4, 5))),
    "SmoothL1Loss": (lambda: nn.SmoothL1Loss(), lambda: (randn(4, 5), randn(4, 5))),
    "HuberLoss": (lambda: nn.HuberLoss(), lambda: (randn(4, 5), randn(4, 5))),
    "BCEWithLogitsLoss": (
        lambda: nn.BCEWithLogitsLoss(), lambda: (randn(4, 5), classes(2, 4, 5).float())
    ),
    "BCELoss": (
        lambda: nn.BCELoss(), lambda: (randn(4, 5).sigmoid(), classes(2, 4, 5).float())
    ),
    "KLDivLoss": (
        lambda: nn.KLDivLoss(reduction="batchmean"),
        lambda: (randn(4, 5).log_softmax(1), randn(4, 5).softmax(1)),
    ),
    "HingeEmbeddingLoss": (
        lambda: nn.HingeEmbeddingLoss(), lambda: (randn(4, 5), classes(2, 4, 5) * 2 - 1)
    ),
    "MarginRankingLoss": (
        lambda: nn.MarginRankingLoss(0.1),
        lambda: (randn(4), randn(4), classes(2, 4) * 2 - 1),
    ),
    "MultiMarginLoss": (lambda: nn.MultiMarginLoss(), lambda: (randn(4, 5), classes(5, 4))),
    "TripletMarginLoss": (
        lambda: nn.TripletMarginLoss(), lambda: (randn(4, 5), randn(4, 5), randn(4, 5))
    ),
    "GaussianNLLLoss": (
        lambda: nn.GaussianNLLLoss(), lambda: (randn(4, 5), randn(4, 5), randn(4, 5).abs() + 0.1)
    ),
    "PoissonNLLLoss": (lambda: nn.PoissonNLLLoss(), lambda: (randn(4), randn(4).abs())),
}  # fmt: skip


def tensors_of(value):
    """All tensors in a result."""
    if isinstance(value, rushlight.Tensor):
        return [value]
    return [t for item in value for t in tensors_of(item)] if isinstance(value, tuple) else []


def run(make, inputs, device):
    """Results, and the gradients of inputs and parameters."""
    rushlight.manual_seed(0)
    module = make().to(device)
    given = tuple(t.detach().to(device).requires_grad_(t.is_floating_point()) for t in inputs)
    found = [t for t in tensors_of(module(*given)) if t.is_floating_point()]
    live = [t for t in found if t.requires_grad]
    sum((t * t).sum() for t in live).backward()
    leaves = [t for t in (*given, *module.parameters()) if t.requires_grad]
    gradients = [t.grad for t in leaves if t.grad is not None]
    assert all(t.device.type == device for t in (*found, *gradients))
    states = [t.float() for t in module.buffers()]
    return [t.detach().cpu() for t in (*found, *gradients, *states)]


@pytest.mark.parametrize("name", MODULES)
def test_modules_agree_with_the_cpu(name):
    make, inputs = MODULES[name]
    rushlight.manual_seed(7)
    values = inputs()
    expected, found = run(make, values, "cpu"), run(make, values, "cuda")
    for a, b in zip(expected, found, strict=True):
        rushlight.testing.assert_close(b, a, rtol=1e-3, atol=1e-4)


@two_devices
def test_modules_move_in_whole():
    module = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    assert all(t.is_cuda for t in module.cuda().state_dict().values())
    assert all(t.is_cpu for t in module.cpu().state_dict().values())
    assert module.to("cuda", rushlight.bfloat16)[0].weight.dtype is rushlight.bfloat16
    module.to_empty(device="cuda:1")
    assert next(module.parameters()).device.index == 1


def test_optimizer_states_follow_their_parameters():
    there, here = nn.Linear(2, 2).cuda(), nn.Linear(2, 2)
    optimizer = rushlight.optim.Adam(there.parameters())
    there(rushlight.ones(1, 2, device="cuda")).sum().backward()
    optimizer.step()
    here.load_state_dict(there.state_dict())
    assert here.weight.is_cpu
    other = rushlight.optim.Adam(here.parameters())
    other.load_state_dict(optimizer.state_dict())
    here(rushlight.ones(1, 2)).sum().backward()
    other.step()
    assert all(t.is_cpu for state in other.state.values() for t in state.values())


@pytest.mark.parametrize(
    "name",
    "SGD Adam AdamW RMSprop Adagrad Adadelta Adamax NAdam RAdam Rprop ASGD LBFGS Adafactor".split(),
)
def test_optimizers_agree_with_the_cpu(name):
    # LBFGS amplifies rounding: float32 is 1e-3 from float64 after these steps, on any device.
    dtype = rushlight.float64 if name == "LBFGS" else rushlight.float32

    def trained(device):
        rushlight.manual_seed(0)
        layer = nn.Linear(4, 3).to(device, dtype)
        optimizer = getattr(rushlight.optim, name)(layer.parameters(), lr=0.02)
        x, y = randn(8, 4).to(device, dtype), randn(8, 3).to(device, dtype)

        def closure():
            optimizer.zero_grad()
            loss = (layer(x) - y).square().mean()
            loss.backward()
            return loss

        for _ in range(3):
            optimizer.step(closure)
        return [p.detach().cpu() for p in layer.parameters()]

    for a, b in zip(trained("cpu"), trained("cuda"), strict=True):
        rushlight.testing.assert_close(b, a, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("norm_type", [1.0, 2.0, 3.0, float("inf")])
@pytest.mark.parametrize("dtype", [rushlight.float32, rushlight.bfloat16], ids=str)
def test_gradients_are_clipped_in_three_launches(dtype, norm_type):
    here = [nn.Parameter(rushlight.randn(*shape, dtype=dtype)) for shape in ((40,), (5, 6), (3,))]
    for parameter in here:
        parameter.grad = rushlight.randn_like(parameter) * 3
    there = [nn.Parameter(p.detach().cuda()) for p in here]
    for parameter, like in zip(there, here, strict=True):
        parameter.grad = like.grad.cuda()
    versions = [p.grad._version for p in there]
    nn.utils.get_total_norm([p.grad for p in there], norm_type)  # tables are kept from then on
    before = runtime.current().counters.snapshot()
    found = nn.utils.clip_grad_norm_(there, 1.0, norm_type)
    counted = runtime.current().counters.since(before)
    assert counted["launches"] <= 4 and counted["synchronizations"] == 0
    expected = nn.utils.clip_grad_norm_(here, 1.0, norm_type)
    assert found.is_cuda and found.dtype is dtype
    close = {"rtol": 2e-2, "atol": 1e-3} if dtype is rushlight.bfloat16 else {}
    rushlight.testing.assert_close(found.cpu(), expected, **close)
    for a, b, version in zip(there, here, versions, strict=True):
        rushlight.testing.assert_close(a.grad.cpu(), b.grad, **close)
        assert a.grad._version > version
    there[0].grad = rushlight.full_like(there[0], float("nan"))
    nn.utils.clip_grad_norm_(there, 1.0, norm_type)
    assert bool(there[1].grad.isnan().all())
