"""Which functionals and transforms are compared, with which arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
from inputs import HEIGHT, WIDTH

START = [[0, 0], [22, 0], [22, 16], [0, 16]]
END = [[2, 1], [20, 2], [21, 14], [1, 15]]

# Name of a functional: keyword arguments. Strings that begin with "@" name something of
# the library: an interpolation, a dtype, a tensor.
FUNCTIONALS: dict[str, list[dict[str, Any]]] = {
    "adjust_brightness": [{"brightness_factor": 0.3}, {"brightness_factor": 1.7}],
    "adjust_contrast": [{"contrast_factor": 0.3}, {"contrast_factor": 1.7}],
    "adjust_gamma": [{"gamma": 0.6, "gain": 1.2}],
    "adjust_hue": [{"hue_factor": 0.2}, {"hue_factor": -0.4}],
    "adjust_saturation": [{"saturation_factor": 0.3}, {"saturation_factor": 1.7}],
    "adjust_sharpness": [{"sharpness_factor": 0.3}, {"sharpness_factor": 1.7}],
    "affine": [
        {"angle": 20.0, "translate": [2, -1], "scale": 1.2, "shear": [5.0, 3.0]},
        {"angle": -35, "translate": [0, 3], "scale": 0.8, "shear": [4.0], "center": [3, 4],
         "interpolation": "@BILINEAR", "fill": 7.0},
    ],
    "autocontrast": [{}],
    "center_crop": [{"output_size": [9, 11]}, {"output_size": [20]}],
    "crop": [{"top": 2, "left": 3, "height": 9, "width": 8},
             {"top": -2, "left": 10, "height": 12, "width": 20}],
    "elastic": [{"displacement": "@displacement"},
                {"displacement": "@displacement", "interpolation": "@NEAREST", "fill": 3.0}],
    "elastic_transform": [{"displacement": "@displacement"}],
    "equalize": [{}],
    "erase": [{"i": 2, "j": 3, "h": 5, "w": 6, "v": "@value"}],
    "five_crop": [{"size": [5, 7]}],
    "gaussian_blur": [{"kernel_size": [3, 5]}, {"kernel_size": [5, 5], "sigma": [0.7, 1.4]}],
    "get_dimensions": [{}], "get_image_num_channels": [{}], "get_image_size": [{}],
    "get_num_channels": [{}], "get_num_frames": [{}], "get_size": [{}],
    "grayscale_to_rgb": [{}],
    "hflip": [{}], "horizontal_flip": [{}], "vertical_flip": [{}], "vflip": [{}],
    "invert": [{}],
    "jpeg": [{"quality": 40}],
    "normalize": [{"mean": [0.4, 0.5, 0.6], "std": [0.2, 0.3, 0.25]}],
    "pad": [{"padding": [2]}, {"padding": [1, 2, 3, 4], "fill": 5},
            {"padding": [2, 3], "padding_mode": "reflect"},
            {"padding": [3], "fill": [1, 2, 3]}],
    "permute_channels": [{"permutation": [2, 0, 1]}],
    "perspective": [{"startpoints": START, "endpoints": END},
                    {"startpoints": None, "endpoints": None, "interpolation": "@NEAREST",
                     "coefficients": [1.1, 0.1, -1.0, 0.05, 0.9, 1.0, 0.002, 0.003],
                     "fill": [4.0]}],
    "posterize": [{"bits": 3}],
    "resize": [{"size": [9]}, {"size": [30, 20]}, {"size": [12, 31], "interpolation": "@NEAREST"},
               {"size": [11, 13], "interpolation": "@BICUBIC"}, {"size": None, "max_size": 15},
               {"size": [25, 13], "antialias": False}, {"size": [16], "max_size": 19}],
    "resized_crop": [{"top": 2, "left": 3, "height": 9, "width": 8, "size": [12, 7]}],
    "rgb_to_grayscale": [{}, {"num_output_channels": 3}],
    "rotate": [{"angle": 30.0}, {"angle": 30.0, "expand": True, "interpolation": "@BILINEAR"},
               {"angle": -70.0, "center": [4, 5], "fill": 9.0}, {"angle": 90, "expand": True}],
    "solarize": [{"threshold": 0.6}],
    "ten_crop": [{"size": [5, 7]}, {"size": [5, 7], "vertical_flip": True}],
    "to_dtype": [{"dtype": "@float32", "scale": True}, {"dtype": "@uint8", "scale": True},
                 {"dtype": "@int32", "scale": True}, {"dtype": "@float64"}],
    "to_grayscale": [{}],
    "to_image": [{}],
    "to_pil_image": [{}],
    "uniform_temporal_subsample": [{"num_samples": 3}],
    "gaussian_noise": [{}, {"mean": 0.1, "sigma": 0.3, "clip": True}],
    "clamp_bounding_boxes": [{}],
    "clamp_keypoints": [{}],
    "convert_bounding_box_format": [{"new_format": each} for each in
                                    ("XYXY", "XYWH", "CXCYWH", "XYWHR", "CXCYWHR", "XYXYXYXY")],
    "sanitize_bounding_boxes": [{}, {"min_size": 7, "min_area": 60}],
    "sanitize_keypoints": [{}],
    "is_pure_tensor": [{}],
    "pil_to_tensor": [{}],
    "to_tensor": [{}],
    "convert_image_dtype": [{}, {"dtype": "@uint8"}],
}  # fmt: skip

# Kinds of input on which a functional is not compared.
SKIPPED = {
    # The sides that torchvision measures there are not those of the box.
    "sanitize_bounding_boxes": ("boxes XYWHR", "boxes CXCYWHR", "boxes XYXYXYXY"),
    "convert_image_dtype": ("Masks",),
    "solarize": ("uint8", "grey", "Video"),
}

# Transforms on a whole sample. None stands for one without arguments.
TRANSFORMS: list[tuple[str, dict[str, Any]]] = [
    ("AugMix", {}), ("AutoAugment", {}), ("AutoAugment", {"policy": "@CIFAR10"}),
    ("AutoAugment", {"policy": "@SVHN"}),
    ("CenterCrop", {"size": 9}), ("ClampBoundingBoxes", {}), ("ClampKeyPoints", {}),
    ("ColorJitter", {"brightness": 0.3, "contrast": (0.5, 1.5), "saturation": 0.4, "hue": 0.1}),
    ("ConvertBoundingBoxFormat", {"format": "CXCYWH"}), ("ConvertImageDtype", {}),
    ("ElasticTransform", {}), ("ElasticTransform", {"alpha": 20.0, "sigma": 2.0, "fill": 3}),
    ("FiveCrop", {"size": 7}), ("TenCrop", {"size": 7}),
    ("GaussianBlur", {"kernel_size": 3}), ("Grayscale", {"num_output_channels": 3}),
    ("Identity", {}), ("JPEG", {"quality": (20, 60)}), ("PILToTensor", {}),
    ("Pad", {"padding": [1, 2], "fill": {"@Image": 3, "others": 0}}), ("RGB", {}),
    ("RandAugment", {}), ("RandomAdjustSharpness", {"sharpness_factor": 2.0}),
    ("RandomAffine", {"degrees": 30, "translate": (0.1, 0.2), "scale": (0.7, 1.2), "shear": 10}),
    ("RandomAutocontrast", {}), ("RandomChannelPermutation", {}),
    ("RandomCrop", {"size": (9, 11)}), ("RandomCrop", {"size": 20, "pad_if_needed": True}),
    ("RandomCrop", {"size": 12, "padding": [3, 2]}), ("RandomEqualize", {}),
    ("RandomErasing", {"p": 0.7}), ("RandomErasing", {"p": 0.7, "value": "random"}),
    ("RandomGrayscale", {"p": 0.5}), ("RandomHorizontalFlip", {}), ("RandomVerticalFlip", {}),
    ("RandomInvert", {}), ("RandomIoUCrop", {}), ("RandomPerspective", {}),
    ("RandomPhotometricDistort", {}), ("RandomPosterize", {"bits": 3}),
    ("RandomResize", {"min_size": 9, "max_size": 20}), ("RandomResizedCrop", {"size": (9, 8)}),
    ("RandomRotation", {"degrees": 40}), ("RandomRotation", {"degrees": (30, 30), "expand": True}),
    ("RandomShortestSize", {"min_size": [9, 12, 15], "max_size": 18}),
    ("RandomSolarize", {"threshold": 100}), ("RandomZoomOut", {"fill": 4}),
    ("Resize", {"size": 10}), ("Resize", {"size": None, "max_size": 14}),
    ("SanitizeBoundingBoxes", {}), ("SanitizeBoundingBoxes", {"min_area": 60}),
    ("SanitizeKeyPoints", {}), ("ScaleJitter", {"target_size": (20, 20)}),
    ("SetClampingMode", {"clamping_mode": None}), ("ToDtype", {"dtype": "@float32", "scale": True}),
    ("ToImage", {}), ("ToPureTensor", {}), ("TrivialAugmentWide", {}),
    ("GaussianNoise", {}),
]  # fmt: skip

# Transforms of a batch (4, 3, H, W) and its labels.
BATCHES: list[tuple[str, dict[str, Any]]] = [
    ("MixUp", {"num_classes": 3}), ("MixUp", {"alpha": 0.4, "num_classes": 3}),
    ("CutMix", {"num_classes": 3}), ("CutMix", {"alpha": 2.0, "num_classes": 4}),
    ("Normalize", {"mean": [0.4, 0.5, 0.6], "std": [0.2, 0.3, 0.25]}),
    ("UniformTemporalSubsample", {"num_samples": 2}),
    ("LinearTransformation", {"transformation_matrix": "@matrix", "mean_vector": "@mean vector"}),
    ("GaussianNoise", {"mean": 0.1}),
]  # fmt: skip
# Transforms of a PIL image and of an array.
PICTURES: list[tuple[str, dict[str, Any]]] = [
    ("ToImage", {}), ("ToPILImage", {}), ("ToTensor", {}), ("PILToTensor", {}), ("RGB", {}),
    ("RandomErasing", {"p": 1.0}), ("GaussianBlur", {"kernel_size": 5}), ("JPEG", {"quality": 30}),
    ("RandomChannelPermutation", {}), ("Grayscale", {}), ("AugMix", {}), ("Resize", {"size": 9}),
]  # fmt: skip

# Transforms that refuse boxes and masks.
ALONE = ("AugMix", "AutoAugment", "RandAugment", "TrivialAugmentWide", "FiveCrop", "TenCrop")

# Transforms of the first module on a tensor and a PIL image.
FIRST: list[tuple[str, dict[str, Any]]] = [
    ("AugMix", {}), ("AutoAugment", {}), ("AutoAugment", {"policy": "@SVHN"}), ("RandAugment", {}),
    ("TrivialAugmentWide", {}), ("ElasticTransform", {}), ("GaussianBlur", {"kernel_size": 3}),
    ("RandomAdjustSharpness", {"sharpness_factor": 2.0}), ("RandomAutocontrast", {}),
    ("RandomAffine", {"degrees": 30, "translate": (0.1, 0.2), "scale": (0.7, 1.2), "shear": 10}),
    ("RandomEqualize", {}), ("RandomPerspective", {}), ("RandomPosterize", {"bits": 3}),
    ("RandomSolarize", {"threshold": 100}), ("RandomCrop", {"size": 9}),
    ("RandomResizedCrop", {"size": 9}), ("RandomRotation", {"degrees": 40}),
    ("ColorJitter", {"brightness": 0.3, "hue": 0.1}), ("RandomHorizontalFlip", {}),
    ("RandomVerticalFlip", {}), ("RandomInvert", {}), ("RandomGrayscale", {"p": 0.5}),
    ("CenterCrop", {"size": 9}), ("FiveCrop", {"size": 7}), ("TenCrop", {"size": 7}),
    ("Grayscale", {}), ("Pad", {"padding": 2}), ("Resize", {"size": 10}),
]  # fmt: skip


def argument(lib: Any, value: Any) -> Any:
    """What a case's value stands for."""
    if isinstance(value, dict):
        return {argument(lib, key): argument(lib, each) for key, each in value.items()}
    if not (isinstance(value, str) and value.startswith("@")):
        return value
    name = value[1:]
    rng = np.random.default_rng(5)
    if name == "displacement":
        moves = (rng.random((1, HEIGHT, WIDTH, 2), dtype=np.float32) - 0.5) * 0.2
        return lib.torch.tensor(moves)
    if name == "matrix":
        side = 3 * HEIGHT * WIDTH
        return lib.torch.tensor(rng.random((side, side), dtype=np.float32) / side)
    if name == "mean vector":
        return lib.torch.tensor(rng.random(3 * HEIGHT * WIDTH, dtype=np.float32))
    if name == "value":
        return lib.torch.tensor([[[9.0]], [[0.5]], [[3.0]]])
    for holder in (lib.v1.InterpolationMode, lib.v1.AutoAugmentPolicy, lib.tv):
        if hasattr(holder, name):
            return getattr(holder, name)
    return getattr(lib.torch, name)


def arguments(lib: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The keyword arguments of a case."""
    return {name: argument(lib, value) for name, value in options.items()}
