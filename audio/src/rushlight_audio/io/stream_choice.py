"""Which streams of a file come out, and as what: the part of `StreamReader` before reading."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rushlight_audio.io import media
from rushlight_audio.io.filter_graph import audio_description, video_description
from rushlight_audio.io.stream_info import OutputStream, SourceStream, described
from rushlight_audio.io.stream_output import Output

__all__ = ["StreamChoice"]


class StreamChoice:
    """The streams of an open file, and the outputs that are made of them."""

    def __init__(self, container: Any):
        self._container = container
        self._outputs: list[Output] = []
        self._packets: Iterator[Any] | None = None

    @property
    def num_src_streams(self) -> int:
        """How many streams the file has."""
        return len(self._container.streams)

    @property
    def num_out_streams(self) -> int:
        """How many streams come out."""
        return len(self._outputs)

    @property
    def default_audio_stream(self) -> int | None:
        """Index of the audio stream that is taken where none is named."""
        return self._best("audio")

    @property
    def default_video_stream(self) -> int | None:
        """Index of the video stream that is taken where none is named."""
        return self._best("video")

    def _best(self, kind: Any) -> int | None:
        found = self._container.streams.best(kind)
        return None if found is None else found.index

    def get_metadata(self) -> dict[str, str]:
        """What the file says of itself: title, artist, ..."""
        return dict(self._container.metadata)

    def get_src_stream_info(self, i: int) -> SourceStream:
        """What the stream `i` of the file is."""
        return described(self._source(i))

    def get_out_stream_info(self, i: int) -> OutputStream:
        """What the stream `i` that comes out is."""
        return self._outputs[self._output_index(i)].info()

    def _source(self, i: int) -> Any:
        if not 0 <= i < self.num_src_streams:
            raise RuntimeError(
                f"StreamReader: source stream {i} is not there; there are {self.num_src_streams}"
            )
        return self._container.streams[i]

    def _output_index(self, i: int) -> int:
        if not 0 <= i < len(self._outputs):
            raise RuntimeError(
                f"StreamReader: output stream {i} is not there; there are {len(self._outputs)}"
            )
        return i

    def add_basic_audio_stream(
        self,
        frames_per_chunk: int,
        buffer_chunk_size: int = 3,
        *,
        stream_index: int | None = None,
        decoder: str | None = None,
        decoder_option: dict[str, str] | None = None,
        format: str | None = "fltp",
        sample_rate: int | None = None,
        num_channels: int | None = None,
    ) -> None:
        """Let audio come out as ``[T, C]`` with a format, rate and number of channels.

        Args:
            frames_per_chunk: samples in a chunk; -1 for all there are.
            buffer_chunk_size: most chunks that are kept, the newest; -1 for all.
            stream_index: of the file's stream; None for the default one.
            decoder: the codec's own name; there is no choice of decoders.
            decoder_option: options of the decoder.
            format: ``"u8p"``, ``"s16p"``, ``"s32p"``, ``"fltp"``, ``"dblp"``, or None as it is.
            sample_rate: None as it is.
            num_channels: None as it is.
        """
        self.add_audio_stream(
            frames_per_chunk,
            buffer_chunk_size,
            stream_index=stream_index,
            decoder=decoder,
            decoder_option=decoder_option,
            filter_desc=audio_description(sample_rate, format, num_channels),
        )

    def add_basic_video_stream(
        self,
        frames_per_chunk: int,
        buffer_chunk_size: int = 3,
        *,
        stream_index: int | None = None,
        decoder: str | None = None,
        decoder_option: dict[str, str] | None = None,
        format: str | None = "rgb24",
        frame_rate: float | None = None,
        width: int | None = None,
        height: int | None = None,
        hw_accel: str | None = None,
    ) -> None:
        """Let video come out as uint8 ``[T, C, H, W]`` with a format, frame rate and size.

        Args: as of :meth:`add_basic_audio_stream`; `format` is ``"rgb24"``, ``"bgr24"``,
        ``"gray"``, ``"yuv444p"`` or None. `hw_accel` must be None.
        """
        self.add_video_stream(
            frames_per_chunk,
            buffer_chunk_size,
            stream_index=stream_index,
            decoder=decoder,
            decoder_option=decoder_option,
            filter_desc=video_description(frame_rate, width, height, format),
            hw_accel=hw_accel,
        )

    def add_audio_stream(
        self,
        frames_per_chunk: int,
        buffer_chunk_size: int = 3,
        *,
        stream_index: int | None = None,
        decoder: str | None = None,
        decoder_option: dict[str, str] | None = None,
        filter_desc: str | None = None,
    ) -> None:
        """Let audio come out through FFmpeg's filters: ``"atempo=1.5,volume=0.5"``."""
        index = self.default_audio_stream if stream_index is None else stream_index
        self._add(
            "audio",
            index,
            (frames_per_chunk, buffer_chunk_size),
            (decoder, decoder_option),
            filter_desc,
        )

    def add_video_stream(
        self,
        frames_per_chunk: int,
        buffer_chunk_size: int = 3,
        *,
        stream_index: int | None = None,
        decoder: str | None = None,
        decoder_option: dict[str, str] | None = None,
        filter_desc: str | None = None,
        hw_accel: str | None = None,
    ) -> None:
        """Let video come out through FFmpeg's filters: ``"fps=5,hflip"``."""
        if hw_accel is not None:
            raise NotImplementedError(
                "add_video_stream(): hw_accel is not there: pictures are decoded on the CPU; "
                "leave it None"
            )
        index = self.default_video_stream if stream_index is None else stream_index
        self._add(
            "video",
            index,
            (frames_per_chunk, buffer_chunk_size),
            (decoder, decoder_option),
            filter_desc,
        )

    def _add(
        self,
        kind: str,
        index: int | None,
        chunks: tuple[int, int],
        decoding: tuple[str | None, dict[str, str] | None],
        description: str | None,
    ) -> None:
        if index is None:
            raise RuntimeError(f"add_{kind}_stream(): there is no {kind} stream")
        source = self._source(index)
        if source.type != kind:
            raise RuntimeError(f"add_{kind}_stream(): stream {index} is {source.type}")
        media.require_chunks(f"add_{kind}_stream", *chunks)
        media.configure_decoder(f"add_{kind}_stream", source, *decoding)
        self._outputs.append(Output(source, description, *chunks))
        self._packets = None

    def remove_stream(self, i: int) -> None:
        """Take an output away; those behind it move up."""
        del self._outputs[self._output_index(i)]
        self._packets = None
