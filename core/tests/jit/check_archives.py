"""Loads archives of Rushlight in PyTorch, in a process where Rushlight cannot be imported, and
compares their results: ``check_archives.py FOLDER RESULTS``."""

import sys
from pathlib import Path

sys.modules["rushlight"] = None

import torch  # noqa: E402


def same(ours, theirs):
    """Whether two results are equal, tensors within 1e-5."""
    if isinstance(theirs, torch.Tensor):
        alike = isinstance(ours, torch.Tensor) and (ours.dtype, ours.shape) == (
            theirs.dtype,
            theirs.shape,
        )
        return alike and torch.allclose(ours.double(), theirs.double(), 1e-5, 1e-5)
    if isinstance(theirs, list | tuple):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(theirs, dict):
        return list(ours) == list(theirs) and all(same(ours[k], theirs[k]) for k in theirs)
    return ours == theirs or abs(ours - theirs) < 1e-5


def main(folder, results):
    """Compare everything there is; a line for each that differs."""
    failed = 0
    for path in sorted(Path(folder).glob("*.pt")):
        name = path.stem.removesuffix(".frozen")
        inputs, wanted = torch.load(Path(results) / f"{name}.results.pt", weights_only=False)
        try:
            module = torch.jit.load(str(path))
            for row in wanted[:1] if ".frozen" in path.name else wanted:
                if not same(module(*inputs), row):
                    raise AssertionError("the results differ")
        except Exception as error:  # noqa: BLE001 - all are shown
            failed += 1
            print(path.name, type(error).__name__, str(error)[:800])
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
