"""Whole videos as tensors, by PyAV (`rushlight-vision[video]`)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

import rushlight as rl
from rushlight_vision.io._av import library, reading

if TYPE_CHECKING:
    from os import PathLike

_MARGIN = 6  # frames before the start at which decoding begins at the latest: those out of order
# PyAV's sample formats -> what NumPy calls their numbers.
_SAMPLES = {"dbl": "<f8", "flt": "<f4", "s16": "<i2", "s32": "<i4", "u8": "u1"}


def read_video(
    filename: str | PathLike[str],
    start_pts: float | Fraction = 0,
    end_pts: float | Fraction | None = None,
    pts_unit: str = "pts",
    output_format: str = "THWC",
) -> tuple[rl.Tensor, rl.Tensor, dict[str, Any]]:
    """The frames and the sound of a video between two times, both included.

    `filename` is a path, an address, bytes, or a uint8 tensor of a file's bytes. Times are seconds
    with `pts_unit="sec"`, else units of the video stream's clock. The frame that is shown at
    `start_pts` is the first, also where it begins earlier. Gives frames (uint8, (T, H, W, 3), or
    (T, 3, H, W) with `output_format="TCHW"`), sound (channels, samples) in the file's own numbers,
    empty where there is none, and a dict with "video_fps" and "audio_fps".

    Raises FileNotFoundError, or RuntimeError with the name of a file that is no video.

    >>> frames, sound, about = read_video("film.mp4", 1.5, 2.0, "sec")  # doctest: +SKIP

    """
    if output_format.upper() not in ("THWC", "TCHW"):
        raise ValueError(f'output_format must be "THWC" or "TCHW", got {output_format!r}')
    _check_unit(pts_unit)
    if end_pts is not None and end_pts < start_pts:
        raise ValueError(f"end_pts must not be before start_pts ({start_pts}), got {end_pts}")
    about: dict[str, Any] = {}
    frames, sound = rl.empty(0, 1, 1, 3, dtype=rl.uint8), rl.empty(1, 0)
    with reading(filename) as container:
        streams = container.streams
        main = (streams.video or streams.audio or (None,))[0]
        if main is not None:
            span = _seconds(
                start_pts, end_pts, Fraction(1) if pts_unit == "sec" else main.time_base
            )
            if streams.video:
                about["video_fps"] = float(streams.video[0].average_rate)
                frames = _pictures(container, streams.video[0], span, frames)
            if streams.audio:
                about["audio_fps"] = streams.audio[0].rate
                sound = _sound(container, streams.audio[0], span, sound)
    if output_format.upper() == "TCHW":
        frames = frames.permute(0, 3, 1, 2)
    return frames, sound, about


Span = tuple[Fraction, Fraction | None]


def _seconds(start: Any, end: Any, unit: Fraction) -> Span:
    return exact(start) * unit, None if end is None or math.isinf(end) else exact(end) * unit


def exact(time: Any) -> Fraction:
    """The number that a float was written as: 1.7 is 17/10, not a little less."""
    return Fraction(time).limit_denominator(10**9)


def _check_unit(pts_unit: str) -> None:
    if pts_unit not in ("pts", "sec"):
        raise ValueError(f'pts_unit must be "pts" or "sec", got {pts_unit!r}')


def decoded_from(container: Any, stream: Any, first: int) -> Iterator[Any]:
    """The frames of a stream from the last key frame at or before a time of its clock."""
    step = 0
    if stream.type == "video" and stream.average_rate:
        step = math.ceil(1 / (stream.average_rate * stream.time_base))
    begin = first - _MARGIN * step
    if begin > (stream.start_time or 0):
        container.seek(begin, any_frame=False, backward=True, stream=stream)
    else:
        container.seek(stream.start_time or 0, any_frame=False, backward=True, stream=stream)
    frames = (frame for frame in container.decode(stream) if frame.pts is not None)
    start = next(frames, None)
    if start is None:
        return
    if start.pts > first and begin > (stream.start_time or 0):  # an index that is wrong
        container.seek(stream.start_time or 0, any_frame=False, backward=True, stream=stream)
        frames = (frame for frame in container.decode(stream) if frame.pts is not None)
    else:
        yield start
    yield from frames


def _between(container: Any, stream: Any, span: Span) -> list[Any]:
    """The frames from the one that is shown at the start to the end."""
    first = math.floor(span[0] / stream.time_base)
    last = None if span[1] is None else math.ceil(span[1] / stream.time_base)
    found: list[Any] = []
    for frame in decoded_from(container, stream, first):
        if last is not None and frame.pts > last:
            break
        if found and frame.pts <= first:
            found.clear()  # the one before is not shown at the start
        found.append(frame)
    return found


def _pictures(container: Any, stream: Any, span: Span, none: rl.Tensor) -> rl.Tensor:
    frames = [frame.to_rgb().to_ndarray() for frame in _between(container, stream, span)]
    return rl.from_numpy(np.stack(frames)) if frames else none


def _sound(container: Any, stream: Any, span: Span, none: rl.Tensor) -> rl.Tensor:
    """The samples between two times."""
    frames = _between(container, stream, span)
    if not frames:
        return none
    samples = np.concatenate([_channels(frame) for frame in frames], axis=1)
    begin = frames[0].pts * stream.time_base
    low = max(0, round((span[0] - begin) * stream.rate))
    high = None if span[1] is None else max(low, round((span[1] - begin) * stream.rate) + 1)
    return rl.from_numpy(np.ascontiguousarray(samples[:, low:high]))


def _channels(frame: Any) -> np.ndarray:
    """The samples of a frame, (channels, samples), however they are laid out in it."""
    samples = frame.to_ndarray()
    if frame.format.is_planar:
        return samples
    return samples.reshape(-1, len(frame.layout.channels)).T


def read_video_timestamps(
    filename: str | PathLike[str], pts_unit: str = "pts"
) -> tuple[list[Any], float | None]:
    """The time of every frame and the number of frames a second.

    Times are ints of the stream's clock, or Fractions of a second with `pts_unit="sec"`. A file
    without a video stream gives an empty list and None.
    """
    _check_unit(pts_unit)
    with reading(filename) as container:
        if not container.streams.video:
            return [], None
        stream = container.streams.video[0]
        times = sorted(p.pts for p in container.demux(stream) if p.pts is not None)
        rate = float(stream.average_rate)
        return ([time * stream.time_base for time in times] if pts_unit == "sec" else times), rate


def write_video(
    filename: str,
    video_array: rl.Tensor,
    fps: float,
    video_codec: str = "libx264",
    options: dict[str, Any] | None = None,
    audio_array: rl.Tensor | None = None,
    audio_fps: float | None = None,
    audio_codec: str | None = None,
    audio_options: dict[str, Any] | None = None,
) -> None:
    """Write frames (uint8, (T, H, W, 3)) and sound (channels, samples) as a video.

    `fps` may be a fraction (29.97 stays that). `options` and `audio_options` go to the codecs, as
    ``{"crf": "17"}``; "libx264" halves colours across and down, so height and width must be even,
    while "libx264rgb" with ``{"crf": "0"}`` keeps every number. Sound is converted to the codec's
    numbers without scaling.

    >>> frames = rl.zeros(10, 32, 32, 3, dtype=rl.uint8)
    >>> write_video("film.mp4", frames, fps=5)  # doctest: +SKIP

    """
    frames = _checked_frames(video_array)
    if audio_array is not None and (audio_fps is None or audio_codec is None):
        raise ValueError("audio_fps and audio_codec must be given with audio_array")
    av = library()
    with av.open(filename, mode="w") as container:
        stream = container.add_stream(video_codec, rate=Fraction(fps).limit_denominator(65535))
        stream.height, stream.width = frames.shape[1:3]
        stream.pix_fmt = "rgb24" if video_codec == "libx264rgb" else "yuv420p"
        stream.options = options or {}
        if audio_array is not None:
            sound = container.add_stream(audio_codec, rate=audio_fps)
            sound.options = audio_options or {}
            _write(container, sound, [_sound_frame(av, sound, audio_array, audio_fps)])
        pictures = (av.VideoFrame.from_ndarray(frame, format="rgb24") for frame in frames)
        _write(container, stream, pictures)


def _checked_frames(video_array: Any) -> np.ndarray:
    frames = rl.as_tensor(video_array)
    if frames.dtype is not rl.uint8 or frames.ndim != 4 or frames.shape[3] != 3:
        raise ValueError(
            f"video_array must be uint8 of shape (T, H, W, 3), got {frames.dtype} of shape "
            f"{tuple(frames.shape)}"
        )
    return np.ascontiguousarray(frames.cpu().numpy())


def _sound_frame(av: Any, stream: Any, audio_array: Any, rate: Any) -> Any:
    samples = rl.as_tensor(audio_array).cpu().numpy()
    if samples.ndim != 2:
        raise ValueError(f"audio_array must be (channels, samples), got {samples.shape}")
    name = stream.format.name
    samples = samples.astype(_SAMPLES[name.removesuffix("p")])
    if not name.endswith("p"):
        samples = samples.T.reshape(1, -1)
    layout = "stereo" if len(audio_array) > 1 else "mono"
    frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(samples), format=name, layout=layout)
    frame.sample_rate = int(rate)
    return frame


def _write(container: Any, stream: Any, frames: Any) -> None:
    for frame in (*frames, None):  # None: what the codec still holds
        for packet in stream.encode(frame):
            container.mux(packet)
