# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations


from rushlight.utils.tensorboard.records import FileWriter as FileWriter
from rushlight.utils.tensorboard.writer import SummaryWriter as SummaryWriter
