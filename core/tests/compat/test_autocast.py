"""Mixed precision: dtypes are PyTorch's, values those of the low dtype, scaling skips bad steps."""

import pytest

import rushlight
import rushlight.nn.functional as rf


def programs(torch, f, dtype="bfloat16"):
    """Calls whose result dtype autocast decides, on float32 and on low inputs."""
    x, w = torch.ones(2, 4, 8), torch.ones(8, 8)
    image, low = torch.ones(2, 3, 8, 8), torch.ones(2, 4, 8).to(getattr(torch, dtype))
    labels = torch.zeros(4, dtype=torch.long)
    return {
        "matmul": lambda: x @ w,
        "linear": lambda: f.linear(x, w),
        "conv": lambda: f.conv2d(image, torch.ones(4, 3, 3, 3)),
        "attention": lambda: f.scaled_dot_product_attention(x, x, x),
        "einsum": lambda: torch.einsum("bij,jk->bik", x, w),
        "outer": lambda: torch.outer(w[0], w[0]),
        "mv": lambda: torch.mv(w, w[0]),
        "double": lambda: x.double() @ w.double(),
        "softmax": lambda: low.softmax(-1),
        "layer_norm": lambda: f.layer_norm(low, (8,), torch.ones(8), torch.zeros(8)),
        "group_norm": lambda: f.group_norm(low, 2),
        "exp": lambda: low.exp(),
        "sum": lambda: low.sum(),
        "prod": lambda: low.prod(),
        "add": lambda: low + x,
        "cat": lambda: torch.cat([low, x]),
        "stack": lambda: torch.stack([low, x]),
        "mse": lambda: f.mse_loss(low, low),
        "l1": lambda: f.l1_loss(low, low),
        "cross_entropy": lambda: f.cross_entropy(low[0], labels),
        "nll": lambda: f.nll_loss(low[0], labels),
        "kl": lambda: f.kl_div(low, low, reduction="batchmean"),
        "triplet": lambda: f.triplet_margin_loss(low[0], low[1], low[0]),
        "cdist": lambda: torch.cdist(low, low),
        "fft": lambda: torch.fft.fft(low),
        "gelu": lambda: f.gelu(low),
        "attention_layer": lambda: torch.nn.MultiheadAttention(8, 2)(x, x, x)[0],
    }


@pytest.mark.parametrize("name", sorted(programs(rushlight, rf)))
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_result_dtypes_are_pytorchs(name, dtype):
    real = pytest.importorskip("torch")
    with real.autocast("cpu", dtype=getattr(real, dtype)):
        expected = programs(real, real.nn.functional, dtype)[name]()
    with rushlight.autocast("cpu", dtype=getattr(rushlight, dtype)):
        found = programs(rushlight, rf, dtype)[name]()
    assert str(found.dtype).split(".")[1] == str(expected.dtype).split(".")[1]


def test_training_step_is_pytorchs():
    real = pytest.importorskip("torch")
    grads = []
    for torch in (rushlight, real):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
        x, y = torch.randn(5, 8), torch.tensor([0, 1, 2, 0, 1])
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(x), y)
        assert loss.dtype is torch.float32
        loss.backward()
        assert all(p.grad.dtype is torch.float32 for p in model.parameters())
        grads.append([p.grad.flatten().tolist() for p in model.parameters()])
    for ours, theirs in zip(*grads, strict=True):
        assert ours == pytest.approx(theirs, rel=2e-2, abs=2e-3)  # bfloat16 has 8 bits


def test_regions_nest_and_end():
    x = rushlight.ones(2, 2)
    with rushlight.autocast("cpu"):
        assert rushlight.is_autocast_enabled("cpu") and (x @ x).dtype is rushlight.bfloat16
        with rushlight.autocast("cpu", enabled=False):
            assert not rushlight.is_autocast_cpu_enabled() and (x @ x).dtype is rushlight.float32
        with rushlight.autocast("cpu", dtype=rushlight.float16):
            assert rushlight.get_autocast_cpu_dtype() is rushlight.float16
            assert (x @ x).dtype is rushlight.float16
        assert (x @ x).dtype is rushlight.bfloat16
    assert (x @ x).dtype is rushlight.float32 and not rushlight.is_autocast_enabled("cpu")


