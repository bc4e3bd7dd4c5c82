"""Compare `rushlight_vision.ops` with torchvision: values, gradients, states, errors, signatures.

torchvision needs a PyTorch of its own version, so it runs in an environment of its own and writes
down what it is given and what comes out; Rushlight then runs the same calls.

Usage: python ci/vision_family.py record FILE [--few]    in an environment with torchvision
       python ci/vision_family.py compare FILE           in one with rushlight and rushlight_vision
       python ci/vision_family.py both [FOLDER]          makes the environment in FOLDER if need be
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "vision" / "tests" / "ops"))

import recorded  # noqa: E402
from oracle_environment import oracle  # noqa: E402

ORACLE = ("torch==2.9.1", "torchvision==0.24.1", "numpy")
FOLDER = ROOT / ".nox" / "torchvision"


def record(path: str, few: bool) -> int:
    """Run all cases with torchvision and write down what came out."""
    import torch
    import torchvision
    import vision_cases

    library = recorded.Library(torch, torchvision.ops)
    records = [
        (case, given, recorded.outcome(library, case, given))
        for case, given in vision_cases.cases(full=not few)
    ]
    names = sorted(torchvision.ops.__all__)
    signatures = {name: recorded.signature(getattr(torchvision.ops, name)) for name in names}
    recorded.save(path, records, signatures)
    size = Path(path).stat().st_size // 1000
    print(f"{len(records)} cases of torchvision {torchvision.__version__}: {path}, {size} kB")
    return 0


def compare(path: str) -> int:
    """Run the recorded cases with Rushlight; print what differs."""
    import rushlight
    from rushlight_vision import ops

    library = recorded.Library(rushlight, ops)
    records, signatures = recorded.load(path)
    failed = 0
    for number, (case, given, expected) in enumerate(records):
        try:
            different = recorded.differences(recorded.outcome(library, case, given), expected)
        except Exception as error:  # noqa: BLE001 - a case that fails is what is looked for
            different = [f"{type(error).__name__}: {error}"]
        failed += bool(different)
        for line in different:
            print(f"{number} {case['name']} {case.get('options', '')}: {line}")
    for name, expected_rows in signatures.items():
        rows = recorded.signature(getattr(ops, name))
        if rows != expected_rows:
            failed += 1
            print(f"{name}: parameters {rows}, expected {expected_rows}")
    print(f"{len(records)} cases and {len(signatures)} signatures: {failed} differ")
    return 1 if failed else 0


def both(folder: Path) -> int:
    """Record with torchvision, compare with Rushlight."""
    with tempfile.TemporaryDirectory() as work:
        path = str(Path(work) / "family.npz")
        subprocess.run([str(oracle(folder, ORACLE)), __file__, "record", path], check=True)
        return compare(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=("record", "compare", "both"))
    parser.add_argument("path", nargs="?", default=str(FOLDER))
    parser.add_argument("--few", action="store_true", help="the cases kept beside the tests")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.step == "record":
        return record(arguments.path, arguments.few)
    return compare(arguments.path) if arguments.step == "compare" else both(Path(arguments.path))


if __name__ == "__main__":
    raise SystemExit(main())
