"""Modules with the parts and names of fairseq's are imported; fairseq itself needs no installing.

The stand-ins are built from our own parts, so what the imported network computes is known.
"""

import pytest

import rushlight as rl
from rushlight import nn
from rushlight_audio.models import wav2vec2_model
from rushlight_audio.models.wav2vec2.utils import import_fairseq_model

LAYERS = [(8, 4, 2), (6, 3, 2)]


class Attention(nn.Module):
    def __init__(self, ours):
        super().__init__()
        self.num_heads = ours.num_heads
        self.dropout_module = nn.Dropout(ours.dropout)
        for name in ("k_proj", "v_proj", "q_proj", "out_proj"):
            self.add_module(name, getattr(ours, name))


class Layer(nn.Module):
    def __init__(self, ours):
        super().__init__()
        self.layer_norm_first = ours.layer_norm_first
        self.self_attn = Attention(ours.attention)
        self.self_attn_layer_norm = ours.layer_norm
        self.dropout2 = ours.feed_forward.intermediate_dropout
        self.dropout3 = ours.feed_forward.output_dropout
        self.fc1 = ours.feed_forward.intermediate_dense
        self.fc2 = ours.feed_forward.output_dense
        self.final_layer_norm = ours.final_layer_norm


class Encoder(nn.Module):
    def __init__(self, ours):
        super().__init__()
        self.layerdrop = ours.layer_drop
        self.pos_conv = nn.Sequential(ours.pos_conv_embed.conv, nn.Identity(), nn.GELU())
        self.layers = nn.ModuleList(Layer(each) for each in ours.layers)
        self.layer_norm = ours.layer_norm


def block(ours, mode):
    """As fairseq nests them: the norm third, inside of two transpositions if over channels."""
    rest = [nn.Dropout(0.0)]
    if mode == "layer_norm":
        rest.append(nn.Sequential(nn.Identity(), ours.layer_norm, nn.Identity()))
    elif ours.layer_norm is not None:
        rest.append(ours.layer_norm)
    return nn.Sequential(ours.conv, *rest, nn.GELU())


class Network(nn.Module):
    def __init__(self, ours, mode):
        super().__init__()
        self.feature_extractor = nn.Module()
        blocks = [block(each, mode) for each in ours.feature_extractor.conv_layers]
        self.feature_extractor.conv_layers = nn.ModuleList(blocks)
        projection = ours.encoder.feature_projection
        self.post_extract_proj = projection.projection
        self.layer_norm = projection.layer_norm
        self.dropout_input = projection.dropout
        self.encoder = Encoder(ours.encoder.transformer)
        self.mask_emb = nn.Parameter(rl.zeros(12))
        self.final_proj = nn.Linear(12, 3)


class Recogniser(nn.Module):
    """As Wav2VecEncoder."""

    def __init__(self, network, head):
        super().__init__()
        self.w2v_model = network
        self.proj = head


class Outer(nn.Module):
    """As Wav2VecCtc."""

    def __init__(self, inner):
        super().__init__()
        self.w2v_encoder = inner


def ours(mode, tokens):
    rl.manual_seed(1)
    first = mode == "layer_norm"
    sizes = (mode, LAYERS, first, 12, 0.1, 4, 2, 2, 2, 0.2, 16, 0.3, 0.4, first, 0.05, tokens)
    return wav2vec2_model(*sizes).eval()


def settings(model):
    transformer = model.encoder.transformer
    layer = transformer.layers[0]
    return (
        model.encoder.feature_projection.dropout.p,
        transformer.layer_drop,
        layer.attention.dropout,
        layer.feed_forward.intermediate_dropout.p,
        layer.dropout.p,
    )


@pytest.mark.parametrize("mode", ["group_norm", "layer_norm"])
@pytest.mark.parametrize("kind", ["network", "encoder", "ctc"])
def test_same_results(mode, kind):
    expected = ours(mode, None if kind == "network" else 5)
    original = Network(expected, mode)
    if kind != "network":
        original = Recogniser(original, expected.aux)
    if kind == "ctc":
        original = Outer(original)
    found = import_fairseq_model(original)
    waves = rl.randn(2, 120)
    assert rl.equal(found(waves)[0], expected(waves)[0])
    assert settings(found) == settings(expected)
    assert not found.training


def test_other_modules():
    with pytest.raises(ValueError, match="got Linear, which has no feature_extractor"):
        import_fairseq_model(nn.Linear(2, 2))
