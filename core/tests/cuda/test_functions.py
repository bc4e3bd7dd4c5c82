"""Functions made of many ops, or of arrays, on a CUDA device: results are there, and those of the
CPU."""

from __future__ import annotations

import pytest

import rushlight
from rushlight import nn

functional = nn.functional


def randn(*shape):
    return rushlight.randn(*shape)


def places(high, *shape):
    return rushlight.randint(0, high, shape)


MASK = rushlight.tensor([[True, False, True, False]] * 3)
CALLS = {
    "einsum": (lambda a, b: rushlight.einsum("bij,bjk->bik", a, b), randn(2, 3, 4), randn(2, 4, 5)),
    "unique": (
        lambda a: rushlight.unique(a, return_inverse=True, return_counts=True), places(5, 9)
    ),
    "isin": (rushlight.isin, places(5, 10), places(5, 2)),
    "masked_fill": (lambda a, m: a.masked_fill(m, 1.0), randn(3, 4), MASK),
    "masked_select": (lambda a, m: a.masked_select(m), randn(3, 4), MASK),
    "masked_scatter": (lambda a, m, b: a.masked_scatter(m, b), randn(3, 4), MASK, randn(12)),
    "index by two": (lambda a, i, j: a[i, :, j], randn(3, 4, 5), places(3, 2), places(5, 2)),
    "index and slice": (lambda a, i: a[1, i, :2], randn(3, 4, 5), places(4, 2)),
    "index by mask of rows": (lambda a, m: a[:, m[0]], randn(3, 4), MASK),
    "negative index": (lambda a, i: a[i - 3], randn(3, 4), places(3, 5)),
    "index_put": (
        lambda a, i, b: a.index_put((i, i), b, accumulate=True), randn(3, 4), places(3, 5), randn(5)
    ),
    "scatter_reduce": (
        lambda a, i, b: a.scatter_reduce(1, i, b, "amax"), randn(3, 4), places(4, 3, 2), randn(3, 2)
    ),
    "index_add": (lambda a, i, b: a.index_add(0, i, b), randn(3, 4), places(3, 5), randn(5, 4)),
    "nonzero": (lambda m: m.nonzero(as_tuple=True), MASK),
    "sort": (lambda a: a.sort(descending=True), randn(3, 7)),
    "topk": (lambda a: a.topk(3), randn(3, 7)),
    "median": (lambda a: a.median(1), randn(3, 7)),
    "quantile": (lambda a: a.quantile(0.3, 1), randn(3, 7)),
    "histc": (lambda a: a.histc(5), randn(30)),
    "bincount": (lambda a: a.bincount(), places(5, 20)),
    "bucketize": (rushlight.bucketize, randn(8), rushlight.tensor([-1.0, 0.0, 1.0])),
    "cdist": (rushlight.cdist, randn(3, 4), randn(5, 4)),
    "covariance": (rushlight.cov, randn(3, 10)),
    "norms": (lambda a: [a.norm(p) for p in (1, 2, 3, float("inf"))], randn(3, 4)),
    "singular values": (rushlight.linalg.svdvals, randn(3, 4)),
    "eigenvalues": (lambda a: rushlight.linalg.eigvalsh(a @ a.t()), randn(3, 3)),
    "pinv": (rushlight.linalg.pinv, randn(4, 3)),
    "solve": (rushlight.linalg.solve, randn(3, 3), randn(3, 2)),
    "fft": (rushlight.fft.fft2, randn(4, 4)),
    "stft": (lambda a, w: rushlight.stft(a, 64, window=w, return_complex=True), randn(400),
             rushlight.hann_window(64)),
    "grid_sample": (
        lambda a, g: functional.grid_sample(a, g.tanh(), align_corners=False),
        randn(1, 2, 4, 4), randn(1, 3, 3, 2),
    ),
    "affine_grid": (
        lambda t: functional.affine_grid(t, (1, 2, 4, 4), align_corners=False), randn(1, 2, 3)
    ),
    "antialiased": (
        lambda a: functional.interpolate(a, (3, 3), mode="bilinear", antialias=True),
        randn(1, 2, 8, 8),
    ),
    "ctc_loss": (
        lambda a, t: functional.ctc_loss(a.log_softmax(2), t + 1, (6, 6), (3, 2)),
        randn(6, 2, 5), places(4, 2, 3),
    ),
    "recursive_filter": (rushlight.signal.recursive_filter, randn(2, 9), randn(3), randn(2)),
    "varying_feedback": (
        rushlight.signal.varying_feedback, randn(2, 9), randn(2, 9, 1), places(3, 2, 9, 1) + 1
    ),
    "transducer_loss": (
        lambda a, t, n, m: rushlight.signal.transducer_loss(a, t, n + 1, m),
        randn(2, 4, 3, 5), places(4, 2, 2), places(4, 2), places(3, 2),
    ),
    "ctc_alignment": (
        lambda a, t, n, m: rushlight.signal.ctc_alignment(a, t + 1, n + 5, m),
        randn(2, 8, 5), places(4, 2, 2), places(4, 2), places(3, 2),
    ),
    "one_hot": (lambda i: functional.one_hot(i, 5), places(5, 4)),
    "max_unpool": (
        lambda a: functional.max_unpool2d(*functional.max_pool2d(a, 2, return_indices=True), 2),
        randn(1, 2, 4, 4),
    ),
    "embedding_bag": (
        lambda i, w, o: functional.embedding_bag(i, w, o, mode="max"),
        places(4, 6), randn(4, 3), rushlight.tensor([0, 2]),
    ),
    "repeat_interleave": (
        lambda a, n: a.repeat_interleave(n, 0), randn(3, 2), rushlight.tensor([1, 2, 0])
    ),
    "complex numbers": (lambda a, b: rushlight.polar(a.abs(), b) * 1j, randn(5), randn(5)),
    "roll and rotate": (lambda a: rushlight.rot90(a.roll((1, 2), (0, 1))), randn(3, 4)),
    "kron": (rushlight.kron, randn(2, 2), randn(3, 2)),
    "unfold": (lambda a: a.unfold(0, 3, 2), randn(10)),
    "cumprod": (lambda a: a.cumprod(0), randn(5)),
    "logcumsumexp": (lambda a: a.logcumsumexp(1), randn(3, 5)),
    "renorm": (lambda a: a.renorm(2, 0, 1.0), randn(3, 4)),
    "variance": (lambda a: rushlight.var_mean(a, 1), randn(3, 4)),
    "polygamma": (lambda a: rushlight.polygamma(1, a.abs() + 1), randn(5)),
    "jacobian": (lambda a: rushlight.func.jacrev(lambda v: v.sin())(a), randn(3)),
    "hessian": (lambda a: rushlight.func.hessian(lambda v: (v**3).sum())(a), randn(3)),
    "vmap": (lambda a, b: rushlight.vmap(lambda x, y: x @ y)(a, b), randn(2, 3, 4), randn(2, 4)),
    "block_diag": (rushlight.block_diag, randn(2, 3), randn(1, 2)),
    "runs": (
        lambda a: rushlight.unique_consecutive(a, return_inverse=True, return_counts=True),
        rushlight.tensor([1, 1, 2, 1]),
    ),
    "runs of rows": (
        lambda a: rushlight.unique_consecutive(a, dim=0), rushlight.tensor([[1, 1], [1, 1], [2, 1]])
    ),
    "nonzero_static": (lambda m: rushlight.nonzero_static(m, size=9), MASK),
    "causal attention": (
        lambda q, k: functional.scaled_dot_product_attention(q, k, k, is_causal=True),
        randn(2, 3, 4), randn(2, 5, 4),
    ),
    "lengths of ctc_loss there": (
        lambda a, t: functional.ctc_loss(a.log_softmax(2), t + 1, *_lengths(t)),
        randn(6, 2, 5), places(4, 2, 3),
    ),
    "svd of nothing": (rushlight.linalg.svd, randn(0, 3)),
    "as_strided_scatter": (
        lambda a, b: rushlight.as_strided_scatter(a, b, (2, 2), (1, 2)), randn(3, 3), randn(2, 2)
    ),
    "native_batch_norm": (
        lambda a, m: rushlight.native_batch_norm(a, None, None, m, m.abs(), False, 0.1, 1e-5),
        randn(3, 2, 4), randn(2),
    ),
    "native_layer_norm": (
        lambda a: rushlight.native_layer_norm(a, (3,), None, None, 1e-5), randn(2, 3)
    ),
    "running sums of complex numbers": (
        lambda a, b: rushlight.complex(a, b).cumsum(1), randn(3, 4), randn(3, 4)
    ),
    "running products of complex numbers": (
        lambda a, b: rushlight.complex(a, b).cumprod(0), randn(3, 4), randn(3, 4)
    ),
    "scatter_add of complex numbers": (
        lambda a, i, b: rushlight.complex(a, a).scatter_add(0, i, rushlight.complex(b, b)),
        randn(3, 4), places(3, 5, 4), randn(5, 4),
    ),
    "padded": (
        lambda a: nn.utils.rnn.pad_packed_sequence(
            nn.utils.rnn.pack_padded_sequence(a, [5, 3]))[0], randn(5, 2, 3)
    ),
}  # fmt: skip


