"""SentencePiece models give the library's pieces, ids and texts (recorded by ci/text_recorder)."""

import base64
import pickle

import pytest

from rushlight_text.tokenizers import SentencePieceModel
from rushlight_text.transforms import SentencePieceTokenizer

NAMES = "unigram bpe unigram_bytes bpe_bytes users bpe_users spaces bare rules".split()


@pytest.fixture(scope="module")
def models(recorded):
    return {
        name: (base64.b64decode(entry["model"]), entry["answers"])
        for name, entry in recorded("sentencepiece").items()
    }


@pytest.mark.parametrize("name", NAMES)
def test_the_librarys_answers(models, name):
    content, answers = models[name]
    model = SentencePieceModel(content)
    assert len(answers) > 25
    for answer in answers:
        text = answer["text"]
        assert model.encode(text) == answer["ids"], text
        assert model.tokenize(text) == answer["pieces"], text
        assert model.decode(answer["ids"]) == answer["decoded"], text


def test_ids_pieces_and_special_ids(models):
    model = SentencePieceModel(models["bare"][0])
    assert model.special_ids == {"unk": 0, "bos": 1, "eos": 2, "pad": 3}
    assert [model.id_to_piece(index) for index in range(3)] == ["<unk>", "<s>", "</s>"]
    assert model.piece_to_id("</s>") == 2 and model.piece_to_id("no such piece") == 0
    assert model.decode(model.piece_to_id("s")) == "s"
    assert len(model) == model.GetPieceSize() and repr(model).startswith("SentencePieceModel(uni")
    with pytest.raises(IndexError, match=f"no piece has id {len(model)}"):
        model.decode([len(model)])
    with pytest.raises(TypeError, match="must be a string, not int"):
        model.encode(3)


def test_files_and_pickles(models, tmp_path):
    content, answers = models["bpe"]
    (tmp_path / "m.model").write_bytes(content)
    model = SentencePieceModel(tmp_path / "m.model")
    copied = pickle.loads(pickle.dumps(model))
    assert copied.encode(answers[0]["text"]) == answers[0]["ids"]
    pieces = SentencePieceTokenizer(tmp_path / "m.model")([answers[0]["text"], ""])
    assert pieces == [answers[0]["pieces"], []]


def test_bad_files_are_named(models, tmp_path):
    content, _ = models["unigram"]
    with pytest.raises(FileNotFoundError, match="absent"):
        SentencePieceModel(tmp_path / "absent.model")
    bad = tmp_path / "bad.model"
    for damaged in (
        b"",
        b"text, no model",
        content[:50],
        b"\xff" * 30,
        b"\x0a\x05\x0a\x03\xff\xfe",
    ):
        bad.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"bad\.model: not a SentencePiece model"):
            SentencePieceModel(bad)


def test_what_is_not_read_says_so(models):
    content, _ = models["unigram"]
    word = content + b"\x12\x02\x18\x03"  # a trainer's model_type of 3; later fields win
    with pytest.raises(NotImplementedError, match="type 'word'.*'unigram' or 'bpe'"):
        SentencePieceModel(word)
    with pytest.raises(NotImplementedError, match="treat_whitespace_as_suffix"):
        SentencePieceModel(content + b"\x12\x03\xc0\x01\x01")


def test_damaged_models_are_refused_or_work(models):
    import random

    pick = random.Random(0)
    refused = 0
    for _ in range(400):
        data = bytearray(models[pick.choice(NAMES)][0])
        for _ in range(pick.randint(1, 3)):
            place = pick.randrange(len(data))
            change = pick.random()
            if change < 0.6:
                data[place] = pick.randrange(256)
            elif change < 0.8:
                del data[place : place + pick.randint(1, 8)]
            else:
                data[place:place] = bytes(pick.randrange(256) for _ in range(3))
        try:
            model = SentencePieceModel(bytes(data))
            model.decode(model.encode("the cat sees 日本"))
        except (ValueError, NotImplementedError):
            refused += 1
    assert 0 < refused < 400
