"""The former path of `rushlight_text.prototype.vocab_factory`."""

from rushlight_text.prototype.vocab_factory import *  # noqa: F403
from rushlight_text.prototype.vocab_factory import __all__  # noqa: F401
