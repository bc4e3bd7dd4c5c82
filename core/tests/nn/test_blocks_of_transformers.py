"""The blocks of transformer layers, which subclasses call and replace."""

import pytest

import rushlight as rl
from rushlight import nn


class ScaledEncoderLayer(nn.TransformerEncoderLayer):
    """As demucs has it: the blocks by PyTorch's names, in a forward of its own."""

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        if self.norm_first:
            src = src + self._sa_block(self.norm1(src), src_mask, src_key_padding_mask)
            return src + self._ff_block(self.norm2(src))
        src = self.norm1(src + self._sa_block(src, src_mask, src_key_padding_mask))
        return self.norm2(src + self._ff_block(src))


def alike(kind, other, **options):
    """A layer of each class, with the same weights."""
    rl.manual_seed(0)
    first = kind(8, 2, 16, dropout=0.0, batch_first=True, **options)
    second = other(8, 2, 16, dropout=0.0, batch_first=True, **options)
    second.load_state_dict(first.state_dict())
    return first, second


@pytest.mark.parametrize("norm_first", [False, True])
def test_encoder_blocks_make_the_layer(norm_first):
    plain, own = alike(nn.TransformerEncoderLayer, ScaledEncoderLayer, norm_first=norm_first)
    x = rl.randn(2, 5, 8)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    padding = rl.tensor([[False] * 5, [False] * 3 + [True] * 2])
    kept = rl.where(padding, float("-inf"), 0.0)
    assert rl.allclose(own(x, mask, kept), plain(x, mask, kept), atol=1e-6)
    hidden = plain.linear1(x).relu()
    assert rl.allclose(plain._ff_block(x), plain.linear2(hidden), atol=1e-6)


@pytest.mark.parametrize("norm_first", [False, True])
def test_replaced_blocks_are_what_the_layers_add(norm_first):
    class Encoder(nn.TransformerEncoderLayer):
        def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
            return x * 2

        def _ff_block(self, x):
            return -x

    class Decoder(nn.TransformerDecoderLayer):
        def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
            return x * 2

        def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
            return mem.mean(1, keepdim=True)

        def _ff_block(self, x):
            return x + 1

    rl.manual_seed(0)
    x, memory = rl.randn(2, 5, 8), rl.randn(2, 3, 8)
    norm = rl.nn.LayerNorm(8)
    mean = memory.mean(1, keepdim=True)
    options = {"batch_first": True, "norm_first": norm_first}
    encoded = Encoder(8, 2, 16, **options)(x)
    decoded = Decoder(8, 2, 16, **options)(x, memory)
    if norm_first:
        first = x + 2 * norm(x)
        expected = first - norm(first)
        second = first + mean
        both = second + norm(second) + 1
    else:
        first = norm(3 * x)
        expected = norm(first - first)
        second = norm(first + mean)
        both = norm(2 * second + 1)
    assert rl.allclose(encoded, expected, atol=1e-6)
    assert rl.allclose(decoded, both, atol=1e-6)
