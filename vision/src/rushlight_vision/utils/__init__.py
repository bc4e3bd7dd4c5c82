"""Looking at images and at what networks make of them."""

from rushlight_vision.utils.average_precision import MeanAveragePrecision
from rushlight_vision.utils.calibration import calibration, fit_temperature
from rushlight_vision.utils.confusion import ConfusionMatrix, most_confused
from rushlight_vision.utils.costs import model_costs
from rushlight_vision.utils.drawing import (
    draw_bounding_boxes,
    draw_keypoints,
    draw_segmentation_masks,
)
from rushlight_vision.utils.flow import flow_to_image
from rushlight_vision.utils.gradcam import grad_cam
from rushlight_vision.utils.grid import make_grid, save_image
from rushlight_vision.utils.panoptic import PanopticQuality
from rushlight_vision.utils.showing import show

__all__ = [
    "ConfusionMatrix",
    "MeanAveragePrecision",
    "PanopticQuality",
    "calibration",
    "draw_bounding_boxes",
    "draw_keypoints",
    "draw_segmentation_masks",
    "fit_temperature",
    "flow_to_image",
    "grad_cam",
    "make_grid",
    "model_costs",
    "most_confused",
    "save_image",
    "show",
]
