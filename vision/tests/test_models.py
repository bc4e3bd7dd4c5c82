"""LeNet and ResNets: torchvision's names and shapes of parameters, and PyTorch's values."""

from __future__ import annotations

import importlib
import inspect
import types

import numpy as np
import pytest

import rushlight as rl
from rushlight import nn
from rushlight_vision import models
from rushlight_vision.models import _initialize, resnet

NETWORKS = {
    "resnet18": ([2, 2, 2, 2], False, 11_689_512),
    "resnet34": ([3, 4, 6, 3], False, 21_797_672),
    "resnet50": ([3, 4, 6, 3], True, 25_557_032),
}


def norm_entries(name, channels):
    """Names and shapes of a batch normalisation."""
    parts = ("weight", "bias", "running_mean", "running_var")
    entries = [(f"{name}.{part}", (channels,)) for part in parts]
    return [*entries, (f"{name}.num_batches_tracked", ())]


def expected_entries(layers, bottleneck):
    """Names and shapes of torchvision's state dict."""
    entries = [("conv1.weight", (64, 3, 7, 7)), *norm_entries("bn1", 64)]
    before = 64
    for stage, count in enumerate(layers):
        planes = 64 * 2**stage
        after = planes * (4 if bottleneck else 1)
        for block in range(count):
            prefix = f"layer{stage + 1}.{block}"
            if bottleneck:
                shapes = [(planes, before, 1, 1), (planes, planes, 3, 3), (after, planes, 1, 1)]
            else:
                shapes = [(planes, before, 3, 3), (planes, planes, 3, 3)]
            for number, shape in enumerate(shapes, 1):
                entries.append((f"{prefix}.conv{number}.weight", shape))
                entries += norm_entries(f"{prefix}.bn{number}", shape[0])
            if block == 0 and (stage > 0 or bottleneck):
                entries.append((f"{prefix}.downsample.0.weight", (after, before, 1, 1)))
                entries += norm_entries(f"{prefix}.downsample.1", after)
            before = after
    return [*entries, ("fc.weight", (1000, before)), ("fc.bias", (1000,))]


@pytest.mark.parametrize("name", NETWORKS)
def test_state_dicts_are_torchvisions(name):
    layers, bottleneck, count = NETWORKS[name]
    model = getattr(models, name)()
    entries = [(key, tuple(value.shape)) for key, value in model.state_dict().items()]
    assert entries == expected_entries(layers, bottleneck)
    assert sum(parameter.numel() for parameter in model.parameters()) == count


def small(block=resnet.BasicBlock, **arguments):
    """A network of one block in each stage."""
    return resnet.ResNet(block, [1, 1, 1, 1], num_classes=5, **arguments)


@pytest.mark.parametrize("block", [resnet.BasicBlock, resnet.Bottleneck])
def test_steps_of_training(block):
    rl.manual_seed(0)
    model = small(block)
    images, targets = rl.randn(4, 3, 32, 32), rl.tensor([0, 1, 2, 3])
    optimizer = rl.optim.SGD(model.parameters(), lr=0.01)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert all(parameter.grad is not None for parameter in model.parameters())
    assert losses[-1] < losses[0]


def test_first_weights():
    model = small()
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            fan_out = module.out_channels * module.kernel_size[0] * module.kernel_size[1]
            assert float(module.weight.std()) == pytest.approx((2 / fan_out) ** 0.5, rel=0.05)
        elif isinstance(module, nn.BatchNorm2d):
            assert float(module.weight.min()) == 1 and float(module.bias.abs().max()) == 0


def test_arguments():
    model = small(zero_init_residual=True)
    assert float(model.layer2[0].bn2.weight.abs().max()) == 0
    assert float(model.layer2[0].bn1.weight.min()) == 1
    wide = small(resnet.Bottleneck, groups=2, width_per_group=8)
    assert wide.layer1[0].conv2.weight.shape == (16, 8, 3, 3)
    dilated = small(resnet.Bottleneck, replace_stride_with_dilation=[False, True, True]).eval()
    features = nn.Sequential(*list(dilated.children())[:-2])
    assert features(rl.zeros(1, 3, 64, 64)).shape == (1, 2048, 8, 8)
    grouped = small(norm_layer=lambda channels: nn.GroupNorm(8, channels))
    assert isinstance(grouped.layer1[0].bn1, nn.GroupNorm)
    assert models.resnet18(num_classes=7).fc.out_features == 7


