"""Data sets of images; each module is loaded when one of its names is asked for."""
# ruff: noqa: F401 - type checkers read the imports; at run time names come by __getattr__

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rushlight_vision.datasets._optical_flow import (
        HD1K as HD1K,
    )
    from rushlight_vision.datasets._optical_flow import (
        FlyingChairs as FlyingChairs,
    )
    from rushlight_vision.datasets._optical_flow import (
        FlyingThings3D as FlyingThings3D,
    )
    from rushlight_vision.datasets._optical_flow import (
        KittiFlow as KittiFlow,
    )
    from rushlight_vision.datasets._optical_flow import (
        Sintel as Sintel,
    )
    from rushlight_vision.datasets._stereo_matching import (
        CarlaStereo as CarlaStereo,
    )
    from rushlight_vision.datasets._stereo_matching import (
        CREStereo as CREStereo,
    )
    from rushlight_vision.datasets._stereo_matching import (
        ETH3DStereo as ETH3DStereo,
    )
    from rushlight_vision.datasets._stereo_matching import (
        FallingThingsStereo as FallingThingsStereo,
    )
    from rushlight_vision.datasets._stereo_matching import (
        InStereo2k as InStereo2k,
    )
    from rushlight_vision.datasets._stereo_matching import (
        Kitti2012Stereo as Kitti2012Stereo,
    )
    from rushlight_vision.datasets._stereo_matching import (
        Kitti2015Stereo as Kitti2015Stereo,
    )
    from rushlight_vision.datasets._stereo_matching import (
        Middlebury2014Stereo as Middlebury2014Stereo,
    )
    from rushlight_vision.datasets._stereo_matching import (
        SceneFlowStereo as SceneFlowStereo,
    )
    from rushlight_vision.datasets._stereo_matching import (
        SintelStereo as SintelStereo,
    )
    from rushlight_vision.datasets._wrapping import (
        wrap_dataset_for_transforms_v2 as wrap_dataset_for_transforms_v2,
    )
    from rushlight_vision.datasets.caltech import Caltech101 as Caltech101
    from rushlight_vision.datasets.caltech import Caltech256 as Caltech256
    from rushlight_vision.datasets.celeba import CelebA as CelebA
    from rushlight_vision.datasets.cifar import CIFAR10 as CIFAR10
    from rushlight_vision.datasets.cifar import CIFAR100 as CIFAR100
    from rushlight_vision.datasets.cityscapes import Cityscapes as Cityscapes
    from rushlight_vision.datasets.clevr import CLEVRClassification as CLEVRClassification
    from rushlight_vision.datasets.coco import (
        CocoCaptions as CocoCaptions,
    )
    from rushlight_vision.datasets.coco import (
        CocoDetection as CocoDetection,
    )
    from rushlight_vision.datasets.country211 import Country211 as Country211
    from rushlight_vision.datasets.digits_sample import DigitsSample as DigitsSample
    from rushlight_vision.datasets.dtd import DTD as DTD
    from rushlight_vision.datasets.eurosat import EuroSAT as EuroSAT
    from rushlight_vision.datasets.fakedata import FakeData as FakeData
    from rushlight_vision.datasets.fer2013 import FER2013 as FER2013
    from rushlight_vision.datasets.fgvc_aircraft import FGVCAircraft as FGVCAircraft
    from rushlight_vision.datasets.flickr import Flickr8k as Flickr8k
    from rushlight_vision.datasets.flickr import Flickr30k as Flickr30k
    from rushlight_vision.datasets.flowers102 import Flowers102 as Flowers102
    from rushlight_vision.datasets.folder import (
        DatasetFolder as DatasetFolder,
    )
    from rushlight_vision.datasets.folder import (
        ImageFolder as ImageFolder,
    )
    from rushlight_vision.datasets.food101 import Food101 as Food101
    from rushlight_vision.datasets.generated.shapes import GeneratedShapes as GeneratedShapes
    from rushlight_vision.datasets.gtsrb import GTSRB as GTSRB
    from rushlight_vision.datasets.hmdb51 import HMDB51 as HMDB51
    from rushlight_vision.datasets.imagenet import ImageNet as ImageNet
    from rushlight_vision.datasets.imagenette import Imagenette as Imagenette
    from rushlight_vision.datasets.inaturalist import INaturalist as INaturalist
    from rushlight_vision.datasets.kinetics import Kinetics as Kinetics
    from rushlight_vision.datasets.kitti import Kitti as Kitti
    from rushlight_vision.datasets.layouts.reading import from_folder as from_folder
    from rushlight_vision.datasets.lfw import LFWPairs as LFWPairs
    from rushlight_vision.datasets.lfw import LFWPeople as LFWPeople
    from rushlight_vision.datasets.lsun import LSUN as LSUN
    from rushlight_vision.datasets.lsun import LSUNClass as LSUNClass
    from rushlight_vision.datasets.mnist import (
        EMNIST as EMNIST,
    )
    from rushlight_vision.datasets.mnist import (
        KMNIST as KMNIST,
    )
    from rushlight_vision.datasets.mnist import (
        MNIST as MNIST,
    )
    from rushlight_vision.datasets.mnist import (
        QMNIST as QMNIST,
    )
    from rushlight_vision.datasets.mnist import (
        FashionMNIST as FashionMNIST,
    )
    from rushlight_vision.datasets.moving_mnist import MovingMNIST as MovingMNIST
    from rushlight_vision.datasets.omniglot import Omniglot as Omniglot
    from rushlight_vision.datasets.oxford_iiit_pet import OxfordIIITPet as OxfordIIITPet
    from rushlight_vision.datasets.pcam import PCAM as PCAM
    from rushlight_vision.datasets.phototour import PhotoTour as PhotoTour
    from rushlight_vision.datasets.places365 import Places365 as Places365
    from rushlight_vision.datasets.rendered_sst2 import RenderedSST2 as RenderedSST2
    from rushlight_vision.datasets.sbd import SBDataset as SBDataset
    from rushlight_vision.datasets.sbu import SBU as SBU
    from rushlight_vision.datasets.semeion import SEMEION as SEMEION
    from rushlight_vision.datasets.stanford_cars import StanfordCars as StanfordCars
    from rushlight_vision.datasets.stl10 import STL10 as STL10
    from rushlight_vision.datasets.sun397 import SUN397 as SUN397
    from rushlight_vision.datasets.svhn import SVHN as SVHN
    from rushlight_vision.datasets.ucf101 import UCF101 as UCF101
    from rushlight_vision.datasets.usps import USPS as USPS
    from rushlight_vision.datasets.vision import VisionDataset as VisionDataset
    from rushlight_vision.datasets.voc import (
        VOCDetection as VOCDetection,
    )
    from rushlight_vision.datasets.voc import (
        VOCSegmentation as VOCSegmentation,
    )
    from rushlight_vision.datasets.widerface import WIDERFace as WIDERFace

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
