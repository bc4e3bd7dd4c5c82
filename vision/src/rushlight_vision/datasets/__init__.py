"""Data sets of images; each module is loaded when one of its names is asked for."""
# ruff: noqa: F401 - type checkers read the imports; at run time names come by __getattr__

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rushlight_vision.datasets._optical_flow import (
        HD1K,
        FlyingChairs,
        FlyingThings3D,
        KittiFlow,
        Sintel,
    )
    from rushlight_vision.datasets._stereo_matching import (
        CarlaStereo,
        CREStereo,
        ETH3DStereo,
        FallingThingsStereo,
        InStereo2k,
        Kitti2012Stereo,
        Kitti2015Stereo,
        Middlebury2014Stereo,
        SceneFlowStereo,
        SintelStereo,
    )
    from rushlight_vision.datasets._wrapping import wrap_dataset_for_transforms_v2
    from rushlight_vision.datasets.caltech import Caltech101, Caltech256
    from rushlight_vision.datasets.celeba import CelebA
    from rushlight_vision.datasets.cifar import CIFAR10, CIFAR100
    from rushlight_vision.datasets.cityscapes import Cityscapes
    from rushlight_vision.datasets.clevr import CLEVRClassification
    from rushlight_vision.datasets.coco import CocoCaptions, CocoDetection
    from rushlight_vision.datasets.country211 import Country211
    from rushlight_vision.datasets.digits_sample import DigitsSample
    from rushlight_vision.datasets.dtd import DTD
    from rushlight_vision.datasets.eurosat import EuroSAT
    from rushlight_vision.datasets.fakedata import FakeData
    from rushlight_vision.datasets.fer2013 import FER2013
    from rushlight_vision.datasets.fgvc_aircraft import FGVCAircraft
    from rushlight_vision.datasets.flickr import Flickr8k, Flickr30k
    from rushlight_vision.datasets.flowers102 import Flowers102
    from rushlight_vision.datasets.folder import DatasetFolder, ImageFolder
    from rushlight_vision.datasets.food101 import Food101
    from rushlight_vision.datasets.generated.shapes import GeneratedShapes
    from rushlight_vision.datasets.gtsrb import GTSRB
    from rushlight_vision.datasets.hmdb51 import HMDB51
    from rushlight_vision.datasets.imagenet import ImageNet
    from rushlight_vision.datasets.imagenette import Imagenette
    from rushlight_vision.datasets.inaturalist import INaturalist
    from rushlight_vision.datasets.kinetics import Kinetics
    from rushlight_vision.datasets.kitti import Kitti
    from rushlight_vision.datasets.layouts.reading import from_folder
    from rushlight_vision.datasets.lfw import LFWPairs, LFWPeople
    from rushlight_vision.datasets.lsun import LSUN, LSUNClass
    from rushlight_vision.datasets.mnist import EMNIST, KMNIST, MNIST, QMNIST, FashionMNIST
    from rushlight_vision.datasets.moving_mnist import MovingMNIST
    from rushlight_vision.datasets.omniglot import Omniglot
    from rushlight_vision.datasets.oxford_iiit_pet import OxfordIIITPet
    from rushlight_vision.datasets.pcam import PCAM
    from rushlight_vision.datasets.phototour import PhotoTour
    from rushlight_vision.datasets.places365 import Places365
    from rushlight_vision.datasets.rendered_sst2 import RenderedSST2
    from rushlight_vision.datasets.sbd import SBDataset
    from rushlight_vision.datasets.sbu import SBU
    from rushlight_vision.datasets.semeion import SEMEION
    from rushlight_vision.datasets.stanford_cars import StanfordCars
    from rushlight_vision.datasets.stl10 import STL10
    from rushlight_vision.datasets.sun397 import SUN397
    from rushlight_vision.datasets.svhn import SVHN
    from rushlight_vision.datasets.ucf101 import UCF101
    from rushlight_vision.datasets.usps import USPS
    from rushlight_vision.datasets.vision import VisionDataset
    from rushlight_vision.datasets.voc import VOCDetection, VOCSegmentation
    from rushlight_vision.datasets.widerface import WIDERFace

# Module -> its public names.
_MODULES = {
    "_optical_flow": "HD1K FlyingChairs FlyingThings3D KittiFlow Sintel",
    "_stereo_matching": (
        "CREStereo CarlaStereo ETH3DStereo FallingThingsStereo InStereo2k Kitti2012Stereo "
        "Kitti2015Stereo Middlebury2014Stereo SceneFlowStereo SintelStereo"
    ),
    "_wrapping": "wrap_dataset_for_transforms_v2",
    "caltech": "Caltech101 Caltech256",
    "celeba": "CelebA",
    "cifar": "CIFAR10 CIFAR100",
    "cityscapes": "Cityscapes",
    "clevr": "CLEVRClassification",
    "coco": "CocoCaptions CocoDetection",
    "country211": "Country211",
    "digits_sample": "DigitsSample",
    "dtd": "DTD",
    "eurosat": "EuroSAT",
    "fakedata": "FakeData",
    "fer2013": "FER2013",
    "fgvc_aircraft": "FGVCAircraft",
    "flickr": "Flickr8k Flickr30k",
    "flowers102": "Flowers102",
    "folder": "DatasetFolder ImageFolder",
    "food101": "Food101",
    "generated.shapes": "GeneratedShapes",
    "gtsrb": "GTSRB",
    "hmdb51": "HMDB51",
    "imagenet": "ImageNet",
    "imagenette": "Imagenette",
    "inaturalist": "INaturalist",
    "kinetics": "Kinetics",
    "kitti": "Kitti",
    "layouts.reading": "from_folder",
    "lfw": "LFWPairs LFWPeople",
    "lsun": "LSUN LSUNClass",
    "mnist": "EMNIST KMNIST MNIST QMNIST FashionMNIST",
    "moving_mnist": "MovingMNIST",
    "omniglot": "Omniglot",
    "oxford_iiit_pet": "OxfordIIITPet",
    "pcam": "PCAM",
    "phototour": "PhotoTour",
    "places365": "Places365",
    "rendered_sst2": "RenderedSST2",
    "sbd": "SBDataset",
    "sbu": "SBU",
    "semeion": "SEMEION",
    "stanford_cars": "StanfordCars",
    "stl10": "STL10",
    "sun397": "SUN397",
    "svhn": "SVHN",
    "ucf101": "UCF101",
    "usps": "USPS",
    "vision": "VisionDataset",
    "voc": "VOCDetection VOCSegmentation",
    "widerface": "WIDERFace",
}
_PLACES = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = [*_PLACES]  # noqa: PLE0604 - strings, from the table


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        found = getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
    elif name in _MODULES or name in ("samplers", "utils", "video_utils"):
        found = importlib.import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES})
