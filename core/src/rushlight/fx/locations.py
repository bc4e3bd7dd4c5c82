"""Where in the user's program something happens."""

from __future__ import annotations

import linecache
import sys
import traceback
import types
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


def raised_at(error) -> str:
    """The last line of the program on the way to an error, in brackets."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not _ours(f)]
    if not frames:
        return ""
    last = frames[-1]
    return f"({last.filename}:{last.lineno}, in {last.name}: {last.line})"


def _user_frame():
    frame = sys._getframe(1)
    while frame is not None and is_ours(frame):
        frame = frame.f_back
    return frame


def user_stack() -> str | None:
    """The lines of the program that are running, outermost first, as Python prints them."""
    lines = traceback.StackSummary.extract((f, f.f_lineno) for f in user_frames())
    return "".join(traceback.format_list(lines)).strip() or None


def user_frames() -> list[types.FrameType]:
    """The frames of the program that are running, outermost first."""
    frame: types.FrameType | None = sys._getframe(1)
    found: list[types.FrameType] = []
    while frame is not None:  # Rushlight's own frames, which are most, do not count
        if not is_ours(frame):
            found.append(frame)
        elif frame.f_code.co_name == "trace":
            break
        frame = frame.f_back
    return found[::-1]


def is_ours(frame) -> bool:
    """Whether a running frame is Rushlight's own."""
    return frame.f_code.co_filename.startswith(_HERE)


def _ours(frame):
    return frame.filename.startswith(_HERE)
