"""Linear layers with weights of bytes: PyTorch's product, gradients, states, what is replaced."""

import pytest

import rushlight as rl
from rushlight import nn
from rushlight.nn.int8 import Int8Linear, quantize_int8, quantized_rows, rounded_rows
from rushlight.serialization import safetensors


def test_rows_are_rounded_to_the_nearest_byte():
    weight = rl.randn(20, 33, generator=rl.Generator().manual_seed(0))
    weight[3] = 0.0
    found, scale = quantized_rows(weight)
    assert found.dtype is rl.int8 and scale.dtype is rl.float32
    assert found.abs().amax(1).tolist() == [127] * 3 + [0] + [127] * 16
    error = (found.float() * scale[:, None] - weight).abs()
    assert (error <= 0.5001 * scale[:, None]).all()
    with pytest.raises(ValueError, match=r"must be a matrix of floats, got rushlight.int64 \[2\]"):
        quantized_rows(rl.tensor([1, 2]))
    with pytest.raises(ValueError, match="NaN or infinity"):
        quantized_rows(rl.tensor([[1.0, float("nan")]]))


@pytest.mark.parametrize("rows", [1, 5, 16, 17, 60])
@pytest.mark.parametrize("bias", [True, False])
def test_pytorchs_product(rows, bias):
    torch = pytest.importorskip("torch")
    rl.manual_seed(rows)
    layer = Int8Linear.from_linear(nn.Linear(70, 64, bias=bias))
    x = rl.randn(rows, 70)
    weight, scale = (torch.tensor(each.tolist()) for each in (layer.weight, layer.scale))
    theirs = torch._weight_int8pack_mm(torch.tensor(x.tolist()), weight.to(torch.int8), scale)
    theirs = rl.tensor(theirs.tolist()) + (layer.bias if bias else 0.0)
    assert rl.allclose(layer(x), theirs, atol=1e-5)
    with rl.no_grad():
        assert rl.allclose(layer(x), theirs, atol=1e-5)
        assert layer(x.view(1, rows, 70)).shape == (1, rows, 64)


def test_both_ways_agree_and_give_gradients():
    rl.manual_seed(0)
    layer = Int8Linear.from_linear(nn.Linear(40, 30))
    x = rl.randn(3, 40, requires_grad=True)
    with rl.no_grad():
        kernel = layer(x)
    recorded = layer(x)
    assert rl.allclose(kernel, recorded, atol=1e-5)
    recorded.sum().backward()
    assert rl.allclose(x.grad, layer.dequantized().sum(0).expand(3, 40), atol=1e-5)
    half = layer(x.detach().bfloat16())
    assert half.dtype is rl.bfloat16 and (half.float() - kernel).abs().max() < 0.05
    assert rl.func.vmap(layer)(x.detach()).allclose(kernel, atol=1e-5)
    with pytest.raises(RuntimeError, match="shape"):
        layer(rl.ones(2, 41))


def test_models_are_replaced_and_their_states_come_back(tmp_path):
    rl.manual_seed(0)
    shared = nn.Linear(8, 8)

    class Other(nn.Linear):
        pass

    def build():
        layers = nn.Sequential(shared, nn.ReLU(), nn.Linear(8, 4), shared, Other(8, 8))
        return nn.ModuleDict({"body": layers, "head": nn.Linear(4, 2, bias=False)}).eval()

    model = build()
    assert quantize_int8(model, lambda name, layer: name != "head") == [
        "body.0",
        "body.2",
        "body.3",
    ]
    assert model["body"][0] is model["body"][3] and type(model["head"]) is nn.Linear
    assert not model["body"][0].training and type(model["body"][4]) is Other
    assert quantize_int8(model) == ["head"] and quantize_int8(model) == []
    state = {name: value.clone() for name, value in model.state_dict().items()}
    safetensors.save_file(state, tmp_path / "model.safetensors")
    again = build()
    quantize_int8(again)
    again["head"].scale.zero_()
    again.load_state_dict(safetensors.load_file(tmp_path / "model.safetensors"))
    x = rl.randn(2, 4)
    assert again["head"](x).equal(model["head"](x))
    again.to(rl.bfloat16)
    assert again["head"].weight.dtype is rl.int8 and again["head"].scale.dtype is rl.float32


