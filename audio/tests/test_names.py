"""torchaudio's names under the name `torchaudio`: those of 2.9, and those it threw out.

`recorded/names.json` holds the lists and `recorded/missing_names.txt` what is not there;
`python ci/audio_names.py missing` writes the latter.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rushlight.compat import availability

RECORDED = Path(__file__).with_name("recorded")
LISTS = json.loads((RECORDED / "names.json").read_text())
MISSING = set((RECORDED / "missing_names.txt").read_text().split())


def full(part):
    return [f"{module}.{name}" for module, names in LISTS[part].items() for name in names]


def test_the_lists_are_whole():
    assert len(full("names")) == 233
    assert len(full("removed")) == 61


@pytest.mark.parametrize("part", ["names", "removed"])
def test_what_is_missing_is_known(part):
    missing = {name for name in full(part) if availability.judge(name).state == "missing"}
    assert missing - MISSING == set(), "names that were there are gone"
    assert MISSING & set(full(part)) - missing == set(), "run ci/audio_names.py missing"


def test_every_name_is_there():
    assert MISSING == set()


def test_the_import_name(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import torch, torchaudio\n"
        "from torchaudio.backend.common import AudioMetaData\n"
        "from torchaudio.io import StreamReader, CodecConfig\n"
        "import torchaudio.functional as F\n"
        "from torchaudio.backend.soundfile_backend import load, save\n"
        "assert load is torchaudio.load and save is torchaudio.save\n"
        "torchaudio.set_audio_backend('soundfile')\n"
        "torchaudio.save('a.wav', torch.zeros(1, 8), 8000)\n"
        "print(torchaudio.info('a.wav') == AudioMetaData(8000, 8, 1, 32, 'PCM_F'))\n"
        "print(torchaudio.load_with_torchcodec('a.wav', num_frames=3)[0].shape[1])\n"
    )
    command = [sys.executable, "-m", "rushlight", "run", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.split() == ["True", "3"], done.stderr
