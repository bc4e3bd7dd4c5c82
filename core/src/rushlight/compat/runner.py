"""`rushlight run`: a script or module, run as ``python`` would run it."""

from __future__ import annotations

import importlib
import os
import runpy
import sys
import types
from importlib.machinery import SourceFileLoader

from rushlight.compat.finder import install
from rushlight.compat.paths import PACKAGES, module_behind

_OURS = (os.path.dirname(os.path.abspath(__file__)) + os.sep,)


def run_script(path: str, arguments: list[str]) -> None:
    """Run a file as ``python path arguments...`` does, with PyTorch's names bound to Rushlight.

    ``sys.argv``, ``sys.path[0]`` and ``__main__`` are the script's. A folder or zip archive with a
    ``__main__.py`` is run too. Raises SystemExit(2) where there is no such file.
    """
    install()
    sys.argv[:] = [path, *arguments]
    if os.path.isdir(path) or not os.path.exists(path) or path.endswith((".zip", ".pyz")):
        if not os.path.exists(path):
            _refuse(f"can't open file {os.path.abspath(path)!r}: [Errno 2] No such file")
        _replace_first_path(path)
        _guarded(runpy.run_path, path, run_name="__main__")
        return
    _replace_first_path(os.path.dirname(os.path.realpath(path)))
    _guarded(_execute, os.path.join(os.getcwd(), path))  # as Python: not normalized


def run_module(name: str, arguments: list[str]) -> None:
    """Run a module as ``python -m name arguments...`` does, with PyTorch's names bound here."""
    install()
    sys.argv[:] = [name, *arguments]
    _replace_first_path(os.getcwd())
    if name.partition(".")[0] in PACKAGES:  # `-m torch.distributed.run`
        name = module_behind(name) or name
    _guarded(runpy.run_module, name, run_name="__main__", alter_sys=True)


def _refuse(message: str):
    print(f"rushlight: {message}", file=sys.stderr)
    raise SystemExit(2)


def _replace_first_path(folder: str) -> None:
    """What Python put first is the place of the command, unless it was told to put nothing."""
    if sys.flags.safe_path:
        return
    sys.path[0] = folder


def _execute(path: str) -> None:
    main = types.ModuleType("__main__")
    main.__dict__.update(
        __file__=path,
        __loader__=SourceFileLoader("__main__", path),
        __builtins__=sys.modules["builtins"],
        __cached__=None,
    )
    # It stays there to the end: threads, exit functions and pickles still look for it.
    sys.modules["__main__"] = main
    with open(path, "rb") as file:
        source = file.read()
    exec(compile(source, path, "exec", dont_inherit=True), main.__dict__)


def _guarded(function, *args, **kwargs) -> None:
    """Call; an exception is shown without the frames of this file, and ends the process as ever."""
    try:
        function(*args, **kwargs)
    except SystemExit as error:
        if error.code not in (None, 0):
            _tell_other_ranks(error)
        raise
    except BaseException as error:
        _tell_other_ranks(error)
        frames = error.__traceback__
        while frames is not None and frames.tb_frame.f_code.co_filename.startswith(_OURS):
            frames = frames.tb_next
        error = error.with_traceback(frames)
        sys.excepthook(type(error), error, frames)
        # Shown already. Raised again, it gives the exit code (or, for Ctrl-C, the signal).
        sys.excepthook = lambda *_: None
        raise


def _tell_other_ranks(error) -> None:
    """Let the launcher and the other processes of a job know that this one fails, and why."""
    if "TORCHELASTIC_ERROR_FILE" in os.environ:
        importlib.import_module("rushlight.distributed.error_files").write(error)
    lifetime = sys.modules.get("rushlight.distributed.lifetime")
    if lifetime is not None:
        shown = error.code if isinstance(error, SystemExit) else error
        lifetime.note_failure(f"{type(error).__name__}: {shown}")
