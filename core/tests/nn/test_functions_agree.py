"""Functions of nn.functional that few programs use, against PyTorch in float64."""

import warnings

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")


def leaf(library, *shape, seed=0):
    random = np.random.default_rng(seed)
    return library.tensor(random.standard_normal(shape), requires_grad=True)


def flatten(value):
    if isinstance(value, (tuple, list)):
        return [t for item in value for t in flatten(item)]
    return [] if value is None else [value]


def program(library, call, *shapes):
    """Outputs of ``call(F, *leaves)`` and the leaves' gradients."""
    library.manual_seed(0)
    leaves = [leaf(library, *shape, seed=i) for i, shape in enumerate(shapes)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outputs = flatten(call(library.nn.functional, *leaves))
    tracked = [t for t in outputs if t.requires_grad]
    weights = [np.random.default_rng(7).uniform(0.5, 1.5, tuple(t.shape)) for t in tracked]
    pairs = zip(tracked, weights, strict=True)
    sum((t * t * library.tensor(w)).sum() for t, w in pairs).backward()
    return [t.detach().numpy() for t in outputs], [t.grad.numpy() for t in leaves]


def agree(call, *shapes):
    ours, theirs = (program(library, call, *shapes) for library in (rushlight, torch))
    for found, expected in zip(ours, theirs, strict=True):
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


IMAGE = (2, 3, 7, 6)
RESIZED = [
    ((2, 3, 9), {"size": 13, "mode": "linear"}),
    ((2, 3, 9), {"size": 4, "mode": "nearest-exact"}),
    (IMAGE, {"size": (5, 9)}),
    (IMAGE, {"scale_factor": (1.7, 0.6), "mode": "bilinear"}),
    (IMAGE, {"scale_factor": 1.7, "mode": "bilinear", "recompute_scale_factor": True}),
    (IMAGE, {"size": (11, 3), "mode": "bilinear", "align_corners": True}),
    (IMAGE, {"size": (11, 3), "mode": "bicubic"}),
    (IMAGE, {"size": (3, 4), "mode": "bilinear", "antialias": True}),
    (IMAGE, {"size": (3, 12), "mode": "bicubic", "antialias": True, "align_corners": True}),
    (IMAGE, {"size": (3, 4), "mode": "area"}),
    ((1, 2, 4, 3, 5), {"scale_factor": 1.5, "mode": "trilinear"}),
    ((1, 2, 4, 3, 5), {"size": (2, 6, 5)}),
]


@pytest.mark.parametrize(("shape", "kwargs"), RESIZED)
def test_interpolate(shape, kwargs):
    agree(lambda F, x: F.interpolate(x, **kwargs), shape)


@pytest.mark.parametrize("size", [(9, 10), (3, 4)])
def test_interpolate_bytes(size):
    values = np.random.default_rng(0).integers(0, 256, (1, 3, 7, 6), dtype=np.uint8)
    for mode in ("nearest", "bilinear"):
        ours, theirs = (
            library.nn.functional.interpolate(library.tensor(values), size, mode=mode).numpy()
            for library in (rushlight, torch)
        )
        assert np.abs(ours.astype(int) - theirs.astype(int)).max() <= (mode != "nearest")


def test_interpolate_errors():
    F, x = rushlight.nn.functional, rushlight.ones(1, 1, 4, 4)
    with pytest.raises(ValueError, match="only one of size or scale_factor"):
        F.interpolate(x, 2, 2)
    with pytest.raises(ValueError, match="align_corners option can only be set"):
        F.interpolate(x, 2, align_corners=True)
    with pytest.raises(NotImplementedError, match="5-D"):
        F.interpolate(x, 2, mode="trilinear")
    with pytest.raises(ValueError, match="one value per spatial dimension"):
        F.interpolate(x, (2, 2, 2))


@pytest.mark.parametrize("align_corners", [True, False])
@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_grid_sample(mode, padding_mode, align_corners):
    settings = mode, padding_mode, align_corners
    agree(lambda F, x, g: F.grid_sample(x, g * 0.8, *settings), IMAGE, (2, 4, 5, 2))
    if mode != "bicubic":
        shapes = (2, 2, 3, 4, 5), (2, 2, 3, 2, 3)
        agree(lambda F, x, g: F.grid_sample(x, g * 0.8, *settings), *shapes)


def test_affine_grid():
    for align_corners in (True, False):
        agree(lambda F, t, a=align_corners: F.affine_grid(t, (2, 1, 3, 4), a), (2, 2, 3))
        agree(lambda F, t, a=align_corners: F.affine_grid(t, (1, 1, 2, 3, 4), a), (1, 3, 4))


def test_folding():
    agree(lambda F, x: F.unfold(x, (3, 2), (1, 2), (1, 0), (2, 1)), IMAGE)
    agree(lambda F, x: F.fold(x, (5, 4), 2, 1, 1, 2), (2, 12, 9))
    agree(lambda F, x: F.fold(F.unfold(x, 3), (7, 6), 3), (3, 7, 6))


def test_shuffles():
    agree(lambda F, x: F.pixel_shuffle(x, 2), (2, 3, 8, 3, 2))
    agree(lambda F, x: F.pixel_unshuffle(x, 2), (3, 4, 6))
    agree(lambda F, x: F.channel_shuffle(x, 2), (2, 6, 3, 2))


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("form", ["padded", "joined", "single"])
def test_ctc_loss(reduction, form):
    labels = [[1, 2, 2, 3], [3, 1, 0, 0], [4, 4, 4, 4]]

    def call(F, x, library=None):
        library = rushlight if F is rushlight.nn.functional else torch
        scores = F.log_softmax(x, -1)
        if form == "single":
            target = library.tensor(labels[0])
            lengths = library.tensor(9), library.tensor(4)
            return F.ctc_loss(scores[:, 0], target, *lengths, reduction=reduction)
        target = library.tensor(labels if form == "padded" else [1, 2, 2, 3, 3, 1, 4, 4, 4])
        return F.ctc_loss(
            scores, target, (9, 7, 8), (4, 2, 3), reduction=reduction, zero_infinity=True
        )

    agree(call, (9, 3, 5))


def test_ctc_loss_of_impossible_targets():
    for library in (rushlight, torch):
        x = library.zeros(3, 1, 4, requires_grad=True)
        target = library.tensor([[1, 1, 1]])
        settings = target, library.tensor([3]), library.tensor([3])
        loss = library.nn.functional.ctc_loss
        assert loss(x.log_softmax(-1), *settings).item() == float("inf")
        loss(x.log_softmax(-1), *settings, zero_infinity=True).backward()
        assert not x.grad.any()


def test_pools_of_other_kinds():
    agree(lambda F, x: F.max_pool2d(x, 2, return_indices=True), IMAGE)
    agree(lambda F, x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2), (2, 3, 6, 6))
    agree(
        lambda F, x: F.max_unpool1d(*F.max_pool1d(x, 2, return_indices=True), 2, output_size=[7]),
        (2, 3, 7),
    )
    agree(lambda F, x: F.max_unpool3d(*F.max_pool3d(x, 2, return_indices=True), 2), (1, 2, 4, 4, 4))
    agree(lambda F, x: F.lp_pool2d(x, 2, 3, 2), IMAGE)
    agree(
        lambda F, x: F.fractional_max_pool2d(x, 2, output_ratio=(0.6, 0.6), return_indices=True),
        IMAGE,
    )
    agree(lambda F, x: F.fractional_max_pool3d(x, 2, output_size=2), (2, 4, 5, 4))
    agree(lambda F, x: F.local_response_norm(x, 3, 0.1), IMAGE)


