"""Run the generated tests of the op table and compare the number of tests per op with the record.

The record, ci/ops_tests.json, may only grow: an op that loses tests fails the run, and so does a
public op without tests. `--record` writes the present numbers.

Usage: python ci/ops.py [quick|full] [--record] [PYTEST ARGUMENT ...]
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from packages import CORE

RECORD = Path(__file__).with_name("ops_tests.json")
GENERATED = "tests/test_ops.py"
OP_OF_TEST = re.compile(r"::\w+\[(?P<op>[A-Za-z0-9_.]+?)(?:[-:][^\]]*)?\]$")


def collect(environment: dict[str, str]) -> Counter[str]:
    """Number of generated tests of each op, by the first part of each test's parameters."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", GENERATED]
    done = subprocess.run(command, cwd=CORE.path, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    found = (OP_OF_TEST.search(line) for line in done.stdout.splitlines())
    return Counter(match["op"] for match in found if match)


def public(environment: dict[str, str]) -> list[str]:
    """The ops of the table that programs call."""
    words = (
        "from rushlight.ops._table import deferred as _deferred, op as _op; _deferred.load_all(); "
        "print(*(name for name in _op.TABLE if name[0] != '_'))"
    )
    command = [sys.executable, "-c", words]
    done = subprocess.run(
        command, cwd=CORE.path, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def compare(tier: str, counts: Counter[str]) -> list[str]:
    """Ops that have fewer tests than the record says."""
    recorded = json.loads(RECORD.read_text()).get(tier, {}) if RECORD.is_file() else {}
    return [
        f"{op}: {counts[op]} tests, the record says {number}"
        for op, number in sorted(recorded.items())
        if counts[op] < number
    ]


def write_record(tier: str, counts: Counter[str]) -> None:
    """Write the present numbers of a tier into the record."""
    recorded = json.loads(RECORD.read_text()) if RECORD.is_file() else {}
    recorded[tier] = dict(sorted(counts.items()))
    RECORD.write_text(json.dumps(recorded, indent=1) + "\n")


def main() -> int:
    arguments = sys.argv[1:]
    tier = "full" if "full" in arguments else "quick"
    rest = [word for word in arguments if word not in ("quick", "full", "--record")]
    environment = {**os.environ, "RUSHLIGHT_OPS_TIER": tier}
    environment.setdefault("OMP_NUM_THREADS", "1")
    counts = collect(environment)
    for op, number in sorted(counts.items()):
        print(f"{op:40} {number:5}")
    print(f"ops: {sum(counts.values())} tests of {len(counts)} ops ({tier})", flush=True)
    if "--record" in arguments:
        write_record(tier, counts)
    fallen = compare(tier, counts)
    fallen += [f"{op}: a public op without tests" for op in public(environment) if not counts[op]]
    for line in fallen:
        print(line)
    command = [sys.executable, "-m", "pytest", "-q", GENERATED, *rest]
    status = subprocess.run(command, cwd=CORE.path, env=environment).returncode
    return 1 if fallen or status else 0


if __name__ == "__main__":
    raise SystemExit(main())
