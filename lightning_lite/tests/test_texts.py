"""Texts become fastai's tokens, batches and numbers; language models and classifiers learn."""

from __future__ import annotations

import importlib.util
import json
from collections import Counter
from pathlib import Path

import pytest

import rushlight as rl
from lightning_lite import easy
from lightning_lite.easy.text import models, rules, tokens
from lightning_lite.easy.text.awd_lstm import EmbeddingDropout, RNNDropout, WeightDropout
from lightning_lite.easy.text.batches import SortedBatches
from lightning_lite.easy.text.blocks import make_vocab
from lightning_lite.easy.text.learner import join_words, match_embeds
from rushlight import nn

FOLDER = Path(__file__).with_name("recorded")
RECORDED = json.loads((FOLDER / "fastai_texts.json").read_text())
_spec = importlib.util.spec_from_file_location("texts", FOLDER / "fastai_texts.py")
program = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(program)
QUIET = {"enable_progress_bar": False}
SMALL = {"emb_sz": 16, "n_hid": 24, "n_layers": 1}


def test_rules_are_fastais():
    for text, expected in zip(program.TEXTS, RECORDED["rules"], strict=True):
        found = text
        for rule in rules.RULES:
            found = rule(found)
        assert found == expected
    for name, expected in RECORDED["each"].items():
        assert [getattr(rules, name)(text) for text in program.TEXTS] == expected, name


def test_vocabularies_are_fastais():
    count = Counter(token for text in program.CORPUS for token in text.split())
    ways = ({}, {"min_freq": 20}, {"max_vocab": 12})
    assert [make_vocab(count, **way) for way in ways] == RECORDED["vocab"]


def block(is_lm):
    tokenizer = easy.Tokenizer(tokens.split_spaces)
    blocks = [easy.TextBlock(tokenizer, is_lm=is_lm, seq_len=5)]
    return easy.DataBlock(
        blocks if is_lm else [*blocks, easy.CategoryBlock],
        splitter=easy.IndexSplitter([1, 4, 6, 8]),
        get_y=None if is_lm else lambda text: str(len(text) % 2),
    )


def test_streams_are_fastais():
    dls, expected = block(True).dataloaders(program.CORPUS, bs=2), RECORDED["lm"]
    assert dls.vocab == expected["vocab"] and dls.bs == 2
    assert [len(dls.train), len(dls.valid)] == expected["lengths"]
    assert [[x.tolist(), y.tolist()] for x, y in dls.valid] == expected["batches"]
    seen = [rl.cat([x for x, _ in dls.train], 1).tolist() for _ in range(6)]
    assert any(each != seen[0] for each in seen[1:]), "texts come in another order each time"
    for x, y in dls.train:
        assert rl.equal(x[:, 1:], y[:, :-1])


def test_padded_batches_are_fastais():
    dls, expected = block(False).dataloaders(program.CORPUS, bs=4), RECORDED["classes"]
    assert dls.vocab[0] == expected["vocab"] and dls.vocab[1] == ["0", "1"]
    assert [len(dls.train), len(dls.valid)] == expected["lengths"]
    ((x, y),), ((rows, targets),) = dls.valid, expected["batches"]
    # fastai sorts the texts of validation by length; here they keep their order.
    pairs = sorted(zip(x.tolist(), y.tolist(), strict=True))
    assert pairs == sorted(zip(rows, targets, strict=True))


def test_batches_of_like_lengths():
    lengths = [(number * 37) % 101 for number in range(400)]
    batches = list(SortedBatches(lengths, 8, shuffle=True, drop_last=False))
    assert sorted(each for batch in batches for each in batch) == list(range(400))
    assert lengths[batches[0][0]] == max(lengths)
    spans = [max(lengths[n] for n in b) - min(lengths[n] for n in b) for b in batches]
    assert max(spans) < 30, "texts of a batch are of about the same length"
    assert list(SortedBatches(lengths, 8, shuffle=True, drop_last=True)) != batches
    assert len(SortedBatches([1] * 10, 4, False, True)) == 2
    assert list(SortedBatches([1] * 5, 4, False, False)) == [[0, 1, 2, 3], [4]]


def test_networks_are_fastais():
    found = program.networks(
        rl,
        lambda way: models.get_language_model(10, way),
        lambda way: models.get_text_classifier(10, 3, 4, way, lin_ftrs=[5], max_len=8),
    )
    expected = RECORDED["networks"]
    assert found["lm shapes"] == expected["lm shapes"]
    assert found["classifier shapes"] == expected["classifier shapes"]
    for one, other in zip(found["lm"], expected["lm"], strict=True):
        assert one == pytest.approx(other, abs=2e-4)
    assert found["classifier"] == pytest.approx(expected["classifier"], abs=2e-4)


