"""torchio: volumes as subjects, spatial and intensity transforms, sampling of patches, queues."""

import random
import tempfile
from pathlib import Path

import numpy as np
import torch
import torchio as tio
from common import report, train


def subject(seed):
    torch.manual_seed(seed)
    volume = torch.rand(1, 18, 16, 14)
    return tio.Subject(
        scan=tio.ScalarImage(tensor=volume, affine=np.diag([1, 1, 2, 1])),
        label=tio.LabelMap(tensor=(volume > 0.5).int(), affine=np.diag([1, 1, 2, 1])),
    )


TRANSFORMS = {
    "resample": lambda: tio.Resample((1.5, 1.5, 1.5)),
    "canonical": lambda: tio.ToCanonical(),
    "crop or pad": lambda: tio.CropOrPad((12, 20, 10)),
    "rescale": lambda: tio.RescaleIntensity((0, 1), percentiles=(1, 99)),
    "normalize": lambda: tio.ZNormalization(),
    "flip": lambda: tio.RandomFlip(axes=(0, 1)),
    "noise": lambda: tio.RandomNoise(std=(0.1, 0.1)),
    "gamma": lambda: tio.RandomGamma(),
    "bias": lambda: tio.RandomBiasField(),
    "blur": lambda: tio.RandomBlur(),
    "affine": lambda: tio.RandomAffine(),
    "elastic": lambda: tio.RandomElasticDeformation(num_control_points=5, max_displacement=2),
    "motion": lambda: tio.RandomMotion(),
    "spike": lambda: tio.RandomSpike(),
    "ghosting": lambda: tio.RandomGhosting(),
    "one hot": lambda: tio.OneHot(2),
}


def shown(found):
    return [found.scan.data, found.label.data.float(), float(np.abs(found.scan.affine).sum())]


def main():
    found = {}
    for name, make in TRANSFORMS.items():
        torch.manual_seed(1)
        random.seed(1)
        np.random.seed(1)  # noqa: NPY002 - the library's own source
        found[name] = shown(make()(subject(0)))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scan.nii.gz"
        subject(2).scan.save(file)
        found["kept"] = tio.ScalarImage(file).data
    data = tio.SubjectsDataset([subject(i) for i in range(3)], transform=tio.ZNormalization())
    torch.manual_seed(3)
    queue = tio.Queue(data, 6, 3, tio.data.UniformSampler(8), num_workers=0, shuffle_subjects=False,
                      shuffle_patches=False)  # fmt: skip
    net = torch.nn.Conv3d(1, 1, 3, padding=1)
    found["losses"] = []
    for batch in tio.SubjectsLoader(queue, batch_size=3):
        patches, labels = batch["scan"][tio.DATA].float(), batch["label"][tio.DATA].float()
        score = torch.nn.functional.binary_cross_entropy_with_logits
        found["losses"].append(train(net, patches, lambda m, x, y=labels, own=score: own(m(x), y)))
    grid = tio.inference.GridSampler(data[0], 8, 4)
    whole = tio.inference.GridAggregator(grid, overlap_mode="hann")
    for batch in tio.SubjectsLoader(grid, batch_size=4):
        with torch.no_grad():
            whole.add_batch(net(batch["scan"][tio.DATA].float()), batch[tio.LOCATION])
    found["whole"] = whole.get_output_tensor()
    report(**found)


main()
