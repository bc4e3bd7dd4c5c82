"""Where in the user's program something happens."""

from __future__ import annotations

import linecache
import sys
import traceback
from pathlib import Path

_HERE = str(Path(__file__).parent.parent) + "/"  # all of Rushlight


def at_user_line(message: str) -> str:
    """`message` with the line of the program that led to it."""
    frame = _user_frame()
    if frame is None:
        return message
    file, line = frame.f_code.co_filename, frame.f_lineno
    source = linecache.getline(file, line).strip()
    return f"{message} ({file}:{line}, in {frame.f_code.co_name}{': ' + source if source else ''})"


def _user_frame():
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return frame


def user_stack() -> str | None:
    """The lines of the program that are running, outermost first, as Python prints them."""
    stack = traceback.extract_stack()
    begin = next(
        (i for i, f in reversed(list(enumerate(stack))) if f.name == "trace" and _ours(f)), 0
    )
    lines = [frame for frame in stack[begin:] if not _ours(frame)]
    return "".join(traceback.format_list(lines)).strip() or None


def _ours(frame):
    return frame.filename.startswith(_HERE)
