"""Networks with quantized weights: torchvision's names, which refuse.

Rushlight has no quantized tensors. The same networks with float weights are in
`rushlight_vision.models`; ``model.half()`` and ``rushlight.amp.autocast`` make them smaller and
faster.
"""

from __future__ import annotations

from typing import Any, NoReturn

_BUILDERS = (
    "googlenet", "inception_v3", "mobilenet_v2", "mobilenet_v3_large", "resnet18", "resnet50",
    "resnext101_32x8d", "resnext101_64x4d", "shufflenet_v2_x0_5", "shufflenet_v2_x1_0",
    "shufflenet_v2_x1_5", "shufflenet_v2_x2_0",
)  # fmt: skip
_CLASSES = {
    "QuantizableGoogLeNet": "GoogLeNet",
    "QuantizableInception3": "Inception3",
    "QuantizableMobileNetV2": "MobileNetV2",
    "QuantizableMobileNetV3": "MobileNetV3",
    "QuantizableResNet": "ResNet",
    "QuantizableShuffleNetV2": "ShuffleNetV2",
}
_WEIGHTS = (
    "GoogLeNet", "Inception_V3", "MobileNet_V2", "MobileNet_V3_Large", "ResNeXt101_32X8D",
    "ResNeXt101_64X4D", "ResNet18", "ResNet50", "ShuffleNet_V2_X0_5", "ShuffleNet_V2_X1_0",
    "ShuffleNet_V2_X1_5", "ShuffleNet_V2_X2_0",
)  # fmt: skip


class Refused:
    """A name that is there and raises NotImplementedError, with what to use, when it is used."""

    def __init__(self, name: str, instead: str) -> None:
        self.__name__ = name
        self._instead = instead

    def _refuse(self) -> NoReturn:
        raise NotImplementedError(
            f"models.quantization.{self.__name__}: there are no quantized tensors; use "
            f"{self._instead}, with model.half() or amp.autocast where it shall be smaller or "
            "faster"
        )

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        self._refuse()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()

    def __repr__(self) -> str:
        return f"<refused: models.quantization.{self.__name__}>"


_REFUSED = {
    **{name: f"models.{name}" for name in _BUILDERS},
    **{name: f"models.{plain}" for name, plain in _CLASSES.items()},
    **{f"{name}_QuantizedWeights": f"models.{name}_Weights" for name in _WEIGHTS},
}

globals().update({name: Refused(name, instead) for name, instead in _REFUSED.items()})
__all__ = list(_REFUSED)
