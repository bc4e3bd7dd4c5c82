"""kornia: filters, geometry, colours, augmentation, gradients."""

import kornia
import kornia.augmentation as K
import torch
from common import report


def main():
    torch.manual_seed(0)
    images = torch.rand(2, 3, 32, 40)
    found = {
        "blur": kornia.filters.gaussian_blur2d(images, (5, 5), (1.5, 1.5)),
        "sobel": kornia.filters.sobel(images),
        "median": kornia.filters.median_blur(images, (3, 3)),
        "canny": kornia.filters.canny(images)[0],
        "hsv": kornia.color.rgb_to_hsv(images),
        "lab": kornia.color.rgb_to_lab(images),
        "rotated": kornia.geometry.transform.rotate(images, torch.tensor([20.0, -35.0])),
        "resized": kornia.geometry.transform.resize(images, (20, 24), antialias=True),
        "pyramid": kornia.geometry.transform.pyrdown(images),
        "dilated": kornia.morphology.dilation(images, torch.ones(3, 3)),
        "harris": kornia.feature.harris_response(images),
        "ssim": kornia.metrics.ssim(images, images.flip(-1), 5).mean(),
        "equalized": kornia.enhance.equalize(images),
        "undistorted": kornia.geometry.calibration.undistort_points(
            torch.rand(1, 5, 2), torch.eye(3)[None], torch.rand(1, 4) / 10
        ),
    }
    source = torch.tensor([[[0.0, 0.0], [39.0, 0.0], [39.0, 31.0], [0.0, 31.0]]])
    target = source + torch.tensor([[[2.0, 1.0], [-3.0, 2.0], [0.0, -4.0], [1.0, 1.0]]])
    matrix = kornia.geometry.transform.get_perspective_transform(source, target)
    found["perspective"] = matrix
    found["warped"] = kornia.geometry.transform.warp_perspective(
        images, matrix.expand(2, -1, -1), (32, 40)
    )
    augment = K.AugmentationSequential(
        K.RandomHorizontalFlip(p=0.5), K.ColorJitter(0.2, 0.2, 0.2, 0.1, p=1.0),
        K.RandomAffine(15.0, p=1.0), K.RandomErasing(p=1.0), data_keys=["input", "mask"],
    )  # fmt: skip
    torch.manual_seed(1)
    found["augmented"], found["mask"] = augment(images, (images > 0.5).float())
    moved = images.clone().requires_grad_()
    kornia.filters.unsharp_mask(moved, (3, 3), (1.0, 1.0)).square().sum().backward()
    found["gradient"] = moved.grad
    report(**found)


main()
