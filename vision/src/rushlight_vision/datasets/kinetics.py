"""Kinetics: clips of 400, 600 or 700 actions from the web (Carreira, Zisserman, 2017)."""

from __future__ import annotations

import csv
import os
import re
import urllib.parse
from pathlib import Path
from typing import Any

from rushlight_vision.datasets._published import Transform, read_lines
from rushlight_vision.datasets.download import download_url
from rushlight_vision.datasets.folder import find_classes, make_dataset
from rushlight_vision.datasets.integrity import Location
from rushlight_vision.datasets.utils import download_and_extract_archive, verify_str_arg
from rushlight_vision.datasets.video_utils import VideoClips
from rushlight_vision.datasets.vision import VisionDataset
from rushlight_vision.io.image import together

_BASE = "https://s3.amazonaws.com/kinetics"


class Kinetics(VisionDataset):
    """Videos in `root/SPLIT/CLASS`; `num_classes` is "400", "600" or "700", `split` "train", "val"
    or "test".

    With `download` the archives of the split are fetched (hundreds of gigabytes),
    `num_download_workers` at a time, and videos are sorted into folders by the published list. With
    `_legacy` the folders of classes lie in `root`. An item is frames (uint8, (T, 3, H, W), or (T,
    H, W, 3) with `output_format="THWC"`), sound (channels, samples) and an int. Other arguments as
    of :class:`VideoClips`.
    """

    _TAR_URLS = {
        "400": f"{_BASE}/400/{{split}}/k400_{{split}}_path.txt",
        "600": f"{_BASE}/600/{{split}}/k600_{{split}}_path.txt",
        "700": f"{_BASE}/700_2020/{{split}}/k700_2020_{{split}}_path.txt",
    }
    _ANNOTATION_URLS = {
        "400": f"{_BASE}/400/annotations/{{split}}.csv",
        "600": f"{_BASE}/600/annotations/{{split}}.csv",
        "700": f"{_BASE}/700_2020/annotations/{{split}}.csv",
    }

    def __init__(
        self,
        root: Location,
        frames_per_clip: int,
        num_classes: str = "400",
        split: str = "train",
        frame_rate: int | None = None,
        step_between_clips: int = 1,
        transform: Transform = None,
        extensions: tuple[str, ...] = ("avi", "mp4"),
        download: bool = False,
        num_download_workers: int = 1,
        num_workers: int = 1,
        _precomputed_metadata: dict[str, Any] | None = None,
        _video_width: int = 0,
        _video_height: int = 0,
        _video_min_dimension: int = 0,
        _audio_samples: int = 0,
        _audio_channels: int = 0,
        _legacy: bool = False,
        output_format: str = "TCHW",
    ) -> None:
        super().__init__(root)
        self.num_classes = verify_str_arg(num_classes, "num_classes", ("400", "600", "700"))
        self.extensions, self.num_download_workers = extensions, num_download_workers
        self._legacy = _legacy
        self.split = verify_str_arg(split, "split", ("train", "val", "test"))
        self.split_folder = str(self.root) if _legacy else os.path.join(str(self.root), split)
        if _legacy:
            self.split, output_format = "unknown", "THWC"
            if download:
                raise ValueError("download must be False with _legacy")
        if download:
            self.download_and_process_videos()
        self.classes, class_to_idx = find_classes(self.split_folder)
        self.samples = make_dataset(self.split_folder, class_to_idx, extensions)
        self.video_clips = VideoClips(
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
            _audio_channels=_audio_channels,
            output_format=output_format,
        )
        self.transform = transform

    def download_and_process_videos(self) -> None:
        """Fetch the archives of the split and sort the videos into folders of classes."""
        if not os.path.isdir(self.split_folder):
            self._download_videos()
        self._sort_videos()

    def _download_videos(self) -> None:
        url = self._TAR_URLS[self.num_classes].format(split=self.split)
        lists, archives = (os.path.join(str(self.root), name) for name in ("files", "tars"))
        download_url(url, lists)
        lines = read_lines(os.path.join(lists, url.rsplit("/", 1)[-1]))
        addresses = [urllib.parse.quote(line, safe="/,:") for line in lines]

        def fetch(address: str) -> None:
            download_and_extract_archive(address, archives, self.split_folder)

        for start in range(0, len(addresses), self.num_download_workers):
            together(fetch, addresses[start : start + self.num_download_workers])

    def _sort_videos(self) -> None:
        """Each video goes to the folder of the class that the published list says."""
        url = self._ANNOTATION_URLS[self.num_classes].format(split=self.split)
        lists = os.path.join(str(self.root), "annotations")
        if not os.path.isfile(os.path.join(lists, f"{self.split}.csv")):
            download_url(url, lists)
        with open(os.path.join(lists, f"{self.split}.csv"), newline="") as file:
            for row in csv.DictReader(file):
                start, end = int(row["time_start"]), int(row["time_end"])
                name = f"{row['youtube_id']}_{start:06}_{end:06}.mp4"
                label = re.sub("['()]", "", row["label"].replace(" ", "_"))
                folder = Path(self.split_folder, label)
                folder.mkdir(parents=True, exist_ok=True)
                if (found := Path(self.split_folder, name)).is_file():
                    os.replace(found, folder / name)

    @property
    def metadata(self) -> dict[str, Any]:
        """What another data set of the same videos can take as `_precomputed_metadata`."""
        return self.video_clips.metadata

    def __getitem__(self, idx: int) -> tuple[Any, Any, int]:
        """The frames, the sound and the class of a clip; the transform changes the frames."""
        video, audio, _, number = self.video_clips.get_clip(idx)
        if self.transform is not None:
            video = self.transform(video)
        return video, audio, self.samples[number][1]

    def __len__(self) -> int:
        return self.video_clips.num_clips()
