"""Hybrid Demucs (Défossez, Hybrid spectrogram and waveform source separation, 2021): one U-shaped
network over the spectrogram and one over the waveform, which meet in the middle.

Names of parameters and their shapes are torchaudio's, so that state dicts go both ways.
"""

from __future__ import annotations

import math
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_audio.models._hdemucs_layers import HDecLayer, HEncLayer, rescale_module

__all__ = ["HDemucs", "hdemucs_high", "hdemucs_low", "hdemucs_medium"]

SMALLEST_DEVIATION = 1e-5


class _ScaledEmbedding(nn.Module):
    """An embedding that learns `scale` times as fast; neighbours begin alike if `smooth`."""

    def __init__(
        self, num_embeddings: int, embedding_dim: int, scale: float = 10.0, smooth: bool = False
    ):
        super().__init__()
        self.embedding = nn.Embedding(num_embeddings, embedding_dim)
        with rl.no_grad():
            weight = self.embedding.weight
            if smooth:
                steps = rl.arange(1, num_embeddings + 1, dtype=weight.dtype, device=weight.device)
                weight.copy_(weight.cumsum(0) / steps.sqrt().unsqueeze(1))
            weight /= scale
        self.scale = scale

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[*, embedding_dim]`` of numbers ``[*]``."""
        return self.embedding(x) * self.scale


class HDemucs(nn.Module):
    """Separate music into its sources.

    Args:
        sources: names of the sources.
        audio_channels: of the waveforms.
        channels: of the first layer.
        growth: factor of channels from layer to layer.
        nfft: window of the spectrogram; its hop is a quarter of that.
        depth: layers.
        freq_emb: how much of an embedding of frequencies is added behind the first layer.
        emb_scale: how much faster it learns.
        emb_smooth: neighbouring frequencies begin alike.
        kernel_size: along frequency, and along time of the waveform.
        time_stride: of layers behind the one where a single frequency is left.
        stride: along frequency, and along time of the waveform.
        context: frames to each side that the decoder's second convolution sees.
        context_enc: the same of the encoder.
        norm_starts: the first layer with group normalization.
        norm_groups: its groups.
        dconv_depth: residual blocks of a layer.
        dconv_comp: factor by which these have fewer channels.
        dconv_attn: the first layer whose blocks have attention.
        dconv_lstm: the first layer whose blocks have a recurrence.
        dconv_init: first scale of the blocks.

    >>> model = HDemucs(["drums", "other"], channels=8, nfft=64, depth=2, norm_starts=1)
    >>> model(rl.randn(1, 2, 400)).shape
    rushlight.Size([1, 2, 2, 400])
    """

    def __init__(
        self,
        sources: list[str],
        audio_channels: int = 2,
        channels: int = 48,
        growth: int = 2,
        nfft: int = 4096,
        depth: int = 6,
        freq_emb: float = 0.2,
        emb_scale: int = 10,
        emb_smooth: bool = True,
        kernel_size: int = 8,
        time_stride: int = 2,
        stride: int = 4,
        context: int = 1,
        context_enc: int = 0,
        norm_starts: int = 4,
        norm_groups: int = 4,
        dconv_depth: int = 2,
        dconv_comp: int = 4,
        dconv_attn: int = 4,
        dconv_lstm: int = 4,
        dconv_init: float = 1e-4,
    ):
        super().__init__()
        self.depth = depth
        self.nfft = nfft
        self.audio_channels = audio_channels
        self.sources = sources
        self.kernel_size = kernel_size
        self.context = context
        self.stride = stride
        self.channels = channels
        self.hop_length = nfft // 4
        self.freq_encoder = nn.ModuleList()
        self.freq_decoder = nn.ModuleList()
        self.time_encoder = nn.ModuleList()
        self.time_decoder = nn.ModuleList()
        self.freq_emb: nn.Module | None = None
        widths = _Widths(audio_channels, channels, nfft // 2)
        for index in range(depth):
            blocks = {
                "lstm": index >= dconv_lstm,
                "attn": index >= dconv_attn,
                "depth": dconv_depth,
                "compress": dconv_comp,
                "init": dconv_init,
            }
            norm_type = "group_norm" if index >= norm_starts else "none"
            shared = {"norm_groups": norm_groups, "norm_type": norm_type, "dconv_kw": blocks}
            self._add_layer(index, widths, shared, time_stride, (context_enc, context))
            widths.grow(growth)
            if index == 0 and freq_emb:
                self.freq_emb = _ScaledEmbedding(
                    widths.freqs, widths.chin_z, smooth=emb_smooth, scale=emb_scale
                )
                self.freq_emb_scale = freq_emb
        # The decoders begin with the last layer.
        self.freq_decoder = nn.ModuleList(reversed(list(self.freq_decoder)))
        self.time_decoder = nn.ModuleList(reversed(list(self.time_decoder)))
        rescale_module(self)

    def _add_layer(
        self,
        index: int,
        widths: _Widths,
        shared: dict[str, Any],
        time_stride: int,
        contexts: tuple[int, int],
    ) -> None:
        """A layer of each encoder and decoder; behind the last frequency only of one."""
        freqs, kernel, stride = widths.freqs, self.kernel_size, self.stride
        freq, last_freq = freqs > 1, 1 < freqs <= kernel
        sizes = (freqs if last_freq else kernel, stride) if freq else (2 * time_stride, time_stride)
        own = {**shared, "freq": freq, "pad": not last_freq}
        own.update(kernel_size=sizes[0], stride=sizes[1])
        timed = {**shared, "freq": False, "pad": True, "kernel_size": kernel, "stride": stride}
        if last_freq:
            widths.chout = widths.chout_z = max(widths.chout, widths.chout_z)
            if self.nfft == 2048:
                timed.update(kernel_size=4, stride=2)
        encoder = HEncLayer(widths.chin_z, widths.chout_z, context=contexts[0], **own)
        if freq:
            extra = {"context": contexts[0], "empty": last_freq, **timed}
            self.time_encoder.append(HEncLayer(widths.chin, widths.chout, **extra))
        self.freq_encoder.append(encoder)
        if index == 0:
            widths.chin = self.audio_channels * len(self.sources)
            widths.chin_z = 2 * widths.chin
        ends: dict[str, Any] = {"context": contexts[1], "last": index == 0}
        decoder = HDecLayer(widths.chout_z, widths.chin_z, **ends, **own)
        if freq:
            extra = {"empty": last_freq, **ends, **timed}
            self.time_decoder.append(HDecLayer(widths.chout, widths.chin, **extra))
        self.freq_decoder.append(decoder)
        widths.freqs = 1 if freqs <= kernel else freqs // stride

    def _spec(self, x: rl.Tensor) -> rl.Tensor:
        """The complex spectrogram ``[B, C, nfft / 2, frames]``, a frame for each hop."""
        hop, length = self.hop_length, x.shape[-1]
        frames, pad = math.ceil(length / hop), hop // 2 * 3
        padded = _reflected(x, pad, pad + frames * hop - length)
        flat = padded.reshape(-1, padded.shape[-1])
        z = rl.stft(
            flat,
            self.nfft,
            hop,
            window=rl.hann_window(self.nfft, dtype=x.dtype, device=x.device),
            win_length=self.nfft,
            normalized=True,
            center=True,
            return_complex=True,
            pad_mode="reflect",
        )
        z = z.view(*x.shape[:-1], *z.shape[-2:])
        return z[..., :-1, 2 : 2 + frames]

    def _ispec(self, z: rl.Tensor, length: int) -> rl.Tensor:
        """The waveform of a spectrogram."""
        hop = self.hop_length
        pad = hop // 2 * 3
        z = nn.functional.pad(z, (2, 2, 0, 1))
        x = rl.istft(
            z.reshape(-1, *z.shape[-2:]),
            self.nfft,
            hop,
            window=rl.hann_window(self.nfft, dtype=z.real.dtype, device=z.device),
            win_length=self.nfft,
            normalized=True,
            length=hop * math.ceil(length / hop) + 2 * pad,
            center=True,
        )
        return x.view(*z.shape[:-2], -1)[..., pad : pad + length]

    def forward(self, input: rl.Tensor) -> rl.Tensor:
        """Sources ``[B, sources, C, T]`` of mixtures ``[B, C, T]``."""
        if input.ndim != 3 or input.shape[1] != self.audio_channels:
            raise ValueError(
                f"HDemucs: expected mixtures of shape [batch, {self.audio_channels}, time], got "
                f"{list(input.shape)}"
            )
        z = self._spec(input)
        batch, _, bins, frames = z.shape
        parts = rl.view_as_real(z).permute(0, 1, 4, 2, 3).reshape(batch, -1, bins, frames)
        x, mean, std = _standard(parts)
        xt, mean_t, std_t = _standard(input)
        x, xt = self._decoded(*self._encoded(x, xt))
        x = x.view(batch, len(self.sources), -1, bins, frames)
        x = x * std.unsqueeze(1) + mean.unsqueeze(1)
        xt = xt.view(batch, len(self.sources), -1, input.shape[-1])
        xt = xt * std_t.unsqueeze(1) + mean_t.unsqueeze(1)
        x = x.view(batch, len(self.sources), -1, 2, bins, frames).permute(0, 1, 2, 4, 5, 3)
        return xt + self._ispec(rl.view_as_complex(x.contiguous()), input.shape[-1])

    def _encoded(
        self, x: rl.Tensor, xt: rl.Tensor
    ) -> tuple[list[tuple[rl.Tensor, int]], list[tuple[rl.Tensor | None, int]]]:
        """What layers made, with the lengths of what they were given, of both encoders."""
        saved: list[tuple[rl.Tensor, int]] = []
        saved_t: list[tuple[rl.Tensor | None, int]] = []
        for index, encode in enumerate(self.freq_encoder):
            length, inject = x.shape[-1], None
            if index < len(self.time_encoder):
                layer, length_t = self.time_encoder[index], xt.shape[-1]
                xt = layer(xt)
                inject = xt if layer.empty else None
                saved_t.append((None if layer.empty else xt, length_t))
            x = encode(x, inject)
            if index == 0 and self.freq_emb is not None:
                embedded = self.freq_emb(rl.arange(x.shape[-2], device=x.device)).t()
                x = x + self.freq_emb_scale * embedded[None, :, :, None]
            saved.append((x, length))
        return saved, saved_t

    def _decoded(
        self,
        saved: list[tuple[rl.Tensor, int]],
        saved_t: list[tuple[rl.Tensor | None, int]],
    ) -> tuple[rl.Tensor, rl.Tensor]:
        """Spectrogram and waveform of all sources."""
        x = xt = rl.zeros_like(saved[-1][0])
        offset = self.depth - len(self.time_decoder)
        for index, decode in enumerate(self.freq_decoder):
            skip, length = saved.pop()
            x, before = decode(x, skip, length)
            if index >= offset:
                layer = self.time_decoder[index - offset]
                skip_t, length_t = saved_t.pop()
                given = before[:, :, 0] if layer.empty else xt
                xt, _ = layer(given, skip_t, length_t)
        return x, xt


class _Widths:
    """Channels in front of and behind the next layer, of the waveform and of the spectrogram (z),
    and how many frequencies are left."""

    def __init__(self, audio_channels: int, channels: int, freqs: int):
        self.chin, self.chin_z = audio_channels, 2 * audio_channels
        self.chout = self.chout_z = channels
        self.freqs = freqs

    def grow(self, growth: int) -> None:
        """From one layer to the next."""
        self.chin, self.chin_z = self.chout, self.chout_z
        self.chout, self.chout_z = int(growth * self.chout), int(growth * self.chout_z)


def _standard(x: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor, rl.Tensor]:
    """`x` with mean 0 and deviation 1 by row of the batch, and both."""
    dims = tuple(range(1, x.ndim))
    mean, std = x.mean(dim=dims, keepdim=True), x.std(dim=dims, keepdim=True)
    return (x - mean) / (SMALLEST_DEVIATION + std), mean, std


def _reflected(x: rl.Tensor, left: int, right: int) -> rl.Tensor:
    """`x` with its reflections at both ends; with zeros first where it is too short for that."""
    widest, length = max(left, right), x.shape[-1]
    if length <= widest:
        added = widest - length + 1
        at_right = min(right, added)
        at_left = added - at_right
        x = nn.functional.pad(x, (at_left, at_right))
        left, right = left - at_left, right - at_right
    return nn.functional.pad(x, (left, right), mode="reflect")


def hdemucs_low(sources: list[str]) -> HDemucs:
    """For 8 kHz: a window of 1024 samples, 5 layers."""
    return HDemucs(sources=sources, nfft=1024, depth=5)


def hdemucs_medium(sources: list[str]) -> HDemucs:
    """For 16 to 32 kHz: a window of 2048 samples."""
    return HDemucs(sources=sources, nfft=2048, depth=6)


def hdemucs_high(sources: list[str]) -> HDemucs:
    """For 44.1 to 48 kHz: a window of 4096 samples."""
    return HDemucs(sources=sources, nfft=4096, depth=6)
