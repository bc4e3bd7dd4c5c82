"""What the recogniser is trained and measured with: transcripts, n-grams."""

import itertools
import math
from pathlib import Path

import pytest

from rushlight_audio.models.decoder import ctc_decoder

RECIPES = Path(__file__).parents[2] / "zoo"
if not RECIPES.is_dir():
    pytest.skip("the recipes are in the repository alone", allow_module_level=True)


def test_transcripts_are_words_in_small_letters():
    lines = (RECIPES / "transcripts_en.tsv").read_text(encoding="utf-8").splitlines()
    texts = dict(line.split("\t") for line in lines)
    assert len(texts) == len(lines) == 542
    assert all(set(text) <= set("abcdefghijklmnopqrstuvwxyz' ") for text in texts.values())
    assert all(text == " ".join(text.split()) and text for text in texts.values())
    assert texts["digits/5"] == "five" and texts["digits/mon-10"] == "november"


def read(path):
    """Log-probabilities and shares left to shorter contexts, of an ARPA file."""
    found, rests = {}, {}
    for line in path.read_text(encoding="utf-8").splitlines():
        columns = line.split("\t")
        if len(columns) > 1:
            found[tuple(columns[1].split())] = float(columns[0])
            rests[tuple(columns[1].split())] = float(columns[2]) if len(columns) > 2 else 0.0
    return found, rests


def chance(found, rests, gram):
    if gram in found or len(gram) == 1:
        return found[gram]
    return rests.get(gram[:-1], 0.0) + chance(found, rests, gram[1:])


def test_ngrams_are_probabilities(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(RECIPES))
    from ngrams import write_arpa

    sentences = ["press one".split(), "press two".split(), "press one now".split()]
    write_arpa(tmp_path / "words", sentences, 3)
    found, rests = read(tmp_path / "words")
    words = ["press", "one", "two", "now", "</s>", "<unk>"]
    for context in itertools.product(["<s>", *words[:4]], repeat=2):
        total = sum(10 ** chance(found, rests, (*context, word)) for word in words)
        assert math.isclose(total, 1.0, abs_tol=1e-5)
    # Witten and Bell by hand: 10 words of 5 kinds; "one" twice of three, of two kinds, after press.
    one = (2 + 5 / 6) / 15
    assert math.isclose(10 ** found[("one",)], one, abs_tol=1e-6)
    assert math.isclose(10 ** found[("press", "one")], (2 + 2 * one) / 5, abs_tol=1e-6)
    ctc_decoder(None, ["-", "|", "press", "one", "two", "now"], str(tmp_path / "words"))
