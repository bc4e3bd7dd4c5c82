"""Compare the data sets of rushlight_vision with torchvision's, on the same small copies.

The copies are those of vision/tests/datasets, made from the published layouts; sums of files are
not looked at. torchvision lists some folders in the order in which the disk does; here it gets them
sorted.

Usage: python ci/vision_datasets.py record FILE       in an environment with torchvision
       python ci/vision_datasets.py compare FILE      in one with rushlight and rushlight_vision
       python ci/vision_datasets.py both [FOLDER]     makes the environment in FOLDER if need be
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
import pickle
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "vision" / "tests" / "datasets"))

import fakes_arrays  # noqa: E402, F401 - registers fakes
import fakes_lists  # noqa: E402, F401
import fakes_pairs  # noqa: E402, F401
import fakes_targets  # noqa: E402, F401
import fakes_videos  # noqa: E402, F401
from comparing import item, same  # noqa: E402
from faking import FAKES  # noqa: E402
from vision_family import FOLDER, oracle  # noqa: E402

LIBRARIES = ("scipy", "lmdb", "h5py", "pycocotools", "av")
ANY_ORDER = {"SUN397"}  # walks through folders by pathlib
# torchvision 0.24 reads .flo files in a way that NumPy 2.4 refuses, and wraps neither photos of VOC
# that have no things nor Cityscapes' pictures of 16 bits.
THEIRS_FAIL = {"FlyingChairs", "Sintel", "VOCDetection", "Cityscapes"}


def any_sum(modules):
    """Let every file pass for the published one."""

    def is_file(path, md5=None):
        return Path(path).is_file()

    for module in modules:
        if hasattr(module, "check_integrity"):
            module.check_integrity = is_file


def results(datasets, modules):
    """The items of all cases, or the error; and all signatures."""
    any_sum(modules)
    found, signatures = {}, {}
    for name, make in sorted(FAKES.items()):
        kind = getattr(datasets, name.partition(",")[0])
        signatures[name] = [
            (p.name, p.kind.name) for p in inspect.signature(kind).parameters.values()
        ]
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as root:
            os.chdir(root)  # torchvision's LSUN leaves files in the working folder
            try:
                cases = make(Path(root))
            except ImportError as error:
                print(f"{name}: left out, {error}")
                continue
            for number, case in enumerate(cases):
                found[name, number, "plain"] = items(kind, root, case)
                for keys in (None, "all"):
                    found[name, number, f"wrapped, {keys}"] = wrapped(
                        datasets, kind, root, case, keys
                    )
    return found, signatures


def place(kind, root):
    """The folder that a data set of videos is given; others get the whole."""
    return os.path.join(root, "videos") if kind.__name__ in ("HMDB51", "UCF101") else root


def items(kind, root, case):
    """The items of one case, and how the data set prints itself."""
    try:
        dataset = kind(place(kind, root), **case.arguments)
        found = [item(dataset[number]) for number in range(len(dataset))]
        return found, repr(dataset).replace(str(root), "ROOT")
    except Exception as error:  # noqa: BLE001 - what is asked
        return f"{type(error).__name__}: {error}", ""


def wrapped(datasets, kind, root, case, keys):
    """The items of one case after wrapping; of what cannot be wrapped the kind of error."""
    try:
        dataset = kind(place(kind, root), **case.arguments)
        dataset = datasets.wrap_dataset_for_transforms_v2(dataset, keys)
        return [item(dataset[number]) for number in range(len(dataset))], ""
    except Exception as error:  # noqa: BLE001 - what is asked
        return type(error).__name__, ""


def record(path):
    """What torchvision makes of the copies."""
    import torchvision

    listed = os.listdir
    os.listdir = lambda path=".": sorted(listed(path))
    modules = [
        importlib.import_module(f"torchvision.datasets.{file.stem}")
        for file in Path(torchvision.datasets.__file__).parent.glob("*.py")
    ]
    path = Path(path).resolve()
    found = results(torchvision.datasets, modules)
    path.write_bytes(pickle.dumps(found))
    print(f"{len(found[0])} cases of torchvision {torchvision.__version__}: {path}")
    return 0


def compare(path):
    """Ours against what was written down."""
    from rushlight_vision import datasets
    from rushlight_vision.datasets import integrity

    path = Path(path).resolve()
    expected, their_signatures = pickle.loads(path.read_bytes())
    found, signatures = results(datasets, [integrity])
    failed, skipped = 0, 0
    for key, (theirs, shown) in sorted(expected.items()):
        ours, printed = found.get(key, ("missing", ""))
        if key[0] in ANY_ORDER and isinstance(ours, list) and isinstance(theirs, list):
            ours, theirs = sorted(ours, key=str), sorted(theirs, key=str)
        if key[0] in THEIRS_FAIL and isinstance(theirs, str) and type(ours) is list:
            skipped += 1
        elif not same(ours, theirs) or not same(theirs, ours):
            failed += 1
            print(f"{key}: {different(ours, theirs)}")
        elif printed != shown:
            failed += 1
            print(f"{key} prints\n{printed}\nexpected\n{shown}")
    for name, theirs in their_signatures.items():
        if signatures[name] != theirs:
            failed += 1
            print(f"{name}: parameters {signatures[name]}, expected {theirs}")
    print(
        f"{len(expected)} cases and {len(their_signatures)} signatures: {failed} differ, "
        f"{skipped} fail in torchvision"
    )
    return 1 if failed else 0


def different(ours, theirs):
    """A few words on the first item that differs."""
    if isinstance(ours, str) or isinstance(theirs, str) or len(ours) != len(theirs):
        return f"{str(ours)[:200]!r}, expected {str(theirs)[:200]!r}"
    for number, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        for part, (x, y) in enumerate(zip(a, b, strict=False)):
            if not same(x, y) or not same(y, x):
                kinds = [getattr(value, "dtype", type(value).__name__) for value in (x, y)]
                return f"item {number}, part {part}: {kinds} {str(x)[:99]!r}, {str(y)[:99]!r}"
    return "other lengths of items"


def both(folder):
    """Record with torchvision, compare with ours."""
    python = oracle(folder)
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *LIBRARIES], check=True)
    with tempfile.TemporaryDirectory() as scratch:
        path = str(Path(scratch) / "recorded.pickle")
        subprocess.run([str(python), __file__, "record", path], check=True)
        return compare(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("record", "compare", "both"))
    parser.add_argument("place", nargs="?", default=str(FOLDER))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    commands = {"record": record, "compare": compare, "both": lambda place: both(Path(place))}
    sys.exit(commands[options.what](options.place))


if __name__ == "__main__":
    main()
