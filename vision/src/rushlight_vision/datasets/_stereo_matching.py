"""Data sets of stereo pairs: how far the left picture's pixels lie from the right one's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from rushlight_vision.datasets._disparity_files import read_picture
from rushlight_vision.datasets._middlebury import Middlebury2014Stereo
from rushlight_vision.datasets._stereo_base import (
    StereoMatchingDataset,
    StereoTransforms,
    pfm_disparity,
)
from rushlight_vision.datasets.integrity import Location
from rushlight_vision.datasets.utils import verify_str_arg

__all__ = (
    "CREStereo",
    "CarlaStereo",
    "ETH3DStereo",
    "FallingThingsStereo",
    "InStereo2k",
    "Kitti2012Stereo",
    "Kitti2015Stereo",
    "Middlebury2014Stereo",
    "SceneFlowStereo",
    "SintelStereo",
    "StereoMatchingDataset",
)


class CarlaStereo(StereoMatchingDataset):
    """Drawn streets in high resolution (Yang et al., 2019), in `root/carla-highres`."""

    def __init__(self, root: Location, transforms: StereoTransforms = None) -> None:
        super().__init__(root, transforms)
        place = self._place("carla-highres", "trainingF")
        self._images = self._pairs(place, "*/im0.png", "*/im1.png")
        self._disparities = self._pairs(place, "*/disp0GT.pfm", "*/disp1GT.pfm")

    def _read_disparity(self, file_path: Any) -> tuple[Any, Any]:
        return pfm_disparity(file_path), None


class _Kitti(StereoMatchingDataset):
    """KITTI's two editions; disparities are 256 times as large in the files."""

    _has_built_in_disparity_mask = True

    def _read_disparity(self, file_path: Any) -> tuple[Any, Any]:
        if file_path is None:
            return None, None
        return read_picture(file_path)[None] / 256.0, None


class Kitti2012Stereo(_Kitti):
    """Streets (Geiger, Lenz, Urtasun, 2012), in `root/Kitti2012`; `split` "train" or "test"."""

    def __init__(
        self, root: Location, split: str = "train", transforms: StereoTransforms = None
    ) -> None:
        super().__init__(root, transforms)
        verify_str_arg(split, "split", ("train", "test"))
        place = self._place("Kitti2012", f"{split}ing")
        self._images = self._pairs(place, "colored_0/*_10.png", "colored_1/*_10.png")
        if split == "train":
            self._disparities = self._pairs(place, "disp_noc/*.png")
        else:
            self._without_disparities()


class Kitti2015Stereo(_Kitti):
    """Streets with moving things (Menze, Geiger, 2015), in `root/Kitti2015`; `split` "train" or
    "test"."""

    def __init__(
        self, root: Location, split: str = "train", transforms: StereoTransforms = None
    ) -> None:
        super().__init__(root, transforms)
        verify_str_arg(split, "split", ("train", "test"))
        place = self._place("Kitti2015", f"{split}ing")
        self._images = self._pairs(place, "image_2/*.png", "image_3/*.png")
        if split == "train":
            self._disparities = self._pairs(place, "disp_occ_0/*.png", "disp_occ_1/*.png")
        else:
            self._without_disparities()


class CREStereo(StereoMatchingDataset):
    """Drawn things of four kinds (Li et al., 2022), in `root/CREStereo`."""

    _has_built_in_disparity_mask = True

    def __init__(self, root: Location, transforms: StereoTransforms = None) -> None:
        super().__init__(root, transforms)
        for kind in ("shapenet", "reflective", "tree", "hole"):
            place = self._place("CREStereo", kind)
            self._images += self._pairs(place, "*_left.jpg", "*_right.jpg")
            self._disparities += self._pairs(place, "*_left.disp.png", "*_right.disp.png")

    def _read_disparity(self, file_path: Any) -> tuple[Any, Any]:
        return read_picture(file_path, np.float32)[None] / 32.0, None


class FallingThingsStereo(StereoMatchingDataset):
    """Drawn things that fall (Tremblay, To, Birchfield, 2018), in `root/FallingThings`; `variant`
    "single", "mixed" or "both". Files hold depths; the camera's settings beside them make
    disparities."""

    _BASELINE, _UNITS = 6, 100  # centimetres between the cameras; of a depth's unit to one

    def __init__(
        self, root: Location, variant: str = "single", transforms: StereoTransforms = None
    ) -> None:
        super().__init__(root, transforms)
        verify_str_arg(variant, "variant", ("single", "mixed", "both"))
        for part in ("single", "mixed") if variant == "both" else (variant,):
            place = self._place("FallingThings", part)
            folders = "*/*" if part == "single" else "*"
            for found, end in ((self._images, "jpg"), (self._disparities, "depth.png")):
                found += self._pairs(place, f"{folders}/*.left.{end}", f"{folders}/*.right.{end}")

    def _read_disparity(self, file_path: Any) -> tuple[Any, Any]:
        settings = json.loads((Path(file_path).parent / "_camera_settings.json").read_text())
        focal = settings["camera_settings"][0]["intrinsic_settings"]["fx"]
        depth = read_picture(file_path).astype(np.float32)
        with np.errstate(divide="ignore"):
            return (self._BASELINE * focal * self._UNITS / depth)[None], None


