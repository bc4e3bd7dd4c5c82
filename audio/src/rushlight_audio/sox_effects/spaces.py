"""Effects of rooms and of things that move."""

from __future__ import annotations

import math
from typing import Any

import rushlight as rl
from rushlight_audio import functional
from rushlight_audio.sox_effects.convolution import convolved
from rushlight_audio.sox_effects.sound import Arguments, Sound, effect


def _echoes(sound: Sound, words: Arguments) -> tuple[float, float, list[tuple[int, float]]]:
    """The gains before and behind, and pairs of a delay in samples and a decay."""
    into, out = (words.number(name, low=0) for name in ("gain-in", "gain-out"))
    pairs = []
    while words:
        delay = int(words.number("delay", low=0) * sound.rate / 1000)
        pairs.append((delay, words.number("decay", low=0)))
    if not pairs:
        raise words.fault("delay is missing")
    return into, out, pairs


def _with_copies(
    sound: Sound, into: float, out: float, pairs: list[tuple[int, float]], more: int
) -> Sound:
    found = rl.zeros(len(sound.samples), sound.length + more, dtype=rl.float64)
    found[:, : sound.length] = sound.samples * into
    for delay, decay in pairs:
        found[:, delay : delay + sound.length] += sound.samples * decay
    return sound.of(found * out)


@effect("echo", "gain-in gain-out {delay decay}")
def echo(sound: Sound, words: Arguments) -> Sound:
    """The sound and later copies of it; delays are in milliseconds."""
    into, out, pairs = _echoes(sound, words)
    return _with_copies(sound, into, out, pairs, max(delay for delay, _ in pairs))


@effect("echos", "gain-in gain-out {delay decay}")
def echos(sound: Sound, words: Arguments) -> Sound:
    """As `echo`, the second copy twice as loud, the third three times, ..., as SoX has it."""
    into, out, pairs = _echoes(sound, words)
    louder = [(delay, decay * (at + 1)) for at, (delay, decay) in enumerate(pairs)]
    return _with_copies(sound, into, out, louder, sum(delay for delay, _ in pairs))


@effect("chorus", "gain-in gain-out {delay decay speed depth -s|-t}")
def chorus(sound: Sound, words: Arguments) -> Sound:
    """The sound and copies that move: delays and depths in milliseconds, speeds in Hz, along a sine
    or a triangle."""
    into, out = (words.number(name, low=0) for name in ("gain-in", "gain-out"))
    voices = []
    while words:
        delay, decay = words.number("delay", low=20), words.number("decay", low=0)
        speed, depth = words.number("speed", low=0.1, high=5), words.number("depth", 0, 0, 10)
        if (shape := words.word("-s or -t")) not in ("-s", "-t"):
            raise words.fault(f"-s or -t is expected, got {shape!r}")
        longest = int((delay + depth) * sound.rate / 1000)
        table = _moving(sound, speed, int(depth * sound.rate / 1000), longest, shape)
        voices.append((longest, decay, table))
    if not voices:
        raise words.fault("delay is missing")
    room = max(longest for longest, _, _ in voices)
    total = sound.length + room
    time = rl.arange(total)
    silent = rl.zeros(len(sound.samples), room, dtype=rl.float64)
    padded = rl.cat([silent, sound.samples, silent], 1)
    found = padded[:, room:] * into
    for _, decay, table in voices:
        delays = table[time % len(table)]
        # A delay of nothing is one of the whole buffer.
        found = found + padded[:, room + time - rl.where(delays == 0, room, delays)] * decay
    return sound.of(found * out)


def _moving(sound: Sound, speed: float, depth: int, longest: int, shape: str) -> rl.Tensor:
    """One turn of the delays in samples: SoX's sine forgets the delay, its triangle does not."""
    length = int(sound.rate / speed)
    turn = rl.arange(length, dtype=rl.float64) / length
    if shape == "-s":
        return ((rl.sin(2 * math.pi * turn) + 1) / 2 * depth + 0.5).long()
    begin = int(0.75 * length + 0.5)
    wave = 1 - ((turn + begin / length + 0.25) % 1 * 2 - 1).abs()
    return (longest - 1 - 2 * depth + wave * 2 * depth + 0.5).long()


