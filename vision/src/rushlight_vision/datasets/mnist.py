"""MNIST and data sets in its format, from the files their authors published."""

from __future__ import annotations

import rushlight as rl
from rushlight_vision.datasets._emnist import EMNIST, QMNIST
from rushlight_vision.datasets._mnist import MNIST
from rushlight_vision.datasets.idx import read_idx
from rushlight_vision.datasets.integrity import Location

__all__ = ["EMNIST", "KMNIST", "MNIST", "QMNIST", "FashionMNIST"]


class FashionMNIST(MNIST):
    """70,000 pictures of clothes in MNIST's format (Xiao, Rasul, Vollgraf, 2017); see `MNIST`."""

    mirrors = ["http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"]
    resources = [
        ("train-images-idx3-ubyte.gz", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
        ("train-labels-idx1-ubyte.gz", "25c81989df183df01b3e8a0aad5dffbe"),
        ("t10k-images-idx3-ubyte.gz", "bef4ecab320f06d8554ea6380940ec79"),
        ("t10k-labels-idx1-ubyte.gz", "bb300cfdad3c16e7a12a480ee83cd310"),
    ]
    contents = {
        "train-images-idx3-ubyte": "f4a8712d7a061bf5bd6d2ca38dc4d50a",
        "train-labels-idx1-ubyte": "9018921c3c673c538a1fc5bad174d6f9",
        "t10k-images-idx3-ubyte": "8181f5470baa50b63fa0f6fddb340f0a",
        "t10k-labels-idx1-ubyte": "15d484375f8d13e6eb1aabb0c3f46965",
    }
    classes = [
        "T-shirt/top",
        "Trouser",
        "Pullover",
        "Dress",
        "Coat",
        "Sandal",
        "Shirt",
        "Sneaker",
        "Bag",
        "Ankle boot",
    ]


class KMNIST(MNIST):
    """70,000 cursive Japanese characters in MNIST's format (Clanuwat et al., 2018); see `MNIST`."""

    mirrors = ["http://codh.rois.ac.jp/kmnist/dataset/kmnist/"]
    resources = [
        ("train-images-idx3-ubyte.gz", "bdb82020997e1d708af4cf47b453dcf7"),
        ("train-labels-idx1-ubyte.gz", "e144d726b3acfaa3e44228e80efcd344"),
        ("t10k-images-idx3-ubyte.gz", "5c965bf0a639b31b8f53240b1b52f4d7"),
        ("t10k-labels-idx1-ubyte.gz", "7320c461ea6c1c855c0b718fb2a4b134"),
    ]
    contents: dict[str, str] = {}
    classes = ["o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"]


def _bytes_of(path: Location, dimensions: int) -> rl.Tensor:
    found = read_idx(path)
    if found.dtype is not rl.uint8:
        raise TypeError(f"{path}: expected values of uint8, got {found.dtype}")
    if found.ndim != dimensions:
        raise ValueError(f"{path}: expected {dimensions} dimensions, got {found.ndim}")
    return found


def read_image_file(path: Location) -> rl.Tensor:
    """The pictures (N, H, W), uint8, in a file of MNIST's format.

    Raises TypeError for values of another dtype, ValueError for other dimensions and for a file
    that is damaged; both name the file.
    """
    return _bytes_of(path, 3)


def read_label_file(path: Location) -> rl.Tensor:
    """The labels (N,), int64, in a file of MNIST's format; errors as of :func:`read_image_file`."""
    return _bytes_of(path, 1).long()
