"""WaveRNN (Kalchbrenner et al., Efficient neural audio synthesis, 2018), in the form of fatchord's
program: an upsampled spectrogram beside the samples.

Names of parameters and their shapes are torchaudio's, so that state dicts go both ways.
"""

from __future__ import annotations

import math

import rushlight as rl
from rushlight import nn

__all__ = ["MelResNet", "ResBlock", "Stretch2d", "UpsampleNetwork", "WaveRNN"]

AUXILIARY = 4  # the output of the residual network goes to as many layers, a part to each


class ResBlock(nn.Module):
    """Two pointwise convolutions, and the input added to their result."""

    def __init__(self, n_freq: int = 128) -> None:
        super().__init__()
        self.resblock_model = nn.Sequential(
            nn.Conv1d(n_freq, n_freq, kernel_size=1, bias=False),
            nn.BatchNorm1d(n_freq),
            nn.ReLU(inplace=True),
            nn.Conv1d(n_freq, n_freq, kernel_size=1, bias=False),
            nn.BatchNorm1d(n_freq),
        )

    def forward(self, specgram: rl.Tensor) -> rl.Tensor:
        """``[B, n_freq, T]`` of the same."""
        return self.resblock_model(specgram) + specgram


class MelResNet(nn.Module):
    """One convolution over `kernel_size` frames and residual blocks by frame."""

    def __init__(
        self,
        n_res_block: int = 10,
        n_freq: int = 128,
        n_hidden: int = 128,
        n_output: int = 128,
        kernel_size: int = 5,
    ) -> None:
        super().__init__()
        blocks = [ResBlock(n_hidden) for _ in range(n_res_block)]  # first: they draw weights first
        self.melresnet_model = nn.Sequential(
            nn.Conv1d(n_freq, n_hidden, kernel_size=kernel_size, bias=False),
            nn.BatchNorm1d(n_hidden),
            nn.ReLU(inplace=True),
            *blocks,
            nn.Conv1d(n_hidden, n_output, kernel_size=1),
        )

    def forward(self, specgram: rl.Tensor) -> rl.Tensor:
        """``[B, n_output, T - kernel_size + 1]`` of ``[B, n_freq, T]``."""
        return self.melresnet_model(specgram)


class Stretch2d(nn.Module):
    """Each value as often as the scales say."""

    def __init__(self, time_scale: int, freq_scale: int) -> None:
        super().__init__()
        self.freq_scale = freq_scale
        self.time_scale = time_scale

    def forward(self, specgram: rl.Tensor) -> rl.Tensor:
        """``[..., F * freq_scale, T * time_scale]`` of ``[..., F, T]``."""
        stretched = specgram.repeat_interleave(self.freq_scale, -2)
        return stretched.repeat_interleave(self.time_scale, -1)


class UpsampleNetwork(nn.Module):
    """A spectrogram at the rate of samples, and what the residual network says of it."""

    def __init__(
        self,
        upsample_scales: list[int],
        n_res_block: int = 10,
        n_freq: int = 128,
        n_hidden: int = 128,
        n_output: int = 128,
        kernel_size: int = 5,
    ) -> None:
        super().__init__()
        self.total_scale = math.prod(upsample_scales)
        self.indent = (kernel_size - 1) // 2 * self.total_scale
        self.resnet = MelResNet(n_res_block, n_freq, n_hidden, n_output, kernel_size)
        self.resnet_stretch = Stretch2d(self.total_scale, 1)
        layers: list[nn.Module] = []
        for scale in upsample_scales:
            width = 2 * scale + 1
            smooth = nn.Conv2d(1, 1, kernel_size=(1, width), padding=(0, scale), bias=False)
            nn.init.constant_(smooth.weight, 1.0 / width)
            layers += [Stretch2d(scale, 1), smooth]
        self.upsample_layers = nn.Sequential(*layers)

    def forward(self, specgram: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor]:
        """``[B, n_freq, S]`` and ``[B, n_output, S]`` of ``[B, n_freq, T]``, with S the product of
        the scales and T - kernel_size + 1."""
        auxiliary = self.resnet_stretch(self.resnet(specgram).unsqueeze(1)).squeeze(1)
        upsampled = self.upsample_layers(specgram.unsqueeze(1)).squeeze(1)
        return upsampled[:, :, self.indent : -self.indent], auxiliary


