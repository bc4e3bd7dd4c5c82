"""The Audio Spectrogram Transformer (Gong et al., AST: audio spectrogram transformer, 2021): labels
of sounds.

Names of parameters and their shapes are those of the published folders for transformers.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional
from rushlight.serialization import safetensors
from rushlight_audio.compliance import kaldi

__all__ = ["AudioSpectrogramTransformer", "ast_features"]

RATE = 16000
# Mean and deviation of the features over AudioSet.
MEAN, DEVIATION = -4.2677393, 4.5689974
# From the names that transformers 5 has to those of published files.
NAMES = {
    ".layers.": ".encoder.layer.",
    ".attention.q_proj.": ".attention.attention.query.",
    ".attention.k_proj.": ".attention.attention.key.",
    ".attention.v_proj.": ".attention.attention.value.",
    ".attention.o_proj.": ".attention.output.dense.",
    ".mlp.fc1.": ".intermediate.dense.",
    ".mlp.fc2.": ".output.dense.",
}
# The published network of AudioSet.
DEFAULTS: dict[str, Any] = {
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
    "layer_norm_eps": 1e-12,
    "patch_size": 16,
    "qkv_bias": True,
    "frequency_stride": 10,
    "time_stride": 10,
    "max_length": 1024,
    "num_mel_bins": 128,
}


def _published(key: str) -> str:
    """The name of a parameter in published files."""
    for new, old in NAMES.items():
        key = key.replace(new, old)
    return key


def ast_features(
    waveform: rl.Tensor,
    sample_rate: int = RATE,
    num_mel_bins: int = 128,
    max_length: int = 1024,
    mean: float = MEAN,
    std: float = DEVIATION,
) -> rl.Tensor:
    """Normalised logarithms of mel spectrograms ``[B, max_length, num_mel_bins]`` of waveforms
    ``[B, T]`` at 16 kHz, cut or with zeros behind them before they are normalised."""
    if sample_rate != RATE:
        raise ValueError(
            f"ast_features: the network is for {RATE} samples a second, got {sample_rate}; "
            "resample the waveform first"
        )
    rows = []
    for row in waveform:
        heard = kaldi.fbank(
            row.unsqueeze(0),
            sample_frequency=RATE,
            window_type="hanning",
            num_mel_bins=num_mel_bins,
        )[:max_length]
        rows.append(functional.pad(heard, (0, 0, 0, max_length - len(heard))))
    return (rl.stack(rows) - mean) / (2 * std)


class _Embeddings(nn.Module):
    """Patches of the spectrogram, two tokens before them, and positions."""

    def __init__(self, sizes: dict[str, Any]):
        super().__init__()
        width, patch = sizes["hidden_size"], sizes["patch_size"]
        strides = (sizes["frequency_stride"], sizes["time_stride"])
        bands = (sizes["num_mel_bins"] - patch) // strides[0] + 1
        steps = (sizes["max_length"] - patch) // strides[1] + 1
        self.cls_token = nn.Parameter(rl.zeros(1, 1, width))
        self.distillation_token = nn.Parameter(rl.zeros(1, 1, width))
        self.position_embeddings = nn.Parameter(rl.zeros(1, bands * steps + 2, width))
        self.patch_embeddings = nn.Module()
        self.patch_embeddings.projection = nn.Conv2d(1, width, patch, strides)
        self.dropout = nn.Dropout(sizes["hidden_dropout_prob"])

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[B, patches + 2, D]`` of features ``[B, T, bands]``."""
        patches = self.patch_embeddings.projection(x.unsqueeze(1).transpose(2, 3))
        tokens = (self.cls_token, self.distillation_token)
        first = [token.expand(len(x), -1, -1) for token in tokens]
        joined = rl.cat([*first, patches.flatten(2).transpose(1, 2)], dim=1)
        return self.dropout(joined + self.position_embeddings)


class _SelfAttention(nn.Module):
    """The three projections of attention, and attention."""

    def __init__(self, sizes: dict[str, Any]):
        super().__init__()
        width = sizes["hidden_size"]
        self.heads = sizes["num_attention_heads"]
        self.dropout = sizes["attention_probs_dropout_prob"]
        self.query = nn.Linear(width, width, bias=sizes["qkv_bias"])
        self.key = nn.Linear(width, width, bias=sizes["qkv_bias"])
        self.value = nn.Linear(width, width, bias=sizes["qkv_bias"])

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[B, T, D]`` of the same."""
        query, key, value = [
            layer(x).view(*x.shape[:2], self.heads, -1).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        ]
        rate = self.dropout if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(query, key, value, dropout_p=rate)
        return mixed.transpose(1, 2).reshape(x.shape)


class _Dense(nn.Module):
    """A linear layer, one name deeper."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.dense = nn.Linear(inputs, outputs)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[*, outputs]`` of ``[*, inputs]``."""
        return self.dense(x)


