"""Neural style: loss layers put into a Sequential, an image optimised by L-BFGS, clamped in place."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class ContentLoss(nn.Module):
    def __init__(self, target):
        super(ContentLoss, self).__init__()
        self.target = target.detach()

    def forward(self, input):
        self.loss = F.mse_loss(input, self.target)
        return input


def gram_matrix(input):
    a, b, c, d = input.size()
    features = input.view(a * b, c * d)
    return torch.mm(features, features.t()).div(a * b * c * d)


class StyleLoss(nn.Module):
    def __init__(self, target_feature):
        super(StyleLoss, self).__init__()
        self.target = gram_matrix(target_feature).detach()

    def forward(self, input):
        self.loss = F.mse_loss(gram_matrix(input), self.target)
        return input


class Normalization(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.mean = mean.clone().detach().view(-1, 1, 1)
        self.std = std.clone().detach().view(-1, 1, 1)

    def forward(self, img):
        return (img - self.mean) / self.std


torch.set_default_dtype(torch.float64)  # L-BFGS magnifies the last bits
torch.manual_seed(5)
cnn = nn.Sequential(
    nn.Conv2d(3, 8, 3, padding=1),
    nn.ReLU(inplace=True),
    nn.Conv2d(8, 8, 3, padding=1),
    nn.ReLU(inplace=True),
    nn.MaxPool2d(2),
    nn.Conv2d(8, 12, 3, padding=1),
    nn.ReLU(inplace=True),
).eval()
y, x = torch.meshgrid(torch.linspace(0, 1, 16), torch.linspace(0, 1, 16), indexing="ij")
content_img = torch.stack([x, y, (x + y) / 2]).unsqueeze(0)
style_img = torch.stack([torch.sin(20 * x), torch.sin(20 * y), torch.cos(20 * x)])[None] * 0.5 + 0.5

model = nn.Sequential(
    Normalization(torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225]))
)
content_losses, style_losses, i = [], [], 0
for layer in copy.deepcopy(cnn).children():
    if isinstance(layer, nn.Conv2d):
        i += 1
        name = "conv_{}".format(i)
    elif isinstance(layer, nn.ReLU):
        name = "relu_{}".format(i)
        layer = nn.ReLU(inplace=False)
    else:
        name = "pool_{}".format(i)
    model.add_module(name, layer)
    if name in ["conv_2"]:
        content_losses.append(ContentLoss(model(content_img).detach()))
        model.add_module("content_loss_{}".format(i), content_losses[-1])
    if name.startswith("conv"):
        style_losses.append(StyleLoss(model(style_img).detach()))
        model.add_module("style_loss_{}".format(i), style_losses[-1])
input_img = content_img.clone()
input_img.requires_grad_(True)
model.eval()
model.requires_grad_(False)
optimizer = torch.optim.LBFGS([input_img], line_search_fn="strong_wolfe")
run, scores = [0], []
while run[0] <= 20:

    def closure():
        with torch.no_grad():
            input_img.clamp_(0, 1)
        optimizer.zero_grad()
        model(input_img)
        style_score = content_score = 0
        for sl in style_losses:
            style_score += sl.loss
        for cl in content_losses:
            content_score += cl.loss
        loss = 100 * style_score + content_score
        loss.backward()
        run[0] += 1
        scores.append(loss.item())
        return 100 * style_score + content_score

    optimizer.step(closure)
with torch.no_grad():
    input_img.clamp_(0, 1)
print("first = %.6g" % scores[0])
print("third = %.6g" % scores[2])
print("last = %.6g" % scores[-1])
print("layers =", len(model))
