"""MobileNets, version 2 and 3, under their former path."""

from rushlight_vision.models.mobilenetv2 import *  # noqa: F403
from rushlight_vision.models.mobilenetv2 import __all__ as _second
from rushlight_vision.models.mobilenetv3 import *  # noqa: F403
from rushlight_vision.models.mobilenetv3 import __all__ as _third

__all__ = [*_second, *_third]  # noqa: PLE0604
