"""Mistakes in programs on the sister packages: misspelt names, wrong arguments, wrong results."""
# ruff: noqa: D103 - a user's program

import rushlight as torch
import rushlight_audio as torchaudio
import rushlight_text as torchtext
import rushlight_vision as torchvision
from lightning_lite import LightningModule, Trainer
from rushlight_vision import ops

image = torch.rand(3, 8, 8)
torchvision.models.resnet19()  # error: Module has no attribute "resnet19"
torchvision.transforms.Resize("large")  # error: Argument 1 to "Resize" has incompatible type "str"
ops.nms(image, image, "0.5")  # error: Argument 3 to "nms" has incompatible type "str"

torchaudio.functional.resample(image, 8, "4")  # error: Argument 3 to "resample" has incompatible
torchaudio.transforms.MelSpectogram()  # error: Module has no attribute "MelSpectogram"

torchtext.vocab.vocabulary({})  # error: Module has no attribute "vocabulary"
torchtext.data.utils.ngrams_iterator(["a"], "2")  # error: Argument 2 to "ngrams_iterator" has

Trainer(max_epoch=1)  # error: Unexpected keyword argument "max_epoch" for "Trainer"
Trainer(max_epochs="one")  # error: Argument "max_epochs" to "Trainer" has incompatible type "str"
Trainer().fitt(LightningModule())  # error: "Trainer" has no attribute "fitt"


def rate(waveform: torch.Tensor) -> int:
    return torchaudio.functional.resample(waveform, 8, 4)  # error: Incompatible return value type


def boxes(count: torch.Tensor) -> str:
    return ops.box_area(count)  # error: Incompatible return value type