@pytest.mark.parametrize(
    "size, out, fits",
    [(4, 3, False), (5, 3, True), ((5, 4, 5), 3, False), (1, 1, False), ((4, 5, 4), 2, True)],
)
def test_fractional_pools_of_three_dimensions_need_an_element_more(size, out, fits):
    shape = (2, *([size] * 3 if isinstance(size, int) else size))
    window = 1 if size == 1 else 2
    for library in (rushlight, torch):
        pool = library.nn.functional.fractional_max_pool3d
        if fits:
            assert pool(library.ones(shape), window, out).shape == (2, out, out, out)
            continue
        with pytest.raises(RuntimeError, match="fractional_max_pool3d"):
            pool(library.ones(shape), window, out)


def mask_of(F):
    library = rushlight if F is rushlight.nn.functional else torch
    return library.tensor(np.tril(np.ones((5, 6)), -1) > 0)


ATTENTION = {
    "plain": lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v),
    "causal": lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
    "scale": lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v, scale=0.3),
    "blind row": lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v, mask_of(F)),
    "float": lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v, mask_of(F).double()),
    "dropout": lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v, dropout_p=0.4),
    "groups": lambda F, q, k, v: F.scaled_dot_product_attention(
        q, k[:, :2], v[:, :2], enable_gqa=True
    ),
}


@pytest.mark.parametrize("name", ATTENTION)
def test_attention(name):
    agree(ATTENTION[name], (2, 4, 5, 3), (2, 4, 6, 3), (2, 4, 6, 3))


