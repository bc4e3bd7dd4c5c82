"""Functions of `data`: the values of torchtext 0.18, BLEU, shuffling."""

import base64
import sys

import pytest

import rushlight as rl
from rushlight_text import data
from rushlight_text.data import functional as F
from rushlight_text.data import utils

WIKI = [
    "<text>Hello, World 12!</text>",
    "#REDIRECT x",
    "<page>",
    '<text xml:space="preserve">foo [[bar|baz]] &lt;b&gt; [http://x y] {{cut}} &amp;amp; {| t |}',
    "",
    "1984 [[image:abc|def]] AbC",
    "[[category:Birds|x]] [[de:Vogel]] <ref>no</ref> 3px |thumb",
]


def test_wikipedia_lines():
    found = list(F.filter_wikipedia_xml(WIKI))
    assert found == ["foo baz y", "one nine eight four def abc", "birds three px"]


def test_iterators():
    assert list(F.simple_space_split(["a b  c", "d"])) == [["a", "b", "c"], ["d"]]
    replace = F.custom_replace([(r"S", "s"), (r"\s+", " ")])
    assert list(replace(["Sentencepiece   encode  aS  pieces"])) == [
        "sentencepiece encode as pieces"
    ]
    rows = F.numericalize_tokens_from_iterator({"a": 0, "b": 1}, iter([["a", "b"], ["b"]]))
    assert [list(row) for row in rows] == [[0, 1], [1]]
    listed = F.to_map_style_dataset(iter("abc"))
    assert (len(listed), listed[1], list(listed)) == (3, "b", ["a", "b", "c"])


def test_sentencepiece_functions(recorded, tmp_path):
    entry = recorded("sentencepiece")["unigram"]
    path = tmp_path / "m.model"
    path.write_bytes(base64.b64decode(entry["model"]))
    answer = entry["answers"][0]
    with open(path, "rb") as file:
        from_file = data.load_sp_model(file)
    for model in (data.load_sp_model(str(path)), from_file):
        assert list(data.sentencepiece_tokenizer(model)([answer["text"]])) == [answer["pieces"]]
        assert list(data.sentencepiece_numericalizer(model)([answer["text"]])) == [answer["ids"]]
    with pytest.raises(TypeError, match="a path or a binary file, not int"):
        data.load_sp_model(3)


def test_training_names_its_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    with pytest.raises(ModuleNotFoundError, match="pip install sentencepiece"):
        data.generate_sp_model("file.txt")


# Values of torchtext 0.18.
@pytest.mark.parametrize(
    ("candidates", "references", "options", "expected"),
    [
        (
            [["My", "full", "pytorch", "test"], ["Another", "Sentence"]],
            [
                [["My", "full", "pytorch", "test"], ["Completely", "Different"]],
                [["No", "Match"]],
            ],
            {},
            0.8408964276313782,
        ),
        ([["a"]], [[["a"]]], {}, 0.0),
        ([[*"abcde"]], [[[*"abcdefg"]]], {}, 0.6703200460356393),
        ([["a", "b"]], [[["a", "b"]]], {"max_n": 2, "weights": [0.5, 0.5]}, 1.0),
    ],
)
def test_bleu(candidates, references, options, expected):
    assert data.bleu_score(candidates, references, **options) == pytest.approx(expected, abs=1e-7)


def test_bleu_lengths():
    with pytest.raises(AssertionError, match="candidate and reference corpus should be the same"):
        data.bleu_score([["a"]], [])
    with pytest.raises(AssertionError, match='"weights" list has be equal to max_n'):
        data.bleu_score([["a"]], [[["a"]]], max_n=2)


def test_shuffling_has_a_state_of_its_own():
    import random

    random.seed(3)
    outer = random.getstate()
    shuffle = utils.RandomShuffler()
    first, second = shuffle(list(range(20))), shuffle(range(20))
    assert sorted(first) == list(range(20)) and first != second
    assert random.getstate() == outer
    again = utils.RandomShuffler(outer)
    assert again(list(range(20))) == first
    state = again.random_state
    assert again(range(20)) == second
    again.random_state = state
    assert again(range(20)) == second


def test_small_helpers():
    assert utils.interleave_keys(3, 5) == 27
    assert utils.interleave_keys(70000, 5) == 2155907729
    assert utils.dtype_to_attr(rl.int64) == "int64"
    assert utils.is_tokenizer_serializable(None, "en")
    assert utils.is_tokenizer_serializable(str.split, "de")
    assert not utils.is_tokenizer_serializable("spacy", "en")
    assert utils.get_torch_version()[:2] == tuple(int(p) for p in rl.__version__.split(".")[:2])
