"""lightly: losses of learning without labels, heads, a memory bank, momentum, masked tokens."""

import torch
from common import report, train
from lightly import loss
from lightly.models import modules
from lightly.models import utils as models
from lightly.utils import scheduler
from torch import nn

HEADS = {
    "simclr": lambda: modules.SimCLRProjectionHead(8, 8, 6),
    "byol": lambda: modules.BYOLProjectionHead(8, 8, 6),
    "barlow": lambda: modules.BarlowTwinsProjectionHead(8, 8, 6),
    "swav": lambda: modules.SwaVProjectionHead(8, 8, 6),
    "dino": lambda: modules.DINOProjectionHead(8, 8, 4, 6),
}
PAIRS = {
    "contrast": lambda: loss.NTXentLoss(),
    "with a bank": lambda: loss.NTXentLoss(memory_bank_size=(16, 6)),
    "barlow": lambda: loss.BarlowTwinsLoss(),
    "vicreg": lambda: loss.VICRegLoss(),
    "cosine": lambda: loss.NegativeCosineSimilarity(),
    "decoupled": lambda: loss.DCLLoss(),
    "weighted": lambda: loss.DCLWLoss(),
    "tico": lambda: loss.TiCoLoss(),
    "mmcr": lambda: loss.MMCRLoss(),
}


def main():
    found = {}
    for name, make in PAIRS.items():
        torch.manual_seed(1)
        first, second = torch.randn(5, 6, requires_grad=True), torch.randn(5, 6)
        own = make()
        value = own(first, second) if name != "mmcr" else own(first[:, None], second[:, None])
        value.backward()
        found[name] = [value, first.grad]
    for name, make in HEADS.items():
        torch.manual_seed(2)
        found[f"head of {name}"] = make()(torch.randn(5, 8))
    torch.manual_seed(3)
    prototypes = modules.SwaVPrototypes(6, 4)
    high = [prototypes(torch.randn(8, 6)) for _ in range(2)]
    found["swav"] = loss.SwaVLoss()(high, [prototypes(torch.randn(8, 6))])
    teacher = [torch.randn(4, 6) for _ in range(2)]
    student = [torch.randn(4, 6) for _ in range(4)]
    own = loss.DINOLoss(output_dim=6)
    found["dino"] = [own(teacher, student, epoch=0), own.center]
    torch.manual_seed(4)
    net = nn.Sequential(nn.Conv2d(3, 4, 3, stride=2), nn.BatchNorm2d(4), nn.ReLU(),
                        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 8))  # fmt: skip
    head, views = HEADS["simclr"](), torch.rand(2, 6, 3, 12, 12)
    both = nn.Sequential(net, head)
    contrast = loss.NTXentLoss(temperature=0.5)
    found["losses"] = train(both, views, lambda m, x: contrast(m(x[0]), m(x[1])))
    slow = nn.Linear(3, 3)
    models.deactivate_requires_grad(slow)
    models.update_momentum(nn.Linear(3, 3), slow, 0.9)
    found["slow"] = [slow.weight, float(slow.weight.requires_grad)]
    found["schedule"] = [scheduler.cosine_schedule(i, 10, 1.0, 0.1) for i in range(10)]
    kept, masked = models.random_token_mask((2, 9), mask_ratio=0.5)
    tokens = torch.randn(2, 9, 4)
    found["masked"] = [models.get_at_index(tokens, kept), models.patchify(views[0], 4)]
    found["set"] = models.set_at_index(tokens, masked, torch.zeros(2, masked.shape[1], 4))
    report(**found)


main()
