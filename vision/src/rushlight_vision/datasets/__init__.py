"""Data sets of images."""

from rushlight_vision.datasets.digits_sample import DigitsSample
from rushlight_vision.datasets.fake_data import FakeData
from rushlight_vision.datasets.folder import DatasetFolder, ImageFolder
from rushlight_vision.datasets.mnist import MNIST, FashionMNIST
from rushlight_vision.datasets.vision import VisionDataset

__all__ = [
    "MNIST",
    "DatasetFolder",
    "DigitsSample",
    "FakeData",
    "FashionMNIST",
    "ImageFolder",
    "VisionDataset",
]