def test_a_region_ends_by_an_error_too():
    x = rushlight.ones(2, 2)
    with pytest.raises(ValueError, match="inside"), rushlight.autocast("cpu"):
        raise ValueError("inside")
    assert (x @ x).dtype is rushlight.float32


def test_decorated_functions_run_cast():
    @rushlight.autocast("cpu")
    def product(x):
        return x @ x

    assert product(rushlight.ones(2, 2)).dtype is rushlight.bfloat16
    assert product(rushlight.ones(2, 2)).dtype is rushlight.bfloat16
    assert not rushlight.is_autocast_enabled("cpu")


def test_parameters_are_cast_once_a_region():
    from rushlight.amp.mode import state

    weight = rushlight.ones(2, 2, requires_grad=True)
    with rushlight.autocast("cpu"):
        y = rushlight.ones(1, 2) @ weight + rushlight.ones(1, 2) @ weight
        assert len(state.cache) == 1
        with rushlight.no_grad():
            weight.mul_(2)
        assert (rushlight.ones(1, 2) @ weight).tolist() == [[4, 4]]  # written to: cast anew
    assert not state.cache
    del y


def test_without_a_device_nothing_is_cast():
    x = rushlight.ones(2, 2)
    with pytest.warns(UserWarning, match="CUDA is not available. Disabling"):
        region = rushlight.autocast("cuda")
    with region:
        assert (x @ x).dtype is rushlight.float32
    with rushlight.autocast("cuda", enabled=False):
        assert not rushlight.is_autocast_enabled()
    with pytest.warns(UserWarning, match="target dtype rushlight.float32 is not supported"):
        rushlight.autocast("cpu", dtype=rushlight.float32)
    with pytest.raises(RuntimeError, match="unsupported autocast device_type 'toaster'"):
        rushlight.autocast("toaster")
    with pytest.warns(FutureWarning, match="deprecated"), rushlight.cuda.amp.autocast(False):
        assert (x @ x).dtype is rushlight.float32


def test_custom_functions_take_part():
    class Product(rushlight.autograd.Function):
        @staticmethod
        @rushlight.amp.custom_fwd(device_type="cpu", cast_inputs=rushlight.float32)
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        @rushlight.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            return grad @ b.T, a.T @ grad

    a = rushlight.ones(2, 2, requires_grad=True)
    with rushlight.autocast("cpu"):
        out = Product.apply(a, rushlight.ones(2, 2).bfloat16())
    assert out.dtype is rushlight.float32
    out.sum().backward()
    assert a.grad.tolist() == [[2, 2], [2, 2]]


def test_scaler_follows_pytorchs():
    real = pytest.importorskip("torch")
    histories = []
    for torch in (rushlight, real):
        weight = torch.ones(2, requires_grad=True)
        optimizer = torch.optim.SGD([weight], lr=0.5)
        scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
        history = []
        for factor in (1.0, float("inf"), 1.0, 2.0, float("nan"), 1.0):
            optimizer.zero_grad()
            scaler.scale((weight * factor).sum()).backward()
            scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
            history.append((scaler.get_scale(), weight.tolist()))
        histories.append((history, scaler.state_dict()))
    assert histories[0] == histories[1]


def test_scaler_refuses_steps_out_of_order():
    weight = rushlight.ones(2, requires_grad=True)
    optimizer = rushlight.optim.SGD([weight], lr=0.5)
    scaler = rushlight.amp.GradScaler("cpu")
    scaler.scale(weight.sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="step\\(\\) has already"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="after step"):
        scaler.unscale_(optimizer)
    scaler.update()
    fresh = rushlight.amp.GradScaler("cpu", init_scale=1.0)
    fresh.load_state_dict(scaler.state_dict())
    assert fresh.get_scale() == 65536.0
    with pytest.warns(UserWarning, match="CUDA is not available"):
        disabled = rushlight.amp.GradScaler()
    assert disabled.scale(3) == 3 and disabled.get_scale() == 1.0 and disabled.state_dict() == {}
