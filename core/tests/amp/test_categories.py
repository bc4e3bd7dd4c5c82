"""Which dtype results have under autocast on the CPU: every category, against PyTorch."""

import pytest

import rushlight

torch = pytest.importorskip("torch")


def F(library):  # noqa: N802 - as programs call it
    return library.nn.functional


def x(library, *shape):
    return library.ones(*shape) * 0.5


CASES = {
    "gru": lambda lib: lib.nn.GRU(4, 3)(x(lib, 2, 1, 4))[0],
    "rnn": lambda lib: lib.nn.RNN(4, 3)(x(lib, 2, 1, 4))[0],
    "lstmcell": lambda lib: lib.nn.LSTMCell(4, 3)(x(lib, 1, 4))[0],
    "softmax": lambda lib: (x(lib, 4, 4) @ x(lib, 4, 4)).softmax(-1),
    "sum": lambda lib: (x(lib, 4, 4) @ x(lib, 4, 4)).sum(),
    "ln": lambda lib: F(lib).layer_norm(x(lib, 4, 4) @ x(lib, 4, 4), (4,)),
    "bn": lambda lib: lib.nn.BatchNorm2d(2)(lib.nn.Conv2d(1, 2, 3)(x(lib, 2, 1, 5, 5))),
    "gelu": lambda lib: F(lib).gelu(x(lib, 4, 4) @ x(lib, 4, 4)),
    "mse": lambda lib: F(lib).mse_loss(x(lib, 4, 4) @ x(lib, 4, 4), x(lib, 4, 4)),
    "ce": lambda lib: F(lib).cross_entropy(x(lib, 4, 4) @ x(lib, 4, 4), lib.zeros(4).long()),
    "nll": lambda lib: F(lib).nll_loss(x(lib, 4, 4) @ x(lib, 4, 4), lib.zeros(4).long()),
    "bce": lambda lib: F(lib).binary_cross_entropy_with_logits(
        x(lib, 4, 4) @ x(lib, 4, 4), x(lib, 4, 4)
    ),
    "add": lambda lib: (x(lib, 4, 4) @ x(lib, 4, 4)) + x(lib, 4, 4),
    "cat": lambda lib: lib.cat([x(lib, 4, 4) @ x(lib, 4, 4), x(lib, 4, 4)]),
    "sdpa": lambda lib: F(lib).scaled_dot_product_attention(
        x(lib, 1, 1, 4, 4), x(lib, 1, 1, 4, 4), x(lib, 1, 1, 4, 4)
    ),
    "mha": lambda lib: lib.nn.MultiheadAttention(4, 2)(
        x(lib, 2, 1, 4), x(lib, 2, 1, 4), x(lib, 2, 1, 4)
    )[0],
    "enc": lambda lib: lib.nn.TransformerEncoderLayer(4, 2, 8)(x(lib, 2, 1, 4)),
    "einsum": lambda lib: lib.einsum("ij,jk->ik", x(lib, 4, 4), x(lib, 4, 4)),
    "cumsum": lambda lib: (x(lib, 4, 4) @ x(lib, 4, 4)).cumsum(0),
    "norm": lambda lib: (x(lib, 4, 4) @ x(lib, 4, 4)).norm(),
    "exp": lambda lib: (x(lib, 4, 4) @ x(lib, 4, 4)).exp(),
    "prod": lambda lib: (x(lib, 4, 4) @ x(lib, 4, 4)).prod(),
    "interp": lambda lib: F(lib).interpolate(
        lib.nn.Conv2d(1, 1, 1)(x(lib, 1, 1, 4, 4)), scale_factor=2, mode="bilinear"
    ),
    "avgpool": lambda lib: F(lib).avg_pool2d(lib.nn.Conv2d(1, 1, 1)(x(lib, 1, 1, 4, 4)), 2),
    "maxpool": lambda lib: F(lib).max_pool2d(lib.nn.Conv2d(1, 1, 1)(x(lib, 1, 1, 4, 4)), 2),
    "adaptive_max_pool3d": lambda lib: F(lib).adaptive_max_pool3d(
        lib.nn.Conv3d(1, 1, 1)(x(lib, 1, 1, 4, 4, 4)), 2
    ),
    "prelu": lambda lib: F(lib).prelu(x(lib, 4, 4), x(lib, 1)),
    "prelu_mixed": lambda lib: F(lib).prelu(x(lib, 4, 4) @ x(lib, 4, 4), x(lib, 1)),
    "bmm": lambda lib: lib.bmm(x(lib, 1, 4, 4), x(lib, 1, 4, 4)),
    "addmm": lambda lib: lib.addmm(x(lib, 4), x(lib, 4, 4), x(lib, 4, 4)),
    "baddbmm": lambda lib: lib.baddbmm(x(lib, 1, 4, 4), x(lib, 1, 4, 4), x(lib, 1, 4, 4)),
    "conv_t": lambda lib: lib.nn.ConvTranspose2d(1, 1, 2)(x(lib, 1, 1, 4, 4)),
    "bilinear": lambda lib: F(lib).bilinear(x(lib, 4, 4), x(lib, 4, 4), x(lib, 2, 4, 4)),
    "emb": lambda lib: lib.nn.Embedding(3, 4)(lib.zeros(2).long()),
    "smoothl1": lambda lib: F(lib).smooth_l1_loss(x(lib, 4, 4) @ x(lib, 4, 4), x(lib, 4, 4)),
    "gn": lambda lib: F(lib).group_norm(lib.nn.Conv2d(1, 2, 1)(x(lib, 1, 1, 4, 4)), 2),
    "svd": lambda lib: lib.linalg.svdvals(x(lib, 4, 4) @ x(lib, 4, 4)),
    "fft": lambda lib: lib.fft.fft(x(lib, 4, 4) @ x(lib, 4, 4)),
    "where": lambda lib: lib.where(x(lib, 4, 4) > 0, x(lib, 4, 4) @ x(lib, 4, 4), x(lib, 4, 4)),
    "stack": lambda lib: lib.stack([x(lib, 4, 4) @ x(lib, 4, 4), x(lib, 4, 4)]),
}


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("low", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", CASES)
def test_result_dtypes(name, low):
    found = []
    for library in (rushlight, torch):
        with library.autocast("cpu", dtype=getattr(library, low)):
            found.append(str(CASES[name](library).dtype).split(".")[1])
    assert found[0] == found[1]


def test_nested_regions_and_the_cache():
    weight = rushlight.ones(3, 3, requires_grad=True)
    with rushlight.autocast("cpu"):
        first = weight @ weight
        with rushlight.autocast("cpu", enabled=False):
            assert (weight @ weight).dtype is rushlight.float32
        with rushlight.autocast("cpu", dtype=rushlight.float16):
            assert (weight @ weight).dtype is rushlight.float16
        assert (weight @ weight).dtype is first.dtype is rushlight.bfloat16
        from rushlight.amp.mode import state

        assert len(state.cache) == 2  # one cast for each dtype, used again
    assert not state.cache
    first.float().sum().backward()
    assert weight.grad.dtype is rushlight.float32 and weight.grad.tolist() == [[6.0] * 3] * 3


def test_functions_of_ones_own():
    class Product(rushlight.autograd.Function):
        @staticmethod
        @rushlight.amp.custom_fwd(device_type="cpu", cast_inputs=rushlight.float32)
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            ctx.seen = a.dtype, (a @ b).dtype
            return a @ b

        @staticmethod
        @rushlight.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            assert ctx.seen == (rushlight.float32, rushlight.float32)
            assert (a @ b).dtype is rushlight.float32  # as the forward ran: without autocast
            return grad @ b.t(), a.t() @ grad

    a = rushlight.ones(2, 2, dtype=rushlight.bfloat16, requires_grad=True)
    with rushlight.autocast("cpu"):
        result = Product.apply(a, rushlight.ones(2, 2))
    assert result.dtype is rushlight.float32
    result.sum().backward()
    assert a.grad.float().tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_the_former_path_for_the_cpu():
    """``torch.cpu.amp``: as ``torch.amp`` with "cpu", and a warning."""
    for library in (rushlight, torch):
        with pytest.warns(FutureWarning, match=r"cpu.amp.autocast\(args...\)` is deprecated"):
            region = library.cpu.amp.autocast(dtype=library.bfloat16)
        with region:
            found = x(library, 2, 2) @ x(library, 2, 2)
        assert found.dtype == library.bfloat16
        with pytest.warns(FutureWarning, match=r"cpu.amp.GradScaler\(args...\)` is deprecated"):
            scaler = library.cpu.amp.GradScaler(8.0)
        assert scaler.scale(library.ones(1)).tolist() == [8.0]
