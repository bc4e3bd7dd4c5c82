"""Check Rushlight on a machine with a GPU and without network, in stages that can be resumed.

Every stage is a process of its own with a limit of eight minutes; its rows go, as they are found,
to OUT/NAME.jsonl, the verdicts to OUT/summary.json. A stage that succeeded is not run again
unless --again is given. Nothing is installed: wheels of what is missing are unpacked below OUT.

Usage: python ci/gpu_check.py [STAGE ...] [--out DIR] [--wheels DIR] [--runtime real|emu]
                              [--smoke] [--again] [--limit SECONDS]
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STAGES = {
    "environment": "versions, properties, what is missing",
    "tests": "tests/cuda on the device",
    "products": "cuBLASLt: accuracy of shapes, transposes and epilogues; FLOP/s",
    "kernels": "bandwidth of elementwise, normalisation, softmax, optimizer kernels; accuracy",
    "overhead": "microseconds of host time per operation",
    "models": "training steps of six networks, eager and graphed, float32 and bfloat16",
    "models_torch": "the same steps by the torch that is there",
    "capture": "bits of a captured step against an eager one",
}
LIMIT = 480
SOURCES = ("core", "vision", "text", "audio", "lightning_lite")


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stages", nargs="*", metavar="STAGE", help=", ".join(STAGES))
    parser.add_argument("--out", type=Path, default=Path("gpu_check"))
    parser.add_argument("--wheels", type=Path, help="folder of wheels to unpack")
    parser.add_argument("--runtime", choices=("real", "emu"), default="real")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: does every stage run?")
    parser.add_argument("--again", action="store_true", help="also stages that succeeded")
    parser.add_argument("--limit", type=int, default=LIMIT, help="seconds for one stage")
    given = parser.parse_args()
    unknown = set(given.stages) - set(STAGES)
    if unknown:
        parser.error(f"no stage {', '.join(sorted(unknown))}; there are {', '.join(STAGES)}")
    return given


def unpack(wheels: Path | None, out: Path) -> Path | None:
    """Wheels as an importable folder; each is unpacked once."""
    if wheels is None:
        return None
    site = out / "site"
    site.mkdir(parents=True, exist_ok=True)
    for wheel in sorted(wheels.glob("*.whl")):
        mark = site / f".{wheel.name}"
        if not mark.exists():
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(site)
            mark.touch()
    return site


def environment(given: argparse.Namespace, site: Path | None) -> dict[str, str]:
    """The environment of a stage."""
    found = dict(os.environ)
    paths = [str(ROOT / folder / "src") for folder in SOURCES]
    paths += [str(site)] if site else []
    found["PYTHONPATH"] = os.pathsep.join([*paths, found.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    found["RUSHLIGHT_CUDA"] = found["RUSHLIGHT_CUDA_TESTS"] = given.runtime
    found.setdefault("RUSHLIGHT_CACHE_DIR", str((given.out / "cache").resolve()))
    return found


def command(stage: str, given: argparse.Namespace, seconds: int) -> list[str]:
    """What a stage runs."""
    file, library = (stage, "rushlight") if stage != "models_torch" else ("models", "torch")
    words = [sys.executable, str(ROOT / "ci" / "gpu_stages" / f"{file}.py")]
    words += ["--out", str((given.out / f"{stage}.jsonl").resolve()), "--seconds", str(seconds)]
    words += ["--library", library] if file == "models" else []
    return words + (["--smoke"] if given.smoke else [])


def run(stage: str, given: argparse.Namespace, site: Path | None) -> dict:
    """Run one stage to its end or its limit."""
    start = time.monotonic()
    with open(given.out / f"{stage}.log", "wb") as log:
        process = subprocess.Popen(
            command(stage, given, given.limit - 30),
            cwd=ROOT,
            env=environment(given, site),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status = process.wait(given.limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            status = "over its limit"
    rows = given.out / f"{stage}.jsonl"
    count = len(rows.read_text().splitlines()) if rows.exists() else 0
    verdict = {0: "ok", 77: "not applicable"}.get(status, f"FAILED ({status})")
    return {"verdict": verdict, "seconds": round(time.monotonic() - start, 1), "rows": count}


def main() -> int:
    """Run what is asked and still to do; print one table."""
    given = arguments()
    given.out.mkdir(parents=True, exist_ok=True)
    site = unpack(given.wheels, given.out)
    path = given.out / "summary.json"
    summary = json.loads(path.read_text()) if path.exists() else {}
    for stage in given.stages or STAGES:
        known = summary.get(stage, {})
        same = known.get("runtime") == given.runtime and known.get("smoke") == given.smoke
        if known.get("verdict") == "ok" and same and not given.again:
            print(f"{stage:14} done before")
            continue
        found = run(stage, given, site)
        summary[stage] = {**found, "runtime": given.runtime, "smoke": given.smoke}
        path.write_text(json.dumps(summary, indent=1))
        line = f"{stage:14} {found['verdict']:14} {found['seconds']:6.1f} s  {found['rows']} rows"
        print(line, flush=True)
        if found["verdict"].startswith("FAILED"):
            tail = (given.out / f"{stage}.log").read_text(errors="replace").splitlines()[-15:]
            print("\n".join(f"    {text}" for text in tail))
    return int(any(row["verdict"].startswith("FAILED") for row in summary.values()))


if __name__ == "__main__":
    sys.exit(main())
