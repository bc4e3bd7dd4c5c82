"""Looking at images."""

from rushlight_vision.utils.grid import make_grid, save_image

__all__ = ["make_grid", "save_image"]
