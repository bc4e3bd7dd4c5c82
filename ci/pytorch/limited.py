"""Compare dtypes that few ops compute in with PyTorch, over the samples of its op table.

PyTorch has kernels of few ops for these dtypes, and its table claims fewer still. So every sample
of every entry runs on both sides: where PyTorch computes, the result must be equal (dtype and
elements), where it refuses, the exception must be of the same type.

:func:`main` is what unsigned.py and complex32.py run.
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

SECONDS = 60  # for one entry in one dtype


def samples_of(info, dtype, kin, most):
    """The entry's samples in a dtype: its own, or those of one of its `kin` converted; none at
    last."""
    import torch

    for source in (dtype, *kin):
        torch.manual_seed(3)
        try:
            found = list(itertools.islice(info.sample_inputs("cpu", source), most))
            return [sample.transform(_converter(source, dtype)) for sample in found]
        except Exception:  # noqa: BLE001,S112 - made with ops that this dtype has not
            continue
    return []


def _converter(source, dtype):
    """Makes values of one dtype ones of another."""
    import torch

    def converted(value):
        if value is source:
            return dtype
        meant = isinstance(value, torch.Tensor) and value.dtype == source
        return value.to(dtype) if meant and source != dtype else value

    return converted


def as_int64(value):
    """A tensor of a wide unsigned dtype as the same numbers, modulo 2**64, in int64."""
    import torch

    wide = isinstance(value, torch.Tensor) and value.dtype in (
        torch.uint16, torch.uint32, torch.uint64,
    )  # fmt: skip
    return value.long() if wide else value


def attempt(function, *args, **kwargs):
    """The result of a call, or the exception."""
    try:
        return function(*args, **kwargs)
    except TimeoutError:
        raise
    except Exception as error:  # noqa: BLE001 - what is raised is compared
        return error


def is_trivial(checks, sample, expected):
    """Whether PyTorch answers before it looks for a kernel: no elements, or no dimensions."""
    given = checks.tensors((sample.input, sample.args, sample.kwargs))
    results = checks.tensors(expected)
    return any(t.numel() < 2 for t in given) or all(t.numel() < 2 for t in results)


def is_kin(found, wanted):
    """Whether an exception of ours counts as PyTorch's: what lacks a kernel is a RuntimeError."""
    named = (TypeError, ValueError, IndexError)
    if isinstance(wanted, named):
        return isinstance(found, type(wanted))
    missing = isinstance(wanted, NotImplementedError)
    return isinstance(found, RuntimeError) and (
        missing or not isinstance(found, NotImplementedError)
    )


def difference(info, function, sample):
    """What is wrong with our result of one sample, or None."""
    import table_checks as checks
    import table_values as values
    import torch

    try:
        own = values.ours((sample.input, tuple(sample.args), dict(sample.kwargs)))
    except values.Unavailable:
        return None
    torch.manual_seed(7)
    expected = attempt(info.op, sample.input, *sample.args, **sample.kwargs)
    values.rushlight.manual_seed(7)
    found = attempt(function, own[0], *own[1], **own[2])
    if isinstance(expected, Exception):
        if not isinstance(found, Exception):
            return f"accepted; PyTorch raises {type(expected).__name__}: {str(expected)[:80]}"
        if not is_kin(found, expected):
            return (
                f"{type(found).__name__} ({str(found)[:80]}), PyTorch raises "
                f"{type(expected).__name__} ({str(expected)[:80]})"
            )
        return None
    if isinstance(found, Exception):
        if isinstance(found, RuntimeError) and is_trivial(checks, sample, expected):
            return None
        return f"{type(found).__name__}: {str(found)[:160]}"
    if info.name in checks._UNWRITTEN:
        return None
    try:
        if info.name in checks._TIES:
            wide = sample.transform(as_int64)  # PyTorch's gather has no kernel for the others
            found, expected = (
                checks.chosen(info, wide, [as_int64(t) for t in checks.tensors(values.theirs(r))])
                for r in (found, expected)
            )
        checks.compare_near(info, sample, found, expected, "result")
    except values.Mismatch as error:
        return str(error)
    return None


def differences(info, dtype, kin, most):
    """Lines of what differs, and how many samples were compared."""
    import table_checks as checks
    import table_values as values

    checks.limit(SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function, found = values.function_of(info), []
            samples = samples_of(info, dtype, kin, most)
            for sample in samples:
                text = difference(info, function, sample)
                if text is not None:
                    found.append(f"{checks.told(sample)}: {' '.join(text.split())}")
            return found, len(samples)
    except Exception as error:  # noqa: BLE001 - any failure is the entry's result
        return [f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"], 1
    finally:
        checks.limit(0)


def main(doc, known, dtypes, kin, further=None) -> int:
    """Run the entries and compare what differs with the list in the file `known`. `kin` are names
    of dtypes whose samples may be converted; ``further(entry, dtype, most)`` gives lines of what
    else differs."""
    parser = argparse.ArgumentParser(description=doc.split("\n\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--dtypes", default=dtypes)
    parser.add_argument("--samples", type=int, default=12, help="most samples of one entry")
    parser.add_argument("--verbose", action="store_true", help="every difference, not the first")
    arguments = parser.parse_args()
    if not oracle.install():
        print(f"torch oracle not available ({oracle.REQUIREMENT}): NOT compared")
        return 1
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    import table
    import torch

    torch.set_num_threads(1)
    start, total = time.monotonic(), 0
    kin = [getattr(torch, name) for name in kin]

    def every_dtype(info):
        nonlocal total
        lines = []
        for dtype in arguments.dtypes.split(","):
            found, count = differences(info, getattr(torch, dtype), kin, arguments.samples)
            if further is not None:
                found += further(info, dtype, arguments.samples)
            lines += [f"{dtype} {line}" for line in found]
            total += count
        return lines

    failing, examined = table.examined(arguments.names, every_dtype, arguments.verbose)
    print(f"\n--- {len(examined) - len(failing)} of {len(examined)} entries, {total} samples")
    print(f"{time.monotonic() - start:.0f} s")
    return 1 if known_failures.surprises(known, failing, examined) else 0
