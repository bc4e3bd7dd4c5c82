"""Between PIL images, arrays and tensors; dtypes; normalisation."""

from __future__ import annotations

import numpy as np
import pytest
from pictures import picture, pixels, planes
from PIL import Image

import rushlight as rl
from rushlight_vision import transforms as T
from rushlight_vision.transforms import functional as F


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "LA", "CMYK", "YCbCr", "HSV"])
def test_bytes_become_floats_of_one(mode):
    image = picture(mode=mode)
    tensor = T.ToTensor()(image)
    expected = np.asarray(image).reshape(23, 31, -1).transpose(2, 0, 1).astype(np.float32) / 255
    assert tensor.dtype is rl.float32 and tensor.is_contiguous()
    np.testing.assert_array_equal(tensor.numpy(), expected)


def test_other_modes_keep_their_values():
    grey = pixels(channels=1)[..., 0]
    for dtype, mode, ours in (
        (np.int32, "I", rl.int32),
        (np.uint16, "I;16", rl.uint16),
        (np.float32, "F", rl.float32),
    ):
        image = Image.fromarray(grey.astype(dtype) * 100)
        assert image.mode == mode
        tensor = T.ToTensor()(image)
        assert tensor.dtype is ours and tensor.shape == (1, 23, 31)
        np.testing.assert_array_equal(
            tensor[0].numpy(), (grey.astype(dtype) * 100).astype(tensor.numpy().dtype)
        )


def test_black_and_white():
    image = picture(mode="1")
    expected = np.asarray(image)
    np.testing.assert_array_equal(T.ToTensor()(image)[0].numpy(), expected.astype(np.float32))
    raw = T.PILToTensor()(image)
    assert raw.dtype is rl.bool
    np.testing.assert_array_equal(raw[0].numpy(), expected)


def test_the_default_dtype_counts():
    rl.set_default_dtype(rl.float64)
    try:
        assert T.ToTensor()(picture()).dtype is rl.float64
    finally:
        rl.set_default_dtype(rl.float32)


def test_arrays():
    array = pixels()
    np.testing.assert_array_equal(
        T.ToTensor()(array).numpy(), array.transpose(2, 0, 1).astype(np.float32) / 255
    )
    assert T.ToTensor()(array[..., 0]).shape == (1, 23, 31)
    floats = array.astype(np.float64)
    tensor = T.ToTensor()(floats)
    assert tensor.dtype is rl.float64 and float(tensor.max()) == floats.max()
    with pytest.raises(ValueError, match=r"2 or 3 dimensions; got shape \(2, 3, 4, 5\)"):
        T.ToTensor()(np.zeros((2, 3, 4, 5)))


def test_no_memory_is_shared():
    array = pixels().astype(np.float32)
    tensor = T.ToTensor()(array)
    tensor.zero_()
    assert array.max() > 0
    image = picture()
    T.PILToTensor()(image).zero_()
    assert np.asarray(image).max() > 0


def test_raw_bytes():
    tensor = T.PILToTensor()(picture())
    assert tensor.dtype is rl.uint8
    np.testing.assert_array_equal(tensor.numpy(), np.asarray(picture()).transpose(2, 0, 1))


@pytest.mark.parametrize("given", ["a path", 3, None, [1, 2]])
def test_what_is_no_image_is_refused(given):
    with pytest.raises(TypeError, match="to_tensor: pic should be a PIL image or an array; got"):
        T.ToTensor()(given)
    with pytest.raises(TypeError, match="pil_to_tensor: pic should be a PIL image; got"):
        T.PILToTensor()(given)
    with pytest.raises(TypeError, match="to_pil_image: pic should be a tensor or an array; got"):
        T.ToPILImage()(given)


@pytest.mark.parametrize("mode", ["L", "LA", "RGB", "RGBA"])
def test_there_and_back(mode):
    image = picture(mode=mode)
    for back in (T.ToPILImage()(T.ToTensor()(image)), T.ToPILImage()(T.PILToTensor()(image))):
        assert back.mode == mode and back.size == image.size
        assert back.tobytes() == image.tobytes()


def test_modes_of_results():
    assert T.ToPILImage()(rl.zeros(5, 4)).mode == "L"
    assert T.ToPILImage()(rl.zeros(1, 5, 4, dtype=rl.int32)).mode == "I"
    assert T.ToPILImage()(rl.zeros(1, 5, 4, dtype=rl.int16)).mode == "I;16"
    floats = rl.rand(1, 5, 4)
    image = T.ToPILImage("F")(floats)
    np.testing.assert_array_equal(np.asarray(image), floats[0].numpy())
    assert T.ToPILImage("HSV")(planes()).mode == "HSV"
    assert T.ToPILImage()(pixels()).tobytes() == picture().tobytes()


