"""Attention out of parts: PyTorch's multi-head attention, and the errors."""

import pytest

import rushlight as rl
from rushlight_text.nn import InProjContainer, MultiheadAttentionContainer, ScaledDotProduct
from rushlight_text.nn.modules.multiheadattention import generate_square_subsequent_mask


def container(batch_first=False, layer_first=False):
    rl.manual_seed(0)
    parts = [rl.nn.Linear(8, 8) for _ in range(4)]
    return MultiheadAttentionContainer(
        2,
        InProjContainer(*parts[:3]),
        ScaledDotProduct(batch_first=layer_first),
        parts[3],
        batch_first=batch_first,
    )


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("layer_first", [False, True])
def test_pytorchs_numbers(masked, layer_first):
    torch = pytest.importorskip("torch")
    model = container(layer_first=layer_first)
    query, key = rl.rand(5, 3, 8), rl.rand(7, 3, 8)
    mask = rl.rand(6, 5, 7) < 0.4 if masked else None
    output, weights = model(query, key, key, attn_mask=mask)
    there = lambda x: torch.from_numpy(x.detach().numpy())  # noqa: E731
    projections = model.in_proj_container
    layers = [projections.query_proj, projections.key_proj, projections.value_proj]
    expected, shares = torch.nn.functional.multi_head_attention_forward(
        *(there(each) for each in (query, key, key)),
        embed_dim_to_check=8,
        num_heads=2,
        in_proj_weight=torch.cat([there(layer.weight) for layer in layers]),
        in_proj_bias=torch.cat([there(layer.bias) for layer in layers]),
        bias_k=None,
        bias_v=None,
        add_zero_attn=False,
        dropout_p=0.0,
        out_proj_weight=there(model.out_proj.weight),
        out_proj_bias=there(model.out_proj.bias),
        attn_mask=there(mask) if masked else None,
        average_attn_weights=False,
    )
    assert rl.allclose(output, rl.tensor(expected.tolist()), atol=1e-5)
    assert rl.allclose(weights, rl.tensor(shares.reshape(6, 5, 7).tolist()), atol=1e-5)


def test_batch_first_is_transposed():
    query, key = rl.rand(5, 3, 8), rl.rand(7, 3, 8)
    plain, _ = container()(query, key, key)
    first, _ = container(batch_first=True)(*(x.transpose(0, 1) for x in (query, key, key)))
    assert rl.allclose(first.transpose(0, 1), plain, atol=1e-6)


def test_one_more_key_and_value():
    layer = ScaledDotProduct()
    query, key, value = rl.rand(4, 6, 3), rl.rand(5, 6, 3), rl.rand(5, 6, 3)
    bias = rl.rand(1, 6, 3)
    output, weights = layer(query, key, value, bias_k=bias, bias_v=bias)
    longer, _ = layer(query, rl.cat([key, bias]), rl.cat([value, bias]))
    assert weights.shape == (6, 4, 6) and rl.allclose(output, longer)
    mask = rl.zeros(6, 4, 5, dtype=rl.bool)
    masked, _ = layer(query, key, value, mask, bias, bias)
    assert rl.allclose(masked, longer)
    with pytest.raises(AssertionError, match="Shape of bias_k is not supported"):
        layer(query, key, value, bias_k=rl.rand(1, 6, 2), bias_v=bias)


def test_masks_and_shapes_are_checked():
    layer = ScaledDotProduct()
    x = rl.rand(4, 6, 3)
    with pytest.raises(RuntimeError, match="Only bool tensor"):
        layer(x, x, x, attn_mask=rl.zeros(6, 4, 4))
    with pytest.raises(RuntimeError, match="must be a 3D tensor"):
        layer(x, x, x, attn_mask=rl.zeros(4, 4, dtype=rl.bool))
    with pytest.raises(RuntimeError, match=r"size of the attn_mask is not correct: \[6, 4, 6\]"):
        layer(x, x, x, attn_mask=rl.zeros(6, 4, 6, dtype=rl.bool))
    with pytest.raises(AssertionError, match="feature dim of query, key, value"):
        layer(x, rl.rand(4, 6, 2), x)
    with pytest.raises(AssertionError, match="Shape of key, value must match"):
        layer(x, rl.rand(5, 6, 3), x)
    with pytest.raises(AssertionError, match="query's embed_dim must be divisible"):
        parts = InProjContainer(*(rl.nn.Linear(8, 9) for _ in range(3)))
        MultiheadAttentionContainer(2, parts, layer, rl.nn.Linear(9, 8))(*[rl.rand(2, 1, 8)] * 3)


def test_dropout_only_in_training():
    layer = ScaledDotProduct(dropout=0.9)
    x = rl.rand(4, 6, 3)
    assert (layer(x, x, x)[1] == 0).any()
    assert not (layer.eval()(x, x, x)[1] == 0).any()


def test_triangular_masks():
    mask = generate_square_subsequent_mask(2, 3)
    assert mask.tolist() == [[[True, False, False], [True, True, False], [True, True, True]]] * 2
