"""Give a picture the texture of another: Gram matrices of a fixed network, L-BFGS on pixels."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Normalization(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.mean = torch.tensor(mean).view(-1, 1, 1)
        self.std = torch.tensor(std).view(-1, 1, 1)

    def forward(self, img):
        return (img - self.mean) / self.std


class ContentLoss(nn.Module):
    def __init__(self, target):
        super().__init__()
        self.target = target.detach()

    def forward(self, x):
        self.loss = F.mse_loss(x, self.target)
        return x


def gram_matrix(x):
    n, c, h, w = x.size()
    features = x.view(n * c, h * w)
    return torch.mm(features, features.t()).div(n * c * h * w)


class StyleLoss(nn.Module):
    def __init__(self, target):
        super().__init__()
        self.target = gram_matrix(target).detach()

    def forward(self, x):
        self.loss = F.mse_loss(gram_matrix(x), self.target)
        return x


def features():
    """random filters do for small pictures"""
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(inplace=True),
        nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(inplace=True), nn.AvgPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(inplace=True),
    )  # fmt: skip


def build(cnn, style, content, content_layers=("conv_3",), style_layers=("conv_1", "conv_2")):
    model = nn.Sequential(Normalization([0.5, 0.5, 0.5], [0.25, 0.25, 0.25]))
    content_losses, style_losses, i = [], [], 0
    for layer in cnn.children():
        if isinstance(layer, nn.Conv2d):
            i += 1
            name = f"conv_{i}"
        elif isinstance(layer, nn.ReLU):
            name, layer = f"relu_{i}", nn.ReLU(inplace=False)
        elif isinstance(layer, nn.AvgPool2d):
            name = f"pool_{i}"
        else:
            raise RuntimeError(f"Unrecognized layer: {layer.__class__.__name__}")
        model.add_module(name, layer)
        if name in content_layers:
            content_losses.append(ContentLoss(model(content)))
            model.add_module(f"content_loss_{i}", content_losses[-1])
        if name in style_layers:
            style_losses.append(StyleLoss(model(style)))
            model.add_module(f"style_loss_{i}", style_losses[-1])
    for i in range(len(model) - 1, -1, -1):
        if isinstance(model[i], (ContentLoss, StyleLoss)):
            break
    return model[: i + 1], style_losses, content_losses


def pictures(size=32):
    y, x = torch.meshgrid(torch.linspace(-1, 1, size), torch.linspace(-1, 1, size), indexing="ij")
    disc = torch.where(x**2 + y**2 < 0.5, 1.0, 0.0)
    content = torch.stack([disc, 0.5 * (x + 1), 0.3 + 0.2 * y]).unsqueeze(0)
    waves = [torch.sin(12 * x + k).mul(0.5).add(0.5) * (0.6 + 0.2 * k) for k in range(3)]
    return content, torch.stack(waves).unsqueeze(0).clamp(0, 1)


# L-BFGS from a start whose content loss is 0 enlarges roundings: in float32 a change of the
# picture by 1e-7 changes the fifteenth loss by 1 %. In float64 every run follows the same path.
torch.set_default_dtype(torch.float64)
torch.manual_seed(10)
content_img, style_img = pictures()
cnn = features().eval().requires_grad_(False)
model, style_losses, content_losses = build(cnn, style_img, content_img)
model.eval().requires_grad_(False)
print([name for name, _ in model.named_children()])
input_img = content_img.clone().requires_grad_(True)
optimizer = torch.optim.LBFGS([input_img], lr=0.3, max_iter=5, history_size=10)
run = [0]
while run[0] < 40:

    def closure():
        with torch.no_grad():
            input_img.clamp_(0, 1)
        optimizer.zero_grad()
        model(input_img)
        style_score = sum(sl.loss for sl in style_losses) * 1e4
        content_score = sum(cl.loss for cl in content_losses)
        loss = style_score + content_score
        loss.backward()
        print(f"loss {run[0]} {loss.item():.7f} style {style_score.item():.4f}")
        run[0] += 1
        return style_score + content_score

    optimizer.step(closure)
with torch.no_grad():
    input_img.clamp_(0, 1)
print(f"quality mean {input_img.mean().item():.2f}")