def test_texts_in_any_order():
    model = models.get_text_classifier(10, 3, 4, program.LM, max_len=None).eval()
    x = program.ids(rl)
    order = rl.tensor([2, 0, 1])
    assert rl.allclose(model(x[order])[0], model(x)[0][order], atol=1e-6)
    for stop in (12, 11, 10):
        alone, among = model(x[2:, 8:stop])[0], model(x[:, :stop])[0][2:]
        assert rl.allclose(alone, among, atol=1e-6), "padding does not count"


def test_dropouts():
    x = rl.ones(40, 5, 30)
    dropped = RNNDropout(0.4)(x)
    assert rl.equal(dropped, dropped[:, :1].expand(40, 5, 30))
    assert 0.3 < float((dropped == 0).float().mean()) < 0.5 and float(dropped.max()) < 1.7
    words = EmbeddingDropout(nn.Embedding(100, 4), 0.3)
    gone = (words(rl.arange(100)) == 0).all(-1)
    assert 12 < int(gone.sum()) < 48 and not bool((words.eval()(rl.arange(100)) == 0).any())
    lstm = WeightDropout(nn.LSTM(3, 4, batch_first=True), 0.5)
    zero = (rl.zeros(1, 2, 4), rl.zeros(1, 2, 4))
    x = rl.randn(2, 6, 3)
    assert not rl.equal(lstm(x, zero)[0], lstm(x, zero)[0])
    lstm.eval()
    assert rl.equal(lstm(x, zero)[0], lstm(x, zero)[0])
    lstm(x, zero)[0].sum().backward()
    assert float(lstm.weight_hh_l0_raw.grad.abs().sum()) > 0
    both = easy.AWD_LSTM(9, 6, 8, 2, bidir=True)
    assert both(rl.randint(0, 9, (2, 5))).shape == (2, 5, 6)


def pattern(count=24):
    """Texts in which a number says the next: a language model can learn them."""
    kinds = {"up": "one two three four five six", "down": "six five four three two one"}
    names = list(kinds)
    return [(kinds[names[n % 2]] + " " + kinds[names[n % 2]], names[n % 2]) for n in range(count)]


def folder_of(path):
    for number, (text, name) in enumerate(pattern()):
        part = "valid" if number % 4 > 1 else "train"
        file = path / part / name / f"{number:02}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return path


def test_language_model_then_classifier(tmp_path):
    folder = folder_of(tmp_path / "texts")
    options = {"bs": 4, "seq_len": 6}
    dls = easy.TextDataLoaders.from_folder(folder, is_lm=True, **options)
    rl.manual_seed(0)
    learn = easy.language_model_learner(
        dls, easy.AWD_LSTM, config=SMALL, drop_mult=0.2, metrics=easy.accuracy, path=tmp_path,
        lr=0.02, **QUIET,
    )  # fmt: skip
    learn.fit_one_cycle(16, 0.03)
    assert learn.validate()[1] > 0.7, "the next word is known"
    assert learn.predict("one two three", 3, temperature=0.1).startswith("one two three four five")
    assert learn.get_preds()[0].shape[-1] == len(dls.vocab)
    again = easy.load_learner(learn.export("lm.pkl"), **QUIET)
    rl.manual_seed(3)
    said = learn.predict("six five", 4)
    rl.manual_seed(3)
    assert again.predict("six five", 4) == said and type(again) is easy.LMLearner
    learn.save_encoder("words")
    classes = easy.TextDataLoaders.from_folder(folder, text_vocab=dls.vocab, **options)
    learn = easy.text_classifier_learner(
        classes, easy.AWD_LSTM, seq_len=6, config=SMALL, metrics=easy.accuracy, path=tmp_path,
        **QUIET,
    )  # fmt: skip
    before = learn.encoder.encoder.weight.clone()
    learn.load_encoder("words")
    assert not rl.equal(before, learn.encoder.encoder.weight)
    assert not learn.encoder.encoder.weight.requires_grad
    learn.fine_tune(4, 0.05)
    assert learn.validate()[1] == 1.0
    name, _, shares = learn.predict("one two three four five six")
    assert name == "up" and float(shares[1]) > 0.5
    again = easy.load_learner(learn.export("classes.pkl"), **QUIET)
    assert rl.equal(again.predict("six five four")[2], learn.predict("six five four")[2])


def test_tables(tmp_path):
    pandas = pytest.importorskip("pandas")
    texts = pattern(12)
    table = pandas.DataFrame(
        {"title": ["a"] * 12, "body": [t for t, _ in texts], "kind": [k for _, k in texts],
         "held": [n > 7 for n in range(12)]}
    )  # fmt: skip
    table.to_csv(tmp_path / "labels.csv", index=False)
    dls = easy.TextDataLoaders.from_csv(
        tmp_path, text_col=["title", "body"], label_col="kind", valid_col="held", bs=4
    )
    assert dls.vocab[1] == ["down", "up"] and [len(dls.train_ds), len(dls.valid_ds)] == [8, 4]
    shown = dls.dsets.readers[0].block.decode(dls.valid_ds[0][0])
    assert shown.startswith("xxbos xxfld 1") and "xxfld 2 one two" in shown
    stream = easy.TextDataLoaders.from_df(table, text_col="body", is_lm=True, bs=2, seed=1)
    x, y = stream.one_batch()
    assert x.shape[0] == 2 and rl.equal(x[:, 1:], y[:, :-1])


