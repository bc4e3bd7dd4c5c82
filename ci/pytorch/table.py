"""Run PyTorch's own op table against Rushlight and say what agrees.

The table, its samples and its error inputs ship inside PyTorch's wheel. Each of its entries is
checked in six dtypes (forward, non-contiguous inputs, first and second derivatives) and, once, by
its error inputs and variants (method, in-place, ``out=``). Without names the whole table runs.

Entries known not to pass stand in ci/pytorch/table_known.toml, each with a date and a reason.
A failure that is not there fails the run, and so does an entry there that passes.

With ``--device cuda`` our tensors lie on a CUDA device, an emulated one under RUSHLIGHT_CUDA=emu,
PyTorch's stay on the CPU: forward and first derivatives of a few samples; what is not to pass there
stands in ci/pytorch/table_cuda_known.toml.

With ``--checks saved`` the inputs and results of each call are written to in place before backward
(table_saved.py), known failures in ci/pytorch/table_saved_known.toml.

With ``--reference`` the table's reference inputs run forward instead (reference.py), known
failures in ci/pytorch/reference_known.toml.

Usage: python ci/pytorch/table.py [NAME ...] [--dtypes float32,bool] [--checks forward,gradient]
       [--reference] [--device cuda] [--samples N] [--jobs N] [--json FILE] [--verbose] [--list]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import known_failures
import oracle

KNOWN = {
    "cpu": Path(__file__).with_name("table_known.toml"),
    "cuda": Path(__file__).with_name("table_cuda_known.toml"),
    "reference": Path(__file__).with_name("reference_known.toml"),
    "saved": Path(__file__).with_name("table_saved_known.toml"),
}
CHECKS = {
    "cpu": "forward,noncontiguous,gradient,second,errors,variants",
    "cuda": "forward,gradient",
}
DTYPES = {
    "cpu": "float32,float64,int64,bool,complex64,bfloat16",
    "cuda": "float32,bfloat16,int64,complex64",
}
SAMPLES = {"cpu": 1000, "cuda": 5}

# Not for a CPU, or not functions that a program can call there.
UNTESTABLE = (
    "jiterator_", "torch._scaled_mm", "torch.ops.aten._flash", "torch.ops.aten._efficient",
)  # fmt: skip


def full_name(info):
    """The entry's name with its variant."""
    return info.name + (f".{info.variant_test_name}" if info.variant_test_name else "")


def table():
    """The entries that can be tested on a CPU, in the table's order."""
    from torch.testing._internal.common_methods_invocations import op_db

    return [
        info
        for info in op_db
        if not info.name.startswith(UNTESTABLE) and info.supported_dtypes("cpu")
    ]


def chosen(names):
    """The entries of these names (all if there are none): exact, or all of a namespace ``fft.``."""
    entries = table()
    if not names:
        return entries
    found = [
        info
        for info in entries
        if any(
            n in (info.name, full_name(info)) or n[-1] in ".*" and info.name.startswith(n[:-1])
            for n in names
        )
    ]
    if not found:
        raise SystemExit(f"no entry of the table is called {names}")
    return found


def examined(names, differences, verbose):
    """Print how each entry differs by ``differences(entry)``, its lines, or None where it is left
    out. Gives the names of those that differ and of all that were examined."""
    failing, seen = [], []
    for info in chosen(names):
        lines = differences(info)
        if lines is None:
            continue
        seen.append(full_name(info))
        if lines:
            failing.append(seen[-1])
            print(f"{seen[-1]}: {len(lines)} differ")
            for line in lines if verbose else lines[:2]:
                print(f"    {line}", flush=True)
    return failing, seen


def dtypes_of(info, device):
    """Names of the dtypes to test: PyTorch's on the CPU, which computes what is expected; of the
    integers those that PyTorch takes on that device."""
    found = info.supported_dtypes("cpu")
    if device != "cpu":
        found = {d for d in found if d.is_floating_point or d in info.supported_dtypes(device)}
    return {str(d)[6:] for d in found}


def examine(task):
    """All checks of one entry; runs in a worker process."""
    import table_checks as checks
    import table_saved as saved
    import table_values as values
    import torch

    checks.CHECKS["saved"] = saved.check_saved
    position, dtypes, wanted, most, values.DEVICE = task
    torch.set_num_threads(1)
    info = _ENTRIES[position]
    supported = dtypes_of(info, values.DEVICE)
    results = {}
    for dtype in dtypes:
        if dtype not in supported:
            continue
        for name in wanted:
            if name in ("errors", "variants") and dtype != dtypes[0]:
                continue
            result = checks.run_check(info, name, dtype, most)
            if result != "skip":
                results[f"{dtype} {name}"] = result
            if name == "forward" and result.startswith("AttributeError: rushlight has no"):
                return full_name(info), results  # nothing else can run
    if dtypes[0] not in supported and "errors" in wanted:
        results["errors"] = checks.run_check(info, "errors", min(supported, key=str), most)
    return full_name(info), results


