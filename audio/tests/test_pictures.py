"""Pictures show what they are of: the bright row is the tone, the line is the pitch."""

import base64
import html.parser
import io
import sys

import numpy as np
import pytest

import rushlight as rl
import rushlight_audio as ra

matplotlib = pytest.importorskip("matplotlib")
pytest.importorskip("matplotlib.image")
RATE = 8000
TONE = rl.sin(2 * rl.pi * 1000 * rl.arange(2 * RATE) / RATE)


def pixels(picture):
    return matplotlib.image.imread(io.BytesIO(picture.png))[:, :, :3]


def brightest(picture):
    """Brightness of the rows of the image, from the top of the plot to its bottom, 0 to 1."""
    image = pixels(picture)
    rows, columns = image.shape[:2]
    middle = image[:, columns // 3 : columns // 2]
    # The plot is framed in black; beside it all is white.
    inside = np.nonzero((middle < 0.99).any((1, 2)))[0]
    plot = middle[inside[0] + 3 : inside[-1] - rows // 8].mean((1, 2))
    return plot


def test_a_tone_is_a_bright_row():
    picture = ra.show(TONE, "spectrogram", RATE)
    rows = brightest(picture)
    # 1000 Hz of 4000: a quarter from the bottom.
    assert rows.argmax() / len(rows) == pytest.approx(0.75, abs=0.06)
    assert repr(picture).startswith("Picture(900 x ")
    assert picture._repr_png_() == picture.png


def test_powers_and_a_waveform_give_the_same():
    powers = ra.functional.spectrogram(
        TONE[None], 0, rl.hann_window(256), 256, 64, 256, 2.0, False
    )[0]
    rows = brightest(ra.show(powers, "spectrogram", RATE, 64))
    assert rows.argmax() / len(rows) == pytest.approx(0.75, abs=0.06)
    high = brightest(ra.show(powers.flip(0), "spectrogram", RATE, 64, decibels=False))
    assert high.argmax() / len(high) == pytest.approx(0.25, abs=0.06)


def test_mel_bands_have_their_ticks():
    bands = rl.zeros(64, 30)
    bands[10] = 1.0
    plain = ra.show(bands, "spectrogram", 16000, 160)
    mel = ra.show(bands, "spectrogram", 16000, 160, mel=True)
    assert plain.png != mel.png


def test_a_waveform_has_its_height():
    loud = pixels(ra.show(TONE, "waveform", RATE))
    quiet = pixels(ra.show(TONE * 0.1, "waveform", RATE))

    def ink(image):
        return (np.abs(image - [0.165, 0.365, 0.56]).max(-1) < 0.2).any(1).sum()

    assert ink(loud) > 5 * ink(quiet) > 0
    both = pixels(ra.show(rl.stack([TONE, TONE * 0.1]), "waveform", RATE))
    assert ink(both) == pytest.approx(ink(loud) + ink(quiet), abs=12)
    short = ra.show(TONE[:50])
    assert ink(pixels(short)) > 50


def test_faulty_samples_are_drawn():
    broken = TONE.clone()
    broken[100:200] = rl.nan
    broken[300] = rl.inf
    for kind in ("waveform", "spectrogram"):
        assert pixels(ra.show(broken, kind, RATE)).shape[2] == 3


def test_an_alignment_runs_down():
    picture = pixels(ra.show(rl.eye(8), "alignment", labels=list("abcdefgh")))
    bright = (np.abs(picture - [0.993, 0.906, 0.144]).max(-1) < 0.05).nonzero()
    half = picture.shape[1] * 0.4
    left, right = bright[0][bright[1] < half * 0.5], bright[0][(bright[1] > half)]
    assert left.mean() < right.mean()
    with pytest.raises(ValueError, match="8 rows need as many labels, got 2"):
        ra.show(rl.eye(8), "alignment", labels=["a", "b"])


def test_a_steady_pitch_stays_off_the_frame():
    picture = pixels(ra.show(rl.linspace(200.0, 201.0, 100), "pitch", RATE, 160))
    line = (np.abs(picture - [0.82, 0.286, 0.357]).max(-1) < 0.1).any(1).nonzero()[0]
    frame = (picture.mean(-1) < 0.2).sum(1) > picture.shape[1] / 2
    assert line[0] > frame.nonzero()[0][0] + 10


def test_a_pitch_has_gaps():
    pitch = rl.full((100,), 200.0)
    pitch[40:60] = 0
    whole = pixels(ra.show(rl.full((100,), 200.0), "pitch", RATE, 160))
    gaps = pixels(ra.show(pitch, "pitch", RATE, 160))

    def line(image):
        return (np.abs(image - [0.82, 0.286, 0.357]).max(-1) < 0.1).any(0).sum()

    assert line(gaps) == pytest.approx(0.8 * line(whole), rel=0.1)
    over = ra.show(pitch, "pitch", RATE, 160, waveform=TONE)
    assert brightest(over).max() > 0


def test_spans_and_path(tmp_path):
    path = tmp_path / "a.png"
    picture = ra.show(TONE, "waveform", RATE, path=path, spans=[(0.2, 1.0, "a word")])
    assert path.read_bytes() == picture.png
    assert picture.png != ra.show(TONE, "waveform", RATE).png


def test_wrong_arguments():
    with pytest.raises(ValueError, match="kind must be one of .*got 'sound'"):
        ra.show(TONE, "sound")
    with pytest.raises(ValueError, match=r"a pitch has 1 dimensions and is not empty, got \[1, "):
        ra.show(TONE[None], "pitch")
    with pytest.raises(ValueError, match=r"at most 8 channels, got \[9, 4\]"):
        ra.show(rl.zeros(9, 4))
    with pytest.raises(TypeError, match="'data' must be a tensor, not list"):
        ra.show([0.0])
    with pytest.raises(ValueError, match="is real, got rushlight.complex64"):
        ra.show(rl.zeros(3, 3, dtype=rl.complex64), "spectrogram")


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"need Matplotlib: pip install rushlight-audio\[pict"):
        ra.show(TONE)


class Page(html.parser.HTMLParser):
    """The parts of a page that matter."""

    def __init__(self, text):
        super().__init__()
        self.sounds, self.pictures, self.words, self._open = [], [], [], []
        self.feed(text)
        assert self._open == [], "a tag is not closed"

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if tag == "audio":
            self.sounds.append(found["src"])
        if tag == "img":
            self.pictures.append(found["src"])
        if tag not in ("img", "meta"):
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def test_a_report(tmp_path):
    ra.save(tmp_path / "a b#1.wav", TONE, RATE)
    ra.save(tmp_path / "b.aiff", rl.stack([TONE, TONE]), RATE)
    (tmp_path / "deep").mkdir()
    ra.save(tmp_path / "deep" / "c.ogg", TONE, RATE)
    (tmp_path / "deep" / "c.txt").write_text("Words <spoken> & more")
    (tmp_path / "d.wav").write_text("no sound")
    notes = {"b.aiff": {"SI-SDR": 12.34567, "speaker": "Ann"}}
    path = ra.report(tmp_path, notes=notes, seconds=1.0)
    assert path == tmp_path / "index.html"
    page = Page(path.read_text())
    assert [sound[:22] for sound in page.sounds] == [
        "a%20b%231.wav",
        "data:audio/wav;base64,",
        "deep/c.ogg",
    ]
    assert len(page.pictures) == 6
    words = " ".join(page.words)
    for expected in (
        "4 sounds",
        "Words <spoken> & more",
        "12.35",
        "Ann",
        "d.wav: not a sound file",
    ):
        assert expected in words
    assert "2.00 s, 8000 Hz, 2 channels, PCM_F; drawn: the first 1 s" in words
    wav = base64.b64decode(page.sounds[1].partition(",")[2])
    waveform, rate = ra.load(io.BytesIO(wav))
    assert (waveform.shape, rate) == ((2, RATE), RATE)
    alone = Page(ra.report(tmp_path, tmp_path / "other.html", embed=True).read_text())
    assert all(sound.startswith("data:audio/") for sound in alone.sounds)


def test_a_report_of_nothing(tmp_path):
    with pytest.raises(FileNotFoundError, match="no sound files in"):
        ra.report(tmp_path)
