"""Sound and video written chunk by chunk, with torchaudio's names."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import rushlight as rl
from rushlight_audio.io import media
from rushlight_audio.io.compression import CodecConfig
from rushlight_audio.io.sources import shown
from rushlight_audio.io.stream_input import AudioInput, Encoding, VideoInput

if TYPE_CHECKING:
    from typing import BinaryIO

__all__ = ["StreamWriter"]


class StreamWriter:
    """A file that chunks are written to; needs PyAV (``pip install rushlight-audio[av]``).

    Args:
        dst: path, address, or a binary file object (then `format` is needed).
        format: name of a muxer: ``"mp4"``, ``"matroska"``, ``"ogg"``, ``"s16le"``; None for the
            one of the path's extension.
        buffer_size: bytes handed to a file object at once.

    Example:
        >>> import io, rushlight as rl
        >>> file = io.BytesIO()
        >>> writer = StreamWriter(file, format="wav")
        >>> writer.add_audio_stream(sample_rate=8000, num_channels=1)
        >>> with writer.open():
        ...     writer.write_audio_chunk(0, rl.zeros(800, 1))
        >>> len(file.getvalue()) > 1600
        True

    """

    def __init__(
        self,
        dst: str | os.PathLike[str] | BinaryIO,
        format: str | None = None,
        buffer_size: int = 4096,
    ):
        av = media.library("StreamWriter")
        if not isinstance(dst, (str, os.PathLike)):
            if not hasattr(dst, "write"):
                raise TypeError(
                    "StreamWriter(): argument 'dst' must be a path or a binary file object, not "
                    f"{type(dst).__name__}"
                )
            if format is None:
                raise ValueError("StreamWriter(): argument 'format' is needed for a file object")
        self._name = shown(dst)
        target = os.fspath(dst) if isinstance(dst, os.PathLike) else dst
        try:
            with media.named("StreamWriter", self._name):
                self._container = av.open(target, "w", format=format, buffer_size=buffer_size)
        except ValueError as error:
            raise ValueError(f"StreamWriter(): {self._name}: {error}") from error
        self._inputs: list[AudioInput | VideoInput] = []
        self._state = "new"

    def add_audio_stream(
        self,
        sample_rate: int,
        num_channels: int,
        format: str = "flt",
        *,
        encoder: str | None = None,
        encoder_option: dict[str, str] | None = None,
        encoder_sample_rate: int | None = None,
        encoder_num_channels: int | None = None,
        encoder_format: str | None = None,
        codec_config: CodecConfig | None = None,
        filter_desc: str | None = None,
    ) -> None:
        """Take chunks ``[T, C]`` of audio.

        Args:
            sample_rate: of the chunks.
            num_channels: of the chunks.
            format: ``"u8"``, ``"s16"``, ``"s32"``, ``"flt"``, ``"dbl"``: the dtype of the chunks.
            encoder: FFmpeg's name; None for the file format's own.
            encoder_option: its options.
            encoder_sample_rate: None as it is, or the nearest above that the encoder takes.
            encoder_num_channels: None as it is.
            encoder_format: None for the one nearest to `format`.
            codec_config: bit rate, level, quality.
            filter_desc: FFmpeg's filters before the encoder.
        """
        self._require("add_audio_stream", "new")
        encoding = Encoding(encoder, encoder_option, codec_config, filter_desc)
        with self._known("add_audio_stream", encoder):
            self._inputs.append(
                AudioInput(
                    self._container,
                    (int(sample_rate), num_channels, format),
                    (encoder_sample_rate, encoder_num_channels, encoder_format),
                    encoding,
                )
            )

    def add_video_stream(
        self,
        frame_rate: float,
        width: int,
        height: int,
        format: str = "rgb24",
        *,
        encoder: str | None = None,
        encoder_option: dict[str, str] | None = None,
        encoder_frame_rate: float | None = None,
        encoder_width: int | None = None,
        encoder_height: int | None = None,
        encoder_format: str | None = None,
        codec_config: CodecConfig | None = None,
        filter_desc: str | None = None,
        hw_accel: str | None = None,
    ) -> None:
        """Take chunks ``[T, C, H, W]`` uint8 of video; the options are those of audio."""
        if hw_accel is not None:
            raise NotImplementedError(
                "add_video_stream(): hw_accel is not there: pictures are encoded on the CPU; "
                "leave it None"
            )
        self._require("add_video_stream", "new")
        encoding = Encoding(encoder, encoder_option, codec_config, filter_desc)
        with self._known("add_video_stream", encoder):
            self._inputs.append(
                VideoInput(
                    self._container,
                    (frame_rate, width, height, format),
                    (encoder_frame_rate, encoder_width, encoder_height, encoder_format),
                    encoding,
                )
            )

    def _known(self, op: str, encoder: str | None) -> Any:
        return media.named(op, self._name if encoder is None else f"{self._name} by {encoder!r}")

    def set_metadata(self, metadata: dict[str, str]) -> None:
        """What the file says of itself: ``{"title": ..., "artist": ...}``; before `open`."""
        self._require("set_metadata", "new")
        self._container.metadata.update(metadata)

    def open(self, option: dict[str, str] | None = None) -> StreamWriter:
        """Begin the file; `option` has the muxer's options. To be used in a `with` statement."""
        self._require("open", "new")
        if not self._inputs:
            raise RuntimeError("open(): no stream is there; add_audio_stream() adds one")
        self._container.options.update(option or {})
        with media.named("open", self._name):
            self._container.start_encoding()
        self._state = "open"
        return self

    def write_audio_chunk(self, i: int, chunk: rl.Tensor, pts: float | None = None) -> None:
        """Write samples ``[T, C]`` to the stream `i`; `pts` is their time in seconds."""
        self._write("write_audio_chunk", AudioInput, i, chunk, pts)

    def write_video_chunk(self, i: int, chunk: rl.Tensor, pts: float | None = None) -> None:
        """Write pictures ``[T, C, H, W]`` to the stream `i`; `pts` is the time of the first."""
        self._write("write_video_chunk", VideoInput, i, chunk, pts)

    def _write(self, op: str, kind: type, i: int, chunk: rl.Tensor, pts: float | None) -> None:
        self._require(op, "open")
        if not 0 <= i < len(self._inputs) or not isinstance(self._inputs[i], kind):
            raise RuntimeError(f"{op}(): stream {i} of that kind is not there")
        with media.named(op, self._name):
            self._inputs[i].write(chunk, pts, self._container.mux)

    def flush(self) -> None:
        """Write what filters and encoders have kept back; nothing can be written after that."""
        if self._state != "open":
            return
        with media.named("flush", self._name):
            for each in self._inputs:
                each.finish(self._container.mux)
        self._state = "flushed"

    def close(self) -> None:
        """End the file."""
        if self._state != "closed":
            self._state = "closed"
            with media.named("close", self._name):
                self._container.close()

    def __enter__(self) -> StreamWriter:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            if kind is None:
                self.flush()
        finally:
            self.close()

    def _require(self, op: str, state: str) -> None:
        if self._state != state:
            raise RuntimeError(f"{op}(): the file is {self._state}, it must be {state}")
