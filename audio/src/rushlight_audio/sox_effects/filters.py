"""Effects that filter, by Robert Bristow-Johnson's formulas."""

from __future__ import annotations

import math

import rushlight as rl
from rushlight_audio import functional
from rushlight_audio.sox_effects.convolution import convolved
from rushlight_audio.sox_effects.sound import Arguments, Sound, effect

Coefficients = tuple[list[float], list[float]]  # of the input, of the output


def _filtered(sound: Sound, coefficients: Coefficients) -> Sound:
    b, a = (rl.tensor(each, dtype=rl.float64) for each in coefficients)
    return sound.of(functional.lfilter(sound.samples, a, b, clamp=False))


def _frequency(sound: Sound, words: Arguments, what: str, default: float | None = None) -> float:
    value = words.number(what, default, suffix="k")
    if not 0 < value < sound.rate / 2:
        raise words.fault(
            f"{what} must be between 0 and half the rate, {sound.rate / 2:g}, got {value:g}"
        )
    return value


def _alpha(
    sound: Sound,
    words: Arguments,
    frequency: float,
    default: str | None,
    kind: str,
    amplitude: float = 1.0,
) -> float:
    """What a width makes of a frequency: ``2q`` is a quality, ``1o`` octaves, ``200h`` Hz, ``1k``
    kHz, ``0.5s`` a slope."""
    word = words.word("width", default)
    if word[-1:] in "qohks":
        kind, word = word[-1], word[:-1]
    width = words.as_number(word, "width", low=1e-12)
    angle = 2 * math.pi * frequency / sound.rate
    sine = math.sin(angle)
    if kind == "q":
        return sine / (2 * width)
    if kind == "o":
        return sine * math.sinh(math.log(2) / 2 * width * angle / sine)
    if kind == "s":
        slope = (amplitude + 1 / amplitude) * (1 / width - 1) + 2
        if slope < 0:
            raise words.fault(f"the slope {width:g} is too steep")
        return sine / 2 * math.sqrt(slope)
    return sine * width * (1000 if kind == "k" else 1) / (2 * frequency)


def _angle(sound: Sound, frequency: float) -> float:
    return 2 * math.pi * frequency / sound.rate


def _pass(sound: Sound, words: Arguments, high: bool) -> Sound:
    """Lowpass and highpass with one pole or two."""
    poles = 2
    if words.peek() in ("-1", "-2"):
        poles = int(words.word("poles")[1:])
    frequency = _frequency(sound, words, "frequency")
    angle = _angle(sound, frequency)
    if poles == 1:
        if words:
            raise words.fault("a filter with one pole has no width")
        a = -math.exp(-angle)
        b = [(1 - a) / 2, -(1 - a) / 2] if high else [1 + a, 0.0]
        return _filtered(sound, (b, [1.0, a]))
    alpha = _alpha(sound, words, frequency, "0.70710678118654752q", "q")
    cosine = math.cos(angle)
    b0 = (1 + cosine) / 2 if high else (1 - cosine) / 2
    b = [b0, -2 * b0 if high else 2 * b0, b0]
    return _filtered(sound, (b, [1 + alpha, -2 * cosine, 1 - alpha]))


@effect("lowpass", "[-1|-2] frequency [width[q|o|h|k] (0.707q)]")
def lowpass(sound: Sound, words: Arguments) -> Sound:
    """Keep what is below a frequency."""
    return _pass(sound, words, False)


@effect("highpass", "[-1|-2] frequency [width[q|o|h|k] (0.707q)]")
def highpass(sound: Sound, words: Arguments) -> Sound:
    """Keep what is above a frequency."""
    return _pass(sound, words, True)


