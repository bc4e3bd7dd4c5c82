"""Small networks of our own with their weights inside the package: nothing is downloaded.

Classification in `classification`, detection and segmentation in `scenes`, noise and codes in
`restoration`. May import `ops`, `transforms` and the networks of `models`; begin with `_packaged`.
"""

from rushlight_vision.models.zoo.classification import (
    Digits_CNN_Weights,
    Shapes_Classifier_Weights,
    SmallCNN,
    digits_cnn,
    shapes_classifier,
)
from rushlight_vision.models.zoo.restoration import (
    Autoencoder,
    Denoiser,
    Denoiser_Weights,
    Digits_Autoencoder_Weights,
    denoiser,
    digits_autoencoder,
)
from rushlight_vision.models.zoo.scenes import (
    Shapes_Detector_Weights,
    Shapes_Segmenter_Weights,
    shapes_detector,
    shapes_segmenter,
)

__all__ = [
    "Autoencoder",
    "Denoiser",
    "Denoiser_Weights",
    "Digits_Autoencoder_Weights",
    "Digits_CNN_Weights",
    "Shapes_Classifier_Weights",
    "Shapes_Detector_Weights",
    "Shapes_Segmenter_Weights",
    "SmallCNN",
    "denoiser",
    "digits_autoencoder",
    "digits_cnn",
    "shapes_classifier",
    "shapes_detector",
    "shapes_segmenter",
]
