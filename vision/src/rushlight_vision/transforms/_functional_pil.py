"""torchvision's inner path of the functions of PIL images; here one function serves both kinds."""

from rushlight_vision.transforms.functional import *  # noqa: F403