class _Attention(nn.Module):
    """Attention and what follows it."""

    def __init__(self, sizes: dict[str, Any]):
        super().__init__()
        self.attention = _SelfAttention(sizes)
        self.output = _Dense(sizes["hidden_size"], sizes["hidden_size"])

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[B, T, D]`` of the same."""
        return self.output(self.attention(x))


class _Layer(nn.Module):
    """Attention and two layers, normalised before each."""

    def __init__(self, sizes: dict[str, Any]):
        super().__init__()
        width, eps = sizes["hidden_size"], sizes["layer_norm_eps"]
        self.attention = _Attention(sizes)
        self.intermediate = _Dense(width, sizes["intermediate_size"])
        self.output = _Dense(sizes["intermediate_size"], width)
        self.layernorm_before = nn.LayerNorm(width, eps=eps)
        self.layernorm_after = nn.LayerNorm(width, eps=eps)
        self.dropout = nn.Dropout(sizes["hidden_dropout_prob"])

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[B, T, D]`` of the same."""
        x = x + self.dropout(self.attention(self.layernorm_before(x)))
        inner = functional.gelu(self.intermediate(self.layernorm_after(x)))
        return x + self.dropout(self.output(inner))


class _Body(nn.Module):
    """Embeddings, layers, normalization."""

    def __init__(self, sizes: dict[str, Any]):
        super().__init__()
        self.embeddings = _Embeddings(sizes)
        self.encoder = nn.Module()
        self.encoder.layer = nn.ModuleList(_Layer(sizes) for _ in range(sizes["num_hidden_layers"]))
        self.layernorm = nn.LayerNorm(sizes["hidden_size"], eps=sizes["layer_norm_eps"])

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The mean of the two tokens, ``[B, D]``."""
        x = self.embeddings(x)
        for layer in self.encoder.layer:
            x = layer(x)
        return self.layernorm(x)[:, :2].mean(1)


class AudioSpectrogramTransformer(nn.Module):
    """Logits of labels of sounds; several may be right at once.

    Args:
        num_labels: labels.
        config: sizes under the names of ``ASTConfig``; what it lacks is as in the network of
            AudioSet.
        labels: names of the labels; numbers by default.

    >>> sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
    ...          "max_length": 64, "num_mel_bins": 32}
    >>> AudioSpectrogramTransformer(5, sizes)(rl.zeros(2, 64, 32)).shape
    rushlight.Size([2, 5])
    """

    def __init__(
        self,
        num_labels: int,
        config: dict[str, Any] | None = None,
        labels: list[str] | None = None,
    ):
        super().__init__()
        given = config or {}
        sizes = {key: given.get(key, value) for key, value in DEFAULTS.items()}
        self.sizes = sizes
        self.labels = labels or [str(number) for number in range(num_labels)]
        self.audio_spectrogram_transformer = _Body(sizes)
        self.classifier = nn.Module()
        self.classifier.layernorm = nn.LayerNorm(sizes["hidden_size"], eps=sizes["layer_norm_eps"])
        self.classifier.dense = nn.Linear(sizes["hidden_size"], num_labels)

    @classmethod
    def from_folder(cls, folder: str | os.PathLike[str]) -> AudioSpectrogramTransformer:
        """The network in a folder of Hugging Face with ``config.json`` and ``model.safetensors`` or
        ``pytorch_model.bin``, for evaluation."""
        place = Path(folder)
        config = json.loads((place / "config.json").read_text(encoding="utf-8"))
        if config.get("model_type") != "audio-spectrogram-transformer":
            raise ValueError(
                f"{place} has no Audio Spectrogram Transformer: model_type is "
                f"{config.get('model_type')!r}"
            )
        tensors = place / "model.safetensors"
        if tensors.is_file():
            state = safetensors.load_file(str(tensors))
        else:
            pickled = str(place / "pytorch_model.bin")
            state = rl.load(pickled, map_location="cpu", weights_only=True)
        names = config["id2label"]
        labels = [names[key] for key in sorted(names, key=int)]
        model = cls(len(labels), config, labels)
        model.load_state_dict({_published(key): value for key, value in state.items()})
        return model.eval()

    def forward(self, features: rl.Tensor) -> rl.Tensor:
        """Logits ``[B, labels]`` of features ``[B, max_length, num_mel_bins]``, as
        :func:`ast_features` makes them."""
        expected = (self.sizes["max_length"], self.sizes["num_mel_bins"])
        if features.dim() != 3 or features.shape[1:] != expected:
            raise ValueError(
                f"AudioSpectrogramTransformer: expected features of shape [batch, {expected[0]}, "
                f"{expected[1]}], got {list(features.shape)}"
            )
        pooled = self.audio_spectrogram_transformer(features)
        return self.classifier.dense(self.classifier.layernorm(pooled))

    @rl.no_grad()
    def tags(self, waveform: rl.Tensor, sample_rate: int = RATE, count: int = 5) -> list[Any]:
        """The `count` most probable labels of each waveform ``[B, T]`` at 16 kHz, with their
        probabilities, each on its own."""
        sizes = (self.sizes["num_mel_bins"], self.sizes["max_length"])
        scores = self(ast_features(waveform, sample_rate, *sizes)).sigmoid()
        best, places = scores.topk(min(count, scores.shape[1]))
        return [
            [(self.labels[place], score) for place, score in zip(*pair, strict=True)]
            for pair in zip(places.tolist(), best.tolist(), strict=True)
        ]
