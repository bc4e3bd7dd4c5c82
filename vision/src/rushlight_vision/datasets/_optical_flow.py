"""Data sets of optical flow: two frames, and how far each pixel moves between them."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rushlight.utils.data import ConcatDataset
from rushlight_vision.datasets._disparity_files import read_flo, read_flow_png, read_pfm
from rushlight_vision.datasets._published import Loader, default_loader
from rushlight_vision.datasets.integrity import Location
from rushlight_vision.datasets.utils import verify_str_arg
from rushlight_vision.datasets.vision import VisionDataset

__all__ = ("HD1K", "FlyingChairs", "FlyingThings3D", "KittiFlow", "Sintel")

# Of two frames, the flow and where it is known, the same changed.
FlowTransforms = Callable[[Any, Any, Any, Any], tuple[Any, Any, Any, Any]] | None


def _sorted(folder: Path, pattern: str) -> list[str]:
    """The paths that fit, sorted."""
    return sorted(map(str, folder.glob(pattern)))


class FlowDataset(ABC, VisionDataset):
    """Pairs of frames with the flow from the first to the second.

    An item is two RGB pictures of Pillow and the flow (float32 array, (2, H, W): x and y, in
    pixels), None where it is not published; of some data sets also where it is known (bool array,
    (H, W)). `transforms` takes and gives all four, None for what is not there; a mask it makes is
    added to the item. `n * dataset` is the data set n times over.
    """

    _has_builtin_flow_mask = False

    def __init__(
        self,
        root: Location,
        transforms: FlowTransforms = None,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root=root)
        self.transforms: Any = transforms
        self._flow_list: list[str] = []
        self._image_list: list[list[str]] = []
        self._loader = loader

    @abstractmethod
    def _read_flow(self, file_name: str) -> Any:
        """The flow in a file; with where it is known, if the class says it has that."""

    def _add_sequence(self, frames: list[str]) -> None:
        """Every frame with the next one."""
        self._image_list += [list(pair) for pair in itertools.pairwise(frames)]

    def _flow_of(self, index: int) -> tuple[Any, Any]:
        if not self._flow_list:
            return None, None
        found = self._read_flow(self._flow_list[index])
        return found if self._has_builtin_flow_mask else (found, None)

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        """The pair of a number, changed by the transforms."""
        first, second = map(self._loader, self._image_list[index])
        flow, known = self._flow_of(index)
        if self.transforms is not None:
            first, second, flow, known = self.transforms(first, second, flow, known)
        if self._has_builtin_flow_mask or known is not None:
            return first, second, flow, known
        return first, second, flow

    def __len__(self) -> int:
        return len(self._image_list)

    def __rmul__(self, v: int) -> ConcatDataset:
        return ConcatDataset([self] * v)


def _found(dataset: FlowDataset, place: Path) -> None:
    if not dataset._image_list:
        raise FileNotFoundError(f"{type(dataset).__name__}: no pairs of frames in {place}")


class Sintel(FlowDataset):
    """Frames of the film Sintel (Butler et al., 2012), in `root/Sintel`; `split` "train" or "test",
    `pass_name` "clean", "final" or "both" (the stage of rendering)."""

    def __init__(
        self,
        root: Location,
        split: str = "train",
        pass_name: str = "clean",
        transforms: FlowTransforms = None,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transforms, loader)
        verify_str_arg(split, "split", ("train", "test"))
        verify_str_arg(pass_name, "pass_name", ("clean", "final", "both"))
        place = Path(root).expanduser() / "Sintel"
        part = place / ("training" if split == "train" else "test")
        for stage in ("clean", "final") if pass_name == "both" else (pass_name,):
            for scene in sorted(path.name for path in (part / stage).iterdir()):
                self._add_sequence(_sorted(part / stage / scene, "*.png"))
                if split == "train":
                    self._flow_list += _sorted(place / "training" / "flow" / scene, "*.flo")
        _found(self, place)

    def _read_flow(self, file_name: str) -> Any:
        return read_flo(file_name)


class KittiFlow(FlowDataset):
    """Streets (Menze, Geiger, 2015), in `root/KittiFlow`; `split` "train" or "test". The flow is
    known in some pixels only."""

    _has_builtin_flow_mask = True

    def __init__(
        self,
        root: Location,
        split: str = "train",
        transforms: FlowTransforms = None,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transforms, loader)
        verify_str_arg(split, "split", ("train", "test"))
        place = Path(root).expanduser() / "KittiFlow" / f"{split}ing"
        first, second = (_sorted(place / "image_2", f"*_{end}.png") for end in ("10", "11"))
        self._image_list = [list(pair) for pair in zip(first, second, strict=False)]
        _found(self, place)
        if split == "train":
            self._flow_list = _sorted(place / "flow_occ", "*_10.png")

    def _read_flow(self, file_name: str) -> Any:
        return read_flow_png(file_name)


class FlyingChairs(FlowDataset):
    """Drawn chairs that fly (Dosovitskiy et al., 2015), in `root/FlyingChairs`; `split` "train" or
    "val", by the published `FlyingChairs_train_val.txt` there."""

    def __init__(
        self, root: Location, split: str = "train", transforms: FlowTransforms = None
    ) -> None:
        super().__init__(root, transforms)
        verify_str_arg(split, "split", ("train", "val"))
        place = Path(root).expanduser() / "FlyingChairs"
        table = place / "FlyingChairs_train_val.txt"
        if not table.is_file():
            raise FileNotFoundError(
                f"FlyingChairs: {table} is missing; its page has it to download"
            )
        frames, flows = (_sorted(place / "data", f"*.{end}") for end in ("ppm", "flo"))
        parts = np.loadtxt(table, dtype=np.int32, ndmin=1)
        chosen = [
            number
            for number in range(len(flows))
            if parts[number] == (1 if split == "train" else 2)
        ]
        self._flow_list = [flows[number] for number in chosen]
        self._image_list = [frames[2 * number : 2 * number + 2] for number in chosen]

    def _read_flow(self, file_name: str) -> Any:
        return read_flo(file_name)


class FlyingThings3D(FlowDataset):
    """Drawn things that fly (Mayer et al., 2016), in `root/FlyingThings3D`; `split` "train" or
    "test", `pass_name` "clean", "final" or "both", `camera` "left", "right" or "both". Pairs
    forwards in time come first, then those backwards."""

    def __init__(
        self,
        root: Location,
        split: str = "train",
        pass_name: str = "clean",
        camera: str = "left",
        transforms: FlowTransforms = None,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transforms, loader)
        verify_str_arg(split, "split", ("train", "test"))
        verify_str_arg(pass_name, "pass_name", ("clean", "final", "both"))
        verify_str_arg(camera, "camera", ("left", "right", "both"))
        place = Path(root).expanduser() / "FlyingThings3D"
        stages = ("clean", "final") if pass_name == "both" else (pass_name,)
        cameras = ("left", "right") if camera == "both" else (camera,)
        for stage, side, way in itertools.product(stages, cameras, ("into_future", "into_past")):
            scenes = sorted((place / f"frames_{stage}pass" / split.upper()).glob("*/*"))
            flows = sorted((place / "optical_flow" / split.upper()).glob("*/*"))
            for scene, flow in zip(scenes, flows, strict=False):
                self._add(_sorted(scene / side, "*.png"), _sorted(flow / way / side, "*.pfm"), way)
        _found(self, place)

    def _add(self, frames: list[str], flows: list[str], way: str) -> None:
        """The pairs of one sequence, in one direction of time."""
        forwards = way == "into_future"
        for number in range(len(flows) - 1):
            pair = frames[number : number + 2]
            self._image_list.append(pair if forwards else pair[::-1])
            self._flow_list.append(flows[number if forwards else number + 1])

    def _read_flow(self, file_name: str) -> Any:
        return read_pfm(file_name, channels=2)


class HD1K(FlowDataset):
    """Streets in high definition (Kondermann et al., 2016), in `root/hd1k`; `split` "train" or
    "test". The flow is known in some pixels only."""

    _has_builtin_flow_mask = True
    _sequences = 36

    def __init__(
        self,
        root: Location,
        split: str = "train",
        transforms: FlowTransforms = None,
        loader: Loader = default_loader,
    ) -> None:
        super().__init__(root, transforms, loader)
        verify_str_arg(split, "split", ("train", "test"))
        place = Path(root).expanduser() / "hd1k"
        if split == "train":
            for number in range(self._sequences):
                name = f"{number:06d}_*.png"
                flows = _sorted(place / "hd1k_flow_gt" / "flow_occ", name)
                self._add_sequence(_sorted(place / "hd1k_input" / "image_2", name)[: len(flows)])
                self._flow_list += flows[:-1]
        else:
            folder = place / "hd1k_challenge" / "image_2"
            pairs = zip(_sorted(folder, "*10.png"), _sorted(folder, "*11.png"), strict=False)
            self._image_list = [list(pair) for pair in pairs]
        _found(self, place)

    def _read_flow(self, file_name: str) -> Any:
        return read_flow_png(file_name)
