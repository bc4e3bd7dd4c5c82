"""Random transforms draw from the default generator, in torchvision's order.

The expected draws are written out with the calls that torchvision documents; where PyTorch is
installed the same calls on its generator give the same numbers.
"""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from pictures import picture, planes

import rushlight as rl
from rushlight_vision import transforms as T
from rushlight_vision.transforms import functional as F


def next_draw():
    """The generator's next number: equal ones mean equally many draws before."""
    return float(rl.rand(1))


def crop_draws(library, height, width, new_height, new_width):
    """Top and left of RandomCrop."""
    top = library.randint(0, height - new_height + 1, size=(1,)).item()
    left = library.randint(0, width - new_width + 1, size=(1,)).item()
    return top, left


def part_draws(library, height, width, scale, ratio):
    """Box of RandomResizedCrop."""
    logarithms = library.log(library.tensor(ratio))
    for _ in range(10):
        area = height * width * library.empty(1).uniform_(scale[0], scale[1]).item()
        low, high = float(logarithms[0]), float(logarithms[1])
        aspect = library.exp(library.empty(1).uniform_(low, high)).item()
        w, h = int(round(math.sqrt(area * aspect))), int(round(math.sqrt(area / aspect)))
        if 0 < w <= width and 0 < h <= height:
            top = library.randint(0, height - h + 1, size=(1,)).item()
            left = library.randint(0, width - w + 1, size=(1,)).item()
            return top, left, h, w
    return None


def erase_draws(library, height, width, scale, ratio):
    """Box of RandomErasing."""
    logarithms = library.log(library.tensor(ratio))
    for _ in range(10):
        area = height * width * library.empty(1).uniform_(scale[0], scale[1]).item()
        low, high = float(logarithms[0]), float(logarithms[1])
        aspect = library.exp(library.empty(1).uniform_(low, high)).item()
        h, w = int(round(math.sqrt(area * aspect))), int(round(math.sqrt(area / aspect)))
        if h < height and w < width:
            row = library.randint(0, height - h + 1, size=(1,)).item()
            return row, library.randint(0, width - w + 1, size=(1,)).item(), h, w
    return None


@pytest.mark.parametrize("seed", range(4))
def test_random_crop(seed):
    for image in (picture(), planes()):
        rl.manual_seed(seed)
        result = T.RandomCrop((10, 12), padding=2)(image)
        after = next_draw()
        rl.manual_seed(seed)
        top, left = crop_draws(rl, 27, 35, 10, 12)
        assert next_draw() == after
        expected = F.crop(F.pad(image, 2), top, left, 10, 12)
        assert np.array_equal(np.asarray(result), np.asarray(expected))


def test_random_crop_pads_only_if_needed():
    result = T.RandomCrop((30, 40), pad_if_needed=True, padding_mode="edge")(picture())
    assert result.size == (40, 30)
    assert T.RandomCrop(10, pad_if_needed=True)(planes()).shape == (3, 10, 10)
    with pytest.raises(ValueError, match=r"crop \(30, 40\) is larger than the image \(23, 31\)"):
        T.RandomCrop((30, 40))(picture())


def test_a_crop_of_the_whole_image_draws_nothing():
    rl.manual_seed(3)
    expected = next_draw()
    rl.manual_seed(3)
    assert rl.equal(T.RandomCrop((23, 31))(planes()), planes())
    assert next_draw() == expected


@pytest.mark.parametrize("seed", range(4))
def test_random_resized_crop(seed):
    transform = T.RandomResizedCrop((8, 9), scale=(0.3, 1.0))
    rl.manual_seed(seed)
    result = transform(planes())
    after = next_draw()
    rl.manual_seed(seed)
    box = part_draws(rl, 23, 31, (0.3, 1.0), (3 / 4, 4 / 3))
    assert next_draw() == after
    assert result.shape == (3, 8, 9)
    assert rl.equal(result, F.resized_crop(planes(), *box, (8, 9)))


@pytest.mark.parametrize(
    ("shape", "box"),
    [((4, 100), (0, 47, 4, 5)), ((100, 4), (47, 0, 5, 4)), ((9, 10), (0, 0, 9, 10))],
)
def test_what_never_fits_takes_the_middle(shape, box):
    get_params = T.RandomResizedCrop.get_params
    assert get_params(rl.zeros(1, *shape), (5.0, 6.0), (3 / 4, 4 / 3)) == box


def test_flips_follow_rand():
    for transform, flip in (
        (T.RandomHorizontalFlip(0.4), F.hflip),
        (T.RandomVerticalFlip(0.4), F.vflip),
    ):
        rl.manual_seed(1)
        draws = rl.stack([rl.rand(1) for _ in range(30)]).flatten().tolist()
        assert 0 < sum(draw < 0.4 for draw in draws) < 30
        rl.manual_seed(1)
        for draw in draws:
            expected = flip(planes()) if draw < 0.4 else planes()
            assert rl.equal(transform(planes()), expected)
    assert rl.equal(T.RandomHorizontalFlip(p=1.0)(planes()), F.hflip(planes()))
    assert rl.equal(T.RandomHorizontalFlip(p=0.0)(planes()), planes())


@pytest.mark.parametrize("seed", range(4))
def test_color_jitter(seed):
    rl.manual_seed(seed)
    result = T.ColorJitter(0.3, 0.4, (0.5, 2.0), 0.1)(planes())
    after = next_draw()
    rl.manual_seed(seed)
    order = rl.randperm(4).tolist()
    bounds = ((0.7, 1.3), (0.6, 1.4), (0.5, 2.0), (-0.1, 0.1))
    factors = [rl.empty(1).uniform_(low, high).item() for low, high in bounds]
    assert next_draw() == after
    image = planes()
    changes = [F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue]
    for number in order:
        image = changes[number](image, factors[number])
    assert rl.equal(result, image)


