"""The wheel of rushlight-vision, installed alone: a version, an image, its mean, its label."""

import sys

import rushlight as rl
import rushlight_vision
from rushlight_vision import models
from rushlight_vision.datasets import DigitsSample

expected = sys.argv[1]
if rushlight_vision.__version__ != expected:
    raise SystemExit(f"version {rushlight_vision.__version__}, expected {expected}")
digits = DigitsSample(split="test")
image, label = digits[0]
if len(digits) != 1000 or image.size != (28, 28) or label not in range(10):
    raise SystemExit(f"{len(digits)} digits, the first {image.size} of class {label}")
ink = digits.data.to(rl.float32).mean().item()
if not 20 < ink < 50:
    raise SystemExit(f"mean of all pixels {ink}, expected about 33")
weights = models.get_model_weights("digits_cnn").DEFAULT
reader = models.get_model("digits_cnn", weights=weights).eval()
with rl.no_grad():
    said = int(reader(weights.transforms()(image).unsqueeze(0)).argmax())
if said != label:
    raise SystemExit(f"digits_cnn reads {said} where {label} is written")
