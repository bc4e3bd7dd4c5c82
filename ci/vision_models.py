"""Compare the networks of `rushlight_vision.models` with torchvision's: names and shapes of states,
first weights from the same seed, scores in training and evaluation from the same weights.

torchvision runs in an environment of its own (see ci/vision_family.py) and writes down what it
measures; Rushlight then measures the same.

Usage: python ci/vision_models.py record FILE [--few] [NAME ...]   where torchvision is
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

import measured  # noqa: E402
import vision_models_page  # noqa: E402
from vision_family import FOLDER, oracle  # noqa: E402

# One of each family, which are measured beside the tests.
FEW = (
    "alexnet", "convnext_tiny", "densenet121", "efficientnet_b0", "efficientnet_v2_s", "googlenet",
    "inception_v3", "maxvit_t", "mnasnet0_5", "mobilenet_v2", "mobilenet_v3_small",
    "regnet_x_400mf", "regnet_y_400mf", "resnet18", "resnext50_32x4d", "shufflenet_v2_x0_5",
    "squeezenet1_0", "squeezenet1_1", "swin_t", "swin_v2_t", "vgg11_bn", "vit_b_32",
)  # fmt: skip


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


def record(path: str, few: bool, names: list[str]) -> int:
    """Measure torchvision's networks."""
    import torch
    from torchvision import models

    as_newest(torch)
    every = list(FEW if few else models.list_models(module=models))
    names = names or [*every, *measured.VARIANTS]
    table = {}
    for name in names:
        table[name] = measured.measure(torch, models, name)
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


def compare(path: str, names: list[str], write: bool) -> int:
    """Measure the same networks with Rushlight; print what differs, `write` the page of the docs
    where nothing does."""
    import rushlight
    from rushlight_vision import models

    failed, rows = 0, {}
    table = measured.load(path)
    for name in names or table:
        start = time.process_time()
        found = measured.measure(rushlight, models, name)
        lines = measured.differences(found, table[name])
        failed += bool(lines)
        rows[name] = worst(found, table[name])
        figures = " ".join(f"{kind}={value:.0e}" for kind, value in rows[name].items())
        seconds = time.process_time() - start
        print(f"{name}: {'; '.join(lines) or 'equal'} ({figures}, {seconds:.0f} s)")
    print(f"{len(rows)} networks: {failed} differ")
    if write and not failed:
        plain = {name: row for name, row in rows.items() if name not in measured.VARIANTS}
        vision_models_page.write(models, plain)
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
    parser.add_argument("--page", action="store_true", help="write the page of the docs")
    arguments = parser.parse_args()
    if arguments.step == "record":
        return record(arguments.path, arguments.few, arguments.names)
    if arguments.step == "compare":
        return compare(arguments.path, arguments.names, arguments.page)
    return both(Path(arguments.path))


if __name__ == "__main__":
    raise SystemExit(main())