def _lengths(targets):
    """Lengths of inputs and targets, as tensors beside the targets."""
    return [rushlight.tensor(n, device=targets.device) for n in ([6, 6], [3, 2])]


def tensors_of(value):
    """All tensors in a result."""
    if isinstance(value, rushlight.Tensor):
        return [value]
    return [t for item in value for t in tensors_of(item)]


@pytest.mark.parametrize("name", CALLS)
def test_results_and_gradients(name):
    function, *inputs = CALLS[name]

    def run(device):
        given = [t.detach().to(device).requires_grad_(t.is_floating_point()) for t in inputs]
        found = tensors_of(function(*given))
        live = [t for t in found if t.requires_grad]
        if live:
            sum((t * t.conj()).real.sum() for t in live).backward()
        found += [t.grad for t in given if t.grad is not None]
        assert all(t.device.type == device for t in found)
        return [t.detach().cpu() for t in found]

    for a, b in zip(run("cpu"), run("cuda"), strict=True):
        rushlight.testing.assert_close(b, a, rtol=1e-3, atol=1e-4)


def test_samples_and_initial_values_are_there():
    x = rushlight.rand(6, 5, device="cuda") + 0.1
    made = [
        rushlight.bernoulli(x.clamp(0, 1)), rushlight.multinomial(x, 3), rushlight.poisson(x),
        rushlight.normal(x, 1.0), rushlight.empty_like(x).cauchy_(),
        rushlight.empty_like(x).geometric_(0.3), rushlight.empty_like(x).log_normal_(),
        rushlight.empty_like(x).random_(0, 5), nn.init.xavier_uniform_(x.clone()),
        nn.init.orthogonal_(x.clone()), nn.init.trunc_normal_(x.clone()),
        rushlight.distributions.Gamma(x, x).sample(),
        rushlight.distributions.Categorical(x).sample(),
    ]  # fmt: skip
    assert all(t.is_cuda for t in made)
    rows = nn.init.orthogonal_(x.clone())
    identity = rushlight.eye(5, device="cuda")
    assert rushlight.allclose(rows.t() @ rows, identity, atol=1e-5)


