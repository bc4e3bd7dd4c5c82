"""Run programs written for PyTorch without changing them: `install`, `rushlight run`.

After :func:`install`, ``torch``, ``torchvision``, ``torchaudio``, ``torchtext`` and all inside them
are names of Rushlight's packages; so are ``lightning``, ``pytorch_lightning`` and
``lightning_fabric`` where they are not installed. ``rushlight run script.py`` does the same before
it runs a script; ``rushlight check PATH`` tells beforehand which names a program uses that are
missing.
"""

from rushlight.compat.finder import install, is_installed, uninstall
from rushlight.compat.missing import MissingModule, MissingName

__all__ = ["MissingModule", "MissingName", "install", "is_installed", "uninstall"]