class WaveRNN(nn.Module):
    """The next sample of a waveform, from those before and the mel spectrogram.

    Args:
        upsample_scales: factors whose product is `hop_length`.
        n_classes: levels of a sample.
        hop_length: samples of a frame.
        n_res_block: residual blocks.
        n_rnn: width of the two recurrent layers.
        n_fc: width of the two layers behind them.
        kernel_size: frames that the residual network sees at once.
        n_freq: bands of the spectrogram.
        n_hidden: channels of the residual blocks.
        n_output: channels of the residual network's output.

    Raises:
        ValueError: the product of `upsample_scales` is not `hop_length`.

    >>> model = WaveRNN([2, 3], n_classes=8, hop_length=6, n_rnn=4, n_fc=4, n_freq=3)
    >>> model(rl.zeros(1, 1, 36), rl.zeros(1, 1, 3, 10)).shape
    rushlight.Size([1, 1, 36, 8])
    """

    def __init__(
        self,
        upsample_scales: list[int],
        n_classes: int,
        hop_length: int,
        n_res_block: int = 10,
        n_rnn: int = 512,
        n_fc: int = 512,
        kernel_size: int = 5,
        n_freq: int = 128,
        n_hidden: int = 128,
        n_output: int = 128,
    ) -> None:
        super().__init__()
        if math.prod(upsample_scales) != hop_length:
            raise ValueError(
                f"WaveRNN(): the product of upsample_scales={list(upsample_scales)} is "
                f"{math.prod(upsample_scales)}, expected hop_length={hop_length}"
            )
        self.kernel_size = kernel_size
        self._pad = (kernel_size - 1) // 2
        self.n_rnn = n_rnn
        self.n_aux = n_output // AUXILIARY
        self.hop_length = hop_length
        self.n_classes = n_classes
        self.n_bits = int(math.log2(n_classes))
        self.upsample = UpsampleNetwork(
            upsample_scales, n_res_block, n_freq, n_hidden, n_output, kernel_size
        )
        self.fc = nn.Linear(n_freq + self.n_aux + 1, n_rnn)
        self.rnn1 = nn.GRU(n_rnn, n_rnn, batch_first=True)
        self.rnn2 = nn.GRU(n_rnn + self.n_aux, n_rnn, batch_first=True)
        self.relu1 = nn.ReLU(inplace=True)
        self.relu2 = nn.ReLU(inplace=True)
        self.fc1 = nn.Linear(n_rnn + self.n_aux, n_fc)
        self.fc2 = nn.Linear(n_fc + self.n_aux, n_fc)
        self.fc3 = nn.Linear(n_fc, self.n_classes)

    def forward(self, waveform: rl.Tensor, specgram: rl.Tensor) -> rl.Tensor:
        """Logits ``[B, 1, S, n_classes]`` of waveforms ``[B, 1, S]`` and spectrograms
        ``[B, 1, n_freq, T]``, with S = (T - kernel_size + 1) * hop_length."""
        for name, value in (("waveform", waveform), ("specgram", specgram)):
            if value.size(1) != 1:
                raise ValueError(
                    f"WaveRNN: {name} needs one channel, got {value.size(1)} in dimension 1"
                )
        upsampled, auxiliary = self.upsample(specgram.squeeze(1))
        parts = auxiliary.transpose(1, 2).split(self.n_aux, dim=-1)
        samples = waveform.squeeze(1).unsqueeze(-1)
        x = self.fc(rl.cat([samples, upsampled.transpose(1, 2), parts[0]], dim=-1))
        x = x + self.rnn1(x)[0]
        x = x + self.rnn2(rl.cat([x, parts[1]], dim=-1))[0]
        return self._logits(x, parts[2], parts[3]).unsqueeze(1)

    def _logits(self, x: rl.Tensor, before: rl.Tensor, between: rl.Tensor) -> rl.Tensor:
        """The layers behind the recurrent ones."""
        x = self.relu1(self.fc1(rl.cat([x, before], dim=-1)))
        x = self.relu2(self.fc2(rl.cat([x, between], dim=-1)))
        return self.fc3(x)

    @rl.no_grad()
    def infer(
        self, specgram: rl.Tensor, lengths: rl.Tensor | None = None
    ) -> tuple[rl.Tensor, rl.Tensor | None]:
        """Sample waveforms ``[B, 1, T * hop_length]`` from spectrograms ``[B, n_freq, T]``, one
        sample after the other; and their lengths where `lengths` are given in frames."""
        padded = nn.functional.pad(specgram, (self._pad, self._pad))
        upsampled, auxiliary = self.upsample(padded)
        if lengths is not None:
            lengths = lengths.mul(self.upsample.total_scale)
        batch = upsampled.shape[0]
        sample = upsampled.new_zeros(batch, 1)
        states = [upsampled.new_zeros(batch, self.n_rnn) for _ in range(2)]
        found = []
        for time in range(upsampled.shape[2]):
            parts = auxiliary[:, :, time].split(self.n_aux, dim=1)
            logits = self._step(rl.cat([sample, upsampled[:, :, time], parts[0]], 1), parts, states)
            level = rl.multinomial(rl.softmax(logits, dim=1), 1).to(upsampled.dtype)
            sample = 2 * level / (self.n_classes - 1.0) - 1.0
            found.append(sample)
        return rl.stack(found).permute(1, 2, 0), lengths

    def _step(
        self, x: rl.Tensor, parts: tuple[rl.Tensor, ...], states: list[rl.Tensor]
    ) -> rl.Tensor:
        """Logits of one sample; brings `states` of the recurrent layers forward."""
        x = self.fc(x)
        states[0] = _cell(self.rnn1, x, states[0])
        x = x + states[0]
        states[1] = _cell(self.rnn2, rl.cat([x, parts[1]], dim=1), states[1])
        return self._logits(x + states[1], parts[2], parts[3])


def _cell(rnn: nn.GRU, x: rl.Tensor, state: rl.Tensor) -> rl.Tensor:
    """One step of a layer."""
    weights = (rnn.weight_ih_l0, rnn.weight_hh_l0, rnn.bias_ih_l0, rnn.bias_hh_l0)
    return rl.gru_cell(x, state, *weights)
