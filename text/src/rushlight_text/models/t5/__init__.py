"""T5 and Flan-T5 with torchtext's names, state-dict keys and published bundles."""

from rushlight_text.models.t5.bundler import T5Bundle, bundles
from rushlight_text.models.t5.model import T5Conf, T5Model
from rushlight_text.models.t5.t5_transform import T5Transform

_BUNDLES = bundles()
globals().update(_BUNDLES)

__all__ = ["T5Bundle", "T5Conf", "T5Model", "T5Transform", *_BUNDLES]