@pytest.mark.parametrize("rows", [1, 40])
def test_dynamic_layers_round_their_inputs(rows):
    rl.manual_seed(rows)
    plain = nn.Linear(70, 64)
    layer = Int8Linear.from_linear(plain, dynamic=True)
    x = rl.randn(rows, 70, requires_grad=True)
    rounded = rounded_rows(x.detach())
    steps = rounded / (x.detach().abs().amax(1, keepdim=True) / 127)
    assert (steps - steps.round()).abs().max() < 1e-4 and steps.abs().max() < 127.001
    expected = rounded.double() @ layer.dequantized(rl.float64).t() + layer.bias.double()
    with rl.no_grad():
        kernel = layer(x)
    recorded = layer(x)
    for found in (kernel, recorded, rl.func.vmap(layer)(x.detach())):
        assert rl.allclose(found.double(), expected, atol=1e-5)
    assert (kernel - plain(x)).abs().max() < 0.05
    recorded.sum().backward()
    assert rl.allclose(x.grad, layer.dequantized().sum(0).expand(rows, 70), atol=1e-5)
    half = layer(x.detach().bfloat16())
    assert half.dtype is rl.bfloat16 and (half.float() - kernel).abs().max() < 0.05
    layer.dynamic = False
    with rl.no_grad():
        assert not layer(x).equal(kernel)


@pytest.mark.parametrize("shape", [(70,), (3, 4, 70)])
def test_scales_and_biases_can_learn(shape):
    rl.manual_seed(0)
    layer = Int8Linear.from_linear(nn.Linear(70, 6))
    x, given = rl.randn(*shape, requires_grad=True), rl.randn(*shape[:-1], 6)
    scale, bias = layer.scale.clone().requires_grad_(), layer.bias.clone().requires_grad_()
    layer.scale, layer.bias = scale, bias
    found = rl.autograd.grad((layer(x) * given).sum(), (x, scale, bias))
    steps = x @ (layer.weight * scale[:, None]).t() + bias
    wanted = rl.autograd.grad((steps * given).sum(), (x, scale, bias))
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype is rl.float32 and rl.allclose(one, other, atol=1e-4)


def test_rounded_rows_of_every_kind():
    x = rl.tensor([[0.0, 0.0], [1.0, -3.0], [float("nan"), 1.0], [float("inf"), 1.0]])
    found = rounded_rows(x)
    assert found[0].tolist() == [0.0, 0.0] and found[2:].isnan().all()
    assert rl.allclose(found[1], rl.tensor([42 * 3 / 127, -3.0]))
    assert rounded_rows(x.bfloat16()).dtype is rl.bfloat16
    assert rounded_rows(rl.ones(2, 0)).shape == (2, 0)
    layer = Int8Linear(0, 3, dynamic=True)
    assert layer(rl.ones(2, 0)).tolist() == [[0.0] * 3] * 2
    with rl.no_grad():
        assert Int8Linear.from_linear(nn.Linear(2, 3), dynamic=True)(x)[2:].isnan().all()


def test_models_with_dynamic_layers():
    rl.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4)).eval()
    x = rl.randn(3, 8)
    with rl.no_grad():
        plain = model(x)
    assert quantize_int8(model, lambda name, layer: name != "2", dynamic=True) == ["0"]
    assert quantize_int8(model) == ["2"] and model[0].dynamic and not model[2].dynamic
    assert str(model[0]) == "Int8Linear(in_features=8, out_features=8, bias=True, dynamic=True)"
    with rl.no_grad():
        assert 0 < (model(x) - plain).abs().max() < 0.05
    program = rl.export.export(model, (x,)).module()
    assert rl.allclose(program(x), model(x), atol=1e-5)


@pytest.mark.filterwarnings("ignore:.torch.jit.load. is deprecated:DeprecationWarning")
@pytest.mark.parametrize("dynamic", [False, True])
def test_archives_have_pytorchs_ops(dynamic, tmp_path):
    torch = pytest.importorskip("torch")
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4)).eval()
    quantize_int8(model, dynamic=dynamic)
    x = rl.randn(3, 8)
    given = torch.tensor(x.tolist())
    rl.jit.trace(model, (x,)).save(tmp_path / "traced.pt")
    traced = torch.jit.load(str(tmp_path / "traced.pt"))(given)
    rl.export.save(rl.export.export(model, (x,)), tmp_path / "exported.pt2")
    exported = torch.export.load(str(tmp_path / "exported.pt2")).module()(given)
    for found in (traced, exported):
        assert rl.allclose(rl.tensor(found.tolist()), model(x), atol=1e-5)
