"""A program that saves a checkpoint and is killed on the way: ``saving_program.py FOLDER WHEN``."""

import os
import signal
import sys

import rushlight
import rushlight.distributed.checkpoint as dcp
from rushlight.distributed.checkpoint import filesystem

folder, when = sys.argv[1:]
plain = filesystem.FileSystemWriter.finish if when == "last" else filesystem.FileSystemWriter.write


def killed(self, *arguments):
    if when == "after":
        plain(self, *arguments)
    os.kill(os.getpid(), signal.SIGKILL)


setattr(filesystem.FileSystemWriter, "finish" if when == "last" else "write", killed)
dcp.save({"x": rushlight.ones(4) * 2}, checkpoint_id=folder)
