"""ultralytics: a YOLO built from its description, its loss, and prediction."""

import torch
from common import report
from ultralytics.cfg import get_cfg
from ultralytics.nn.tasks import ClassificationModel, DetectionModel
from ultralytics.utils.nms import non_max_suppression


def main():
    torch.manual_seed(0)
    found = {}
    model = DetectionModel("yolov8n.yaml", nc=3, verbose=False)
    model.args = get_cfg()
    images = torch.rand(2, 3, 64, 64)
    batch = {
        "img": images, "batch_idx": torch.tensor([0.0, 1.0, 1.0]),
        "cls": torch.tensor([[0.0], [2.0], [1.0]]),
        "bboxes": torch.tensor([[0.5, 0.5, 0.4, 0.4], [0.3, 0.3, 0.2, 0.3], [0.7, 0.6, 0.3, 0.2]]),
    }  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    model.train()
    losses = []
    for _ in range(2):
        optimizer.zero_grad()
        loss, parts = model(batch)
        loss.sum().backward()
        optimizer.step()
        losses.append(parts)
    found["losses"] = losses
    model.eval()
    with torch.no_grad():
        out = model(images)[0]
    found["out"] = out
    kept = non_max_suppression(out, conf_thres=0.0, iou_thres=0.5, max_det=5)
    found["boxes"] = [k[:, :5] for k in kept]
    fused = model.fuse(verbose=False)
    with torch.no_grad():
        found["fused"] = bool((fused(images)[0] - out).abs().max() < 1e-2)
    torch.manual_seed(1)
    classes = ClassificationModel("yolov8n-cls.yaml", nc=4, verbose=False).eval()
    found["classes"] = classes(images)[0] if isinstance(classes(images), tuple) else classes(images)
    report(**found)


main()
