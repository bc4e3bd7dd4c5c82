"""Metrics give the numbers of sacrebleu, rouge-score and seqeval (recorded), and scikit-learn's."""

import itertools
import math

import pytest

import rushlight as rl
from rushlight_text import metrics


@pytest.fixture(scope="module")
def answers(recorded):
    return recorded("metrics")


def references(answers, count, end=None):
    _, one, two = answers["texts"]
    return one[:end] if count == 1 else list(zip(one[:end], two[:end], strict=True))


def test_bleu(answers):
    ours = answers["texts"][0]
    assert len(answers["bleu"]) == 32
    for case in answers["bleu"]:
        options = dict(case["options"])
        if "smooth_method" in options:
            options["smooth"] = options.pop("smooth_method")
        theirs = references(answers, case["references"], case["end"])
        found = metrics.corpus_bleu(ours[: case["end"]], theirs, **options)
        assert found.score == pytest.approx(case["score"], abs=1e-9), case
        assert found.precisions == pytest.approx(case["precisions"], abs=1e-9)
        assert found.bp == pytest.approx(case["bp"])


def test_sentence_bleu(answers):
    ours, one, two = answers["texts"]
    for a, b, c, score in zip(ours, one, two, answers["sentence_bleu"], strict=True):
        assert metrics.sentence_bleu(a, [b, c]).score == pytest.approx(score, abs=1e-9)
    assert metrics.corpus_bleu(["x"], ["y"]).score == 0
    assert metrics.corpus_bleu(["the cat sat down"], ["the cat sat down"]).score == pytest.approx(
        100
    )


def test_chrf(answers):
    for case in answers["chrf"]:
        theirs = references(answers, case["references"])
        found = metrics.chrf(answers["texts"][0], theirs, **case["options"])
        assert found == pytest.approx(case["score"], abs=1e-9), case


def test_rouge(answers):
    for case in answers["rouge"]:
        kinds = list(case["scores"])
        found = metrics.rouge(case["prediction"], case["reference"], kinds)
        for kind, theirs in case["scores"].items():
            ours = [found[kind].precision, found[kind].recall, found[kind].fmeasure]
            assert ours == pytest.approx(theirs), kind
    best = metrics.rouge("a b", ["c d", "a b"], ["rouge1"])
    assert best["rouge1"].fmeasure == 1.0
    stemmed = metrics.rouge("running", "runs", ["rouge1"], stemmer=lambda word: word[:3])
    assert stemmed["rouge1"].fmeasure == 1.0
    with pytest.raises(ValueError, match="not 'rougeX'"):
        metrics.rouge("a", "a", ["rougeX"])


def test_entities(answers):
    tags = answers["tags"]
    found = metrics.entity_scores(tags["ours"], tags["truth"])
    micro = found.pop("micro")
    assert [micro.precision, micro.recall, micro.f1] == pytest.approx(tags["scores"])
    assert [found[kind].f1 for kind in sorted(found)] == pytest.approx(tags["by_type"])
    assert metrics.entities(["I-A", "I-A", "I-B", "O", "S-C", "B-C", "E-C"]) == [
        ("A", 0, 1),
        ("B", 2, 2),
        ("C", 4, 4),
        ("C", 5, 6),
    ]
    assert metrics.Counts().f1 == 0.0
    with pytest.raises(ValueError, match="sentence 0 has 1 and 2 tags"):
        metrics.entity_scores([["O"]], [["O", "O"]])
    with pytest.raises(ValueError, match="1 predictions, 0 references"):
        metrics.entity_scores([["O"]], [])


def test_error_rates():
    assert metrics.edit_distance([1, 2, 3], [2, 3, 4]) == 2
    assert metrics.edit_distance("", "abc") == metrics.edit_distance("abc", "") == 3
    assert metrics.wer(["a b c", "d"], ["a x c", "d e"]) == pytest.approx(2 / 5)
    assert metrics.cer("héllo", "hello") == pytest.approx(1 / 5)
    with pytest.raises(ValueError, match="references are empty"):
        metrics.wer("a", "")
    with pytest.raises(TypeError, match="both be texts, or both lists"):
        metrics.wer("a", ["a"])
    with pytest.raises(ValueError, match="1 predictions, 2 references"):
        metrics.cer(["a"], ["a", "b"])


def test_answers():
    assert metrics.squad_exact("the Cat!", "cat") == 1.0
    assert metrics.squad_f1("a black cat", "the cat sat") == pytest.approx(0.5)
    found = metrics.squad(["Paris", "", "blue", "x"], [["paris"], [], ["red", "dark blue"], []])
    assert found == {"exact": 50.0, "f1": pytest.approx(100 * (1 + 1 + 2 / 3 + 0) / 4)}
    with pytest.raises(ValueError, match="1 predictions, 0 answers"):
        metrics.squad(["a"], [])
    with pytest.raises(ValueError, match="no predictions"):
        metrics.squad([], [])


def test_rankings():
    assert metrics.reciprocal_rank([0, 1, 1]) == 0.5 and metrics.reciprocal_rank([0, 1], 1) == 0
    assert metrics.average_precision([0, 1, 1]) == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert metrics.recall_at([1, 0, 1, 1], 3) == pytest.approx(2 / 3)
    assert metrics.ndcg([0, 0]) == metrics.average_precision([0]) == metrics.recall_at([0], 1) == 0
    graded = [2, 0, 3]
    best = (2**3 - 1) + (2**2 - 1) / math.log2(3)
    expected = ((2**2 - 1) + (2**3 - 1) / 2) / best
    assert metrics.ndcg(graded, exponential=True) == pytest.approx(expected)


def test_ndcg_of_scikit_learn():
    other = pytest.importorskip("sklearn.metrics")
    rl.manual_seed(0)
    for k in (None, 3, 10):
        relevance = rl.randint(0, 4, (12,)).tolist()
        scores = [-place for place in range(12)]
        theirs = other.ndcg_score([relevance], [scores], k=k)
        assert metrics.ndcg(relevance, k) == pytest.approx(theirs)


def test_perplexity():
    rl.manual_seed(0)
    table = rl.randn(7, 7)

    def model(ids):
        return table[ids]  # depends on the last id alone, so windows change nothing

    rows = [[1, 2, 3, 4, 5, 6, 0, 1, 2], [3], [4, 4]]
    losses = [
        -table[a].log_softmax(0)[b].item() for row in rows for a, b in itertools.pairwise(row)
    ]
    expected = math.exp(sum(losses) / len(losses))
    assert metrics.perplexity(model, rows) == pytest.approx(expected, rel=1e-5)
    for stride in (1, 2, 3):
        found = metrics.perplexity(model, rows, max_length=4, stride=stride)
        assert found == pytest.approx(expected, rel=1e-5), stride
    with pytest.raises(ValueError, match="no text has two ids"):
        metrics.perplexity(model, [[1]])


def test_wrong_arguments():
    with pytest.raises(TypeError, match="must be a list of strings, not str"):
        metrics.corpus_bleu("a", ["a"])
    with pytest.raises(ValueError, match="1 hypotheses and 2 references"):
        metrics.chrf(["a"], ["a", "b"])
    with pytest.raises(ValueError, match="tokenize must be one of .*'zh'"):
        metrics.corpus_bleu(["a"], ["a"], tokenize="zh")
    with pytest.raises(ValueError, match="smooth must be one of .*'x'"):
        metrics.corpus_bleu(["a"], ["a"], smooth="x")
