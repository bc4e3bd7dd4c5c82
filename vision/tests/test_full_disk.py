"""A disk without room is named, and nothing half unpacked is left behind.

A limit on the size of files stands for the full disk; it is the process's, so another one's.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tarfile
import zipfile

import pytest

pytest.importorskip("resource")
WAYS = {
    "a.tar": "from rushlight_vision.datasets._unpacking import unpack; call = unpack",
    "a.zip": "from rushlight_vision.datasets._unpacking import unpack; call = unpack",
    "a.gz": "from rushlight_vision.datasets._unpacking import unpack; call = unpack",
    "b.gz": "from rushlight_vision.datasets.download import unpack_gzip\n"
    "def call(source, folder): unpack_gzip(source, folder + '/b')",
}
PROGRAM = """
import resource, sys
{way}
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
try:
    call(sys.argv[1], sys.argv[2])
except OSError as error:
    print(error.errno, error)
"""
WRITE = """
import resource, sys
import rushlight as rl
from rushlight_vision import io
image = rl.randint(0, 256, (3, 150, 150), dtype=rl.uint8)
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
for write in (io.write_png, io.write_jpeg):
    try:
        write(image, sys.argv[1])
    except OSError as error:
        print(error.errno, error)
"""


def run(program, *arguments):
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", WAYS)
def test_unpacking(name, tmp_path):
    content, source = os.urandom(20_000), tmp_path / name
    (tmp_path / "large").write_bytes(content)
    if name.endswith(".tar"):
        with tarfile.open(source, "w") as archive:
            archive.add(tmp_path / "large", "large")
    elif name.endswith(".zip"):
        with zipfile.ZipFile(source, "w") as archive:
            archive.write(tmp_path / "large", "large")
    else:
        source.write_bytes(gzip.compress(content))
    folder = tmp_path / "out"
    folder.mkdir()
    said = run(PROGRAM.format(way=WAYS[name]), source, folder)
    assert "File too large" in said and str(source) in said and str(folder) in said
    assert list(folder.iterdir()) == []


def test_writing_images(tmp_path):
    said = run(WRITE, tmp_path / "image").splitlines()
    assert len(said) == 2
    assert all("File too large" in line and str(tmp_path / "image") in line for line in said)
