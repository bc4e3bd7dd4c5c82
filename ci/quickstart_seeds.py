"""Run the quickstart's training with several seeds, on Rushlight or on torch, and print accuracies.

With `--framework torch` the very same script runs on PyTorch: the name `rushlight` then stands for
torch, in this process only. That is the comparison the quickstart's accuracy is held against.

Usage: python ci/quickstart_seeds.py [--framework rushlight|torch] [--seeds 5] [--epochs N]
"""

from __future__ import annotations

import argparse
import importlib
import importlib.abc
import importlib.util
import json
import logging
import sys
import tempfile
import time
from pathlib import Path

from packages import ROOT

LOWEST_MEAN, LOWEST = 98.0, 97.0


class TorchAsRushlight(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds torch's modules under Rushlight's names."""

    def find_spec(self, name, path=None, target=None):
        if name == "rushlight" or name.startswith("rushlight."):
            return importlib.util.spec_from_loader(name, self)
        return None

    def create_module(self, spec):
        return importlib.import_module("torch" + spec.name.removeprefix("rushlight"))

    def exec_module(self, module):
        """The module is there already."""


def load_quickstart(framework: str):
    """The quickstart as a module, on one of the two frameworks."""
    if framework == "torch":
        sys.meta_path.insert(0, TorchAsRushlight())
    path = ROOT / "docs" / "examples" / "quickstart.py"
    spec = importlib.util.spec_from_file_location("quickstart", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["quickstart"] = module
    spec.loader.exec_module(module)
    return module


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--framework", choices=("rushlight", "torch"), default="rushlight")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int)
    options = parser.parse_args()
    quickstart = load_quickstart(options.framework)
    logging.getLogger("lightning_lite").setLevel(logging.WARNING)
    epochs = options.epochs or quickstart.EPOCHS
    accuracies, seconds = [], []
    for seed in range(options.seeds):
        with tempfile.TemporaryDirectory() as folder:
            start = time.monotonic()
            accuracy = quickstart.train(seed, epochs, Path(folder) / "run")[2]
        seconds.append(round(time.monotonic() - start, 1))
        accuracies.append(round(100 * accuracy, 2))
        print(
            f"\n{options.framework}, seed {seed}: {accuracies[-1]} %, {seconds[-1]} s", flush=True
        )
    mean = sum(accuracies) / len(accuracies)
    summary = {"framework": options.framework, "accuracies": accuracies, "seconds": seconds}
    print(json.dumps({**summary, "mean": round(mean, 2), "lowest": min(accuracies)}))
    return 0 if mean >= LOWEST_MEAN and min(accuracies) >= LOWEST else 1


if __name__ == "__main__":
    raise SystemExit(main())
