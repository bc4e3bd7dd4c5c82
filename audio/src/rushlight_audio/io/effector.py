"""FFmpeg's filters and codecs applied to waveforms."""

from __future__ import annotations

import io
from collections.abc import Iterator

import rushlight as rl
from rushlight_audio.io.compression import CodecConfig
from rushlight_audio.io.filter_graph import audio_description
from rushlight_audio.io.media_frames import format_for
from rushlight_audio.io.stream_reader import StreamReader
from rushlight_audio.io.stream_writer import StreamWriter

__all__ = ["AudioEffector"]

_RAW = {"u8": "u8", "s16": "s16le", "s32": "s32le", "flt": "f32le", "dbl": "f64le"}


class AudioEffector:
    """Filters, and what a codec does to a sound; needs PyAV (``rushlight-audio[av]``).

    Args:
        effect: FFmpeg's description of filters, ``"atempo=1.5,aecho=0.8:0.9:60:0.4"``; None for
            none.
        format: encode to this format and decode again; None for not doing so.
        encoder: FFmpeg's name of an encoder; None for the format's own.
        codec_config: bit rate, level, quality; for a `format` alone.
        pad_end: fill up with silence what became shorter.

    Example:
        >>> import rushlight as rl
        >>> effector = AudioEffector(effect="volume=0.5")
        >>> effector.apply(rl.ones(4, 1), 8000).flatten().tolist()
        [0.5, 0.5, 0.5, 0.5]

    """

    def __init__(
        self,
        effect: str | None = None,
        format: str | None = None,
        *,
        encoder: str | None = None,
        codec_config: CodecConfig | None = None,
        pad_end: bool = True,
    ):
        if format is None and (encoder is not None or codec_config is not None):
            raise ValueError(
                "AudioEffector(): encoder and codec_config need a format, which is None"
            )
        self.effect, self.format, self.pad_end = effect, format, pad_end
        self.encoder, self.codec_config = encoder, codec_config

    def apply(
        self, waveform: rl.Tensor, sample_rate: int, output_sample_rate: int | None = None
    ) -> rl.Tensor:
        """The waveform ``[T, C]`` changed, ``[T', C]``.

        Args:
            waveform: uint8, int16, int32, float32 or float64.
            sample_rate: of the waveform.
            output_sample_rate: of the result; None for the same.
        """
        self._require("apply", waveform)
        if waveform.numel() == 0:
            return waveform
        reader = self._reader("apply", waveform, sample_rate, output_sample_rate, -1)
        reader.process_all_packets()
        (applied,) = reader.pop_chunks()
        return waveform[:0] if applied is None else applied

    def stream(
        self,
        waveform: rl.Tensor,
        sample_rate: int,
        frames_per_chunk: int,
        output_sample_rate: int | None = None,
    ) -> Iterator[rl.Tensor]:
        """The same in chunks ``[frames_per_chunk, C]``, of which the last may be shorter."""
        self._require("stream", waveform)
        if waveform.numel() == 0:
            return
        reader = self._reader("stream", waveform, sample_rate, output_sample_rate, frames_per_chunk)
        for (chunk,) in reader.stream():
            if chunk is not None:
                yield chunk

    def _require(self, op: str, waveform: rl.Tensor) -> None:
        if waveform.dim() != 2:
            raise ValueError(
                f"{op}(): waveform must have 2 dimensions, time and channels, got {waveform.dim()}"
            )

    def _reader(
        self, op: str, waveform: rl.Tensor, rate: int, output_rate: int | None, chunk: int
    ) -> StreamReader:
        """A reader of the encoded waveform that gives its dtype, rate and channels."""
        sample_format = format_for(op, waveform.dtype)
        channels = waveform.shape[1]
        file = self._encoded(waveform, rate, sample_format)
        raw = {"sample_rate": str(rate), "channels": str(channels)}
        has_header = self.format not in (None, "mulaw", "alaw")
        reader = StreamReader(file, self.format or _RAW[sample_format], None if has_header else raw)
        filters = audio_description(output_rate or rate, sample_format, channels)
        if self.pad_end:
            filters = f"{filters},apad=whole_len={len(waveform)}"
        reader.add_audio_stream(chunk, -1, filter_desc=filters)
        return reader

    def _encoded(self, waveform: rl.Tensor, rate: int, sample_format: str) -> io.BytesIO:
        file = io.BytesIO()
        writer = StreamWriter(file, self.format or _RAW[sample_format])
        writer.add_audio_stream(
            rate,
            waveform.shape[1],
            sample_format,
            encoder=self.encoder,
            codec_config=self.codec_config,
            filter_desc=self.effect,
        )
        with writer.open():
            writer.write_audio_chunk(0, waveform)
        file.seek(0)
        return file