def test_what_is_not_there_says_so():
    with pytest.raises(NotImplementedError, match="sparse tensors are not on GPUs"):
        rushlight.eye(3, device="cuda").to_sparse()
    with pytest.raises(NotImplementedError, match=r"input.cpu\(\).unique"):
        rushlight.ones(2, 2, device="cuda").unique(dim=0)


def test_histograms_with_edges_are_the_cpus_as_in_pytorch():
    for name in ("histogram", "histogramdd"):
        with pytest.raises(NotImplementedError, match=rf"{name}\(\) is for tensors on the CPU"):
            getattr(rushlight, name)(rushlight.ones(3, 1, device="cuda"), bins=[2])


def test_new_memory_is_where_and_as_it_was_asked_for():
    like = rushlight.ones(3, 2, device="cuda")
    made = like.new_empty_strided((3, 2), (4, 2))
    assert made.is_cuda and made.stride() == (4, 2)
    made.fill_(2.0)
    assert made.sum().item() == 12
    assert rushlight.empty_strided((5,), (4,), device="cuda").stride() == (4,)
    drawn = rushlight.randint_like(like, 2, 4)
    assert drawn.is_cuda and drawn.dtype is like.dtype
    assert set(drawn.cpu().flatten().tolist()) <= {2.0, 3.0}


