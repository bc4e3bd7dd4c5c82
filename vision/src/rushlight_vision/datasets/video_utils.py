"""Clips of equal length cut from many videos."""

from __future__ import annotations

import bisect
import math
import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import rushlight as rl
from rushlight.utils.data import DataLoader, Dataset
from rushlight_vision.io.video import read_video, read_video_timestamps


def pts_convert(
    pts: int,
    timebase_from: Fraction,
    timebase_to: Fraction,
    round_func: Callable[[Fraction], int] = math.floor,
) -> int:
    """A time by one clock as that by another, rounded by `round_func`.

    >>> pts_convert(5, Fraction(1, 10), Fraction(1, 100))
    50
    """
    return round_func(Fraction(pts) * timebase_from / timebase_to)


def unfold(tensor: rl.Tensor, size: int, step: int, dilation: int = 1) -> rl.Tensor:
    """Windows of `size` values of a tensor of one dimension, `step` apart, of every `dilation`-th
    value: (windows, size), a view.

    >>> unfold(rl.arange(5), 3, 2)
    tensor([[0, 1, 2],
            [2, 3, 4]])

    """
    if tensor.dim() != 1:
        raise ValueError(f"tensor must have one dimension, got {tensor.dim()}")
    reach = dilation * (size - 1) + 1
    windows = max(0, (tensor.numel() - reach) // step + 1)
    stride = tensor.stride(0)
    return rl.as_strided(tensor, (windows, size), (step * stride, dilation * stride))


class _Times(Dataset):
    """The times of frames of each video, for a loader."""

    def __init__(self, video_paths: Sequence[str]) -> None:
        self.video_paths = video_paths

    def __len__(self) -> int:
        return len(self.video_paths)

    def __getitem__(self, index: int) -> tuple[list[int], float | None]:
        return read_video_timestamps(self.video_paths[index])


def _unchanged(batch: Any) -> Any:
    return batch


class VideoClips:
    """All clips of `clip_length_in_frames` frames of some videos, `frames_between_clips` apart.

    With `frame_rate` frames are repeated or left out, so that a clip has that many a second. The
    times of frames are read by `num_workers` processes, or taken from `_precomputed_metadata`, the
    :attr:`metadata` of a former object, since reading them takes long. Videos shorter than a clip
    have none. Reading needs PyAV (`rushlight-vision[video]`), which gives pictures and sound as
    they are: the arguments `_video_width` and the like must be 0.
    """

    def __init__(
        self,
        video_paths: list[str],
        clip_length_in_frames: int = 16,
        frames_between_clips: int = 1,
        frame_rate: float | None = None,
        _precomputed_metadata: dict[str, Any] | None = None,
        num_workers: int = 0,
        _video_width: int = 0,
        _video_height: int = 0,
        _video_min_dimension: int = 0,
        _video_max_dimension: int = 0,
        _audio_samples: int = 0,
        _audio_channels: int = 0,
        output_format: str = "THWC",
    ) -> None:
        given = locals()
        for name in ("width", "height", "min_dimension", "max_dimension"):
            if given[f"_video_{name}"] != 0:
                raise ValueError(f"_video_{name} must be 0: resize with a transform")
        if _audio_samples != 0 or _audio_channels != 0:
            raise ValueError(
                "_audio_samples and _audio_channels must be 0: resample with a transform"
            )
        if output_format.upper() not in ("THWC", "TCHW"):
            raise ValueError(f'output_format must be "THWC" or "TCHW", got {output_format!r}')
        self.output_format = output_format.upper()
        self.video_paths, self.num_workers = video_paths, num_workers
        if _precomputed_metadata is None:
            self._read_times()
        else:
            self._take(_precomputed_metadata)
        self.compute_clips(clip_length_in_frames, frames_between_clips, frame_rate)

    def _read_times(self) -> None:
        loader: Any = DataLoader(
            _Times(self.video_paths), 16, num_workers=self.num_workers, collate_fn=_unchanged
        )
        found = [one for batch in loader for one in batch]
        self.video_pts = [rl.tensor(times, dtype=rl.int64) for times, _ in found]
        self.video_fps = [rate for _, rate in found]

    def _take(self, metadata: dict[str, Any]) -> None:
        self.video_paths = metadata["video_paths"]
        self.video_pts, self.video_fps = metadata["video_pts"], metadata["video_fps"]
        if not len(self.video_paths) == len(self.video_pts) == len(self.video_fps):
            raise ValueError("_precomputed_metadata: its lists must have one entry for each video")

    @property
    def metadata(self) -> dict[str, Any]:
        """Paths, times of frames and rates: what a later object can take over."""
        return {
            "video_paths": self.video_paths,
            "video_pts": self.video_pts,
            "video_fps": self.video_fps,
        }

    def subset(self, indices: Sequence[int]) -> VideoClips:
        """The clips of some of the videos."""
        chosen = {key: [values[i] for i in indices] for key, values in self.metadata.items()}
        return type(self)(
            chosen["video_paths"],
            self.num_frames,
            self.step,
            self.frame_rate,
            _precomputed_metadata=chosen,
            num_workers=self.num_workers,
            output_format=self.output_format,
        )

    @staticmethod
    def compute_clips_for_video(
        video_pts: rl.Tensor,
        num_frames: int,
        step: int,
        fps: float | None,
        frame_rate: float | None = None,
    ) -> tuple[rl.Tensor, Any]:
        """The times of each clip's frames, (clips, frames), and which frames those are."""
        fps = fps or 1
        frame_rate = frame_rate or fps
        count = math.floor(len(video_pts) * frame_rate / fps)
        chosen = VideoClips._resample_video_idx(count, fps, frame_rate)
        clips = unfold(video_pts[chosen], num_frames, step)
        if not clips.numel():
            warnings.warn(
                "a video has fewer frames than a clip and is left out", UserWarning, stacklevel=2
            )
        if isinstance(chosen, slice):
            return clips, [chosen] * len(clips)
        return clips, unfold(chosen, num_frames, step)

    def compute_clips(self, num_frames: int, step: int, frame_rate: float | None = None) -> None:
        """Cut the videos anew, into clips of another length, distance or rate."""
        self.num_frames, self.step, self.frame_rate = num_frames, step, frame_rate
        found = [
            self.compute_clips_for_video(times, num_frames, step, rate, frame_rate)
            for times, rate in zip(self.video_pts, self.video_fps, strict=True)
        ]
        self.clips = [clips for clips, _ in found]
        self.resampling_idxs = [chosen for _, chosen in found]
        lengths = rl.tensor([len(clips) for clips in self.clips], dtype=rl.int64)
        self.cumulative_sizes = lengths.cumsum(0).tolist()

    def __len__(self) -> int:
        return self.num_clips()

    def num_videos(self) -> int:
        """The number of videos."""
        return len(self.video_paths)

    def num_clips(self) -> int:
        """The number of clips of all videos."""
        return self.cumulative_sizes[-1] if self.cumulative_sizes else 0

    def get_clip_location(self, idx: int) -> tuple[int, int]:
        """Which video a clip is from, and which of its clips it is."""
        video = bisect.bisect_right(self.cumulative_sizes, idx)
        return video, idx - (self.cumulative_sizes[video - 1] if video else 0)

    @staticmethod
    def _resample_video_idx(num_frames: int, original_fps: float, new_fps: float) -> Any:
        """The frames of a video that make one of another rate: a slice where it is every n-th."""
        step = original_fps / new_fps
        if float(step).is_integer():
            return slice(None, None, int(step))
        return (rl.arange(num_frames, dtype=rl.float32) * step).floor().to(rl.int64)

    def get_clip(self, idx: int) -> tuple[rl.Tensor, rl.Tensor, dict[str, Any], int]:
        """A clip's frames and sound, their rates, and the number of the video.

        Raises IndexError where there is no such clip, RuntimeError if the file has changed.
        """
        if not 0 <= idx < self.num_clips():
            raise IndexError(f"VideoClips: index {idx} of {self.num_clips()} clips")
        number, clip = self.get_clip_location(idx)
        times = self.clips[number][clip]
        path = self.video_paths[number]
        video, audio, about = read_video(path, times[0].item(), times[-1].item())
        if self.frame_rate is not None:
            chosen = self.resampling_idxs[number][clip]
            video = video[chosen if isinstance(chosen, slice) else chosen - chosen[0]]
            about["video_fps"] = self.frame_rate
        if len(video) != self.num_frames:
            raise RuntimeError(
                f"{path} has changed: a clip has {len(video)} frames, expected {self.num_frames}"
            )
        if self.output_format == "TCHW":
            video = video.permute(0, 3, 1, 2)
        return video, audio, about, number
