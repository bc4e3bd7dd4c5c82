"""The detector of speech that the package ``silero-vad`` has weights of (Silero Team, Silero VAD:
pre-trained enterprise-grade voice activity detector, 2024), for 16 and for 8 kHz.

Names of parameters and their shapes are those of its ``silero_vad_16k.safetensors``.
"""

from __future__ import annotations

import os
from typing import NamedTuple

import rushlight as rl
from rushlight import nn
from rushlight.serialization import safetensors

__all__ = ["SileroVAD", "SpeechSpan", "VADState"]

# Samples of a decision, 32 ms, by samples a second. An eighth as many of the chunk before are seen
# again; the transform has a window of half as many and steps by a quarter.
CHUNKS = {16000: 512, 8000: 256}
HYSTERESIS = 0.15  # speech ends below the threshold by as much
LEAST_THRESHOLD = 0.01

# Names in the package's TorchScript file, and here.
NAMES = {
    "stft.forward_basis_buffer": "stft_conv.weight",
    **{
        f"encoder.{number}.reparam_conv.{kind}": f"conv{number + 1}.{kind}"
        for number in range(4)
        for kind in ("weight", "bias")
    },
    **{
        f"decoder.rnn.{kind}_{part}": f"lstm_cell.{kind}_{part}"
        for kind in ("weight", "bias")
        for part in ("ih", "hh")
    },
    "decoder.decoder.2.weight": "final_conv.weight",
    "decoder.decoder.2.bias": "final_conv.bias",
}


class VADState(NamedTuple):
    """What goes from one chunk of a stream to the next: output and cell of the recurrence ``[B,
    128]``, and the last samples ``[B, 64]`` (32 at 8 kHz)."""

    hidden: rl.Tensor
    cell: rl.Tensor
    context: rl.Tensor


class SpeechSpan(NamedTuple):
    """Samples of speech: from `start` up to `end`, without it."""

    start: int
    end: int