@pytest.mark.parametrize("width", [4, 130], ids=["kernels", "array code"])
def test_attention_with_dropout_draws_on_the_device(width):
    query, key, value = (
        rushlight.randn(2, 2, 5, width, device="cuda", requires_grad=True) for _ in range(3)
    )

    def run(p=0.5):
        return functional.scaled_dot_product_attention(query, key, value, dropout_p=p)

    rushlight.cuda.manual_seed(3)
    found = run()
    first = rushlight.autograd.grad(found.sum(), (query, key, value), retain_graph=True)
    again = rushlight.autograd.grad(found.sum(), (query, key, value), create_graph=True)
    assert "ScaledDotProduct" in found.grad_fn.name()
    for a, b in zip(first, again, strict=True):
        assert a.is_cuda
        rushlight.testing.assert_close(a, b.detach(), rtol=1e-3, atol=1e-4)
    assert rushlight.autograd.grad(again[0].sum(), key)[0].is_cuda
    other = run()
    assert not rushlight.equal(found, other) and not rushlight.allclose(found, run(0.0))
    rushlight.cuda.manual_seed(3)
    assert rushlight.equal(found, run()) and rushlight.equal(other, run())
    assert not run(1.0).any()


@pytest.mark.parametrize("dtype", [rushlight.float16, rushlight.bfloat16], ids=str)
def test_attention_in_low_precision_stays_there(dtype):
    query = rushlight.randn(1, 2, 5, 8, device="cuda", requires_grad=True)
    low = query.to(dtype)
    found = functional.scaled_dot_product_attention(low, low, low, is_causal=True)
    assert found.dtype is dtype and "ScaledDotProduct" in found.grad_fn.name()
    exact = functional.scaled_dot_product_attention(query, query, query, is_causal=True)
    rushlight.testing.assert_close(found.float(), exact, rtol=3e-2, atol=3e-2)


def test_captured_dropout_of_attention_is_new_at_every_replay():
    query = rushlight.randn(1, 2, 6, 8, device="cuda")

    def run():
        return functional.scaled_dot_product_attention(query, query, query, dropout_p=0.5)

    stream = rushlight.cuda.Stream()
    with rushlight.cuda.stream(stream):
        run()
    graph = rushlight.cuda.CUDAGraph()
    with rushlight.cuda.graph(graph):
        found = run()
    graph.replay()
    first = found.clone()
    graph.replay()
    assert not rushlight.equal(first, found)


def test_a_custom_operator_takes_the_kernel_of_the_device():
    from rushlight.library import custom_op

    seen = []

    @custom_op("cuda_tests::cube", mutates_args=(), device_types="cpu")
    def cube(x: rushlight.Tensor) -> rushlight.Tensor:
        return rushlight.from_numpy(x.numpy() ** 3)

    @cube.register_kernel("cuda")
    def _(x):
        seen.append(x.device.type)
        return x * x * x

    def save(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x**2

    cube.register_autograd(backward, setup_context=save)
    for device in ("cpu", "cuda"):
        x = rushlight.tensor([1.0, 2.0], device=device, requires_grad=True)
        cube(x).sum().backward()
        assert x.grad.device.type == device
        assert x.grad.tolist() == [3.0, 12.0]
    assert seen == ["cuda"]


def test_names_that_are_imported_late_are_listed():
    late = {"empty_cache", "Stream", "manual_seed_all", "FloatTensor", "amp", "CUDAGraph"}
    assert late <= set(dir(rushlight.cuda))
    assert all(getattr(rushlight.cuda, name) is not None for name in late)
