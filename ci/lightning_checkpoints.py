"""Checkpoints exchanged with Lightning: each goes on from the other's, to the same weights.

One process trains with Lightning on PyTorch, another with lightning_lite on Rushlight; each writes
checkpoints at the end of an epoch, inside of one and after validation, and both resume all of them.
Inside of an epoch Lightning begins the data anew; there we are compared with a training without a
break.

Usage: python ci/lightning_checkpoints.py [--theirs PYTHON] [--record FOLDER]
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SCENARIOS = Path("lightning_lite/tests/recorded/exchanged.py").resolve()
SIDES = ("theirs", "ours")


def run(python: str, *arguments: str) -> dict:
    """What a process of one side prints, as JSON."""
    done = subprocess.run([python, str(SCENARIOS), *arguments], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{python}: {done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def differs(left: dict, right: dict) -> list[str]:
    """What two final states do not share, but for rounding."""
    found = [name for name in left if name != "weights" and left[name] != right[name]]
    pairs = zip(left["weights"], right["weights"], strict=True)
    if any(abs(a - b) > 1e-4 * max(1.0, abs(a)) for a, b in pairs):
        found.append("weights")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--theirs", default=sys.executable, help="a Python with lightning")
    parser.add_argument("--record", help="keep Lightning's files and what it made of them there")
    options = parser.parse_args()
    pythons = {"theirs": options.theirs, "ours": sys.executable}
    failures = 0
    with tempfile.TemporaryDirectory() as scratch:
        for writer in SIDES:
            folder = Path(scratch, writer)
            whole = run(pythons[writer], writer, "write", str(folder))
            for path in sorted(folder.glob("*.ckpt")):
                ends = {
                    reader: run(pythons[reader], reader, "resume", str(path)) for reader in SIDES
                }
                kind, moment = path.stem.split("-")
                inside = moment == "batch" or (kind, moment) == ("step", "validation")
                expected = whole[kind] if inside else ends["theirs"]
                wrong = differs(ends["ours"], expected)
                failures += bool(wrong)
                against = "no break" if inside else "Lightning"
                said = f"differs in {wrong}" if wrong else "agrees"
                print(f"{writer:6} wrote {path.name:24} resumed here: {said} ({against})")
                whole[path.name] = expected
            if options.record and writer == "theirs":
                for path in folder.glob("*.ckpt"):
                    shutil.copy(path, options.record)
                text = json.dumps(whole, indent=1)
                Path(options.record, "exchanged.json").write_text(text + "\n")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