def test_weights_for_another_vocabulary(tmp_path):
    old = ["xxunk", "xxpad", "a", "b"]
    model = models.get_language_model(4, SMALL)
    rl.save({"model": model.state_dict()}, tmp_path / "lm.pth")
    (tmp_path / "vocab.json").write_text(json.dumps(old))
    dls = block(True).dataloaders(["b c a c"] * 9, bs=2)
    learn = easy.language_model_learner(
        dls, config=SMALL, pretrained_fnames=(tmp_path / "lm.pth", tmp_path / "vocab.json")
    )
    words, before = learn.encoder.encoder.weight, model[0].encoder.weight
    assert rl.equal(words[dls.vocab.index("b")], before[3])
    assert rl.allclose(words[dls.vocab.index("c")], before.mean(0))
    assert learn.model[1].decoder.weight is words
    assert rl.equal(learn.encoder.rnns[0].weight_hh_l0_raw, model[0].rnns[0].weight_hh_l0_raw)
    bias = match_embeds({**model.state_dict(), "1.decoder.bias": rl.arange(4.0)}, old, ["b", "z"])
    assert bias["1.decoder.bias"].tolist() == [3.0, 1.5]
    classes = block(False).dataloaders(program.CORPUS, bs=4)
    learn = easy.text_classifier_learner(classes, config=SMALL)
    learn.load_pretrained(tmp_path / "lm.pth", old)
    assert rl.equal(learn.encoder.rnns[0].weight_hh_l0_raw, model[0].rnns[0].weight_hh_l0_raw)


def test_regularization():
    dls = block(True).dataloaders(program.CORPUS, bs=2)
    losses = {}
    for alpha, beta in ((0, 0), (2, 0), (0, 3)):
        learn = easy.language_model_learner(
            dls, config=SMALL, drop_mult=0.0, alpha=alpha, beta=beta, **QUIET
        )
        program.fill(rl, learn.model)
        learn.model.reset()
        learn.module.log = lambda *args, **options: None
        losses[alpha, beta] = float(learn.module.training_step(next(iter(dls.valid)), 0))
        steps = learn.module.steps
    sizes, changes = steps.square().mean(), (steps[:, 1:] - steps[:, :-1]).square().mean()
    assert losses[2, 0] - losses[0, 0] == pytest.approx(2 * float(sizes), rel=1e-3)
    assert losses[0, 3] - losses[0, 0] == pytest.approx(3 * float(changes), rel=1e-3)


def test_tokens_and_words():
    assert tokens.words("I can't; he'll (3,000.5)!") == [
        "I", "ca", "n't", ";", "he", "'ll", "(", "3,000.5", ")", "!",
    ]  # fmt: skip
    assert easy.Tokenizer("basic_english", rules=[])("Hi, you") == ["hi", ",", "you"]
    said = ["xxmaj", "so", "xxup", "nasa", "xxwrep", "3", "no", "xxrep", "4", "!", "end"]
    assert join_words(said) == "So NASA no no no !!!! end"


def test_misuse_is_named():
    with pytest.raises(TypeError, match="expected a text or a Path"):
        easy.Tokenizer()(3)
    with pytest.raises(TypeError, match="tok is a int"):
        easy.Tokenizer(3)
    with pytest.raises(ValueError, match="20 tokens do not fill bs=64 rows"):
        block(True).dataloaders(["a b c"] * 9, bs=64)
    with pytest.raises(TypeError, match="needs DataLoaders of texts"):
        easy.language_model_learner(([], []))
    dls = block(True).dataloaders(program.CORPUS, bs=2)
    with pytest.raises(TypeError, match=r"\['n_hidden'\] are unknown"):
        easy.language_model_learner(dls, config={"n_hidden": 3})
    with pytest.raises(NotImplementedError, match="only AWD_LSTM"):
        easy.language_model_learner(dls, "transformer")
    with pytest.raises(ValueError, match="text_classifier_learner: the data has no classes"):
        easy.text_classifier_learner(dls)
    with pytest.raises(ValueError, match="bidir needs even numbers"):
        easy.AWD_LSTM(9, 5, 8, 1, bidir=True)
    table = pytest.importorskip("pandas").DataFrame({"a": ["x"] * 5})
    with pytest.raises(KeyError, match=r"no columns \['b'\]"):
        easy.TextDataLoaders.from_df(table, text_col="b", is_lm=True)