def test_floats_are_cut_off_to_bytes():
    image = T.ToPILImage()(rl.tensor([[0.0, 0.5, 0.999, 1.0]]))
    assert list(image.tobytes()) == [0, 127, 254, 255]


def test_unfit_tensors_are_refused():
    for shape, message in (
        ((5,), r"2 or 3 dimensions; got shape \(5,\)"),
        ((1, 2, 3, 4), "2 or 3 dimensions"),
        ((5, 3, 3), "at most 4 channels; got 5"),
    ):
        with pytest.raises(ValueError, match=message):
            T.ToPILImage()(rl.zeros(shape))
    with pytest.raises(ValueError, match="mode 'L' for 3 channels; expected one of"):
        T.ToPILImage("L")(planes())
    with pytest.raises(ValueError, match="mode 'RGB' for one channel"):
        T.ToPILImage("RGB")(planes(channels=1))
    with pytest.raises(ValueError, match="one channel of rushlight.int64 has no PIL mode"):
        T.ToPILImage()(rl.zeros(1, 2, 2, dtype=rl.int64))
    with pytest.raises(TypeError, match="several channels as uint8 only"):
        T.ToPILImage()(rl.zeros(3, 2, 2, dtype=rl.int32))


def test_dtypes_change_range():
    levels = rl.arange(256).to(rl.uint8)
    floats = T.ConvertImageDtype(rl.float32)(levels)
    np.testing.assert_array_equal(floats.numpy(), np.arange(256, dtype=np.float32) / 255)
    assert T.ConvertImageDtype(rl.uint8)(floats).tolist() == list(range(256))
    wide = F.convert_image_dtype(levels, rl.int16)
    assert wide.tolist() == [128 * level for level in range(256)]
    assert F.convert_image_dtype(wide, rl.uint8).tolist() == list(range(256))
    assert F.convert_image_dtype(levels, rl.uint8) is levels
    assert F.convert_image_dtype(floats, rl.float64).dtype is rl.float64
    halves = F.convert_image_dtype(rl.tensor([0.0, 0.5, 1.0]), rl.uint8)
    assert halves.tolist() == [0, 127, 255]
    with pytest.raises(RuntimeError, match="cannot be done safely"):
        F.convert_image_dtype(floats, rl.int32)
    with pytest.raises(TypeError, match="expected a dtype"):
        T.ConvertImageDtype("uint8")


def test_normalisation():
    tensor = planes(dtype=rl.float32)
    mean, std = [0.1, 0.2, 0.3], [0.5, 0.6, 0.7]
    before = tensor.clone()
    result = T.Normalize(mean, std)(tensor)
    column = lambda values: np.array(values, np.float32).reshape(3, 1, 1)
    expected = (tensor.numpy() - column(mean)) / column(std)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-6)
    assert rl.equal(tensor, before)
    batch = T.Normalize((0.5,), (0.25,))(rl.stack([tensor, tensor]))
    np.testing.assert_allclose(batch[1].numpy(), (tensor.numpy() - 0.5) / 0.25, rtol=1e-6)
    assert F.normalize(tensor, mean, std, inplace=True) is tensor
    assert rl.equal(tensor, result)
    assert repr(T.Normalize(mean, std)) == f"Normalize(mean={mean}, std={std})"


def test_unfit_normalisation_is_refused():
    image = rl.zeros(3, 4, 4)
    with pytest.raises(TypeError, match="floating tensor; got rushlight.uint8"):
        F.normalize(planes(), [0.5], [0.5])
    with pytest.raises(TypeError, match="expected a tensor"):
        F.normalize(picture(), [0.5], [0.5])
    with pytest.raises(ValueError, match=r"\(..., C, H, W\); got shape \(4, 4\)"):
        F.normalize(image[0], [0.5], [0.5])
    with pytest.raises(ValueError, match="would divide by zero"):
        F.normalize(image, [0.5] * 3, [0.5, 0.0, 0.5])
    with pytest.raises(ValueError, match=r"mean has shape \(2,\); expected one value or 3"):
        F.normalize(image, [0.5] * 2, [0.5])