def test_unfit_arguments_are_refused():
    with pytest.raises(ValueError, match="three bools"):
        small(replace_stride_with_dilation=[True])
    with pytest.raises(ValueError, match="only groups=1 and base_width=64; got 2 and 64"):
        small(groups=2)
    with pytest.raises(NotImplementedError, match="dilation 2; use Bottleneck"):
        small(replace_stride_with_dilation=[True, True, True])
    with pytest.raises(ValueError, match="expected four numbers"):
        resnet.ResNet(resnet.BasicBlock, [1, 1])


def test_lenet():
    model = models.lenet()
    assert isinstance(model, models.LeNet5)
    assert sum(parameter.numel() for parameter in model.parameters()) == 61_706
    assert model(rl.zeros(3, 1, 28, 28)).shape == (3, 10)
    assert models.lenet(num_classes=4, in_channels=3)(rl.zeros(1, 3, 28, 28)).shape == (1, 4)
    with pytest.raises(ValueError, match=r"shape \(N, C, 28, 28\); got \(1, 1, 32, 32\)"):
        model(rl.zeros(1, 1, 32, 32))


def in_torch(module):
    """The same source on PyTorch: `from rushlight import nn` becomes `from torch import nn`.

    What comes after the classes of the networks, their builders and weights, is left out.
    """
    source, _, _ = inspect.getsource(module).partition("\n\n\ndef _resnet(")
    source = source.replace("import rushlight as rl", "import torch as rl")
    drawing = "from rushlight_vision.models._initialize import draw\n"
    translated = types.ModuleType(f"torch_{module.__name__.rsplit('.', 1)[-1]}")
    if drawing in source:
        source = source.replace(drawing, "")
        translated.draw = in_torch(_initialize).draw
    code = compile(source.replace("from rushlight import", "from torch import"), "torch", "exec")
    exec(code, translated.__dict__)
    return translated


BUILDERS = {
    "lenet": ("lenet", lambda family: family.LeNet5(), (2, 1, 28, 28)),
    "basic": ("resnet", lambda family: family.ResNet(family.BasicBlock, [1] * 4), (2, 3, 64, 64)),
    "bottleneck": (
        "resnet",
        lambda family: family.ResNet(family.Bottleneck, [1, 1, 1, 1], zero_init_residual=True),
        (2, 3, 64, 64),
    ),
}


@pytest.mark.parametrize("name", BUILDERS)
def test_values_are_pytorchs(name):
    torch = pytest.importorskip("torch")
    file, build, shape = BUILDERS[name]
    module = importlib.import_module(f"rushlight_vision.models.{file}")
    rl.manual_seed(3)
    ours = build(module)
    torch.manual_seed(3)
    theirs = build(in_torch(module))
    state = {key: rl.tensor(value.numpy()) for key, value in theirs.state_dict().items()}
    assert list(ours.state_dict()) == list(state)
    for key, value in ours.state_dict().items():
        # The draws are PyTorch's; its vector logarithm and cosine make normals an ulp or two apart.
        np.testing.assert_allclose(value.numpy(), state[key].numpy(), rtol=2e-6, err_msg=key)
    ours.load_state_dict(state)
    # float64: what is compared is the network, not the rounding of two convolutions
    image = np.random.default_rng(0).standard_normal(shape)
    ours, theirs = ours.double(), theirs.double()
    result, expected = ours(rl.tensor(image)), theirs(torch.tensor(image))
    np.testing.assert_allclose(result.detach().numpy(), expected.detach().numpy(), rtol=1e-8)
    (result**2).sum().backward()
    (expected**2).sum().backward()
    for (key, value), (_, wanted) in zip(
        ours.named_parameters(), theirs.named_parameters(), strict=True
    ):
        scale = float(wanted.grad.abs().max()) or 1.0
        np.testing.assert_allclose(
            value.grad.numpy() / scale, wanted.grad.numpy() / scale, atol=1e-8, err_msg=key
        )
