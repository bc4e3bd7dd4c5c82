"""Convolutional networks and a vision transformer."""

from __future__ import annotations


def lenet(library):
    """LeNet-5 on 28 x 28, batch 64."""
    nn = library.nn
    model = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip
    return model, classification(library, model, (64, 1, 28, 28), 10)


def cifar_cnn(library):
    """Three pairs of 3 x 3 convolutions with batch norm on 32 x 32, batch 32."""
    nn, layers, before = library.nn, [], 3
    for width in (32, 64, 128):
        for _ in range(2):
            layers += [nn.Conv2d(before, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
            before = width
        layers.append(nn.MaxPool2d(2))
    model = nn.Sequential(*layers, nn.Flatten(), nn.Dropout(0.2), nn.Linear(128 * 16, 10))
    return model, classification(library, model, (32, 3, 32, 32), 10)


def classification(library, model, shape, classes):
    """A loss on random images and labels."""
    images, labels = library.randn(*shape), library.randint(0, classes, shape[:1])
    return lambda: library.nn.functional.cross_entropy(model(images), labels)


def inference(library, model, shape):
    """The sum of a forward pass in eval mode, without a graph."""
    model.eval()
    images = library.randn(*shape)

    def forward():
        with library.inference_mode():
            return model(images).float().mean()

    return forward


def _convolution(nn, before, after, kernel, stride=1, groups=1):
    return nn.Conv2d(before, after, kernel, stride, kernel // 2, groups=groups, bias=False)


def _residual_block(nn, before, width, stride, wide):
    """A basic block, or with `wide` the bottleneck of ResNet-50, which is four times as wide."""

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            after = 4 * width if wide else width
            plan = [(before, width, 1, 1), (width, width, 3, stride), (width, after, 1, 1)]
            plan = plan if wide else [(before, width, 3, stride), (width, width, 3, 1)]
            layers = []
            for a, b, kernel, step in plan:
                layers += [_convolution(nn, a, b, kernel, step), nn.BatchNorm2d(b), nn.ReLU()]
            self.path = nn.Sequential(*layers[:-1])
            self.short = nn.Sequential()
            if stride > 1 or before != after:
                short = (_convolution(nn, before, after, 1, stride), nn.BatchNorm2d(after))
                self.short = nn.Sequential(*short)

        def forward(self, x):
            return nn.functional.relu(self.path(x) + self.short(x))

    return Block()


def _resnet(library, depths, wide, small, classes):
    nn = library.nn
    if small:  # the stem for 32 x 32 images
        layers = [_convolution(nn, 3, 64, 3), nn.BatchNorm2d(64), nn.ReLU()]
    else:
        layers = [_convolution(nn, 3, 64, 7, 2), nn.BatchNorm2d(64), nn.ReLU(),
                  nn.MaxPool2d(3, 2, 1)]  # fmt: skip
    before = 64
    for stage, depth in enumerate(depths):
        width = 64 << stage
        for i in range(depth):
            stride = 2 if stage and not i else 1
            layers.append(_residual_block(nn, before, width, stride, wide))
            before = 4 * width if wide else width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, classes))


def resnet18_cifar(library):
    """ResNet-18 on 32 x 32, batch 16."""
    model = _resnet(library, (2, 2, 2, 2), False, True, 10)
    return model, classification(library, model, (16, 3, 32, 32), 10)


def resnet18(library):
    """ResNet-18 on 224 x 224, batch 4."""
    model = _resnet(library, (2, 2, 2, 2), False, False, 1000)
    return model, classification(library, model, (4, 3, 224, 224), 1000)


def resnet50_inference(library):
    """ResNet-50 on 224 x 224, batch 2, forward only."""
    model = _resnet(library, (3, 4, 6, 3), True, False, 1000)
    return model, inference(library, model, (2, 3, 224, 224))


def mobilenet_v2(library):
    """MobileNetV2 on 96 x 96, batch 8."""
    nn = library.nn

    class Inverted(nn.Module):
        def __init__(self, before, after, stride, expansion):
            super().__init__()
            hidden = before * expansion
            layers = []
            if expansion > 1:
                layers += [_convolution(nn, before, hidden, 1), nn.BatchNorm2d(hidden), nn.ReLU6()]
            layers += [
                _convolution(nn, hidden, hidden, 3, stride, hidden), nn.BatchNorm2d(hidden),
                nn.ReLU6(), _convolution(nn, hidden, after, 1), nn.BatchNorm2d(after),
            ]  # fmt: skip
            self.path, self.joined = nn.Sequential(*layers), stride == 1 and before == after

        def forward(self, x):
            return x + self.path(x) if self.joined else self.path(x)

    layers, before = [_convolution(nn, 3, 32, 3, 2), nn.BatchNorm2d(32), nn.ReLU6()], 32
    rows = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
            (6, 160, 3, 2), (6, 320, 1, 1))  # fmt: skip
    for expansion, after, count, stride in rows:
        for i in range(count):
            layers.append(Inverted(before, after, 1 if i else stride, expansion))
            before = after
    layers += [_convolution(nn, before, 1280, 1), nn.BatchNorm2d(1280), nn.ReLU6(),
               nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 100)]  # fmt: skip
    model = nn.Sequential(*layers)
    return model, classification(library, model, (8, 3, 96, 96), 100)


def unet(library):
    """A U-Net of three levels on 64 x 64, batch 4, binary cross entropy."""
    nn = library.nn

    def double(before, after):
        return nn.Sequential(
            nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(),
            nn.Conv2d(after, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(),
        )  # fmt: skip

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.down1, self.down2, self.bottom = double(3, 32), double(32, 64), double(64, 128)
            self.up2, self.join2 = nn.ConvTranspose2d(128, 64, 2, 2), double(128, 64)
            self.up1, self.join1 = nn.ConvTranspose2d(64, 32, 2, 2), double(64, 32)
            self.head = nn.Conv2d(32, 1, 1)

        def forward(self, x):
            pool = nn.functional.max_pool2d
            first = self.down1(x)
            second = self.down2(pool(first, 2))
            x = self.up2(self.bottom(pool(second, 2)))
            x = self.up1(self.join2(library.cat([second, x], 1)))
            return self.head(self.join1(library.cat([first, x], 1)))

    model = UNet()
    images, masks = library.randn(4, 3, 64, 64), (library.rand(4, 1, 64, 64) > 0.5).float()
    loss_of = nn.functional.binary_cross_entropy_with_logits
    return model, lambda: loss_of(model(images), masks)


def vit_tiny(library):
    """A vision transformer: patches of 4 on 32 x 32, width 192, 3 heads, 6 layers, batch 16."""
    nn = library.nn

    class ViT(nn.Module):
        def __init__(self):
            super().__init__()
            self.patches = nn.Conv2d(3, 192, 4, 4)
            self.cls = nn.Parameter(library.zeros(1, 1, 192))
            self.places = nn.Parameter(library.randn(1, 65, 192) * 0.02)
            layer = nn.TransformerEncoderLayer(
                192, 3, 768, 0.0, "gelu", batch_first=True, norm_first=True
            )
            self.encoder = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
            self.norm, self.head = nn.LayerNorm(192), nn.Linear(192, 10)

        def forward(self, x):
            x = self.patches(x).flatten(2).transpose(1, 2)
            x = library.cat([self.cls.expand(x.shape[0], -1, -1), x], 1) + self.places
            return self.head(self.norm(self.encoder(x)[:, 0]))

    model = ViT()
    return model, classification(library, model, (16, 3, 32, 32), 10)
