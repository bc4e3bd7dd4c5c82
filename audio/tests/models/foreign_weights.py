"""Weights that depend on names and shapes alone, so that networks of several libraries can be given
the same ones without storing them."""

from __future__ import annotations

import math
import zlib

import numpy as np

__all__ = ["AST", "ECAPA", "FASTSPEECH2", "HIFI_GAN", "TURNS", "values", "wave"]

# Samples of turns in the dialogue of pyannote-audio; the third is the second speaker's.
TURNS = ((132800, 159680), (169120, 230400), (234400, 285440), (288800, 340000))
ECAPA = {
    "plain": {
        "lin_neurons": 6, "channels": [16, 16, 16, 16, 24], "kernel_sizes": [5, 3, 3, 3, 1],
        "dilations": [1, 2, 3, 4, 1], "attention_channels": 4, "res2net_scale": 4,
        "se_channels": 8,
    },
    "other": {
        "lin_neurons": 5, "channels": [8, 16, 16, 20], "kernel_sizes": [3, 3, 5, 1],
        "dilations": [1, 1, 2, 1], "attention_channels": 4, "res2net_scale": 2,
        "se_channels": 4, "global_context": False,
    },
}  # fmt: skip
AST = {
    "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 12,
    "patch_size": 4, "frequency_stride": 3, "time_stride": 2, "max_length": 25,
    "num_mel_bins": 16,
}  # fmt: skip
FASTSPEECH2 = {
    "hidden_size": 8, "vocab_size": 9, "num_mel_bins": 4, "encoder_num_attention_heads": 2,
    "encoder_layers": 2, "encoder_linear_units": 12, "decoder_layers": 1,
    "decoder_num_attention_heads": 4, "decoder_linear_units": 10, "encoder_kernel_size": 5,
    "decoder_kernel_size": 7, "speech_decoder_postnet_layers": 3,
    "speech_decoder_postnet_units": 6, "duration_predictor_channels": 5,
    "energy_predictor_channels": 6, "pitch_predictor_channels": 7, "pitch_predictor_layers": 3,
    "energy_embed_kernel_size": 3,
}  # fmt: skip
HIFI_GAN = {
    "model_in_dim": 6, "upsample_initial_channel": 16, "upsample_rates": [4, 2],
    "upsample_kernel_sizes": [8, 4], "resblock_kernel_sizes": [3, 5],
    "resblock_dilation_sizes": [[1, 3], [1, 2]], "leaky_relu_slope": 0.2,
}  # fmt: skip


def values(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """The values of the tensor called `name`: small, and near 1 for factors of normalization."""
    draw = np.random.default_rng(zlib.crc32(name.encode()))
    numbers = draw.standard_normal(shape)
    if len(shape) > 1:
        return (numbers / math.sqrt(math.prod(shape[1:]))).astype(np.float32)
    offset = 1.0 if name.endswith("norm.weight") else 0.0
    return (offset + 0.1 * numbers).astype(np.float32)


def wave(length: int) -> np.ndarray:
    """Two waveforms ``[2, length]``."""
    draw = np.random.default_rng(length)
    return draw.standard_normal((2, length)).astype(np.float32)