@effect("tremolo", "speed [depth (40)]")
def tremolo(sound: Sound, words: Arguments) -> Sound:
    """Louder and quieter so many times a second, by so many percent."""
    speed = words.number("speed", low=0, high=sound.rate / 2)
    depth = words.number("depth", 40.0, 0, 100) / 100
    time = rl.arange(sound.length, dtype=rl.float64) / sound.rate
    wave = rl.cos(2 * math.pi * speed * time)
    return sound.of(sound.samples * (1 - depth / 2 + depth / 2 * wave))


@effect("phaser", "gain-in gain-out delay decay speed [-s|-t]")
def phaser(sound: Sound, words: Arguments) -> Sound:
    """A copy that moves back and forth by up to a few milliseconds, fed back."""
    into, out = (words.number(name, low=0) for name in ("gain-in", "gain-out"))
    delay, decay = words.number("delay", low=0, high=5), words.number("decay", low=0, high=0.99)
    speed = words.number("speed", low=0.1, high=2)
    flags = words.flags("st")
    return sound.of(
        functional.phaser(
            sound.samples, round(sound.rate), into, out, delay, decay, speed, "t" not in flags
        )
    )


@effect("flanger", "[delay depth regen width speed shape phase interpolation]")
def flanger(sound: Sound, words: Arguments) -> Sound:
    """A copy that moves back and forth, mixed in."""
    delay, depth = words.number("delay", 0.0, 0, 30), words.number("depth", 2.0, 0, 10)
    regen, width = words.number("regen", 0.0, -95, 95), words.number("width", 71.0, 0, 100)
    speed = words.number("speed", 0.5, 0.1, 10)
    shape = words.word("shape", "sine")
    phase = words.number("phase", 25.0, 0, 100)
    interpolation = words.word("interpolation", "linear")
    shapes = {"sine": "sinusoidal", "triangle": "triangular"}
    name = next((found for key, found in shapes.items() if key.startswith(shape)), None)
    if name is None or interpolation not in ("linear", "quadratic"):
        raise words.fault(
            f"the shape is sine or triangle, the interpolation linear or quadratic, got {shape!r} "
            f"and {interpolation!r}"
        )
    return sound.of(
        functional.flanger(
            sound.samples,
            round(sound.rate),
            delay,
            depth,
            regen,
            width,
            speed,
            phase,
            name,
            interpolation,
        )
    )


# Freeverb's delays in samples at 44.1 kHz.
_COMBS = (1116, 1188, 1277, 1356, 1422, 1491, 1557, 1617)
_ALLPASSES = (225, 341, 441, 556)
_SPREAD = 12
_SILENCE = 1e-10  # of what was there, where a room's echo ends


@effect(
    "reverb",
    "[-w] [reverberance (50) [damping (50) [room (100) [stereo (100) [pre-delay-ms (0) "
    "[wet-gain-dB (0)]]]]]]",
)
def reverb(sound: Sound, words: Arguments) -> Sound:
    """A room (Freeverb); one channel becomes two, unless the stereo depth is 0; -w: the room
    alone."""
    wet_only = bool(words.flags("w"))
    names = ("reverberance", "damping", "room", "stereo")
    liveness, damping, room, stereo = (
        words.number(name, default, 0, 100)
        for name, default in zip(names, (50.0, 50.0, 100.0, 100.0), strict=True)
    )
    wait = int(words.number("pre-delay-ms", 0.0, 0, 500) / 1000 * sound.rate + 0.5)
    gain = 10 ** (words.number("wet-gain-dB", 0.0, -10, 10) / 20) * 0.015
    count = len(sound.samples)
    depth = stereo / 100 if count <= 2 else 0.0
    silence = rl.zeros(count, wait, dtype=rl.float64)
    late = rl.cat([silence, sound.samples], 1)[:, : sound.length]
    scale = sound.rate / 44100, room / 100 * 0.9 + 0.1
    feedback, low = _decay(liveness), damping / 100 * 0.3 + 0.2
    sides = (0.0,) if depth == 0 else (0.0, depth)
    wet: list[Any] = [_room(late, scale, feedback, low, side) * gain for side in sides]
    dry = sound.samples * (0.0 if wet_only else 1.0)
    if depth == 0:
        return sound.of(dry + wet[0])
    if count == 1:
        return sound.of(rl.cat([dry + each for each in wet]))
    return sound.of(rl.stack([dry[at] + wet[at].mean(0) for at in range(2)]))


