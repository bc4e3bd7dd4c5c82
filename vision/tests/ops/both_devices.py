"""Run the recorded float32 calls of the operators that have kernels on a CUDA device; print what
differs from torchvision's values. `test_cuda.py` runs it on the emulator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import recorded

import rushlight as rl
from rushlight_vision import ops

NAMES = {
    "batched_nms", "deform_conv2d", "nms", "ps_roi_align", "ps_roi_pool", "roi_align", "roi_pool",
}  # fmt: skip


class OnDevice:
    """Rushlight, but tensors are made on the device."""

    def __getattr__(self, name):
        return getattr(rl, name)

    @staticmethod
    def tensor(value):
        return rl.tensor(value, device="cuda")


def main() -> None:
    library = recorded.Library(OnDevice(), ops)
    records, _ = recorded.load(str(Path(__file__).with_name("torchvision.npz")))
    seen = set()
    for case, given, expected in records:
        dtype = next(iter(given.values())).dtype
        key = case["name"], len(given)
        if case["name"] not in NAMES or "error" in case or dtype != np.float32 or key in seen:
            continue
        seen.add(key)
        for line in recorded.differences(recorded.outcome(library, case, given), expected):
            print(f"{case['name']}: {line}")
    print(f"{len({name for name, _ in seen})} operators")


if __name__ == "__main__":
    main()
