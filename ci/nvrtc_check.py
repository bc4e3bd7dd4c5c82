"""Compile every CUDA kernel with NVRTC for all supported architectures; no GPU is needed.

Fails where NVRTC refuses a text or ptxas spills registers into local memory. What was compiled
before (same text, architecture and NVRTC) is taken from the cache of kernels.

Usage: python ci/nvrtc_check.py [--arch sm_90 ...] [--only softmax ...] [--jobs 2] [--json FILE]
                                [--no-cache]
Needs: pip install nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cuda-crt nvidia-cuda-cccl
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "core" / "src"))

from rushlight.machine import code_cache
from rushlight.machine.cuda import sources
from rushlight.machine.cuda.runtime import nvrtc

ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100")


@dataclass(frozen=True)
class Text:
    """One kernel text to compile."""

    name: str
    text: str
    options: tuple[str, ...] = ()


def handwritten() -> list[Text]:
    """Every instance of every file of kernels, and the steps printed around one of them."""
    from rushlight.kernels.optimizers import cuda_adaptive_steps as adaptive_steps

    found = [Text(name, text) for name, text in adaptive_steps.listing()]
    for name in sources.names():
        for parameters in sources.instances(name):
            words = [f"{key}={getattr(value, 'name', value)}" for key, value in parameters]
            found.append(Text(f"{name}[{' '.join(words)}]", sources.text(name, parameters)))
    return found


def generated() -> list[Text]:
    """The texts that the compiler writes, for a list of ops that stands for all of them."""
    from rushlight.testing import cuda_listing

    return [Text(name, text, tuple(options)) for name, text, options in cuda_listing.sources()]


def compiled(item: Text, architecture: str, cached: bool) -> dict:
    """What became of one text: seconds, kernels with their resources, or an error."""
    words = (item.text, architecture, *item.options, *nvrtc.FLAGS, str(nvrtc.version()))
    key = hashlib.sha256("\0".join(words).encode()).hexdigest()[:40]
    known = code_cache.read("nvrtc-check", key) if cached else None
    if known:
        return {**json.loads(known), "name": item.name, "seconds": 0.0}
    start = time.perf_counter()
    try:
        cubin, log = nvrtc.compile_text(item.text, architecture, item.options)
        kernels = {name: asdict(usage) for name, usage in nvrtc.usage(log).items()}
        found = {"kernels": kernels, "bytes": len(cubin), "error": None}
    except nvrtc.CompileError as error:
        found = {"kernels": {}, "bytes": 0, "error": str(error)}
    if found["error"] is None:
        code_cache.write("nvrtc-check", key, json.dumps(found).encode())
    return {**found, "name": item.name, "seconds": time.perf_counter() - start}


def complaints(results: list[dict], architecture: str) -> list[str]:
    """Texts that were refused and kernels that spill."""
    found = []
    for row in results:
        if row["error"]:
            found.append(f"{row['name']} for {architecture}:\n{row['error'][:2000]}")
        elif not row["kernels"]:
            found.append(f"{row['name']} for {architecture}: no kernels in the text")
        for name, usage in row["kernels"].items():
            if usage["spill_stores"] or usage["spill_loads"]:
                found.append(
                    f"{row['name']} for {architecture}: kernel {name} spills "
                    f"{usage['spill_stores']} bytes (reads {usage['spill_loads']})"
                )
    return found


def summary(results: list[dict], architecture: str) -> dict:
    """Counts for one architecture."""
    kernels = [usage for row in results for usage in row["kernels"].values()]
    return {
        "architecture": architecture,
        "texts": len(results),
        "kernels": len(kernels),
        "refused": sum(row["error"] is not None for row in results),
        "spilling": sum(bool(u["spill_stores"] or u["spill_loads"]) for u in kernels),
        "with_stack": sum(bool(u["stack"]) for u in kernels),
        "most_registers": max((u["registers"] for u in kernels), default=0),
        "seconds": round(sum(row["seconds"] for row in results), 1),
    }


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arch", nargs="*", default=ARCHITECTURES)
    parser.add_argument("--only", nargs="*", help="files of handwritten kernels; none generated")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--no-cache", action="store_true")
    return parser.parse_args()


def main() -> int:
    """Compile, count, complain."""
    given = arguments()
    if nvrtc.library() is None:
        print(nvrtc.NOT_FOUND, file=sys.stderr)
        return 2
    start = time.perf_counter()
    texts = handwritten()
    if given.only:
        texts = [item for item in texts if item.name.partition("[")[0] in given.only]
    else:
        texts += generated()
    print(f"NVRTC {'.'.join(map(str, nvrtc.version()))}: {len(texts)} texts")
    reports, wrong = [], []
    with ThreadPoolExecutor(given.jobs) as pool:  # NVRTC compiles without Python's lock
        tasks = [(text, a, not given.no_cache) for a in given.arch for text in texts]
        following = pool.map(lambda task: compiled(*task), tasks)
        for architecture in given.arch:
            results = [next(following) for _ in texts]
            reports.append(summary(results, architecture))
            wrong += complaints(results, architecture)
            print("  ".join(f"{key} {value}" for key, value in reports[-1].items()), flush=True)
    kernels = sum(report["kernels"] for report in reports)
    print(
        f"{kernels} kernels, {len(wrong)} complaints, {time.perf_counter() - start:.0f} s, "
        f"{time.process_time():.0f} s of processors"
    )
    if given.json:
        given.json.write_text(json.dumps({"reports": reports, "wrong": wrong}, indent=1))
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
