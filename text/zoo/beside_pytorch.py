"""Train a network of `train_networks.py` on PyTorch, or on Rushlight, and publish nothing.

Usage: python text/zoo/beside_pytorch.py torch|rushlight plain_english KJV.whl BBE.whl --epochs 2

With "torch" `rushlight` and its modules are torch's, so that the same code runs with the same seeds
and batches; of those that PyTorch lacks, core's source is read, which finds torch under the name
`rushlight` in its turn. Figures are printed; checkpoints go to the folder that is asked for.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import runpy
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).parents[2]
OURS = ROOT / "core" / "src" / "rushlight"


class TorchForRushlight(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules of torch under Rushlight's names."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """torch's module of that name, or core's source where torch has none."""
        name, _, rest = fullname.partition(".")
        if name != "rushlight":
            return None
        theirs = f"torch.{rest}".rstrip(".")
        if rest == "serialization.safetensors":
            theirs = "safetensors.torch"
        try:
            importlib.import_module(theirs)
        except ModuleNotFoundError:
            return importlib.util.spec_from_file_location(fullname, source_of(rest))
        spec = importlib.util.spec_from_loader(fullname, self)
        spec.loader_state = theirs
        return spec

    def create_module(self, spec: Any) -> Any:
        """The module that was found; its own spec stays."""
        module = importlib.import_module(spec.loader_state)
        if not hasattr(module, "__path__"):
            module.__path__ = []  # core may have modules below it
        self.own = module.__spec__
        return module

    def exec_module(self, module: Any) -> None:
        """Nothing is left to do."""
        module.__spec__ = self.own


def source_of(name: str) -> Path:
    """Core's file of a module."""
    place = OURS.joinpath(*name.split("."))
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")


def stand_in() -> None:
    """Let `rushlight` be torch from here on."""
    import safetensors.torch
    import torch

    torch.safetensors = torch.serialization.safetensors = safetensors.torch
    # weights of bytes are no part of training
    sys.modules["rushlight.nn.int8"] = SimpleNamespace(Int8Linear=None, quantize_int8=None)
    torch.set_num_threads(1)
    sys.meta_path.insert(0, TorchForRushlight())
    sys.path.insert(0, str(ROOT / "text" / "src"))


def told(name: str, file: Path, made: Any, seconds: float, fact: dict[str, Any]) -> None:
    """Print what would be published."""
    print(f"{name}: {seconds} s, {fact['recipe']}: {fact['_metrics']}")


def main() -> None:
    """Run the training that the arguments name."""
    which = sys.argv.pop(1)
    if which not in ("torch", "rushlight"):
        raise SystemExit(f"{which!r}: expected torch or rushlight\n{__doc__}")
    if which == "torch":
        stand_in()
    import train

    with tempfile.TemporaryDirectory() as folder:
        train.WEIGHTS, train.publish = Path(folder), told
        runpy.run_path(str(Path(__file__).with_name("train_networks.py")), run_name="__main__")


if __name__ == "__main__":
    main()
