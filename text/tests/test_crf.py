"""The chain of tags against all sequences counted one by one; taggers that learn."""

import itertools
import math

import pytest

import rushlight as rl
from rushlight_text.models import BiLSTMClassifier, BiLSTMTagger, TextCNN
from rushlight_text.nn import CRF


def by_counting(crf, scores, length):
    """Weight of every sequence of tags of one sentence ``[T, C]``."""
    start, end, moves = (
        p.tolist() for p in (crf.start_transitions, crf.end_transitions, crf.transitions)
    )
    rows = scores.tolist()
    found = {}
    for tags in itertools.product(range(crf.num_tags), repeat=length):
        weight = start[tags[0]] + end[tags[-1]]
        weight += sum(rows[place][tag] for place, tag in enumerate(tags))
        weight += sum(moves[a][b] for a, b in itertools.pairwise(tags))
        found[tags] = weight
    return found


@pytest.fixture(params=[False, True])
def case(request):
    rl.manual_seed(0)
    crf = CRF(3, batch_first=request.param)
    with rl.no_grad():
        for parameter in crf.parameters():
            parameter.normal_()
    scores, lengths = rl.randn(4, 3, 3), [4, 2, 1]  # [T, B, C]
    mask = rl.arange(4)[:, None] < rl.tensor(lengths)[None, :]
    tags = rl.randint(0, 3, (4, 3))
    turned = [x.transpose(0, 1) if request.param else x for x in (scores, mask, tags)]
    return crf, scores, tags, lengths, turned


def test_likelihoods_are_those_of_counting(case):
    crf, scores, tags, lengths, (given, mask, labels) = case
    expected = []
    for row, length in enumerate(lengths):
        weights = by_counting(crf, scores[:, row], length)
        total = math.log(sum(math.exp(weight) for weight in weights.values()))
        expected.append(weights[tuple(tags[:length, row].tolist())] - total)
    found = crf(given, labels, mask, reduction="none")
    assert found.tolist() == pytest.approx(expected, abs=1e-5)
    assert crf(given, labels, mask).item() == pytest.approx(sum(expected), abs=1e-5)
    mean = crf(given, labels, mask, reduction="mean").item()
    assert mean == pytest.approx(sum(expected) / 3, abs=1e-5)
    by_token = crf(given, labels, mask, reduction="token_mean").item()
    assert by_token == pytest.approx(sum(expected) / 7, abs=1e-5)


def test_the_best_tags_are_those_of_counting(case):
    crf, scores, _, lengths, (given, mask, _) = case
    best = []
    for row, length in enumerate(lengths):
        weights = by_counting(crf, scores[:, row], length)
        best.append(list(max(weights, key=weights.get)))
    assert crf.decode(given, mask) == best


def test_marginals_are_those_of_counting(case):
    crf, scores, _, lengths, (given, mask, _) = case
    found = crf.marginals(given, mask)
    found = found.transpose(0, 1) if crf.batch_first else found
    for row, length in enumerate(lengths):
        weights = by_counting(crf, scores[:, row], length)
        total = sum(math.exp(weight) for weight in weights.values())
        for place, tag in itertools.product(range(length), range(3)):
            share = sum(math.exp(w) for tags, w in weights.items() if tags[place] == tag) / total
            assert found[place, row, tag].item() == pytest.approx(share, abs=1e-5)
        assert (found[length:, row] == 0).all()


def test_gradients(case):
    crf, _, _, _, (given, mask, labels) = case
    double = CRF(3, batch_first=crf.batch_first).double()
    scores = given.double().detach().requires_grad_()
    assert rl.autograd.gradcheck(lambda x: double(x, labels, mask), (scores,))


def test_wrong_arguments():
    crf = CRF(3)
    scores = rl.zeros(4, 2, 3)
    with pytest.raises(ValueError, match="num_tags must be positive, got 0"):
        CRF(0)
    with pytest.raises(ValueError, match=r"three dims, the last of 3, got \[4, 2, 5\]"):
        crf.decode(rl.zeros(4, 2, 5))
    with pytest.raises(ValueError, match=r"tags has shape \[2, 4\]"):
        crf(scores, rl.zeros(2, 4, dtype=rl.long))
    with pytest.raises(ValueError, match="first word of every sequence must be in the mask"):
        crf.decode(scores, rl.zeros(4, 2, dtype=rl.bool))
    with pytest.raises(ValueError, match="invalid reduction: 'max'"):
        crf(scores, rl.zeros(4, 2, dtype=rl.long), reduction="max")


def texts(count=48):
    """Ids of three to eight words; 9 before a word tags it 1."""
    rl.manual_seed(1)
    lengths = rl.randint(3, 9, (count,))
    ids = rl.randint(1, 9, (count, 8))
    ids[rl.arange(count), rl.arange(count) % 2] = 9
    ids = rl.where(rl.arange(8)[None] < lengths[:, None], ids, 0)
    tags = rl.zeros_like(ids)
    tags[:, 1:] = (ids[:, :-1] == 9).long() * (ids[:, 1:] > 0).long()
    return ids, lengths, tags


def test_a_tagger_learns():
    ids, lengths, tags = texts()
    model = BiLSTMTagger(10, 16, 2, hidden_size=16, dropout=0.0)
    optimizer = rl.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(25):
        loss = model(ids, lengths, tags)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    found = model.eval().decode(ids, lengths)
    rows = zip(found, tags.tolist(), lengths.tolist(), strict=True)
    assert all(row == expected[:length] for row, expected, length in rows)


@pytest.mark.parametrize("kind", ["lstm", "cnn"])
def test_classifiers_learn(kind):
    ids, lengths, _ = texts()
    labels = rl.arange(len(ids)) % 2  # where the 9 stands
    if kind == "lstm":
        model = BiLSTMClassifier(10, 16, 2, hidden_size=16, dropout=0.0)
        arguments = (ids, lengths)
    else:
        model, arguments = TextCNN(10, 16, 2, channels=16, widths=(2, 3), dropout=0.0), (ids,)
        labels = (ids[:, :-1] * 10 + ids[:, 1:] == 93).any(1).long()
    optimizer = rl.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(40):
        loss = rl.nn.functional.cross_entropy(model(*arguments), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert (model.eval()(*arguments).argmax(1) == labels).float().mean() > 0.95
    if kind == "lstm":
        weights = model.weights(model.read(ids, lengths), ids, lengths)
        assert rl.allclose(weights.sum(1), rl.ones(len(ids)), atol=1e-5)
        assert (weights[ids == 0] == 0).all()
        short = model(ids[:1, :5], rl.tensor([3]))
        assert rl.allclose(short, model(ids[:1, :3], rl.tensor([3])), atol=1e-5)


def test_short_texts_and_given_vectors():
    vectors = rl.randn(10, 4)
    model = TextCNN(10, 4, 2, widths=(5,), vectors=vectors).eval()
    assert rl.equal(model.embedding.weight, vectors)
    assert model(rl.tensor([[3]])).shape == (1, 2)
