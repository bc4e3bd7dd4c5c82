"""grad-cam: maps of what a network looked at, by nine methods, smoothed, drawn, and measured."""

import numpy as np
import torch
from common import report
from pytorch_grad_cam import (
    AblationCAM,
    EigenCAM,
    EigenGradCAM,
    FullGrad,
    GradCAM,
    GradCAMElementWise,
    GradCAMPlusPlus,
    GuidedBackpropReLUModel,
    HiResCAM,
    LayerCAM,
    ScoreCAM,
    XGradCAM,
)
from pytorch_grad_cam.metrics.cam_mult_image import CamMultImageConfidenceChange
from pytorch_grad_cam.metrics.road import ROADMostRelevantFirst
from pytorch_grad_cam.utils.image import preprocess_image, show_cam_on_image
from pytorch_grad_cam.utils.model_targets import (
    ClassifierOutputSoftmaxTarget,
    ClassifierOutputTarget,
)
from torchvision.models import resnet18

METHODS = {
    "grad": GradCAM, "hires": HiResCAM, "elementwise": GradCAMElementWise, "plus": GradCAMPlusPlus,
    "xgrad": XGradCAM, "layer": LayerCAM, "eigen": EigenCAM, "eigen grad": EigenGradCAM,
    "full": FullGrad, "score": ScoreCAM, "ablation": AblationCAM,
}  # fmt: skip


def main():
    torch.manual_seed(0)
    net = resnet18(num_classes=6).eval()
    rows, columns = np.indices((48, 48))
    picture = (np.stack([rows, columns, rows + columns], -1) % 24 / 24).astype("float32")
    batch = preprocess_image(picture, mean=[0.5] * 3, std=[0.25] * 3)
    found = {"input": batch}
    for name, method in METHODS.items():
        with method(model=net, target_layers=[net.layer3[-1]]) as cam:
            cam.batch_size = 8
            grey = cam(input_tensor=batch, targets=[ClassifierOutputTarget(2)])
            found[name] = torch.from_numpy(np.ascontiguousarray(grey))
    with GradCAM(model=net, target_layers=[net.layer2[-1], net.layer3[-1]]) as cam:
        smooth = cam(batch, [ClassifierOutputTarget(2)], aug_smooth=True, eigen_smooth=True)
        found["smooth"] = torch.from_numpy(smooth)
        targets = [ClassifierOutputSoftmaxTarget(2)]
        scores = CamMultImageConfidenceChange()(batch, smooth, targets, net)
        found["change"] = [float(x) for x in scores]
        removed = ROADMostRelevantFirst(percentile=75)(batch, smooth, targets, net)
        found["removed"] = [float(x) for x in removed]
    drawn = show_cam_on_image(picture, smooth[0], use_rgb=True)
    found["drawn"] = torch.from_numpy(drawn).float().mean((0, 1)).round()
    guided = GuidedBackpropReLUModel(model=net, device="cpu")(batch, target_category=2)
    found["guided"] = torch.from_numpy(guided)
    report(**found)


main()
