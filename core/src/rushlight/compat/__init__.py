"""Run programs written for PyTorch without changing them: `install`, `rushlight run`.

After :func:`install`, ``torch``, ``torchvision``, ``torchaudio``, ``torchtext``, ``lightning`` and
``pytorch_lightning`` and everything inside them are names of Rushlight's packages. ``rushlight run
script.py`` does the same before it runs a script; ``rushlight check PATH`` tells beforehand which
names a program uses that are missing.
"""

from rushlight.compat.finder import install, is_installed, uninstall
from rushlight.compat.missing import MissingModule, MissingName

__all__ = ["MissingModule", "MissingName", "install", "is_installed", "uninstall"]
