"""Compare the networks of `rushlight_vision.models` with torchvision's: names and shapes of states,
first weights from the same seed, scores in training and evaluation from the same weights.

torchvision runs in an environment of its own (see ci/vision_family.py) and writes down what it
measures; Rushlight then measures the same.

Usage: python ci/vision_models.py record FILE [--few] [--package P] [NAME ...]  where torchvision is
       python ci/vision_models.py compare FILE [--page] [NAME ...] where rushlight is
       python ci/vision_models.py both [FOLDER]                    where rushlight is
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "vision" / "tests" / "models"))

import detected  # noqa: E402
import detector_parts  # noqa: E402
import flowing  # noqa: E402
import measured  # noqa: E402
import preset_cases  # noqa: E402
import trained  # noqa: E402
import video_parts  # noqa: E402
import vision_models_page  # noqa: E402
from vision_family import FOLDER, oracle  # noqa: E402

# One of each family, which are measured beside the tests.
FEW = (
    "alexnet", "convnext_tiny", "densenet121", "efficientnet_b0", "efficientnet_v2_s", "googlenet",
    "inception_v3", "maxvit_t", "mnasnet0_5", "mobilenet_v2", "mobilenet_v3_small",
    "regnet_x_400mf", "regnet_y_400mf", "resnet18", "resnext50_32x4d", "shufflenet_v2_x0_5",
    "squeezenet1_0", "squeezenet1_1", "swin_t", "swin_v2_t", "vgg11_bn", "vit_b_32",
)  # fmt: skip
# The same of networks for other tasks, whose measurements stand in files of their own, and how each
# package is measured.
FEW_OF_TASKS = {
    "detection": (
        "fasterrcnn_mobilenet_v3_large_320_fpn", "fcos_resnet50_fpn", "keypointrcnn_resnet50_fpn",
        "maskrcnn_resnet50_fpn", "retinanet_resnet50_fpn", "ssdlite320_mobilenet_v3_large",
    ),
    "segmentation": ("deeplabv3_mobilenet_v3_large", "fcn_resnet50", "lraspp_mobilenet_v3_large"),
    "video": ("mc3_18", "r2plus1d_18", "swin3d_t"),
    "optical_flow": ("raft_large", "raft_small"),
}  # fmt: skip
MEASURES = {
    "detection": detected.measure,
    "segmentation": trained.measure,
    "video": trained.measure,
    "optical_flow": flowing.measure,
}
# What measures parts of networks on their own, and their names.
PARTS = {
    "detection": (detector_parts.measure, detector_parts.NAMES),
    "segmentation": (preset_cases.measure, preset_cases.NAMES),
    "video": (video_parts.measure, video_parts.NAMES),
    "optical_flow": (flowing.parts, flowing.NAMES),
}


def measure(torch: Any, models: Any, name: str) -> measured.Arrays:
    """What is compared of a network, or of a part of a package: ``detection:anchors``."""
    package, colon, part = name.partition(":")
    if colon:
        return PARTS[package][0](torch, models, part)
    if name in measured.VARIANTS:
        return measured.measure(torch, models, name)
    home = models.get_model_builder(name).__module__.split(".models.")[1]
    package = home.rpartition(".")[0]
    return MEASURES.get(package, measured.measure)(torch, models, name)


def names_of(models: Any, package: str, few: bool) -> list[str]:
    """What is measured of a package: its networks, and parts of them."""
    if not package:
        return [*(FEW if few else models.list_models(module=models)), *measured.VARIANTS]
    networks = FEW_OF_TASKS[package]
    if not few:
        networks = models.list_models(module=getattr(models, package))
    return [*networks, *(f"{package}:{part}" for part in PARTS[package][1])]


def as_newest(torch: Any) -> None:
    """Draw truncated normals as PyTorch does since version 2.13: normals, and those outside again.

    The networks truncate at 20 deviations or more, where there is nothing outside.
    """

    def trunc_normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, a=-2.0, b=2.0, **_: Any):
        with torch.no_grad():
            tensor.normal_(mean, std)
        if bool((tensor < a).any() | (tensor > b).any()):
            raise ValueError("a value outside would have to be drawn again")
        return tensor

    torch.nn.init.trunc_normal_ = trunc_normal_


def record(path: str, few: bool, names: list[str], packages: list[str]) -> int:
    """Measure torchvision's networks."""
    import torch
    from torchvision import models

    as_newest(torch)
    table = {}
    every = [name for package in packages for name in names_of(models, package, few)]
    for name in names or every:
        table[name] = measure(torch, models, name)
        print(f"recorded {name}", flush=True)
    measured.save(path, table)
    return 0


def worst(found: measured.Arrays, expected: measured.Arrays) -> dict[str, float]:
    """The largest difference of each kind of measurement."""
    table: dict[str, float] = {}
    for kind in expected:
        short = kind.split()[0]
        if short in measured.TOLERANCES:
            table[short] = max(table.get(short, 0.0), measured.apart(found[kind], expected[kind]))
    return table


def by_package(models: Any, rows: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Measurements of networks by package, of the packages all of whose networks are there."""
    found = {}
    for package in ("", *MEASURES):
        every = models.list_models(module=getattr(models, package) if package else models)
        if all(name in rows for name in every):
            found[package] = {name: rows[name] for name in every}
    return found


def compare(path: str, names: list[str], write: bool) -> int:
    """Measure the same networks with Rushlight; print what differs, `write` the page of the docs,
    of packages that were measured whole, where nothing does."""
    import rushlight
    from rushlight_vision import models

    failed, rows = 0, {}
    table = measured.load(path)
    for name in names or table:
        start = time.process_time()
        found = measure(rushlight, models, name)
        lines = measured.differences(found, table[name])
        failed += bool(lines)
        rows[name] = worst(found, table[name])
        figures = " ".join(f"{kind}={value:.0e}" for kind, value in rows[name].items())
        seconds = time.process_time() - start
        print(f"{name}: {'; '.join(lines) or 'equal'} ({figures}, {seconds:.0f} s)")
    print(f"{len(rows)} networks: {failed} differ")
    if write and not failed:
        vision_models_page.write(models, by_package(models, rows))
    return 1 if failed else 0


def both(folder: Path) -> int:
    """Compare the facts in the package, record with torchvision, compare with Rushlight."""
    python = str(oracle(folder))
    facts = Path(__file__).with_name("vision_model_facts.py")
    subprocess.run([python, str(facts), "--check"], check=True)
    with tempfile.TemporaryDirectory() as work:
        path = str(Path(work) / "models.npz")
        subprocess.run([python, __file__, "record", path], check=True)
        return compare(path, [], write=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=("record", "compare", "both"))
    parser.add_argument("path", nargs="?", default=str(FOLDER))
    parser.add_argument("names", nargs="*", help="builders; default: all")
    parser.add_argument("--few", action="store_true", help="those measured beside the tests")
    parser.add_argument("--package", choices=("", *MEASURES), help="of models; default: all")
    parser.add_argument("--page", action="store_true", help="write the page of the docs")
    arguments = parser.parse_args()
    if arguments.step == "record":
        packages = ["", *MEASURES] if arguments.package is None else [arguments.package]
        return record(arguments.path, arguments.few, arguments.names, packages)
    if arguments.step == "compare":
        return compare(arguments.path, arguments.names, arguments.page)
    return both(Path(arguments.path))


if __name__ == "__main__":
    raise SystemExit(main())
