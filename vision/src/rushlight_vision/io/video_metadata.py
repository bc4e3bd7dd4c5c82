"""What is known of a video before it is read."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Timebase", "VideoMetaData"]


@dataclass(eq=False, slots=True)
class Timebase:
    """The unit of a stream's timestamps: `numerator` / `denominator` seconds."""

    numerator: int
    denominator: int


class VideoMetaData:
    """Facts of a video: whether it has a stream of each kind, its unit of time, its length in
    seconds, and frames or samples a second. Zeros and False until they are set.

    >>> facts = VideoMetaData()
    >>> facts.has_video, facts.video_fps, facts.video_timebase.denominator
    (False, 0.0, 1)
    """

    __slots__ = (
        "audio_duration", "audio_sample_rate", "audio_timebase", "has_audio", "has_video",
        "video_duration", "video_fps", "video_timebase",
    )  # fmt: skip

    def __init__(self) -> None:
        self.has_video = self.has_audio = False
        self.video_timebase, self.audio_timebase = Timebase(0, 1), Timebase(0, 1)
        self.video_duration = self.video_fps = 0.0
        self.audio_duration = self.audio_sample_rate = 0.0
