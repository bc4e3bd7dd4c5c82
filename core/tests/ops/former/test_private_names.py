"""Functions that PyTorch keeps for its own layers, against PyTorch where it is installed."""

import pytest

import rushlight

torch = pytest.importorskip("torch")


def pair(*shape, low=-2.0, seed=0):
    theirs = torch.rand(shape, generator=torch.Generator().manual_seed(seed)) * 4 + low
    return rushlight.tensor(theirs.numpy()), theirs


def same(found, expected):
    torch.testing.assert_close(torch.from_numpy(found.detach().numpy()), expected.detach())


def test_chunk_cat_pads_and_joins():
    a, ta = pair(2, 3, 3)
    b, tb = pair(2, 4, seed=1)
    for dim in (0, 1):
        same(rushlight._chunk_cat([a, b], dim, 2), torch._chunk_cat([ta, tb], dim, 2))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (([], 0, 2), "non-empty"),
        (([(2, 3)], 0, 0), "positive num_chunks"),
        (([(2, 3), (2, 3, 1)], -1, 2), "non-negative dim"),
        (([(2, 3), (3, 3)], 1, 2), "same sizes"),
    ],
)
def test_chunk_cat_refuses(arguments, text):
    shapes, dim, count = arguments
    with pytest.raises(RuntimeError, match=text):
        rushlight._chunk_cat([rushlight.zeros(s) for s in shapes], dim, count)
    with pytest.raises(RuntimeError, match=text):
        torch._chunk_cat([torch.zeros(s) for s in shapes], dim, count)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_backward_data(name):
    grad, tgrad = pair(3, 5)
    x, tx = pair(3, 5, seed=2)
    out, tout = getattr(rushlight, name)(x, 1), getattr(torch, name)(tx, 1)
    ours = getattr(rushlight, f"_{name}_backward_data")(grad, out, 1, rushlight.float32)
    same(ours, getattr(torch, f"_{name}_backward_data")(tgrad, tout, 1, torch.float32))


def test_safe_softmax_of_rows_without_any_number():
    values = [[-float("inf")] * 3, [1.0, -float("inf"), 2.0]]
    x = rushlight.tensor(values, requires_grad=True)
    tx = torch.tensor(values, requires_grad=True)
    weight = [1.0, 2.0, 3.0]
    found, expected = rushlight._safe_softmax(x, 1), torch._safe_softmax(tx, 1)
    same(found, expected)
    (found * rushlight.tensor(weight)).sum().backward()
    (expected * torch.tensor(weight)).sum().backward()
    same(x.grad, tx.grad)


def test_masked_index_ignores_places_beyond_the_end():
    x, tx = pair(2, 2)
    index = [[0], [9]], [[0], [1]]
    mask = [[True], [False]]
    tindex = [torch.tensor(i) for i in index]
    ours = rushlight._unsafe_masked_index(
        x, rushlight.tensor(mask), [rushlight.tensor(i) for i in index], 7
    )
    same(ours, torch._unsafe_masked_index(tx, torch.tensor(mask), tindex, 7))
    values, tvalues = pair(2, 1, seed=3)
    same(
        rushlight._unsafe_masked_index_put_accumulate(
            x, rushlight.tensor(mask), [rushlight.tensor(i) for i in index], values
        ),
        torch._unsafe_masked_index_put_accumulate(tx, torch.tensor(mask), tindex, tvalues),
    )


def test_batch_norm_updates_what_it_is_given():
    x, tx = pair(4, 3)
    state = [rushlight.ones(3), rushlight.zeros(3), rushlight.zeros(3), rushlight.ones(3)]
    theirs = [torch.ones(3), torch.zeros(3), torch.zeros(3), torch.ones(3)]
    found = rushlight.ops.aten._batch_norm_with_update(x, *state, 0.1, 1e-5)
    expected = torch.ops.aten._batch_norm_with_update(tx, *theirs, 0.1, 1e-5)
    for a, b in zip([*found, *state], [*expected, *theirs], strict=True):
        same(a, b)
    found = rushlight._native_batch_norm_legit(x, None, None, True, 0.1, 1e-5)
    expected = torch._native_batch_norm_legit(tx, None, None, True, 0.1, 1e-5)
    for a, b in zip(found, expected, strict=True):
        same(a, b)


@pytest.mark.parametrize("name", ["_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"])
@pytest.mark.parametrize(
    "arguments", [([3, 3], False), ([3, 3], True, 1.7, 0.9), (None, False, [1.7, 0.9])]
)
def test_antialiased_resampling(name, arguments):
    x, tx = pair(1, 2, 10, 20)
    same(
        getattr(rushlight.ops.aten, name)(x, *arguments),
        getattr(torch.ops.aten, name)(tx, *arguments),
    )


@pytest.mark.parametrize("shape", [(2, 5, 6), (1, 2, 5, 6)])
def test_gradient_of_max_pool(shape):
    x, tx = pair(*shape)
    settings = (3, 2, 1, 1, True)
    out, index = rushlight.nn.functional.max_pool2d(x, *settings, return_indices=True)
    tout, tindex = torch.nn.functional.max_pool2d(tx, *settings, return_indices=True)
    ours = rushlight.ops.aten.max_pool2d_with_indices_backward(
        out, x, [3, 3], [2, 2], [1, 1], [1, 1], True, index
    )
    expected = torch.ops.aten.max_pool2d_with_indices_backward(
        tout, tx, [3, 3], [2, 2], [1, 1], [1, 1], True, tindex
    )
    same(ours, expected)


def test_slice_is_a_view():
    x = rushlight.arange(10)
    part = rushlight.ops.aten.slice.Tensor(x, 0, 2, 8, 3)
    assert part.tolist() == [2, 5]
    part[0] = 100
    assert x[2].item() == 100


def test_segment_reduce_by_its_private_name():
    x, tx = pair(3)
    lengths = [1, 2]
    same(
        rushlight._segment_reduce(x, "sum", lengths=rushlight.tensor(lengths)),
        torch._segment_reduce(tx, "sum", lengths=torch.tensor(lengths)),
    )


@pytest.mark.parametrize("use_gelu", [False, True])
def test_addmm_activation(use_gelu):
    row, trow = pair(70)
    x, tx = pair(40, 90, seed=1)
    w, tw = pair(90, 70, seed=2)
    other, tother = pair(40, 70, seed=3)
    for _ in range(2):  # the second call finds the product planned
        same(
            rushlight._addmm_activation(row, x, w, use_gelu=use_gelu),
            torch._addmm_activation(trow, tx, tw, use_gelu=use_gelu),
        )
    for start, tstart, factors in ((row, trow, {"alpha": 0.5}), (other, tother, {"beta": 2})):
        same(
            start._addmm_activation(x, w, **factors, use_gelu=use_gelu),
            tstart._addmm_activation(tx, tw, **factors, use_gelu=use_gelu),
        )
    leaves = [v.clone().requires_grad_() for v in (row, x, w)]
    out = rushlight._addmm_activation(*leaves, use_gelu=use_gelu)
    activation = rushlight.nn.functional.gelu if use_gelu else rushlight.relu
    expected = activation(rushlight.addmm(*leaves))
    found, wanted = (rushlight.autograd.grad(v.sum(), leaves) for v in (out, expected))
    assert all(map(rushlight.equal, found, wanted))
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        rushlight._addmm_activation(row, x, x)
