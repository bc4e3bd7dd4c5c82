"""stft, istft and the windows."""

import tracemalloc

import pytest

import rushlight
from rushlight.autograd import gradcheck, gradgradcheck
from rushlight.ops.fft import spectrogram
from rushlight.signal import windows
from rushlight.testing.agreement import agree, random

OPTIONS = [
    {},
    {"hop_length": 3},
    {"center": False},
    {"pad_mode": "constant", "normalized": True},
    {"onesided": False},
    {"win_length": 6},
    {"center": False, "win_length": 6, "align_to_window": True},
]


def window(size, **options):
    """Hann's window in double precision."""
    return rushlight.hann_window(size, dtype=rushlight.float64, **options)


@pytest.mark.parametrize("options", OPTIONS)
def test_stft(options):
    size = options.get("win_length", 8)
    for signal in (random(40), random(2, 40)):
        agree("stft", signal, 8, window=window(size), return_complex=True, **options)

    def transformed(x, w):
        return rushlight.stft(x, 8, window=w, return_complex=True, **options)

    leaves = [random(2, 20).requires_grad_(), window(size).requires_grad_()]
    assert gradcheck(transformed, leaves) and gradgradcheck(transformed, leaves)


def test_stft_of_complex_signals_and_pairs():
    agree("stft", random(40, dtype="complex128"), 8, window=window(8))
    signal, options = random(40), {"window": window(8)}
    pairs = rushlight.stft(signal, 8, return_complex=False, **options)
    numbers = rushlight.stft(signal, 8, return_complex=True, **options)
    assert rushlight.equal(rushlight.view_as_complex(pairs.contiguous()), numbers)


@pytest.mark.parametrize("signal", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("own", ["float32", "float64"])
def test_stft_computes_in_the_wider_dtype_of_signal_and_window(signal, own):
    size = rushlight.hann_window(8, dtype=getattr(rushlight, own))
    wave = random(2, 40).to(getattr(rushlight, signal))
    agree("stft", wave, 8, window=size, return_complex=True, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_stft_refuses_half_width_without_a_wider_window(dtype):
    with pytest.raises(RuntimeError, match="expected float32 or float64"):
        rushlight.stft(random(40).to(getattr(rushlight, dtype)), 8, return_complex=True)


def test_stft_refuses():
    with pytest.raises(RuntimeError, match="return_complex"):
        rushlight.stft(random(40), 8)
    with pytest.raises(RuntimeError, match="win_length=8"):
        rushlight.stft(random(40), 8, window=window(6), return_complex=True)
    with pytest.raises(RuntimeError, match="n_fft=50"):
        rushlight.stft(random(40), 50, center=False, return_complex=True)
    with pytest.raises(RuntimeError, match="onesided"):
        rushlight.stft(random(40, dtype="complex128"), 8, onesided=True)


@pytest.mark.parametrize("length", [None, 30, 40])
@pytest.mark.parametrize("normalized", [False, True])
def test_istft_gives_the_signal_back(length, normalized):
    signal, shape = random(2, 40), {"window": window(8), "normalized": normalized}
    spectra = rushlight.stft(signal, 8, return_complex=True, **shape)
    found = agree("istft", spectra, 8, length=length, **shape)
    assert rushlight.allclose(found, signal[:, : found.shape[-1]])

    def back(x):
        return rushlight.istft(x, 8, length=length, **shape)

    assert gradcheck(back, [spectra.detach().requires_grad_()])


def test_istft_of_complex_signals():
    signal = random(40, dtype="complex128")
    spectra = rushlight.stft(signal, 8, window=window(8))
    found = agree("istft", spectra, 8, window=window(8), onesided=False, return_complex=True)
    assert rushlight.allclose(found, signal)


def test_istft_of_samples_in_no_window():
    spectra = random(5, 4, dtype="complex128")
    with pytest.raises(RuntimeError, match="window overlap add min"):
        rushlight.istft(spectra, 8, window=window(8), center=False)
    with pytest.raises(RuntimeError, match="frequency dimension"):
        rushlight.istft(spectra, 16, window=window(16))
    with pytest.warns(UserWarning, match="padded with zeros"):
        rushlight.istft(spectra, 8, window=window(8), length=100)


@pytest.mark.parametrize("name", ["hann", "hamming", "blackman", "bartlett", "kaiser"])
def test_windows_of_the_top_level(name):
    for length in (0, 1, 2, 7, 8):
        for periodic in (True, False):
            agree(f"{name}_window", length, periodic, dtype=rushlight.float64)
            agree(f"{name}_window", length, periodic, rtol=5e-7)
    agree("hamming_window", 8, True, 0.6, 0.3, rtol=5e-7)
    agree("kaiser_window", 8, True, 5.0, rtol=5e-7)
    with pytest.raises(RuntimeError, match="int64"):
        rushlight.hann_window(4, dtype=rushlight.int64)
    with pytest.raises(RuntimeError, match="-1"):
        rushlight.hann_window(-1)


@pytest.mark.parametrize("name", windows.__all__)
def test_signal_windows(name):
    options = {"a": [0.5, 0.3, 0.2]} if name == "general_cosine" else {}
    for size in (0, 1, 2, 7, 8):
        for sym in (True, False):
            path = f"signal.windows.{name}"
            agree(path, size, sym=sym, dtype=rushlight.float64, rtol=1e-8, **options)
    with pytest.raises(ValueError, match="-1"):
        getattr(windows, name)(-1, **options)


@pytest.mark.parametrize("dtype", (rushlight.float32, rushlight.float64, rushlight.complex128))
@pytest.mark.parametrize("block", (100, 1000))
@pytest.mark.parametrize("shape", ((500,), (3, 500)))
@pytest.mark.parametrize("options", [{}, {"hop_length": 3}, {"onesided": False}, {"win_length": 9}])
def test_blocks_of_frames_are_those_of_the_whole(monkeypatch, options, shape, block, dtype):
    options = {**options, "onesided": False} if dtype.is_complex else options
    signal = rushlight.as_tensor(random(*shape)).to(dtype)
    points = rushlight.as_tensor(window(options.get("win_length", 16))).to(dtype.to_real())
    back = {name: value for name, value in options.items() if name != "onesided"}
    close = 1e-5 if dtype == rushlight.float32 else 1e-12

    def there_and_back():
        found = rushlight.stft(signal, 16, window=points, return_complex=True, **options)
        return found, rushlight.istft(found, 16, window=points, **back)

    whole = there_and_back()
    monkeypatch.setattr(spectrogram, "LONG", block)
    monkeypatch.setattr(spectrogram, "BLOCK", block)
    for found, expected in zip(there_and_back(), whole, strict=True):
        rushlight.testing.assert_close(found, expected, atol=close, rtol=close)
        assert found.stride() == expected.stride()


def test_frames_do_not_stand_in_memory_together():
    signal, points = rushlight.randn(1_000_000), rushlight.hann_window(512)
    options = {"hop_length": 32, "window": points, "return_complex": True}

    def peak(function):
        function()  # compiles
        tracemalloc.start()
        try:
            return function(), tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    found, there = peak(lambda: rushlight.stft(signal, 512, **options))
    size = found.numel() * found.element_size()
    assert there < size + 12_000_000, f"{there} bytes for {size}"
    _, back = peak(lambda: rushlight.istft(found, 512, 32, window=points))
    assert back < 30_000_000, f"{back} bytes for 4,000,000"
