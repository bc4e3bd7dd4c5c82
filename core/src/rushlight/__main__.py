"""``python -m rushlight``: the ``rushlight`` command."""

import importlib
import sys

if __name__ == "__main__":
    # By its name: the command stands above every other layer.
    sys.exit(importlib.import_module("rushlight.compat.command").main())
