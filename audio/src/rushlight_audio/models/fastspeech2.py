"""FastSpeech 2 with Conformer layers (Ren et al., FastSpeech 2: fast and high-quality end-to-end
text to speech, 2020; Guo et al., Recent developments on ESPnet toolkit boosted by Conformer, 2020).

Names of parameters and their shapes are those of ESPnet's networks in transformers.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional
from rushlight.nn.utils.rnn import pad_sequence
from rushlight.serialization import safetensors
from rushlight_audio.models._relative_conformer import RelativeConformer

__all__ = ["FastSpeech2", "Speech"]


class Speech(NamedTuple):
    """What :class:`FastSpeech2` makes.

    `coarse` and `mel` ``[B, frames, bands]`` are spectrograms before and behind the last
    convolutions; `log_durations` ``[B, symbols]``, `pitch` and `energy` ``[B, symbols, 1]`` are
    what it expects of each symbol; `durations` ``[B, symbols]`` are the frames of each in `mel`.
    """

    coarse: rl.Tensor
    mel: rl.Tensor
    log_durations: rl.Tensor
    pitch: rl.Tensor
    energy: rl.Tensor
    durations: rl.Tensor


class _PredictorLayer(nn.Module):
    """A convolution, ReLU, layer normalization over channels, dropout."""

    def __init__(self, inputs: int, channels: int, kernel: int, dropout: float):
        super().__init__()
        self.conv = nn.Conv1d(inputs, channels, kernel, padding=(kernel - 1) // 2)
        self.layer_norm = nn.LayerNorm(channels)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[B, T, channels]`` of ``[B, T, inputs]``."""
        x = functional.relu(self.conv(x.transpose(1, 2)))
        return self.dropout(self.layer_norm(x.transpose(1, 2)))


class _Predictor(nn.Module):
    """A number for each symbol."""

    def __init__(self, width: int, layers: int, channels: int, kernel: int, dropout: float):
        super().__init__()
        self.conv_layers = nn.ModuleList(
            _PredictorLayer(channels if number else width, channels, kernel, dropout)
            for number in range(layers)
        )
        self.linear = nn.Linear(channels, 1)

    def forward(self, x: rl.Tensor, mask: rl.Tensor | None) -> rl.Tensor:
        """``[B, T, 1]`` of ``[B, T, D]``, 0 at padding."""
        for layer in self.conv_layers:
            x = layer(x)
        x = self.linear(x)
        return x if mask is None else x.masked_fill(mask.unsqueeze(2), 0.0)