def _decay(liveness: float) -> float:
    """How much of the sound comes back, on a scale from 0.3 to 0.98."""
    a = -1 / math.log(1 - 0.3)
    b = 100 / (math.log(1 - 0.98) * a + 1)
    return 1 - math.exp((liveness - b) / (a * b))


def _room(
    samples: rl.Tensor, scale: tuple[float, float], feedback: float, low: float, side: float
) -> rl.Tensor:
    """Convolution with what the room makes of one impulse, as far as that is heard."""
    rate, room = scale
    longest = room * rate * (max(_COMBS) + _SPREAD) + rate * sum(_ALLPASSES)
    heard = int((math.log(_SILENCE) / math.log(feedback) + 2) * longest)
    impulse = rl.zeros(1, min(samples.shape[1], heard), dtype=rl.float64)
    impulse[:, :1] = 1.0
    return convolved(samples, _filtered(impulse, scale, feedback, low, side)[0], 0)


def _filtered(
    samples: rl.Tensor, scale: tuple[float, float], feedback: float, low: float, side: float
) -> rl.Tensor:
    """Eight combs side by side, then four all-pass filters one behind the other."""
    rate, room = scale
    found = rl.zeros_like(samples)
    for at, length in enumerate(_COMBS):
        moved = length + _SPREAD * side * (-1) ** at
        found += _comb(samples, int(room * rate * moved + 0.5), feedback, low)
    for at, length in reversed(list(enumerate(_ALLPASSES))):
        found = _allpass(found, int(rate * (length + _SPREAD * side * (-1) ** at) + 0.5))
    return found


def _comb(samples: rl.Tensor, size: int, feedback: float, low: float) -> rl.Tensor:
    """What goes in comes out `size` samples later, and goes in again through a low-pass filter."""
    found = rl.zeros_like(samples)
    store = rl.zeros(len(samples), 1, dtype=rl.float64)
    powers = low ** rl.arange(1, size + 1, dtype=rl.float64)
    a, b = (rl.tensor(each, dtype=rl.float64) for each in ([1, -low], [1 - low, 0]))
    line = samples[:, :size]
    for begin in range(size, samples.shape[1], size):
        out = line[:, : samples.shape[1] - begin]
        found[:, begin : begin + size] = out
        smooth = functional.lfilter(out, a, b, clamp=False) + store * powers[: out.shape[1]]
        store = smooth[:, -1:]
        line = samples[:, begin : begin + size] + smooth * feedback
    return found


def _allpass(samples: rl.Tensor, size: int) -> rl.Tensor:
    """Delayed, with half of it fed back and the input taken off."""
    found = rl.zeros_like(samples)
    line = rl.zeros(len(samples), size, dtype=rl.float64)
    for begin in range(0, samples.shape[1], size):
        part = samples[:, begin : begin + size]
        out = line[:, : part.shape[1]]
        found[:, begin : begin + size] = out - part
        line = part + out * 0.5
    return found


_VAD = {
    "t": ("trigger_level", 0, 20),
    "T": ("trigger_time", 0.01, 1),
    "s": ("search_time", 0.1, 4),
    "g": ("allowed_gap", 0.1, 1),
    "p": ("pre_trigger_time", 0, 4),
    "b": ("boot_time", 0.1, 10),
    "N": ("noise_up_time", 0.1, 10),
    "n": ("noise_down_time", 0.001, 0.1),
    "r": ("noise_reduction_amount", 0, 2),
    "f": ("measure_freq", 5, 50),
    "m": ("measure_duration", 0.01, 1),
    "M": ("measure_smooth_time", 0.1, 1),
    "h": ("hp_filter_freq", 10, 1000),
    "l": ("lp_filter_freq", 1000, 16000),
    "H": ("hp_lifter_freq", 10, 1000),
    "L": ("lp_lifter_freq", 1000, 16000),
}


@effect("vad", "{-t|-T|-s|-g|-p|-b|-N|-n|-r|-f|-m|-M|-h|-l|-H|-L value}")
def vad(sound: Sound, words: Arguments) -> Sound:
    """Remove silence and noise before speech begins."""
    options = {}
    while words:
        word = words.word("an option")
        if word[:1] != "-" or word[1:] not in _VAD:
            raise words.fault(f"{word!r} is no option")
        name, low, high = _VAD[word[1:]]
        options[name] = words.number(name, low=low, high=high)
    return sound.of(functional.vad(sound.samples, round(sound.rate), **options))
