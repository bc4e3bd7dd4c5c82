"""The former path of `rushlight_text.prototype.transforms`."""

from rushlight_text.prototype.transforms import *  # noqa: F403
from rushlight_text.prototype.transforms import __all__  # noqa: F401
