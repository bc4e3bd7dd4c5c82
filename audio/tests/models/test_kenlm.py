"""KenLM's binary files give the scores that KenLM gives with them (see ci/audio_kenlm.py)."""

from __future__ import annotations

import base64
import json
import random
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

from rushlight_audio.models.decoder import NGramModel, ctc_decoder

RECORDED = json.loads((Path(__file__).parents[1] / "recorded" / "kenlm.json").read_text())
SENTENCES = [line.split() for line in RECORDED["sentences"]]
CASES = [(name, kind) for name, each in RECORDED["models"].items() for kind in each["files"]]
KINDS = list(RECORDED["models"]["four"]["files"])
EXACT = [kind for kind in KINDS if kind not in ("trie, quantized", "trie, both")]


def packed(name: str, kind: str) -> bytes:
    return zlib.decompress(base64.b64decode(RECORDED["models"][name]["files"][kind]))


def written(folder: Path, content: bytes) -> Path:
    path = folder / "model.bin"
    path.write_bytes(content)
    return path


def scores(model: Any, words: list[str]) -> list[float]:
    """The score of each word of a sentence and of its end."""
    context, found = model.context((), model.number("<s>")), []
    for word in (*words, "</s>"):
        number = model.number(word)
        found.append(model.score(context, number))
        context = model.context(context, number)
    return found


@pytest.mark.parametrize("name,kind", CASES)
def test_scores_are_those_of_kenlm(tmp_path, name, kind):
    model = NGramModel.read(written(tmp_path, packed(name, kind)))
    for words, expected in zip(SENTENCES, RECORDED["models"][name]["scores"][kind], strict=True):
        assert scores(model, words) == pytest.approx(expected, abs=2e-5)
        assert model.sentence(words) == pytest.approx(sum(expected), abs=2e-4)


@pytest.mark.parametrize("kind", EXACT)
def test_scores_are_those_of_the_arpa_file(tmp_path, kind):
    text = tmp_path / "model.arpa"
    text.write_text(RECORDED["models"]["four"]["arpa"], encoding="utf-8")
    arpa = NGramModel.read(text)
    binary = NGramModel.read(written(tmp_path, packed("four", kind)))
    assert binary.order == arpa.order == 4
    for words in SENTENCES:
        assert scores(binary, words) == pytest.approx(scores(arpa, words), abs=2e-5)


def test_every_n_gram_is_found(tmp_path):
    arpa = RECORDED["models"]["four"]["arpa"]
    lines = [line.split("\t") for line in arpa.splitlines() if line.startswith("-")]
    for kind in EXACT:
        model = NGramModel.read(written(tmp_path, packed("four", kind)))
        for score, words, *_ in lines:
            *context, last = map(model.number, words.split())
            assert model.score(tuple(context), last) == pytest.approx(float(score), abs=1e-5)


@pytest.mark.parametrize("kind", EXACT)
def test_decoder_reads_both(tmp_path, kind):
    import numpy as np

    import rushlight as rl

    lexicon = tmp_path / "lexicon.txt"
    lexicon.write_text("ab a b |\nbad b a d |\ncab c a b |\ndad d a d |\na a |\n")
    text = tmp_path / "model.arpa"
    text.write_text(RECORDED["models"]["words"]["arpa"])
    noise = np.random.default_rng(3).standard_normal((1, 20, 6)).astype(np.float32)
    emissions = rl.from_numpy(noise).log_softmax(-1)
    found = []
    for path in (text, written(tmp_path, packed("words", kind))):
        decoder = ctc_decoder(str(lexicon), ["-", "|", "a", "b", "c", "d"], lm=str(path), nbest=3)
        found.append(decoder(emissions)[0])
    assert [each.words for each in found[0]] == [each.words for each in found[1]]
    expected = [each.score for each in found[0]]
    assert [each.score for each in found[1]] == pytest.approx(expected, abs=1e-3)


def changed(content: bytes, form: str, at: int, value: float) -> bytes:
    return content[:at] + struct.pack(form, value) + content[at + struct.calcsize(form) :]


# Bytes of the header: name 0, test values 56, order 88, multiplier 92, kind 96, version of the
# tables 104, counts from 108.
DAMAGE = {
    "order": (("B", 88, 0), "order must be 2 to 32, got 0"),
    "orders": (("B", 88, 200), "order must be 2 to 32, got 200"),
    "multiplier": (("<f", 92, float("nan")), "times their entries"),
    "kind": (("<I", 96, 6), "no tables of kind 6"),
    "tables": (("<I", 104, 9), "version 9"),
    "byte order": (("<Q", 80, 1 << 56), "not those of a little-endian machine"),
    "version": (("B", 49, ord("4")), "format version 4; only format version 5"),
    "count": (("<Q", 108, 1 << 62), "it counts"),
    "more": (("<Q", 116, 1 << 30), "bytes at least"),
}


@pytest.mark.parametrize("kind", ["probing", "trie"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_header_is_named(tmp_path, kind, damage):
    (form, at, value), message = DAMAGE[damage]
    path = written(tmp_path, changed(packed("four", kind), form, at, value))
    with pytest.raises(ValueError, match=message) as error:
        NGramModel.read(path)
    assert str(path) in str(error.value)


def test_rest_costs_are_refused(tmp_path):
    path = written(tmp_path, changed(packed("four", "probing"), "<I", 96, 1))
    with pytest.raises(NotImplementedError, match="without the option -r"):
        NGramModel.read(path)


def test_an_unfinished_file_is_named(tmp_path):
    start = b"mmap lm http://kheafield.com/code incomplete\n"
    with pytest.raises(ValueError, match=r"model\.bin .* building did not end"):
        NGramModel.read(written(tmp_path, start + bytes(200)))


@pytest.mark.parametrize("kind", KINDS)
def test_every_shorter_file_is_an_error(tmp_path, kind):
    content = packed("words", kind)
    words = content.rindex(b"<unk>\0")  # what stands behind the tables is not needed
    for size in range(34, words, 7):
        with pytest.raises(ValueError, match=r"model\.bin"):
            NGramModel.read(written(tmp_path, content[:size]))
    assert NGramModel.read(written(tmp_path, content[:words])).order == 3


@pytest.mark.parametrize("kind", KINDS)
def test_damage_gives_scores_or_an_error_with_the_path(tmp_path, kind):
    content, drawn = packed("four", kind), random.Random(kind)
    for _ in range(40):
        damaged = bytearray(content)
        for _ in range(drawn.choice([1, 8, 200])):
            damaged[drawn.randrange(56, len(damaged))] = drawn.randrange(256)
        try:
            model = NGramModel.read(written(tmp_path, bytes(damaged)))
            for words in SENTENCES[:5]:
                scores(model, words)
        except ValueError as error:
            assert "model.bin" in str(error)


def test_a_table_without_an_empty_entry_ends(tmp_path):
    content = bytearray(packed("words", "probing"))
    start = 136 + 8  # behind the header of order 3 and that of the vocabulary
    for at in range(start, start + 12 * 16, 12):
        content[at] |= 1
    model = NGramModel.read(written(tmp_path, bytes(content)))
    with pytest.raises(ValueError, match="no empty entry"):
        model.number("nobody")
