"""Sound sent to the machine's loudspeaker."""

from __future__ import annotations

import sys

import rushlight as rl
from rushlight_audio.io.media_frames import format_for
from rushlight_audio.io.stream_writer import StreamWriter

__all__ = ["play_audio"]

_DEVICES = {"darwin": "audiotoolbox", "linux": "alsa"}


def play_audio(waveform: rl.Tensor, sample_rate: float, device: str | None = None) -> None:
    """Play a waveform ``[T, C]`` by FFmpeg; needs PyAV built with a device.

    Args:
        waveform: float32, int16, int32, uint8 or float64.
        sample_rate: samples per second.
        device: an output device of FFmpeg: ``"alsa"``, ``"pulse"``, ``"audiotoolbox"``; None for
            the system's usual one.

    Raises:
        ValueError: a shape or dtype that does not fit.
        RuntimeError: the device is not there.
    """
    if waveform.dim() != 2:
        raise ValueError(
            "play_audio(): waveform must have 2 dimensions, time and channels, got "
            f"{waveform.dim()}"
        )
    sample_format = format_for("play_audio", waveform.dtype)
    device = device or _DEVICES.get(sys.platform, "alsa")
    try:
        writer = StreamWriter("-" if device == "audiotoolbox" else "default", format=device)
        writer.add_audio_stream(int(sample_rate), waveform.shape[1], sample_format)
        with writer.open():
            writer.write_audio_chunk(0, waveform)
    except (RuntimeError, ValueError, OSError) as error:
        raise RuntimeError(
            f"play_audio(): the device {device!r} does not play ({error}); save the sound and "
            "play the file"
        ) from error
