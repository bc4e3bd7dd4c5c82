"""The beam search finds what torchaudio's finds, and the best of all sentences where that can be
computed by trying all."""

import gzip
import itertools
import json
from pathlib import Path

import decoder_cases
import network_measures
import numpy as np
import pytest

import rushlight as rl
from rushlight_audio.models import decoder, whisper

RECORDED = json.loads((Path(__file__).parents[1] / "recorded" / "decoder.json").read_text())


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("decoder")
    decoder_cases.write_files(folder)
    return folder


def close(found, expected):
    """Equal but for the rounding of scores, and the order of those with the same score."""
    assert len(found) == len(expected)
    for rows in zip(found, expected, strict=True):
        own, other = (sorted(row, key=lambda each: (-round(each[2], 3), each)) for row in rows)
        assert [each[:2] + each[3:] for each in own] == [each[:2] + each[3:] for each in other]
        scores = [[each[2] for each in row] for row in (own, other)]
        np.testing.assert_allclose(*scores, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("seed", decoder_cases.SEEDS)
@pytest.mark.parametrize("name", decoder_cases.CASES)
def test_same_hypotheses(name, seed, files):
    made = decoder.ctc_decoder(**decoder_cases.options(name, files))
    close(decoder_cases.searched(rl, made, seed), RECORDED["cases"][name][seed])


@pytest.mark.parametrize("seed", decoder_cases.DRAWN)
def test_same_hypotheses_by_chance(seed, tmp_path):
    options, scores = decoder_cases.drawn(seed, tmp_path)
    found = decoder.ctc_decoder(**options)(rl.tensor(scores))
    close(decoder_cases.result(found), RECORDED["drawn"][seed])


def test_lines_that_were_there_before(files, tmp_path):
    twice = tmp_path / "twice.txt"
    twice.write_text(2 * (files / "lexicon.txt").read_text())
    options = decoder_cases.options("words-log", files)
    again = decoder.ctc_decoder(**{**options, "lexicon": str(twice)})
    close(decoder_cases.searched(rl, again, 0), RECORDED["cases"]["words-log"][0])


@pytest.mark.parametrize("name", RECORDED["signatures"])
def test_same_signature(name):
    if name == "CTCDecoder":  # made by ctc_decoder; its options are a class of flashlight there
        assert callable(decoder.CTCDecoder)
        return
    found = network_measures.signature(getattr(decoder, name))
    assert found == RECORDED["signatures"][name]


def sums(scores, blank=0, sil=1):
    """The log probability of every sequence of tokens behind a silence, by trying all paths."""
    found = {}
    for path in itertools.product(range(scores.shape[1]), repeat=len(scores)):
        groups = itertools.groupby((sil, *path))
        merged = tuple(token for token, _ in groups if token != blank)
        score = sum(float(scores[time, token]) for time, token in enumerate(path))
        found[merged] = np.logaddexp(found.get(merged, -np.inf), score)
    return found


@pytest.mark.parametrize("seed", range(5))
def test_probabilities_are_sums_over_all_paths(seed):
    scores = decoder_cases.emissions(seed)[:1, :5, :4]
    made = decoder.ctc_decoder(None, list("-|ab"), log_add=True, beam_size=5000, nbest=5)
    found = [(tuple(each.tokens.tolist()), each.score) for each in made(rl.tensor(scores))[0]]
    expected = sorted(sums(scores[0]).items(), key=lambda pair: -pair[1])[:5]
    for (tokens, score), (sequence, total) in zip(found, expected, strict=True):
        assert score == pytest.approx(total, abs=1e-5)
        assert tokens in (sequence, (*sequence, 1))  # a silence follows the last frame


class Counting(decoder.CTCDecoderLM):
    """The n-grams of an ARPA file as a model of a user's."""

    def __init__(self, path, words):
        super().__init__()
        self.model = decoder.NGramModel.read(path)
        self.numbers = [self.model.number(word) for word in words]
        self.contexts = {}

    def start(self, start_with_nothing):
        assert start_with_nothing is False
        state = decoder.CTCDecoderLMState()
        self.contexts[state] = self.model.context((), self.model.number("<s>"))
        return state

    def _next(self, state, token, word):
        after = state.child(token)
        context = self.contexts[state]
        self.contexts[after] = self.model.context(context, word)
        return after, self.model.score(context, word)

    def score(self, state, usr_token_idx):
        return self._next(state, usr_token_idx, self.numbers[usr_token_idx])

    def finish(self, state):
        return self._next(state, -1, self.model.number("</s>"))


def test_language_model_of_a_user(files):
    options = decoder_cases.options("words-dictionary", files)
    words = (files / "dictionary.txt").read_text().split()
    own = decoder.ctc_decoder(**{**options, "lm": Counting(options["lm"], words)})
    for seed in decoder_cases.SEEDS:
        found = decoder_cases.searched(rl, own, seed)
        close(found, RECORDED["cases"]["words-dictionary"][seed])


def test_token_model_of_a_user(files):
    options = decoder_cases.options("free-letters", files)
    own = decoder.ctc_decoder(**{**options, "lm": Counting(options["lm"], decoder_cases.TOKENS)})
    for seed in decoder_cases.SEEDS:
        close(decoder_cases.searched(rl, own, seed), RECORDED["cases"]["free-letters"][seed])


@pytest.mark.parametrize("name", ["free-letters", "words-model"])
def test_stream_is_the_whole(name, files):
    made = decoder.ctc_decoder(**decoder_cases.options(name, files))
    frames = rl.tensor(decoder_cases.emissions(3)[0])
    whole = decoder_cases.result(made(frames.unsqueeze(0)))[0]
    made.decode_begin()
    for part in frames.split(3):
        made.decode_step(part)
    made.decode_end()
    assert decoder_cases.result([made.get_final_hypothesis()])[0] == whole


def sure(path, tokens):
    """Outputs that are sure of a path."""
    rows = [[0.0 if token == each else -9.0 for token in tokens] for each in path]
    return rl.tensor([rows])


def test_words_and_when_they_were_said(files):
    options = decoder_cases.options("words", files)
    made = decoder.ctc_decoder(**options)
    best = made(sure("-cca-b|||-d-aadd|", decoder_cases.TOKENS))[0][0]
    assert best.words == ["cab", "dad"]
    assert made.word_spans(best) == [("cab", 1, 6), ("dad", 10, 15)]
    free = decoder.ctc_decoder(None, decoder_cases.TOKENS)
    best = free(sure("-cca-b|||-d-aadd|", decoder_cases.TOKENS))[0][0]
    assert best.words == []
    assert free.word_spans(best) == [("cab", 1, 6), ("dad", 10, 15)]
    assert "".join(free.idxs_to_tokens(best.tokens)) == "|cab|dad|"


def test_partial_results(files):
    made = decoder.ctc_decoder(**decoder_cases.options("words", files))
    made.decode_begin()
    seen = []
    for frame in sure("cab|dad|", decoder_cases.TOKENS)[0].unsqueeze(1):
        made.decode_step(frame)
        seen.append(made.get_partial_hypothesis())
    assert [len(each.words) for each in seen] == [0, 0, 0, 1, 1, 1, 1, 2]
    assert seen[-1].words == ["cab", "dad"]
    assert "".join(made.idxs_to_tokens(seen[4].tokens)) == "|cab|d"


def test_words_without_silence_between_them(files):
    made = decoder.ctc_decoder(str(files / "short.txt"), decoder_cases.TOKENS, word_score=-1)
    best = made(sure("b-b-ab", decoder_cases.TOKENS))[0][0]
    assert best.words == ["bb", "ab"]
    assert made.word_spans(best) == [("bb", 0, 3), ("ab", 4, 6)]


def test_ngrams(files):
    model = decoder.NGramModel.read(files / "words.arpa")
    assert model.order == 3
    # <s> a: -0.4; <s> a bad: -0.1; a bad cab: -0.15; bad cab </s>: -0.25
    assert model.sentence(["a", "bad", "cab"]) == pytest.approx(-0.4 - 0.1 - 0.15 - 0.25)
    # <s> dad backs off: -0.4 - 1.4; an unknown word behind dad: -0.35 - 1.8; then </s>: -1.1
    assert model.sentence(["dad", "zebra"]) == pytest.approx(-0.4 - 1.4 - 0.35 - 1.8 - 1.1)
    packed = files / "words.arpa.gz"
    packed.write_bytes(gzip.compress((files / "words.arpa").read_bytes()))
    assert decoder.NGramModel.read(packed).sentence(["a"]) == model.sentence(["a"])


DAMAGED = {
    "no line": "",
    "counts no n-grams": "\\data\\\n\n",
    "expected ngram 1=COUNT": "\\data\\\nngram 2=3\n",
    r"expected \\1-grams:": "\\data\\\nngram 1=1\n\nhello\n",
    "expected a 1-gram": "\\data\\\nngram 1=1\n\n\\1-grams:\n-1\n",
    "could not convert": "\\data\\\nngram 1=1\n\n\\1-grams:\nx\ta\n",
    "a score is no number": "\\data\\\nngram 1=1\n\n\\1-grams:\nnan\ta\n",
    "ends before": "\\data\\\nngram 1=1\n\n\\1-grams:\n-1\ta\n",
    "'b' in": "\\data\\\nngram 1=1\nngram 2=1\n\n\\1-grams:\n-1\ta\n\\2-grams:\n-1\ta b\n",
}


@pytest.mark.parametrize("message", DAMAGED)
def test_damaged_language_models(message, tmp_path):
    path = tmp_path / "model.arpa"
    path.write_text(DAMAGED[message])
    with pytest.raises(ValueError, match=message):
        decoder.NGramModel.read(path)


def test_bad_input(files, tmp_path):
    made = decoder.ctc_decoder(None, decoder_cases.TOKENS)
    with pytest.raises(RuntimeError, match="must be float32"):
        made(rl.zeros(1, 3, 6, dtype=rl.float64))
    with pytest.raises(RuntimeError, match=r"shape \[batch, frames, tokens\], got \[3, 6\]"):
        made(rl.zeros(3, 6))
    with pytest.raises(RuntimeError, match="5 tokens, the decoder has 6"):
        made(rl.zeros(1, 3, 5))
    with pytest.raises(RuntimeError, match=r"shape \[frames, tokens\], got \[1, 3, 6\]"):
        made.decode_step(rl.zeros(1, 3, 6))
    with pytest.raises(ValueError, match=r"lengths must be 1 numbers from 0 to 3, got \[4\]"):
        made(rl.zeros(1, 3, 6), rl.tensor([4]))
    with pytest.raises(ValueError, match="frame 1 of emissions leaves no hypothesis"):
        made(rl.tensor([[[0.0] * 6, [float("nan")] * 6]]))
    with pytest.raises(ValueError, match="frame 0 of emissions leaves no hypothesis"):
        made(rl.full((1, 2, 6), -float("inf")))
    with pytest.raises(FileNotFoundError, match="no lexicon .*words.lex"):
        decoder.ctc_decoder("words.lex", decoder_cases.TOKENS)
    with pytest.raises(KeyError, match="Unknown entry in dictionary: 'd'"):
        decoder.ctc_decoder(str(files / "lexicon.txt"), decoder_cases.TOKENS[:-1])
    with pytest.raises(TypeError, match="got int"):
        decoder.ctc_decoder(None, decoder_cases.TOKENS, lm=3)
    (tmp_path / "empty.txt").write_text("word\n")
    with pytest.raises(ValueError, match="'word' has no spelling"):
        decoder.ctc_decoder(str(tmp_path / "empty.txt"), decoder_cases.TOKENS)
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9 c a f\n")
    with pytest.raises(ValueError, match="latin.txt is no text in UTF-8"):
        decoder.ctc_decoder(str(tmp_path / "latin.txt"), decoder_cases.TOKENS)
    (tmp_path / "lm.bin").write_bytes(b"mmap lm http://kheafield.com/code format version 5\n\0")
    with pytest.raises(ValueError, match="lm.bin is a binary file of KenLM from another kind"):
        decoder.ctc_decoder(None, decoder_cases.TOKENS, lm=str(tmp_path / "lm.bin"))


def test_no_frames():
    found = decoder.ctc_decoder(None, decoder_cases.TOKENS)(rl.zeros(1, 0, 6))
    assert found[0][0].tokens.tolist() == [1]


def test_greedy():
    greedy = decoder.GreedyCTCDecoder(decoder_cases.TOKENS)
    outputs = sure("-aab-b|", decoder_cases.TOKENS)
    assert greedy(outputs[0]) == ["a", "b", "b", "|"]
    assert greedy(outputs, rl.tensor([4])) == [["a", "b"]]
    with pytest.raises(ValueError, match=r"got \[7\]"):
        greedy(outputs[0, :, 0])


def test_rescoring(files):
    """By the decoder of a small Whisper, hypothesis after hypothesis."""
    options = decoder_cases.options("free", files)
    found = decoder.ctc_decoder(**options)(rl.tensor(decoder_cases.emissions(1)))[0]
    rl.manual_seed(0)
    dims = whisper.ModelDimensions(8, 5, 16, 2, 1, 8, 20, 16, 2, 1)
    model = whisper.Whisper(dims).eval()
    encoded = model.encoder(rl.randn(1, 8, 10))

    def logits(tokens):
        return model.logits(tokens, encoded.expand(len(tokens), -1, -1))

    expected = {}
    for each in found:
        tokens = [token for token in each.tokens.tolist() if token != 1]
        with rl.no_grad():
            steps = rl.log_softmax(logits(rl.tensor([[6, *tokens]]))[0], -1)
        total = sum(float(steps[n, token]) for n, token in enumerate([*tokens, 7]))
        expected[tuple(each.tokens.tolist())] = 0.3 * each.score + 0.7 * total
    again = decoder.rescore(found, logits, 6, 7, weight=0.7, ignore={1})
    scores = [each.score for each in again]
    assert scores == sorted(scores, reverse=True)
    for each in again:
        assert each.score == pytest.approx(expected[tuple(each.tokens.tolist())], abs=1e-4)
    same = decoder.rescore(found, logits, 6, 7, weight=0.0)
    assert [each.score for each in same] == [each.score for each in found]
    assert decoder.rescore([], logits, 6, 7) == []
    with pytest.raises(ValueError, match="weight=2 is not between 0 and 1"):
        decoder.rescore(found, logits, 6, 7, weight=2)


def test_cuda_refuses():
    with pytest.raises(NotImplementedError, match="use .*ctc_decoder on emissions.cpu"):
        decoder.cuda_ctc_decoder(["a"])
    with pytest.raises(NotImplementedError, match="CUCTCDecoder"):
        decoder.CUCTCDecoder(["a"])


def test_published_files(tmp_path, monkeypatch):
    monkeypatch.setattr(rl.hub, "get_dir", lambda: str(tmp_path))
    with pytest.raises(ValueError, match="x not supported. Must be one of"):
        decoder.download_pretrained_files("x")
    folder = tmp_path / "torchaudio" / "decoder-assets" / "librispeech-3-gram"
    folder.mkdir(parents=True)
    for name in ("lexicon.txt", "tokens.txt", "lm.bin"):
        (folder / name).write_text("")
    found = decoder.download_pretrained_files("librispeech-3-gram")
    assert found == tuple(str(folder / n) for n in ("lexicon.txt", "tokens.txt", "lm.bin"))
    asked = []
    monkeypatch.setattr(rl.hub, "download_url_to_file", lambda url, path: asked.append(url))
    assert decoder.download_pretrained_files("librispeech").lm is None
    assert asked[0].endswith("torchaudio/decoder-assets/librispeech/lexicon.txt")


@pytest.mark.parametrize("name", ["nbest", "beam_size", "beam_size_token"])
@pytest.mark.parametrize("size", [0, -1])
def test_beams_of_no_hypothesis_are_refused(name, size):
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got {size}"):
        decoder.ctc_decoder(None, list("-|ab"), **{name: size})