@effect("bandpass", "[-c] frequency width[h|k|q|o]")
def bandpass(sound: Sound, words: Arguments) -> Sound:
    """Keep a band; -c: the skirts have the same gain whatever the width."""
    skirts = bool(words.flags("c"))
    frequency = _frequency(sound, words, "frequency")
    alpha = _alpha(sound, words, frequency, None, "h")
    angle = _angle(sound, frequency)
    top = math.sin(angle) / 2 if skirts else alpha
    return _filtered(sound, ([top, 0, -top], [1 + alpha, -2 * math.cos(angle), 1 - alpha]))


@effect("bandreject", "frequency width[h|k|q|o]")
def bandreject(sound: Sound, words: Arguments) -> Sound:
    """Remove a band."""
    frequency = _frequency(sound, words, "frequency")
    alpha = _alpha(sound, words, frequency, None, "h")
    middle = -2 * math.cos(_angle(sound, frequency))
    return _filtered(sound, ([1, middle, 1], [1 + alpha, middle, 1 - alpha]))


@effect("allpass", "frequency width[h|k|q|o]")
def allpass(sound: Sound, words: Arguments) -> Sound:
    """Change the phase alone."""
    frequency = _frequency(sound, words, "frequency")
    alpha = _alpha(sound, words, frequency, None, "h")
    middle = -2 * math.cos(_angle(sound, frequency))
    return _filtered(sound, ([1 - alpha, middle, 1 + alpha], [1 + alpha, middle, 1 - alpha]))


@effect("band", "[-n] center [width[h|k|q|o]]")
def band(sound: Sound, words: Arguments) -> Sound:
    """A resonance; -n keeps the loudness of noise."""
    noise = bool(words.flags("n"))
    center = _frequency(sound, words, "center")
    alpha = _alpha(sound, words, center, f"{center / 2}h", "h")
    width = 2 * center * alpha / math.sin(_angle(sound, center))
    a2 = math.exp(-2 * math.pi * width / sound.rate)
    a1 = -4 * a2 / (1 + a2) * math.cos(_angle(sound, center))
    b0 = math.sqrt(1 - a1 * a1 / (4 * a2)) * (1 - a2)
    if noise:
        b0 *= math.sqrt(((1 + a2) ** 2 - a1 * a1) * (1 - a2) / (1 + a2)) / b0
    return _filtered(sound, ([b0, 0, 0], [1, a1, a2]))


@effect("equalizer", "frequency width[q|o|h|k] gain")
def equalizer(sound: Sound, words: Arguments) -> Sound:
    """Make a band louder or quieter by decibels."""
    frequency = _frequency(sound, words, "frequency")
    alpha = _alpha(sound, words, frequency, None, "q")
    amplitude = 10 ** (words.number("gain") / 40)
    middle = -2 * math.cos(_angle(sound, frequency))
    b = [1 + alpha * amplitude, middle, 1 - alpha * amplitude]
    return _filtered(sound, (b, [1 + alpha / amplitude, middle, 1 - alpha / amplitude]))


def _shelf(sound: Sound, words: Arguments, default: float, high: bool) -> Sound:
    amplitude = 10 ** (words.number("gain") / 40)
    frequency = _frequency(sound, words, "frequency", default)
    alpha = _alpha(sound, words, frequency, "0.5s", "s", amplitude)
    cosine = math.cos(_angle(sound, frequency)) * (-1 if high else 1)
    more, less = amplitude + 1, amplitude - 1
    root = 2 * math.sqrt(amplitude) * alpha
    sign = -1 if high else 1
    b = [
        amplitude * (more - less * cosine + root),
        sign * 2 * amplitude * (less - more * cosine),
        amplitude * (more - less * cosine - root),
    ]
    a = [
        more + less * cosine + root,
        sign * -2 * (less + more * cosine),
        more + less * cosine - root,
    ]
    return _filtered(sound, (b, a))


@effect("bass", "gain [frequency (100) [width[s|h|k|q|o] (0.5s)]]")
def bass(sound: Sound, words: Arguments) -> Sound:
    """Make low sounds louder or quieter by decibels."""
    return _shelf(sound, words, 100.0, False)


