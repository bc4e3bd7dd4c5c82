"""What data sets of clips of videos have in common."""

from __future__ import annotations

from typing import Any

from rushlight_vision.datasets._published import Transform
from rushlight_vision.datasets.folder import find_classes, make_dataset
from rushlight_vision.datasets.integrity import Location
from rushlight_vision.datasets.video_utils import VideoClips
from rushlight_vision.datasets.vision import VisionDataset


class FoldedClips(VisionDataset):
    """Clips of videos in folders of classes, of which a published list takes some."""

    def __init__(
        self,
        root: Location,
        annotation_path: str,
        frames_per_clip: int,
        step_between_clips: int = 1,
        frame_rate: int | None = None,
        fold: int = 1,
        train: bool = True,
        transform: Transform = None,
        _precomputed_metadata: dict[str, Any] | None = None,
        num_workers: int = 1,
        _video_width: int = 0,
        _video_height: int = 0,
        _video_min_dimension: int = 0,
        _audio_samples: int = 0,
        output_format: str = "THWC",
    ) -> None:
        super().__init__(root)
        if fold not in (1, 2, 3):
            raise ValueError(f"fold must be 1, 2 or 3, got {fold!r}")
        self.fold, self.train = fold, train
        self.classes, class_to_idx = find_classes(str(self.root))
        self.samples = make_dataset(str(self.root), class_to_idx, (".avi",))
        self.full_video_clips = VideoClips(
            [path for path, _ in self.samples],
            frames_per_clip,
            step_between_clips,
            frame_rate,
            _precomputed_metadata,
            num_workers=num_workers,
            _video_width=_video_width,
            _video_height=_video_height,
            _video_min_dimension=_video_min_dimension,
            _audio_samples=_audio_samples,
            output_format=output_format,
        )
        chosen = self._chosen(annotation_path)
        self.indices = [n for n, (path, _) in enumerate(self.samples) if path in chosen]
        self.video_clips = self.full_video_clips.subset(self.indices)
        self.transform = transform

    def _chosen(self, annotation_path: str) -> set[str]:
        """The paths of the videos of the part."""
        raise NotImplementedError

    @property
    def metadata(self) -> dict[str, Any]:
        """What another data set of the same videos can take as `_precomputed_metadata`."""
        return self.full_video_clips.metadata

    def __getitem__(self, idx: int) -> tuple[Any, Any, int]:
        """The frames, the sound and the class of a clip; the transform changes the frames."""
        video, audio, _, number = self.video_clips.get_clip(idx)
        if self.transform is not None:
            video = self.transform(video)
        return video, audio, self.samples[self.indices[number]][1]

    def __len__(self) -> int:
        return self.video_clips.num_clips()
