"""Old programs under torchtext 0.6, which is one of the last that are Python alone.

It is looked for in the folder `torchtext06` of the environment
(``pip install --target FOLDER --no-deps torchtext==0.6.0``).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
HOME = Path(sys.prefix) / "torchtext06"


def record(folder: Path) -> None:
    """Write ``legacy.json``, in a process of its own: the other torchtext may be imported here."""
    subprocess.run([sys.executable, __file__, str(folder / "legacy.json")], check=True)


def _write(target: Path) -> None:
    sys.path[:0] = [str(HOME), str(ROOT / "text/tests")]
    import legacy_programs
    import torchtext.data

    answers = {}
    for program in legacy_programs.PROGRAMS:
        with tempfile.TemporaryDirectory() as scratch:
            legacy_programs.files(Path(scratch))
            answers[program.__name__] = program(torchtext.data, Path(scratch))
    target.write_text(json.dumps(answers))


if __name__ == "__main__":
    _write(Path(sys.argv[1]))