@effect("treble", "gain [frequency (3000) [width[s|h|k|q|o] (0.5s)]]")
def treble(sound: Sound, words: Arguments) -> Sound:
    """Make high sounds louder or quieter by decibels."""
    return _shelf(sound, words, 3000.0, True)


@effect("biquad", "b0 b1 b2 a0 a1 a2")
def biquad(sound: Sound, words: Arguments) -> Sound:
    """A filter by its coefficients."""
    values = [words.number(name) for name in ("b0", "b1", "b2", "a0", "a1", "a2")]
    if values[3] == 0:
        raise words.fault("a0 must not be 0")
    return _filtered(sound, (values[:3], values[3:]))


@effect("deemph")
def deemph(sound: Sound, words: Arguments) -> Sound:
    """Undo the emphasis of compact discs, at 44100 or 48000 Hz."""
    return sound.of(functional.deemph_biquad(sound.samples, round(sound.rate)))


@effect("riaa")
def riaa(sound: Sound, words: Arguments) -> Sound:
    """The curve of gramophone records, at 44100, 48000, 88200 or 96000 Hz."""
    return sound.of(functional.riaa_biquad(sound.samples, round(sound.rate)))


@effect("fir", "{coefficient}")
def fir(sound: Sound, words: Arguments) -> Sound:
    """A filter by its impulse response, centred."""
    taps = rl.tensor([words.as_number(word, "a coefficient") for word in words.rest()])
    if taps.numel() == 0:
        raise words.fault("a coefficient is missing")
    return sound.of(convolved(sound.samples, taps.double(), (len(taps) - 1) // 2))


@effect("sinc", "[-a attenuation (120)] [-t transition] [-n taps] [frequency][-frequency]")
def sinc(sound: Sound, words: Arguments) -> Sound:
    """A steep filter: ``3k`` keeps what is above, ``-4k`` what is below, ``300-3k`` a band (upside
    down, as SoX does), ``3k-300`` all but one."""
    attenuation, transition, taps = 120.0, 0.0, 0
    while words.peek() in ("-a", "-t", "-n"):
        option = words.word("option")
        value = words.number(option, low=0, suffix="k")
        if option == "-a":
            attenuation = value
        elif option == "-t":
            transition = value
        else:
            taps = int(value)
    low, dash, high = words.word("a frequency").partition("-")
    edges = [
        words.as_number(each, "a frequency", 1e-9, sound.rate / 2, "k") if each else 0.0
        for each in (low, high if dash else "")
    ]
    if not any(edges):
        raise words.fault("a frequency is missing")
    beta = 0.1102 * (attenuation - 8.7) if attenuation > 50 else 5.0
    response = _response(sound, edges, beta, attenuation, transition, taps)
    return sound.of(convolved(sound.samples, response, (len(response) - 1) // 2))


def _response(
    sound: Sound,
    edges: list[float],
    beta: float,
    attenuation: float,
    transition: float,
    taps: int,
) -> rl.Tensor:
    """Kaiser's window over the difference of two ideal low-pass filters."""
    nyquist = sound.rate / 2
    narrow = transition or 0.05 * nyquist
    size = taps or math.ceil((attenuation - 7.95) / (2.285 * math.pi * narrow / nyquist)) + 1
    size |= 1
    time = rl.arange(size, dtype=rl.float64) - size // 2
    window = rl.kaiser_window(size, periodic=False, beta=beta, dtype=rl.float64)

    def below(edge: float) -> rl.Tensor:
        return rl.sinc(time * edge / nyquist) * (edge / nyquist) * window

    unit = (time == 0).double()
    above_low = unit - below(edges[0]) if edges[0] else unit
    if not edges[1]:
        return above_low
    if edges[0] and edges[0] > edges[1]:
        return above_low + below(edges[1])
    # SoX gives a band upside down; so does this.
    return below(edges[0]) - below(edges[1]) if edges[0] else below(edges[1])
