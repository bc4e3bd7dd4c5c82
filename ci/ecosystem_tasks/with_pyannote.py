"""pyannote.audio: networks of segmentation and of speakers trained, saved and loaded, losses."""

import torch
from common import reloaded, report, train
from pyannote.audio.core.task import Problem, Resolution, Specifications
from pyannote.audio.models.embedding import XVectorSincNet
from pyannote.audio.models.segmentation import PyanNet
from pyannote.audio.utils.loss import binary_cross_entropy, nll_loss
from pyannote.audio.utils.permutation import permutate
from pyannote.audio.utils.powerset import Powerset


def segmenting():
    model = PyanNet(
        lstm={"hidden_size": 16, "num_layers": 1, "dropout": 0.0},
        linear={"hidden_size": 12, "num_layers": 1},
    )
    model.specifications = Specifications(
        problem=Problem.MONO_LABEL_CLASSIFICATION, resolution=Resolution.FRAME, duration=1.0,
        classes=["a", "b", "c"], powerset_max_classes=2, permutation_invariant=True,
    )  # fmt: skip
    model.build()
    return model


def main():
    found, sound = {}, torch.randn(2, 1, 16000) * 0.1
    model = segmenting()
    powerset = Powerset(3, 2)
    frames = model.num_frames(16000)
    window = model.receptive_field
    found["frames"] = frames, window.start, window.step, window.duration
    speakers = (torch.arange(2 * frames * 3).view(2, frames, 3) // 40 % 3 == 0).float()
    labels = powerset.to_powerset(speakers).argmax(-1)
    found["labels"] = labels
    found["losses"] = train(model, sound, lambda m, x: nll_loss(m(x), labels))
    model.eval()
    scores = model(sound)
    found["scores"], found["speakers"] = scores, powerset.to_multilabel(scores)
    permuted, order = permutate(speakers, speakers[..., [2, 0, 1]])
    found["permuted"] = permuted, [[int(i) for i in each] for each in order]
    found["binary"] = binary_cross_entropy(speakers * 0.6 + 0.2, speakers)
    found["reloaded"] = reloaded(model, segmenting).eval()(sound)
    torch.manual_seed(2)
    embedding = XVectorSincNet(dimension=24).eval()
    found["embedding"] = embedding(sound, weights=torch.rand(2, 40))
    report(**found)


torch.manual_seed(0)
main()
