"""Data sets whose items are what `transforms.v2` changes: boxes and masks instead of lists."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection
from typing import Any

import rushlight as rl
from rushlight_vision import datasets, tv_tensors
from rushlight_vision.datasets._coco_masks import mask_of
from rushlight_vision.datasets.vision import VisionDataset

Wrapper = Callable[[int, Any], Any]  # the number of an item and the item, wrapped

VOC_DETECTION_CATEGORIES = [
    "__background__",
    *(
        "aeroplane bicycle bird boat bottle bus car cat chair cow diningtable dog horse motorbike "
        "person pottedplant sheep sofa train tvmonitor"
    ).split(),
]
KITTI_CATEGORIES = "Car Van Truck Pedestrian Person_sitting Cyclist Tram Misc DontCare".split()


def wrap_dataset_for_transforms_v2(
    dataset: VisionDataset, target_keys: Collection[str] | str | None = None
) -> VisionDataset:
    """A data set like `dataset` whose targets are made of tv_tensors, for `transforms.v2`.

    Boxes become :class:`BoundingBoxes` (xyxy), pictures of classes :class:`Mask`; annotations of
    COCO, VOC, KITTI and WIDER FACE become one dict with "boxes" and "labels" of all things.
    `target_keys` chooses its keys for those four: names, "all", or None for the usual ones. The
    transforms of `dataset` work on the wrapped items. It is an instance of the class of `dataset`.

    Raises TypeError for data sets that are not wrapped, ValueError for keys that are not known.

    >>> from rushlight_vision.datasets import VOCDetection
    >>> voc = wrap_dataset_for_transforms_v2(VOCDetection("data"))  # doctest: +SKIP

    """
    if not isinstance(target_keys, (str, type(None))) and not (
        isinstance(target_keys, Collection) and all(isinstance(key, str) for key in target_keys)
    ):
        raise ValueError(f'target_keys must be None, "all" or names of keys, got {target_keys!r}')
    if isinstance(target_keys, str) and target_keys != "all":
        raise ValueError(f'target_keys must be None, "all" or names of keys, got {target_keys!r}')
    if not isinstance(dataset, VisionDataset):
        raise TypeError(f"dataset must be a VisionDataset, got {type(dataset).__name__}")
    kind = type(dataset)
    wrapped = type(f"Wrapped{kind.__name__}", (_Wrapped, kind), {})
    return wrapped(dataset, target_keys)


class _Wrapped:
    """A data set with another's items, wrapped; all else is the other's."""

    def __init__(self, dataset: Any, target_keys: Any) -> None:
        self._dataset, self._target_keys = dataset, target_keys
        self._wrapper = _wrapper_of(dataset, target_keys)
        for name in ("transform", "target_transform", "transforms"):
            setattr(self, name, getattr(dataset, name))
            setattr(dataset, name, None)

    def __getattr__(self, item: str) -> Any:
        if item == "_dataset":
            raise AttributeError(item)
        return getattr(self._dataset, item)

    def __getitem__(self, idx: int) -> Any:
        sample = self._wrapper(idx, self._dataset[idx])
        transforms: Any = self.transforms
        return sample if transforms is None else transforms(*sample)

    def __len__(self) -> int:
        return len(self._dataset)

    def __reduce__(self) -> Any:
        dataset = copy.copy(self._dataset)
        for name in ("transform", "target_transform", "transforms"):
            setattr(dataset, name, getattr(self, name))
        return wrap_dataset_for_transforms_v2, (dataset, self._target_keys)


def _wrapper_of(dataset: Any, target_keys: Any) -> Wrapper:
    """What wraps the items of a data set, by its class or the nearest above that is known."""
    known = _known()
    for kind in type(dataset).mro():
        if kind.__name__ in known and getattr(datasets, kind.__name__, None) is kind:
            if target_keys is not None and kind.__name__ not in _WITH_KEYS:
                raise ValueError(
                    f"target_keys must be None for {kind.__name__}; they are for "
                    f"{', '.join(_WITH_KEYS)}"
                )
            return known[kind.__name__](dataset, target_keys)
    raise TypeError(
        f"{type(dataset).__name__} is not wrapped; give items with tv_tensors from a subclass"
    )


_WITH_KEYS = ("CocoDetection", "VOCDetection", "Kitti", "WIDERFace")


def _known() -> dict[str, Callable[[Any, Any], Wrapper]]:
    """What wraps the items of each class."""
    plain = (
        "Caltech256 CIFAR10 CIFAR100 ImageNet MNIST FashionMNIST GTSRB DatasetFolder ImageFolder "
        "Imagenette CocoCaptions"
    ).split()
    return {
        **dict.fromkeys(plain, _same),
        "Caltech101": _caltech101,
        "VOCSegmentation": _segmentation,
        "SBDataset": _sbd,
        "CocoDetection": _coco,
        "VOCDetection": _voc,
        "CelebA": _celeba,
        "Kitti": _kitti,
        "OxfordIIITPet": _pets,
        "Cityscapes": _cityscapes,
        "WIDERFace": _wider_face,
        **dict.fromkeys(("HMDB51", "Kinetics", "UCF101"), _video),
    }


def _same(dataset: Any, keys: Any) -> Wrapper:
    return lambda idx, sample: sample


def _refused(dataset: Any, what: str) -> RuntimeError:
    return RuntimeError(f"{type(dataset).__name__} with {what} cannot be wrapped")


def _chosen(keys: Any, available: set[str], default: set[str]) -> set[str]:
    if keys is None:
        return default
    if keys == "all":
        return available
    unknown = sorted(set(keys) - available)
    if unknown:
        raise ValueError(f"target_keys: {unknown} are not among {sorted(available)}")
    return set(keys)


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """The values of each key over all rows."""
    found: dict[str, list[Any]] = {}
    for row in rows:
        for key, value in row.items():
            found.setdefault(key, []).append(value)
    return found


def _boxes(values: Any, image: Any, format: str) -> Any:
    """Boxes on an image, as xyxy."""
    from rushlight_vision.transforms.v2 import functional

    canvas = tuple(functional.get_size(image))
    values = values if len(values) else rl.empty(0, 4)
    boxes = tv_tensors.BoundingBoxes(values, format=format, canvas_size=canvas)
    return functional.convert_bounding_box_format(boxes, new_format="XYXY")


def _by_type(target: Any, types: list[str], wrappers: dict[str, Any]) -> Any:
    """Targets of several types, each wrapped by what its type says."""
    targets = target if isinstance(target, (tuple, list)) else [target]
    found = tuple(
        wrappers[kind](one) if kind in wrappers else one
        for kind, one in zip(types, targets, strict=False)  # None where no type is asked
    )
    return found[0] if len(found) == 1 else found


def _segmentation(dataset: Any, keys: Any) -> Wrapper:
    return lambda idx, sample: (sample[0], tv_tensors.Mask(sample[1]))


def _sbd(dataset: Any, keys: Any) -> Wrapper:
    if dataset.mode == "boundaries":
        raise _refused(dataset, 'mode="boundaries"')
    return _segmentation(dataset, keys)


def _caltech101(dataset: Any, keys: Any) -> Wrapper:
    if "annotation" in dataset.target_type:
        raise _refused(dataset, 'target_type "annotation"')
    return _same(dataset, keys)


def _video(dataset: Any, keys: Any) -> Wrapper:
    if dataset.video_clips.output_format == "THWC":
        raise _refused(dataset, 'output_format="THWC" (use "TCHW")')
    return lambda idx, sample: (tv_tensors.Video(sample[0]), *sample[1:])


def _coco(dataset: Any, keys: Any) -> Wrapper:
    published = {"segmentation", "area", "iscrowd", "image_id", "bbox", "category_id"}
    wanted = _chosen(
        keys, published | {"boxes", "masks", "labels"}, {"image_id", "boxes", "labels"}
    )

    def wrapper(idx: int, sample: Any) -> Any:
        image, annotations = sample
        number = dataset.ids[idx]
        if not annotations:
            return image, {"image_id": number}
        columns = _columns(annotations)
        return image, {key: _coco_value(key, columns, image, number) for key in sorted(wanted)}

    return wrapper


def _coco_value(key: str, columns: dict[str, list[Any]], image: Any, number: int) -> Any:
    if key == "image_id":
        return number
    if key == "boxes":
        return _boxes(columns["bbox"], image, "XYWH")
    if key == "labels":
        return rl.tensor(columns["category_id"])
    if key == "masks":
        from rushlight_vision.transforms.v2 import functional

        height, width = functional.get_size(image)
        masks = [rl.from_numpy(mask_of(one, height, width)) for one in columns["segmentation"]]
        return tv_tensors.Mask(rl.stack(masks))
    return columns[key]


def _voc(dataset: Any, keys: Any) -> Wrapper:
    wanted = _chosen(keys, {"annotation", "boxes", "labels"}, {"boxes", "labels"})
    numbers = {name: number for number, name in enumerate(VOC_DETECTION_CATEGORIES)}

    def wrapper(idx: int, sample: Any) -> Any:
        image, target = sample
        things = target["annotation"]["object"]
        found = dict(target) if "annotation" in wanted else {}
        if "boxes" in wanted:
            sides = ("xmin", "ymin", "xmax", "ymax")
            corners = [[int(thing["bndbox"][side]) for side in sides] for thing in things]
            found["boxes"] = _boxes(corners, image, "XYXY")
        if "labels" in wanted:
            found["labels"] = rl.tensor([numbers[thing["name"]] for thing in things])
        return image, found

    return wrapper


def _kitti(dataset: Any, keys: Any) -> Wrapper:
    published = set("type truncated occluded alpha bbox dimensions location rotation_y".split())
    wanted = _chosen(keys, published | {"boxes", "labels"}, {"boxes", "labels"})
    numbers = {name: number for number, name in enumerate(KITTI_CATEGORIES)}

    def wrapper(idx: int, sample: Any) -> Any:
        image, things = sample
        if things is None:
            return image, None
        columns = _columns(things)
        found: dict[str, Any] = {key: columns[key] for key in sorted(wanted & published)}
        if "boxes" in wanted:
            found["boxes"] = _boxes(columns["bbox"], image, "XYXY")
        if "labels" in wanted:
            found["labels"] = rl.tensor([numbers[name] for name in columns["type"]])
        return image, found

    return wrapper


def _celeba(dataset: Any, keys: Any) -> Wrapper:
    if {"attr", "landmarks"} & set(dataset.target_type):
        raise _refused(dataset, 'target_type "attr" or "landmarks"')

    def wrapper(idx: int, sample: Any) -> Any:
        image, target = sample
        wrappers = {"bbox": lambda box: _boxes(box, image, "XYWH")}
        return image, _by_type(target, dataset.target_type, wrappers)

    return wrapper


def _pets(dataset: Any, keys: Any) -> Wrapper:
    def wrapper(idx: int, sample: Any) -> Any:
        image, target = sample
        if target is None:
            return image, None
        return image, _by_type(target, dataset._target_types, {"segmentation": tv_tensors.Mask})

    return wrapper


def _cityscapes(dataset: Any, keys: Any) -> Wrapper:
    if {"polygon", "color"} & set(dataset.target_type):
        raise _refused(dataset, 'target_type "polygon" or "color"')
    wrappers = {"instance": _instances, "semantic": tv_tensors.Mask}
    return lambda idx, sample: (sample[0], _by_type(sample[1], dataset.target_type, wrappers))


def _instances(picture: Any) -> dict[str, Any]:
    """A picture of instances (class times 1000 and a number, or a class): one mask for each."""
    values = tv_tensors.Mask(picture).as_subclass(rl.Tensor).to(rl.int32)  # published as 16 bits
    numbers = values.unique()
    masks = rl.stack([values == number for number in numbers])
    labels = rl.where(numbers >= 1000, numbers // 1000, numbers)
    return {"masks": tv_tensors.Mask(masks), "labels": labels}


def _wider_face(dataset: Any, keys: Any) -> Wrapper:
    available = set("bbox blur expression illumination occlusion pose invalid".split())
    wanted = _chosen(keys, available, available)

    def wrapper(idx: int, sample: Any) -> Any:
        image, target = sample
        if target is None:
            return image, None
        found = {key: target[key] for key in sorted(wanted)}
        if "bbox" in wanted:
            found["bbox"] = _boxes(found["bbox"], image, "XYWH")
        return image, found

    return wrapper