def examine_reference(task):
    """The reference inputs of one entry, per dtype; runs in a worker process."""
    import reference as reference
    import torch

    position, dtypes, _, most, _ = task
    torch.set_num_threads(1)
    info = _ENTRIES[position]
    results = {}
    if not reference.applies(info):
        return full_name(info), None
    supported = dtypes_of(info, "cpu")
    for dtype in dtypes:
        if dtype in supported:
            compared, differing, lines = reference.run(info, dtype, most)
            text = f"{differing} of {compared} inputs differ: " + " | ".join(lines)
            results[f"{dtype} reference"] = text if lines else "ok"
    return full_name(info), results


_ENTRIES = []


def _start(names):
    _ENTRIES.extend(chosen(names))


def main() -> int:
    arguments = parse()
    if not oracle.install():
        print(f"torch oracle not available ({oracle.REQUIREMENT}): the table was NOT run")
        return 1
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    _start(arguments.names)
    if arguments.list:
        print("\n".join(full_name(info) for info in _ENTRIES))
        return 0
    device = arguments.device
    dtypes = (arguments.dtypes or DTYPES[device]).split(",")
    checks = (arguments.checks or CHECKS[device]).split(",")
    given = dtypes, checks, arguments.samples or SAMPLES[device], device
    tasks = [(i, *given) for i in range(len(_ENTRIES))]
    start, found = time.monotonic(), {}
    examine_one = examine_reference if arguments.reference else examine
    if arguments.jobs <= 1:
        results = map(examine_one, tasks)
        found = {name: result for name, result in _followed(results, arguments)}
    else:
        context = multiprocessing.get_context("spawn")
        with context.Pool(arguments.jobs, _start, (arguments.names,), 40) as pool:
            results = pool.imap(examine_one, tasks)
            found = {name: result for name, result in _followed(results, arguments)}
    if checks == ["saved"]:
        found = {name: result for name, result in found.items() if result}  # those with gradients
    report(found, dtypes, time.monotonic() - start)
    if checks == ["saved"] and arguments.jobs <= 1:
        from table_saved import lenient

        print(f"PyTorch refuses and ours works: {lenient.total()} writes, {len(lenient)} ops")
    failing = [name for name, result in found.items() if not passed(result)]
    known = "reference" if arguments.reference else "saved" if checks == ["saved"] else device
    surprises = known_failures.surprises(KNOWN[known], failing, found)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(found, file, indent=1, sort_keys=True)
            file.write("\n")
    return 1 if surprises else 0


def parse():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--dtypes")
    parser.add_argument("--checks")
    parser.add_argument("--samples", type=int, help="most samples of one check")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"), help="where ours are")
    parser.add_argument("--reference", action="store_true", help="the reference inputs, forward")
    parser.add_argument("--json")
    parser.add_argument("--verbose", action="store_true", help="passing entries too")
    parser.add_argument("--list", action="store_true", help="only the entries' names")
    return parser.parse_args()


def passed(result):
    """Whether every check of an entry is well."""
    return bool(result) and all(text == "ok" for text in result.values())


def _followed(results, arguments):
    """Print each entry as it comes."""
    for name, result in results:
        if result is None:
            continue  # nothing to ask of this entry
        bad = {k: v for k, v in result.items() if v != "ok"}
        if bad or arguments.verbose:
            print(f"{name}: {'ok' if not bad else f'{len(bad)} of {len(result)} checks fail'}")
            for what, text in bad.items():
                print(f"    {what}: {text}")
            sys.stdout.flush()
        yield name, result


def report(found, dtypes, seconds):
    """Entries that pass everything, per dtype."""
    print(f"\n--- PyTorch's op table: {len(found)} entries, {seconds:.0f} s")
    for dtype in dtypes:
        rows = [{k: v for k, v in r.items() if k.startswith(dtype + " ")} for r in found.values()]
        rows = [row for row in rows if row]
        good = sum(passed(row) for row in rows)
        print(f"{dtype:10} {good:4} of {len(rows):4} entries pass")
    good = sum(passed(result) for result in found.values())
    print(f"{'all':10} {good:4} of {len(found):4} entries pass everything")


if __name__ == "__main__":
    raise SystemExit(main())
