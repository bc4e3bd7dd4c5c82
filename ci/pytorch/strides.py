"""Compare the strides of results with PyTorch's, over the samples of its op table.

Every sample of every entry runs on both sides, in float32 (or the entry's first dtype), as it is,
with gaps, and with images and volumes channels last. Strides must be the same wherever they mean
something: in tensors with elements, for dimensions longer than one.

Entries known to differ stand in ci/pytorch/strides_known.toml with their reasons.

Usage: python ci/pytorch/strides.py [NAME ...] [--samples N] [--verbose]
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import known_failures
import oracle

KNOWN = Path(__file__).with_name("strides_known.toml")
SECONDS = 60  # for one entry


def meaning(shape, strides):
    """The strides that say where elements lie."""
    if 0 in shape:
        return ()
    return tuple(step for n, step in zip(shape, strides, strict=True) if n > 1)


def last(value):
    """A tensor of images or volumes, channels last; other values as they are."""
    import torch

    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    if isinstance(value, torch.Tensor) and value.layout == torch.strided and value.ndim in formats:
        with torch.no_grad():
            return value.contiguous(memory_format=formats[value.ndim])
    return value


def forms(sample):
    """A sample as it is, with gaps, and channels last where that changes it."""
    import table_checks as checks

    yield "", sample
    yield "with gaps, ", checks.with_gaps(sample)
    if any(last(t) is not t for t in checks.tensors((sample.input, sample.args, sample.kwargs))):
        yield "channels last, ", sample.transform(last)


def differences(info, most):
    """What differs, a line per sample; None if nothing could be compared."""
    import table_checks as checks
    import table_values as values
    import torch

    supported = info.supported_dtypes("cpu")
    dtype = torch.float32 if torch.float32 in supported else min(supported, key=str)
    function = values.function_of(info)
    torch.manual_seed(3)
    found, compared = [], 0
    for given in itertools.islice(info.sample_inputs("cpu", dtype), most):
        for form, sample in forms(given):
            text = form + checks.told(sample)
            try:
                expected, own, _ = checks.call(info, function, sample)
            except values.Unavailable:
                continue
            pairs = zip(checks.tensors(own), checks.tensors(expected), strict=False)
            for a, b in pairs:
                if b.layout != torch.strided:
                    continue
                compared += 1
                ours, theirs = meaning(b.shape, a.stride()), meaning(b.shape, b.stride())
                if ours != theirs:
                    found.append(f"{text}: {list(b.shape)} has {a.stride()}, not {b.stride()}")
    return found if compared else None


def examine(info, most):
    """The differences of an entry; what went wrong instead stands for them."""
    import table_checks as checks

    checks.limit(SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return differences(info, most)
    except Exception as error:  # noqa: BLE001 - any failure is the entry's result
        return [f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"]
    finally:
        checks.limit(0)


def main() -> int:
    """Run the entries and compare what differs with the list of what is known."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--samples", type=int, default=40, help="most samples of one entry")
    parser.add_argument("--verbose", action="store_true", help="every difference, not the first")
    arguments = parser.parse_args()
    if not oracle.install():
        print(f"torch oracle not available ({oracle.REQUIREMENT}): strides were NOT compared")
        return 1
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    import table
    import torch

    torch.set_num_threads(1)
    start = time.monotonic()
    failing, examined = table.examined(
        arguments.names, lambda info: examine(info, arguments.samples), arguments.verbose
    )
    print(f"\n--- strides: {len(examined) - len(failing)} of {len(examined)} entries as in PyTorch")
    print(f"{time.monotonic() - start:.0f} s")
    return 1 if known_failures.surprises(KNOWN, failing, examined) else 0


if __name__ == "__main__":
    sys.exit(main())
