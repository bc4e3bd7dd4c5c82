"""Samplers of clips of videos."""

from rushlight_vision.datasets.samplers.clip_sampler import (
    DistributedSampler,
    RandomClipSampler,
    UniformClipSampler,
)

__all__ = ("DistributedSampler", "RandomClipSampler", "UniformClipSampler")
