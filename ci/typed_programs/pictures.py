"""Pictures: transforms, data and models."""
# ruff: noqa: F821, D101, D103 - reveal_type is mypy's

import rushlight as torch
import rushlight_vision as torchvision
from rushlight.utils.data import DataLoader
from rushlight_vision import datasets, transforms
from rushlight_vision.models import resnet18
from rushlight_vision.transforms import v2

transform = transforms.Compose(
    [transforms.Resize(32), transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))]
)
data = datasets.FakeData(size=8, image_size=(3, 32, 32), num_classes=2, transform=transform)
loader = DataLoader(data, batch_size=4, shuffle=True)
model = resnet18(weights=None, num_classes=2)
reveal_type(model)  # note: "ResNet"
reveal_type(model(torch.ones(1, 3, 32, 32)))  # note: "Any"
for images, labels in loader:
    torch.nn.functional.cross_entropy(model(images), labels).backward()
both = v2.Compose([v2.RandomHorizontalFlip(p=0.5), v2.ToDtype(torch.float32, scale=True)])
reveal_type(torchvision.utils.make_grid(torch.ones(2, 3, 4, 4)))  # note: "Tensor"
reveal_type(torchvision.ops.nms(torch.ones(1, 4), torch.ones(1), 0.5))  # note: "Tensor"
reveal_type(len(data))  # note: "int"
