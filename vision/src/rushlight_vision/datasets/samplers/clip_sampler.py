"""Which clips of each video an epoch takes, and which of them a process."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sized
from typing import Any

import rushlight as rl
from rushlight.utils.data import Sampler
from rushlight_vision.datasets.video_utils import VideoClips


class DistributedSampler(Sampler):
    """The part of a data set, or of what another sampler takes, that belongs to one of several
    processes.

    `group_size` neighbours stay together, as the clips of one video. `num_replicas` and `rank` are
    the number of processes and of this one; left out, `rushlight.distributed` says them. With
    `shuffle` the order changes with :meth:`set_epoch`. Groups are repeated until all processes have
    as many.
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = False,
        group_size: int = 1,
    ) -> None:
        if num_replicas is None or rank is None:
            from rushlight import distributed

            if not distributed.is_available():
                raise RuntimeError("num_replicas and rank must be given: there are no processes")
            num_replicas = distributed.get_world_size() if num_replicas is None else num_replicas
            rank = distributed.get_rank() if rank is None else rank
        if len(dataset) % group_size != 0:
            raise ValueError(
                f"group_size must divide the number of items ({len(dataset)}), got {group_size}"
            )
        self.dataset, self.group_size = dataset, group_size
        self.num_replicas, self.rank, self.shuffle = num_replicas, rank, shuffle
        self.epoch = 0
        groups = len(dataset) // group_size
        self.num_group_samples = math.ceil(groups / num_replicas)
        self.num_samples = self.num_group_samples * group_size
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        generator = rl.Generator()
        generator.manual_seed(self.epoch)
        count = len(self.dataset)
        order = rl.randperm(count, generator=generator) if self.shuffle else rl.arange(count)
        order = rl.cat([order, order[: self.total_size - count]]).reshape(-1, self.group_size)
        chosen = order[self.rank :: self.num_replicas].reshape(-1).tolist()
        if isinstance(self.dataset, Sampler):
            items = list(self.dataset)
            chosen = [items[number] for number in chosen]
        return iter(chosen)

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Say the number of the epoch, which decides the order."""
        self.epoch = epoch


class _ClipSampler(Sampler):
    def __init__(self, video_clips: Any) -> None:
        if not isinstance(video_clips, VideoClips):
            raise TypeError(f"video_clips must be VideoClips, got {type(video_clips).__name__}")
        self.video_clips = video_clips

    def _lengths(self) -> list[tuple[int, int]]:
        """The first clip of every video and how many it has."""
        ends = self.video_clips.cumulative_sizes
        return [(end - len(c), len(c)) for end, c in zip(ends, self.video_clips.clips, strict=True)]


class UniformClipSampler(_ClipSampler):
    """`num_clips_per_video` clips of each video, equally far apart, some twice in short ones."""

    def __init__(self, video_clips: VideoClips, num_clips_per_video: int) -> None:
        super().__init__(video_clips)
        self.num_clips_per_video = num_clips_per_video

    def __iter__(self) -> Iterator[int]:
        chosen = [
            rl.linspace(start, start + length - 1, steps=self.num_clips_per_video).floor().long()
            for start, length in self._lengths()
            if length
        ]
        return iter(rl.cat(chosen).tolist() if chosen else [])

    def __len__(self) -> int:
        return sum(self.num_clips_per_video for _, length in self._lengths() if length)


class RandomClipSampler(_ClipSampler):
    """At most `max_clips_per_video` clips of each video, drawn at random, in random order."""

    def __init__(self, video_clips: VideoClips, max_clips_per_video: int) -> None:
        super().__init__(video_clips)
        self.max_clips_per_video = max_clips_per_video

    def __iter__(self) -> Iterator[int]:
        chosen = [
            rl.randperm(length)[: self.max_clips_per_video] + start
            for start, length in self._lengths()
        ]
        whole = rl.cat(chosen) if chosen else rl.empty(0, dtype=rl.int64)
        return iter(whole[rl.randperm(len(whole))].tolist())

    def __len__(self) -> int:
        return sum(min(length, self.max_clips_per_video) for _, length in self._lengths())