class SceneFlowStereo(StereoMatchingDataset):
    """Drawn films (Mayer et al., 2016), in `root/SceneFlow`; `variant` "FlyingThings3D", "Driving"
    or "Monkaa", `pass_name` "clean", "final" or "both"."""

    def __init__(
        self,
        root: Location,
        variant: str = "FlyingThings3D",
        pass_name: str = "clean",
        transforms: StereoTransforms = None,
    ) -> None:
        super().__init__(root, transforms)
        verify_str_arg(variant, "variant", ("FlyingThings3D", "Driving", "Monkaa"))
        verify_str_arg(pass_name, "pass_name", ("clean", "final", "both"))
        folders = "*" if variant == "Monkaa" else "*/*/*"
        left, right = f"{folders}/left/*", f"{folders}/right/*"
        place = self._place("SceneFlow", variant)
        for stage in ("clean", "final") if pass_name == "both" else (pass_name,):
            frames = place / f"frames_{stage}pass"
            self._images += self._pairs(frames, f"{left}.png", f"{right}.png")
            self._disparities += self._pairs(place / "disparity", f"{left}.pfm", f"{right}.pfm")

    def _read_disparity(self, file_path: Any) -> tuple[Any, Any]:
        return pfm_disparity(file_path), None


class SintelStereo(StereoMatchingDataset):
    """Frames of the film Sintel (Butler et al., 2012), in `root/Sintel`; `pass_name` "final",
    "clean" or "both". The disparity is known where both cameras see the pixel."""

    _has_built_in_disparity_mask = True

    def __init__(
        self, root: Location, pass_name: str = "final", transforms: StereoTransforms = None
    ) -> None:
        super().__init__(root, transforms)
        verify_str_arg(pass_name, "pass_name", ("final", "clean", "both"))
        place = self._place("Sintel", "training")
        for stage in ("final", "clean") if pass_name == "both" else (pass_name,):
            self._images += self._pairs(place, f"{stage}_left/*/*.png", f"{stage}_right/*/*.png")
            self._disparities += self._pairs(place, "disparities/*/*.png")

    def _read_disparity(self, file_path: Any) -> tuple[Any, Any]:
        if file_path is None:
            return None, None
        red, green, blue = read_picture(file_path, np.float32).transpose(2, 0, 1)
        disparity = red * 4 + green / 2**6 + blue / 2**14
        scene = Path(file_path)
        known = [
            read_picture(scene.parents[2] / kind / scene.parent.name / scene.name) == 0
            for kind in ("occlusions", "outofframe")
        ]
        return disparity[None], known[0] & known[1]


class InStereo2k(StereoMatchingDataset):
    """Rooms (Bao et al., 2020), in `root/InStereo2k`; `split` "train" or "test"."""

    def __init__(
        self, root: Location, split: str = "train", transforms: StereoTransforms = None
    ) -> None:
        super().__init__(root, transforms)
        verify_str_arg(split, "split", ("train", "test"))
        place = self._place("InStereo2k", split)
        self._images = self._pairs(place, "*/left.png", "*/right.png")
        self._disparities = self._pairs(place, "*/left_disp.png", "*/right_disp.png")

    def _read_disparity(self, file_path: Any) -> tuple[Any, Any]:
        return read_picture(file_path, np.float32)[None] / 1024.0, None


class ETH3DStereo(StereoMatchingDataset):
    """Rooms and yards, grey (Schoeps et al., 2017), in `root/ETH3D`; `split` "train" or "test"."""

    _has_built_in_disparity_mask = True

    def __init__(
        self, root: Location, split: str = "train", transforms: StereoTransforms = None
    ) -> None:
        super().__init__(root, transforms)
        verify_str_arg(split, "split", ("train", "test"))
        part = "two_view_training" if split == "train" else "two_view_test"
        self._images = self._pairs(self._place("ETH3D", part), "*/im0.png", "*/im1.png")
        if split == "train":
            truth = self._place("ETH3D", "two_view_training_gt")
            self._disparities = self._pairs(truth, "*/disp0GT.pfm")
        else:
            self._without_disparities()

    def _read_disparity(self, file_path: Any) -> tuple[Any, Any]:
        if file_path is None:
            return None, None
        known = read_picture(Path(file_path).parent / "mask0nocc.png").astype(bool)
        return pfm_disparity(file_path), known
