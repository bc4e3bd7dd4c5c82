"""Calls of effects: what goes in, and the chain. Both the recorder and the tests read them.

`kind` of a call says how the results are compared: ``"exact"`` sample by sample; ``"like"`` by what
the algorithms have in common: length, level, spectrum.
"""

from __future__ import annotations

RATE = 8000
FRAMES = 4000

# Name: channels, frames, how the samples are made (see `waveform`).
INPUTS = {
    "mono": (1, FRAMES),
    "stereo": (2, FRAMES),
    "quiet": (2, FRAMES),
    "pauses": (1, 3 * RATE),
    "high": (2, 6000),
}
RATES = {"high": 44100}  # of inputs, where it is not RATE


def waveform(name, numpy):
    """The samples ``[C, T]`` float64 of an input, by formulas."""
    channels, frames = INPUTS[name]
    time = numpy.arange(frames) / RATES.get(name, RATE)
    rows = []
    for channel in range(channels):
        tone = 0.3 * numpy.sin(2 * numpy.pi * (220 + 110 * channel) * time)
        tone += 0.2 * numpy.sin(2 * numpy.pi * 1310 * time + channel)
        tone *= 1 + 0.4 * numpy.sin(2 * numpy.pi * 3 * time)
        rows.append(tone)
    found = numpy.stack(rows)
    if name == "quiet":
        found *= numpy.array([[0.25], [0.6]])
    if name == "pauses":
        loud = (time % 1.0 > 0.4) & (time % 1.0 < 0.8)
        found *= loud
    # SoX counts in 2^-31; values that it holds exactly.
    return numpy.round(found * 2.0**30) / 2.0**30


EXACT = """
mono: lowpass 1000
mono: lowpass -1 300
mono: lowpass 1k 0.5q
mono: highpass 500
mono: highpass -1 500
mono: highpass 0.5k 2o
stereo: bandpass 1000 200
stereo: bandpass -c 1000 1o
stereo: bandreject 1000 0.2k
mono: allpass 700 2q
mono: band 700
mono: band -n 700 100
mono: equalizer 1000 1.5q -6
mono: equalizer 1000 300h 3
mono: bass 4
mono: bass -6 200 0.8s
mono: treble 3
mono: treble -5 2000 1q
mono: biquad 0.2 0.1 0.05 1 -0.4 0.2
mono: fir 0.1 0.2 0.4 0.2 0.1
mono: fir 0.5 0.25
mono: gain -3
mono: gain 12
mono: gain -n
mono: gain -n -3
quiet: gain -e
quiet: gain -B
quiet: gain -B -n -1
mono: gain -l 6
quiet: norm
quiet: norm -6
mono: vol 0.5
mono: vol -0.5
mono: vol 3dB
mono: vol 0.5 power
mono: vol -3 dB
mono: vol 2 amplitude 0.05
mono: dcshift 0.1
mono: contrast
mono: contrast 20
mono: overdrive
mono: overdrive 10 50
stereo: remix 2 1
stereo: remix 1,2
stereo: remix -
stereo: remix -m 1v0.4,2v-0.3
stereo: remix 1,2i 0 1-2
stereo: remix -p 1,2 1p-3,2
stereo: remix -a 1v0.5,2
stereo: channels 1
stereo: channels 3
mono: channels 2
stereo: swap
stereo: oops
stereo: delay 0.1 0
stereo: delay 0 800s
mono: trim 0.1
mono: trim 0.1 0.2
mono: trim 800s =1600s
mono: trim 0 0.1 0.1 0.05
mono: trim -0.1
mono: trim 0.1 -0.2
mono: pad 0.1
mono: pad 0.1 400s
mono: pad 0.05@0.1 0.1@0.3
mono: reverse
mono: repeat
mono: repeat 2
mono: fade 0.1
mono: fade q 0.1 0 0.2
mono: fade h 0.1 0.4 0.1
mono: fade l 0.1 0 0.1
mono: fade p 0.1 0 0.1
mono: fade t 0 0.3 0.1
pauses: silence 1 0.05 1%
pauses: silence 1 0.05 -40d
pauses: silence 1 0.05 1% 1 0.1 1%
pauses: silence 1 0.05 1% -1 0.1 1%
pauses: silence -l 1 0.05 1% -1 0.1 1%
pauses: silence 2 0.05 1%
stereo: speed 1.25
stereo: speed 100c
mono: upsample 3
mono: downsample 2
mono: echo 0.8 0.9 60 0.4
mono: echo 0.8 0.7 60 0.4 100.5 0.2
mono: echos 0.8 0.7 60 0.4
stereo: echos 0.8 0.5 60 0.4 100.5 0.2 20 0.1
mono: chorus 0.6 0.9 20 0.4 0.25 2 -t
mono: chorus 0.6 0.9 20 0.4 0.25 2 -s
stereo: chorus 0.5 0.6 25 0.4 1 3 -s 30 0.3 2 2 -t
mono: tremolo 5
mono: tremolo 3.3 80
mono: reverb
mono: reverb -w
mono: reverb 80 20 60 50 20 -3
stereo: reverb
stereo: reverb 50 50 100 0
mono: flanger
mono: flanger 2 3 20 60 1 triangle 50 quadratic
mono: phaser 0.8 0.74 3 0.4 0.5 -t
mono: phaser 0.6 0.66 3 0.6 1 -s
stereo: compand 0.02,0.05 -60,-60,-30,-10,-20,-8,-5,-8,-2,-8 -8 -7 0.05
stereo: compand 0.01,0.2,0.02,0.3 -50,-40,-10,-20 3
mono: compand 0.3,1 -70,-60,-20
mono: compand 0.3,1 6:-70,-60,-20 -5 -90 0.2
stereo: compand 0.1,0.2 10:-60,-40,-30,-15,-10,-12 0 -40
quiet: compand 0,0 3:-30,-30,-20,-15
mono: tempo 1.5
mono: tempo 0.7
high: riaa
high: deemph
high: reverb
high: flanger
pauses: vad
pauses: vad -t 5 -p 0.2
"""
LIKE = """
mono: rate 16000
mono: rate 12k
mono: rate -q 4000
mono: rate -v 11025
stereo: tempo -s 1.2
stereo: tempo -q 1.3
mono: pitch -200
mono: pitch 300
mono: sinc 1k
mono: sinc -800
mono: sinc 500-1500
mono: sinc 1500-500
"""


def calls():
    """(kind, input, words of the chain) of all lines."""
    return [
        (kind, line.partition(": ")[0], line.partition(": ")[2].split())
        for kind, lines in (("exact", EXACT), ("like", LIKE))
        for line in lines.split("\n")
        if line
    ]
