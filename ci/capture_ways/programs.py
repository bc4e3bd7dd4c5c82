"""The models of the programs in `core/tests/programs`, as they are called there first."""

from __future__ import annotations

import contextlib
import io
import os
import runpy
import tempfile
from pathlib import Path

import rushlight as rl
from rushlight.utils import _pytree as pytree

FOLDER = Path(__file__).resolve().parents[2] / "core" / "tests" / "programs"


def names() -> list[str]:
    """The programs."""
    return sorted(path.stem for path in FOLDER.glob("*.py"))


class _Called(BaseException):
    """The first call of a model; no program handles it."""

    def __init__(self, model, inputs):
        super().__init__()
        self.model, self.inputs = model, inputs


def _stop(module, args):
    """End the program at the first call of a module that has weights."""
    own = type(module).__module__ == "__main__"
    leaves = pytree.tree_leaves(args)
    fits = args and all(rl.is_tensor(v) or isinstance(v, int | float | None) for v in leaves)
    if own and fits and any(True for _ in module.parameters()):
        raise _Called(module, args)


def model_of(name):
    """A program's first model in evaluation mode, and what it is called with; None without one."""
    from rushlight.compat import install
    from rushlight.nn import global_hooks

    hook = global_hooks.register_module_forward_pre_hook(_stop)
    home = os.getcwd()
    try:
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            os.chdir(folder)
            install()
            runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    except _Called as called:
        inputs = tuple(v.detach() if rl.is_tensor(v) else v for v in called.inputs)
        return called.model.eval(), inputs
    finally:
        os.chdir(home)
        hook.remove()
    return None
