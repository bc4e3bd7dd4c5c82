"""The former path of `rushlight_text.prototype.vectors`."""

from rushlight_text.prototype.vectors import *  # noqa: F403
from rushlight_text.prototype.vectors import __all__  # noqa: F401
