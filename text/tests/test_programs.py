"""Whole programs that say `import torchtext` run unchanged, and learn."""

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
WORDS = {
    1: "government minister treaty election",
    2: "goal match team league",
    3: "market shares profit bank",
    4: "software chip robot network",
}


def news(folder, count, seed):
    pick = random.Random(seed)
    lines = []
    for _ in range(count):
        label = pick.randint(1, 4)
        words = pick.choices("the a of said new in on".split(), k=6)
        words += pick.sample(WORDS[label].split(), 2)
        pick.shuffle(words)
        lines.append(f'"{label}","{" ".join(words[:3])}","{" ".join(words[3:])}"')
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", sorted(path.stem for path in PROGRAMS.glob("*.py")))
def test_the_program_learns(name, tmp_path):
    folder = tmp_path / "datasets" / "AG_NEWS"
    folder.mkdir(parents=True)
    for part, count in (("train", 240), ("test", 40)):
        (folder / f"{part}.csv").write_text(news(folder, count, len(part)))
    # The files are not the published ones: their digests are not looked at.
    start = (
        "import sys, runpy, rushlight.compat; rushlight.compat.install(children=False)\n"
        "from rushlight_text.datasets import ag_news; ag_news.MD5.update(train=None, test=None)\n"
        f"sys.argv = ['program', {str(tmp_path)!r}]\n"
        f"runpy.run_path({str(PROGRAMS / (name + '.py'))!r}, run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", start], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    right, total = map(int, re.search(r"(\d+) of (\d+) right", done.stdout).groups())
    assert total == 40 and right >= 36, done.stdout
