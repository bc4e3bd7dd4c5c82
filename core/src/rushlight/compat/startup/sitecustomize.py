"""Run by Python at its start in processes that a program under `rushlight run` starts.

It costs nothing until the process imports ``torch`` or a package beside it, or asks for its
version; Rushlight is imported then, from the place it had in the parent's search path.
"""

import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_TOPS = (
    *("torch", "torchvision", "torchaudio", "torchtext"),
    *("lightning", "pytorch_lightning", "lightning_fabric"),
)
_NAMES = (*_TOPS, "pytorch-lightning", "lightning-fabric")


class _Waiting:
    """Puts Rushlight's finder behind itself at the first import that concerns it."""

    done = False

    def _install(self):
        self.done = True
        if importlib.util.find_spec("rushlight") is None:
            raise ImportError(
                "RUSHLIGHT_COMPAT=1 is inherited from `rushlight run`, but Rushlight cannot be "
                f"imported by {sys.executable}; install it there, or start the process without "
                "the variable"
            )
        from rushlight import compat

        compat.install()
        # The search that has come to this finder goes on with the next one.
        sys.meta_path.insert(sys.meta_path.index(self) + 1, sys.meta_path.pop(0))

    def find_spec(self, fullname, path=None, target=None):
        """Always None: the finder that is installed now answers."""
        if not self.done and fullname.partition(".")[0] in _TOPS:
            self._install()

    def find_distributions(self, context=None):
        """Always empty: the finder that is installed now answers."""
        if not self.done and (context is None or context.name in (None, *_NAMES)):
            self._install()
        return iter(())


def _run_next():
    """The sitecustomize module that this one stands before, if there is one."""
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize")
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


if os.environ.get("RUSHLIGHT_COMPAT") == "1":
    sys.meta_path.insert(0, _Waiting())
_run_next()