class _VarianceEmbedding(nn.Module):
    """Vectors of numbers, by a convolution."""

    def __init__(self, width: int, kernel: int, dropout: float):
        super().__init__()
        self.conv = nn.Conv1d(1, width, kernel, padding=(kernel - 1) // 2)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[B, T, D]`` of ``[B, T, 1]``."""
        return self.dropout(self.conv(x.transpose(1, 2)).transpose(1, 2))


class _PostnetLayer(nn.Module):
    """A convolution and batch normalization, with tanh but for the last."""

    def __init__(self, inputs: int, outputs: int, kernel: int, dropout: float, last: bool):
        super().__init__()
        self.conv = nn.Conv1d(inputs, outputs, kernel, padding=(kernel - 1) // 2, bias=False)
        self.batch_norm = nn.BatchNorm1d(outputs)
        self.last = last
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[B, outputs, T]`` of ``[B, inputs, T]``."""
        x = self.batch_norm(self.conv(x))
        return self.dropout(x if self.last else rl.tanh(x))


class _Postnet(nn.Module):
    """A spectrogram of the decoder's vectors, and what convolutions add to it."""

    def __init__(
        self, width: int, bands: int, layers: int, units: int, kernel: int, dropout: float
    ):
        super().__init__()
        self.feat_out = nn.Linear(width, bands)
        self.layers = nn.ModuleList()
        for number in range(layers):
            last = number == layers - 1
            inputs, outputs = units if number else bands, bands if last else units
            self.layers.append(_PostnetLayer(inputs, outputs, kernel, dropout, last))

    def forward(self, x: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor]:
        """Both spectrograms ``[B, T, bands]``."""
        coarse = self.feat_out(x)
        added = coarse.transpose(1, 2)
        for layer in self.layers:
            added = layer(added)
        return coarse, coarse + added.transpose(1, 2)


class FastSpeech2(nn.Module):
    """Mel spectrograms of symbols, all frames at once.

    Args:
        config: sizes under the names of ``FastSpeech2ConformerConfig``; what it lacks is as in
            ESPnet's network of LJSpeech.

    >>> model = FastSpeech2({"hidden_size": 8, "vocab_size": 9, "num_mel_bins": 4,
    ...                      "encoder_layers": 1, "decoder_layers": 1}).eval()
    >>> model(rl.tensor([[3, 5, 4]]), durations=rl.tensor([[2, 1, 3]])).mel.shape
    rushlight.Size([1, 6, 4])
    """

    def __init__(self, config: dict[str, Any]):
        super().__init__()
        sizes = {**DEFAULTS, **{key: config[key] for key in DEFAULTS if key in config}}
        _refuse(config)
        width: int = sizes["hidden_size"]
        kernel: int = sizes["positionwise_conv_kernel_size"]
        self.stop_pitch: bool = sizes["stop_gradient_from_pitch_predictor"]
        self.stop_energy: bool = sizes["stop_gradient_from_energy_predictor"]
        self.encoder = _conformer("encoder", width, kernel, sizes, sizes["vocab_size"])
        self.duration_predictor = _predictor("duration", width, sizes)
        self.pitch_predictor = _predictor("pitch", width, sizes)
        self.pitch_embed = _VarianceEmbedding(
            width, sizes["pitch_embed_kernel_size"], sizes["pitch_embed_dropout"]
        )
        self.energy_predictor = _predictor("energy", width, sizes)
        self.energy_embed = _VarianceEmbedding(
            width, sizes["energy_embed_kernel_size"], sizes["energy_embed_dropout"]
        )
        self.decoder = _conformer("decoder", width, kernel, sizes, None)
        self.speech_decoder_postnet = _Postnet(
            width,
            sizes["num_mel_bins"],
            sizes["speech_decoder_postnet_layers"],
            sizes["speech_decoder_postnet_units"],
            sizes["speech_decoder_postnet_kernel"],
            sizes["speech_decoder_postnet_dropout"],
        )

    @classmethod
    def from_folder(cls, folder: str | os.PathLike[str]) -> FastSpeech2:
        """The network in a folder of Hugging Face with ``config.json`` and ``model.safetensors`` or
        ``pytorch_model.bin``, for evaluation."""
        place = Path(folder)
        config = json.loads((place / "config.json").read_text(encoding="utf-8"))
        tensors = place / "model.safetensors"
        if tensors.is_file():
            state = safetensors.load_file(str(tensors))
        else:
            pickled = str(place / "pytorch_model.bin")
            state = rl.load(pickled, map_location="cpu", weights_only=True)
        model = cls(config)
        model.load_state_dict({key.removeprefix("model."): value for key, value in state.items()})
        return model.eval()

    def forward(
        self,
        symbols: rl.Tensor,
        mask: rl.Tensor | None = None,
        durations: rl.Tensor | None = None,
        pitch: rl.Tensor | None = None,
        energy: rl.Tensor | None = None,
        speed: float = 1.0,
    ) -> Speech:
        """Spectrograms of symbols, and what is expected of each symbol.

        Args:
            symbols: ``[B, T]``.
            mask: ``[B, T]``, true at padding.
            durations: frames of each symbol ``[B, T]``, in training the true ones; without them
                the expected ones count.
            pitch: of each symbol ``[B, T, 1]``, normalised; the expected one by default.
            energy: of each symbol ``[B, T, 1]``, normalised; the expected one by default.
            speed: the expected durations are divided by it.
        """
        x = self.encoder(symbols, mask)
        log_durations = self.duration_predictor(x, mask).squeeze(2)
        expected_pitch = self.pitch_predictor(x.detach() if self.stop_pitch else x, mask)
        expected_energy = self.energy_predictor(x.detach() if self.stop_energy else x, mask)
        if durations is None:
            durations = _frames(log_durations.detach(), mask, speed)
        x = x + self.energy_embed(expected_energy if energy is None else energy)
        x = x + self.pitch_embed(expected_pitch if pitch is None else pitch)
        lengths = durations.sum(1)
        rows = zip(x.unbind(0), durations.unbind(0), strict=True)
        stretched = [row.repeat_interleave(own, 0) for row, own in rows]
        frames = pad_sequence(stretched, batch_first=True)
        padding = rl.arange(frames.shape[1], device=x.device) >= lengths.unsqueeze(1)
        decoded = self.decoder(frames, padding if bool(padding.any()) else None)
        coarse, mel = self.speech_decoder_postnet(decoded)
        return Speech(coarse, mel, log_durations, expected_pitch, expected_energy, durations)


def _frames(log_durations: rl.Tensor, mask: rl.Tensor | None, speed: float) -> rl.Tensor:
    """Frames of each symbol, none at padding; one each where a text would have none at all."""
    found = (log_durations.exp() - 1.0).round().clamp(min=0)
    found = (found / speed).round().to(rl.int64)
    some = rl.where((found.sum(1, keepdim=True) == 0), rl.ones_like(found), found)
    return some if mask is None else some.masked_fill(mask, 0)


# ESPnet's network of LJSpeech.
DEFAULTS: dict[str, Any] = {
    "hidden_size": 384,
    "vocab_size": 78,
    "num_mel_bins": 80,
    "encoder_num_attention_heads": 2,
    "encoder_layers": 4,
    "encoder_linear_units": 1536,
    "encoder_kernel_size": 7,
    "encoder_dropout_rate": 0.2,
    "encoder_positional_dropout_rate": 0.2,
    "encoder_attention_dropout_rate": 0.2,
    "decoder_num_attention_heads": 2,
    "decoder_layers": 4,
    "decoder_linear_units": 1536,
    "decoder_kernel_size": 31,
    "decoder_dropout_rate": 0.2,
    "decoder_positional_dropout_rate": 0.2,
    "decoder_attention_dropout_rate": 0.2,
    "convolution_bias": True,
    "positionwise_conv_kernel_size": 3,
    "duration_predictor_layers": 2,
    "duration_predictor_channels": 256,
    "duration_predictor_kernel_size": 3,
    "duration_predictor_dropout_rate": 0.2,
    "pitch_predictor_layers": 5,
    "pitch_predictor_channels": 256,
    "pitch_predictor_kernel_size": 5,
    "pitch_predictor_dropout": 0.5,
    "pitch_embed_kernel_size": 1,
    "pitch_embed_dropout": 0.0,
    "stop_gradient_from_pitch_predictor": True,
    "energy_predictor_layers": 2,
    "energy_predictor_channels": 256,
    "energy_predictor_kernel_size": 3,
    "energy_predictor_dropout": 0.5,
    "energy_embed_kernel_size": 1,
    "energy_embed_dropout": 0.0,
    "stop_gradient_from_energy_predictor": False,
    "speech_decoder_postnet_layers": 5,
    "speech_decoder_postnet_units": 256,
    "speech_decoder_postnet_kernel": 5,
    "speech_decoder_postnet_dropout": 0.5,
}
# What the published networks have, and the only values that are here.
FIXED = {
    "encoder_normalize_before": False,
    "decoder_normalize_before": False,
    "encoder_concat_after": False,
    "decoder_concat_after": False,
    "reduction_factor": 1,
    "use_macaron_style_in_conformer": True,
    "use_cnn_in_conformer": True,
    "num_speakers": None,
    "num_languages": None,
    "speaker_embed_dim": None,
}


def _refuse(config: dict[str, Any]) -> None:
    """Raise NotImplementedError for a kind of network that is not here."""
    for key, value in FIXED.items():
        if config.get(key, value) != value:
            raise NotImplementedError(
                f"FastSpeech2: {key}={config[key]!r}; only networks with {key}={value!r} are here"
            )


def _conformer(
    name: str, width: int, kernel: int, sizes: dict[str, Any], symbols: int | None
) -> RelativeConformer:
    own = {key[8:]: value for key, value in sizes.items() if key.startswith(f"{name}_")}
    return RelativeConformer(
        width,
        own["num_attention_heads"],
        own["layers"],
        own["linear_units"],
        (kernel, own["kernel_size"]),
        own["dropout_rate"],
        own["attention_dropout_rate"],
        own["positional_dropout_rate"],
        sizes["convolution_bias"],
        symbols,
    )


def _predictor(name: str, width: int, sizes: dict[str, Any]) -> _Predictor:
    start = f"{name}_predictor"
    rate = "dropout_rate" if name == "duration" else "dropout"
    keys = ("layers", "channels", "kernel_size", rate)
    return _Predictor(width, *(sizes[f"{start}_{key}"] for key in keys))