class SileroVAD(nn.Module):
    """Probabilities of speech, one for each 32 milliseconds.

    Args:
        sample_rate: 16000 or 8000 samples a second.

    >>> model = SileroVAD().eval()
    >>> model.probabilities(rl.zeros(1, 16000)).shape
    rushlight.Size([1, 32])
    """

    def __init__(self, sample_rate: int = 16000) -> None:
        super().__init__()
        if sample_rate not in CHUNKS:
            raise ValueError(
                f"SileroVAD(): sample_rate is one of {', '.join(map(str, CHUNKS))}, got "
                f"{sample_rate}"
            )
        self.sample_rate = sample_rate
        self.chunk = chunk = CHUNKS[sample_rate]
        self.context = chunk // 8
        self.bins = chunk // 4 + 1
        self.stft_conv = nn.Conv1d(1, 2 * self.bins, chunk // 2, stride=chunk // 4, bias=False)
        self.conv1 = nn.Conv1d(self.bins, 128, 3, padding=1)
        self.conv2 = nn.Conv1d(128, 64, 3, stride=2, padding=1)
        self.conv3 = nn.Conv1d(64, 64, 3, stride=2, padding=1)
        self.conv4 = nn.Conv1d(64, 128, 3, padding=1)
        self.lstm_cell = nn.LSTMCell(128, 128)
        self.final_conv = nn.Conv1d(128, 1, 1)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], sample_rate: int = 16000) -> SileroVAD:
        """The network with the weights of ``silero_vad.jit`` (those that the package runs) or of
        ``silero_vad_16k.safetensors`` (an earlier training, for 16 kHz alone), for evaluation."""
        model = cls(sample_rate)
        if str(path).endswith(".jit"):
            part = "_model" if sample_rate == 16000 else "_model_8k"
            state = rl.jit.load(str(path)).state_dict()
            state = {own: state[f"{part}.{name}"] for name, own in NAMES.items()}
        else:
            state = safetensors.load_file(str(path))
        model.load_state_dict(state)
        return model.eval()

    def first_state(self, batch: int = 1) -> VADState:
        """The state before the first chunk."""
        like = self.lstm_cell.weight_hh
        zeros = like.new_zeros(batch, 128)
        return VADState(zeros, zeros, like.new_zeros(batch, self.context))

    def _encoded(self, windows: rl.Tensor) -> rl.Tensor:
        """``[N, 128]`` of chunks with their contexts ``[N, context + chunk]``."""
        padded = nn.functional.pad(windows.unsqueeze(1), (0, self.context), mode="reflect")
        real, imaginary = self.stft_conv(padded).split(self.bins, dim=1)
        x = (real.square() + imaginary.square()).sqrt()
        for layer in (self.conv1, self.conv2, self.conv3, self.conv4):
            x = nn.functional.relu(layer(x))
        return x.squeeze(2)

    def _score(self, hidden: rl.Tensor) -> rl.Tensor:
        """Probabilities ``[..., B]`` of outputs of the recurrence ``[..., B, 128]``."""
        shape = hidden.shape[:-1]
        rows = nn.functional.relu(hidden).reshape(-1, 128, 1)
        return self.final_conv(rows).sigmoid().view(shape)

    def forward(
        self, chunk: rl.Tensor, state: VADState | None = None
    ) -> tuple[rl.Tensor, VADState]:
        """The probability ``[B]`` that the next chunk ``[B, 512]`` (256 at 8 kHz) of a stream has
        speech, and the state for the chunk behind it."""
        if chunk.dim() != 2 or chunk.shape[1] != self.chunk:
            raise ValueError(
                f"SileroVAD: expected chunks of shape [batch, {self.chunk}], got "
                f"{list(chunk.shape)}"
            )
        state = self.first_state(chunk.shape[0]) if state is None else state
        encoded = self._encoded(rl.cat([state.context, chunk], dim=1))
        hidden, cell = self.lstm_cell(encoded, (state.hidden, state.cell))
        return self._score(hidden), VADState(hidden, cell, chunk[:, -self.context :])

    @rl.no_grad()
    def probabilities(self, waveform: rl.Tensor, sample_rate: int | None = None) -> rl.Tensor:
        """The probabilities ``[B, chunks]`` of speech in each chunk of waveforms ``[B, T]``
        (``[chunks]`` of ``[T]``); zeros follow the last sample."""
        if sample_rate not in (None, self.sample_rate):
            raise ValueError(
                f"SileroVAD: this network is for {self.sample_rate} samples a second, got "
                f"{sample_rate}; "
                "resample the waveform first"
            )
        if waveform.dim() not in (1, 2):
            raise ValueError(
                f"SileroVAD: expected shape [time] or [batch, time], got {list(waveform.shape)}"
            )
        rows = waveform.view(-1, waveform.shape[-1])
        padded = nn.functional.pad(rows, (self.context, -rows.shape[1] % self.chunk))
        windows = padded.unfold(1, self.context + self.chunk, self.chunk)
        batch, chunks, width = windows.shape
        encoded = self._encoded(windows.reshape(-1, width)).view(batch, chunks, -1)
        hidden, cell, _ = self.first_state(batch)
        outputs = []
        for step in encoded.unbind(1):
            hidden, cell = self.lstm_cell(step, (hidden, cell))
            outputs.append(hidden)
        found = self._score(rl.stack(outputs, 1)) if outputs else rows.new_zeros(batch, 0)
        return found if waveform.dim() == 2 else found[0]

    def speech_spans(
        self,
        waveform: rl.Tensor,
        sample_rate: int | None = None,
        threshold: float = 0.5,
        min_speech_duration_ms: int = 250,
        min_silence_duration_ms: int = 100,
        speech_pad_ms: int = 30,
        neg_threshold: float | None = None,
    ) -> list[SpeechSpan]:
        """Where a waveform ``[T]`` has speech.

        Args:
            waveform: ``[T]``.
            sample_rate: the network's.
            threshold: probability from which on speech begins.
            min_speech_duration_ms: shorter speech is left out.
            min_silence_duration_ms: shorter silence does not end speech.
            speech_pad_ms: what is added before and behind speech.
            neg_threshold: probability below which speech ends; 0.15 below `threshold` by default.
        """
        if neg_threshold is None:
            neg_threshold = max(threshold - HYSTERESIS, LEAST_THRESHOLD)
        length = waveform.shape[-1]
        scores = self.probabilities(waveform, sample_rate).tolist()
        silence = self.sample_rate * min_silence_duration_ms / 1000
        spans = [
            (start, min(end, length))
            for start, end in _runs(scores, self.chunk, threshold, neg_threshold, silence)
        ]
        least = self.sample_rate * min_speech_duration_ms / 1000
        spoken = [(start, end) for start, end in spans if end - start > least]
        return _padded(spoken, self.sample_rate * speech_pad_ms // 1000, length)


def _runs(
    scores: list[float], chunk: int, begin: float, end: float, silence: float
) -> list[tuple[int, int]]:
    """Samples from a score of at least `begin` to the first of scores below `end` that go on for
    `silence` samples; the last run may go beyond the waveform."""
    found: list[tuple[int, int]] = []
    start = quiet = None
    for at, score in zip(range(0, chunk * len(scores), chunk), scores, strict=True):
        if score >= begin:
            quiet = None
            start = at if start is None else start
        elif score < end and start is not None:
            quiet = at if quiet is None else quiet
            if at - quiet >= silence:
                found.append((start, quiet))
                start = quiet = None
    if start is not None:
        found.append((start, chunk * len(scores)))
    return found


def _padded(spans: list[tuple[int, int]], pad: int, length: int) -> list[SpeechSpan]:
    """Spans with `pad` samples more at both ends, or half of the silence between two of them."""
    if not spans:
        return []
    gaps = [after[0] - before[1] for before, after in zip(spans, spans[1:], strict=False)]
    shares = [pad if gap >= 2 * pad else gap // 2 for gap in gaps]
    found = []
    for (start, end), before, behind in zip(spans, [pad, *shares], [*shares, pad], strict=True):
        found.append(SpeechSpan(max(0, start - before), min(length, end + behind)))
    return found