def test_attention_errors():
    F, x = rushlight.nn.functional, rushlight.ones(2, 3, 4)
    with pytest.raises(RuntimeError, match="should not be set when is_causal=True"):
        F.scaled_dot_product_attention(x, x, x, rushlight.ones(3, 3), is_causal=True)
    with pytest.raises(RuntimeError, match="same dtype"):
        F.scaled_dot_product_attention(x, x.double(), x)
    with pytest.raises(RuntimeError, match=r"query \[2, 3, 4\], key \[2, 3, 2\]"):
        F.scaled_dot_product_attention(x, x[..., :2], x)


@pytest.mark.parametrize("training", [True, False])
def test_encoder_hides_padding_as_pytorch_does(training):
    """In evaluation without gradients padded positions come out as zeros."""
    found = []
    for library in (rushlight, torch):
        library.manual_seed(0)
        layer = library.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0)
        encoder = library.nn.TransformerEncoder(layer, 2).train(training)
        x = leaf(library, 2, 4, 8).detach().float()
        hidden = library.tensor([[False, False, False, True], [False, False, True, True]])
        with library.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(encoder(x, src_key_padding_mask=hidden).numpy())
    np.testing.assert_allclose(*found, rtol=1e-4, atol=1e-5)


def test_decoder_agrees():
    found = []
    for library in (rushlight, torch):
        library.manual_seed(0)
        layer = library.nn.TransformerDecoderLayer(8, 2, 16, batch_first=True, dropout=0.0)
        decoder = library.nn.TransformerDecoder(layer, 2, library.nn.LayerNorm(8))
        x, memory = (leaf(library, 2, 4, 8, seed=i).detach().float() for i in range(2))
        mask = library.nn.Transformer.generate_square_subsequent_mask(4)
        out = decoder(x, memory, tgt_mask=mask)
        out.square().sum().backward()
        found.append([out.detach().numpy(), layer.linear1.weight.grad, repr(decoder)])
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-4, atol=1e-5)
    assert found[0][1:] == found[1][1:]


def test_remaining_losses():
    def modules(F):
        return rushlight if F is rushlight.nn.functional else torch

    def head(F, x, w):
        library = modules(F)
        target = library.tensor([0, 2, 3, 1])
        return F.linear_cross_entropy(x, w, target, label_smoothing=0.1, ignore_index=2)

    agree(head, (4, 3), (5, 3))
    agree(
        lambda F, a, b, c: F.triplet_margin_with_distance_loss(
            a, b, c, distance_function=lambda x, y: (x - y).abs().sum(-1), swap=True
        ),
        (3, 4), (3, 4), (3, 4),
    )  # fmt: skip
    agree(lambda F, x: F.gumbel_softmax(x, 0.7), (4, 5))
    agree(lambda F, x: F.gumbel_softmax(x, 0.7, hard=True, dim=0), (4, 5))
    agree(lambda F, x: F.rrelu(x, 0.1, 0.6, training=True), (4, 5))
    agree(lambda F, x: F.feature_alpha_dropout(x, 0.4, training=True), IMAGE)


def test_in_place_forms():
    F = rushlight.nn.functional
    names = ["relu_", "elu_", "leaky_relu_", "selu_", "celu_", "hardtanh_", "rrelu_"]
    for name in names:
        x = rushlight.tensor([-1.5, 0.5, 2.0])
        expected = getattr(F, name[:-1])(x)
        assert getattr(F, name)(x) is x and (x == expected).all()
    x = rushlight.tensor([-1.0, 2.0])
    assert F.threshold_(x, 0.0, 7.0) is x and x.tolist() == [7.0, 2.0]


def test_every_public_function_is_there():
    """All functions of torch.nn.functional, but for helpers of its own."""
    import torch.nn.functional as theirs

    names = [
        n for n in dir(theirs)
        if not n.startswith("_") and callable(getattr(theirs, n))
        and (getattr(getattr(theirs, n), "__module__", "") or "torch").startswith("torch")
        and not isinstance(getattr(theirs, n), type)
    ]  # fmt: skip
    missing = {n for n in names if not hasattr(rushlight.nn.functional, n)}
    assert missing == {
        "assert_int_or_pair", "boolean_dispatch", "handle_torch_function", "has_torch_function",
        "has_torch_function_unary", "has_torch_function_variadic",
    }  # fmt: skip


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_padding_without_a_value_takes_zero_alone(mode):
    found = []
    for library in (rushlight, torch):
        pad, x = library.nn.functional.pad, library.arange(4.0).reshape(1, 1, 4)
        found.append([pad(x, (1, 2), mode, value).tolist() for value in (None, 0, 0.0, False)])
        with pytest.raises(RuntimeError, match=f'Padding mode "{mode}" doesn.t take in value'):
            pad(x, (1, 2), mode, 1.0)
    assert found[0] == found[1] and len({str(rows) for rows in found[0]}) == 1