def test_a_jitter_that_is_off_draws_only_the_order():
    jitter = T.ColorJitter(brightness=2)
    assert jitter.brightness == (0.0, 3.0) and jitter.hue is None
    rl.manual_seed(0)
    assert rl.equal(T.ColorJitter()(planes()), planes())
    after = next_draw()
    rl.manual_seed(0)
    rl.randperm(4)
    assert next_draw() == after


def test_random_rotation():
    rl.manual_seed(5)
    result = T.RandomRotation(30, fill=9)(picture())
    rl.manual_seed(5)
    angle = rl.empty(1).uniform_(-30.0, 30.0).item()
    assert result.tobytes() == F.rotate(picture(), angle, fill=9).tobytes()
    assert T.RandomRotation((10, 20)).degrees == [10.0, 20.0]
    with pytest.raises(ValueError, match="must not be negative"):
        T.RandomRotation(-3)
    with pytest.raises(TypeError, match="one or two numbers"):
        T.RandomRotation((1, 2, 3))


@pytest.mark.parametrize("seed", range(4))
def test_random_erasing(seed):
    image = planes(dtype=rl.float32) + 1
    rl.manual_seed(seed)
    result = T.RandomErasing(p=1.0)(image)
    after = next_draw()
    rl.manual_seed(seed)
    rl.rand(1)
    row, column, h, w = erase_draws(rl, 23, 31, (0.02, 0.33), (0.3, 3.3))
    assert next_draw() == after
    expected = image.clone()
    expected[:, row : row + h, column : column + w] = 0
    assert rl.equal(result, expected)
    assert float(image.min()) >= 1  # the image itself is untouched


def test_what_is_written():
    image = rl.zeros(3, 20, 20)
    colours = T.RandomErasing(1.0, value=(1.0, 2.0, 3.0))(image)
    assert [float(plane.max()) for plane in colours] == [1.0, 2.0, 3.0]
    noise = T.RandomErasing(1.0, value="random")(image)
    assert len(set(noise[noise != 0].tolist())) > 5
    assert T.RandomErasing(1.0, value=5, inplace=True)(image) is image
    assert float(image.max()) == 5
    assert T.RandomErasing(0.0)(image) is image
    assert T.RandomErasing(1.0, scale=(1.0, 1.0), ratio=(1.0, 1.0), value=7)(image).equal(image)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"value": "zeros"}, ValueError, "the only word is 'random'"),
        ({"value": {}}, TypeError, "expected a number"),
        ({"scale": (0.5, 2.0)}, ValueError, "between 0 and 1"),
        ({"p": 2}, ValueError, "p 2 should lie"),
        ({"ratio": 1}, TypeError, "ratio 1; expected two numbers"),
    ],
)
def test_unfit_erasings_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        T.RandomErasing(**arguments)


def test_erasing_wants_tensors_with_matching_channels():
    with pytest.raises(TypeError, match="put it after ToTensor"):
        T.RandomErasing(1.0)(picture())
    with pytest.raises(ValueError, match="holds 2 numbers; expected 1 or the 3 channels"):
        T.RandomErasing(1.0, value=(1, 2))(planes())


def test_random_apply_and_grey():
    double = T.Lambda(lambda image: image * 2)
    assert T.RandomApply([double, double], p=1.0)(3) == 12
    rl.manual_seed(2)
    draws = [next_draw() for _ in range(20)]
    rl.manual_seed(2)
    applied = [T.RandomApply([double], p=0.5)(1) == 2 for _ in draws]
    assert applied == [not 0.5 < draw for draw in draws]
    assert T.RandomGrayscale(1.0)(picture()).mode == "RGB"
    assert rl.equal(T.RandomInvert(1.0)(planes()), 255 - planes())


def test_composition():
    both = T.Compose([T.Resize(10), T.ToTensor()])
    assert both(picture()).shape == (3, 10, 13)
    assert repr(both) == (
        "Compose(\n    Resize(size=10, interpolation=bilinear, max_size=None, antialias=True)\n"
        "    ToTensor()\n)"
    )
    random.seed(0)
    steps = [T.Lambda(lambda word: word + "a"), T.Lambda(lambda word: word + "b")]
    assert {T.RandomOrder(steps)("") for _ in range(20)} == {"ab", "ba"}
    assert {T.RandomChoice(steps)("") for _ in range(20)} == {"a", "b"}
    assert {T.RandomChoice(steps, p=[0, 1])("") for _ in range(20)} == {"b"}
    with pytest.raises(TypeError, match="expected a function, got int"):
        T.Lambda(3)
    with pytest.raises(ValueError, match="2 transforms and 1 probabilities"):
        T.RandomChoice(steps, p=[1])


@pytest.mark.parametrize("seed", [0, 7, 1234])
def test_the_draws_are_pytorchs(seed):
    torch = pytest.importorskip("torch")
    for draws in (
        lambda library: crop_draws(library, 27, 35, 10, 12),
        lambda library: part_draws(library, 23, 31, (0.08, 1.0), (3 / 4, 4 / 3)),
        lambda library: erase_draws(library, 23, 31, (0.02, 0.33), (0.3, 3.3)),
        lambda library: library.randperm(4).tolist(),
        lambda library: float(library.rand(1)),
    ):
        for _ in range(5):
            rl.manual_seed(seed)
            torch.manual_seed(seed)
            assert [draws(rl) for _ in range(3)] == [draws(torch) for _ in range(3)]
