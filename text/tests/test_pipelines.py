"""Pipelines: packaged models answer rightly without network, folders in every task."""

import hashlib
import json
import socket

import pytest

import rushlight as rl
import rushlight_text
from rushlight_text import zoo
from rushlight_text.models.pretrained import build_model, save_model
from rushlight_text.pipelines import PACKAGED, TASKS, pipeline
from rushlight_text.tokenizers import train
from rushlight_text.zoo import bags


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("a pipeline asked the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def test_sentiment():
    judge = pipeline("sentiment")
    good = ["A warm, wonderful film.", "Funny and moving to the end", "the best of the year"]
    bad = ["Dull, far too long, and boring.", "a terrible mess", "It fails; a waste of time."]
    found = judge(good + bad)
    assert [each["label"] for each in found] == ["positive"] * 3 + ["negative"] * 3
    assert all(0.5 <= each["score"] <= 1 for each in found)
    assert judge(good[0]) == pytest.approx(found[0]) or judge(good[0])["label"] == "positive"
    assert judge([]) == [] and judge("")["label"] in ("positive", "negative")


def test_languages():
    guess = pipeline("languages")
    texts = {
        "de": "Bitte geben Sie Ihren Namen und Ihr Passwort ein.",
        "fr": "Veuillez saisir votre nom et votre mot de passe.",
        "es": "Por favor, introduzca su nombre y su contraseña.",
        "pl": "Proszę wpisać swoje imię i hasło.",
        "el": "Παρακαλώ εισάγετε το όνομά σας.",
        "ja": "名前とパスワードを入力してください。",
        "fi": "Kirjoita nimesi ja salasanasi.",
    }
    assert [each["label"] for each in guess(list(texts.values()))] == list(texts)


def test_facts_of_the_zoo():
    facts = zoo.facts()
    assert facts["sentiment"]["_metrics"]["held out (1,061)"]["accuracy"] >= 77.0
    assert facts["languages"]["labels"] >= 40
    sizes = [(bags.FOLDER / fact["file"]).stat().st_size for fact in facts.values()]
    assert sum(sizes) < 8 << 20
    for name, fact in facts.items():
        assert {"data", "licence", "recipe", "date"} <= set(fact)
        model = (zoo.load_network if name in zoo.NETWORKS else zoo.load_bag)(name)
        assert sum(p.numel() for p in model.parameters()) == fact["num_params"]
        data = (bags.FOLDER / fact["file"]).read_bytes()
        assert hashlib.sha256(data).hexdigest() == fact["sha256"]
    with pytest.raises(ValueError, match="no packaged model is called 'nothing'"):
        zoo.load_bag("nothing")


def test_bags_are_saved_whole(tmp_path, monkeypatch):
    rl.manual_seed(0)
    for features in (zoo.Features(["a", "a b", "b"], 2), zoo.Features(ngrams=3, buckets=50)):
        model = zoo.BagClassifier(features, ["x", "ÿ}"], 4).eval()
        model.save(tmp_path / "bag.safetensors")
        again = zoo.BagClassifier.load(tmp_path / "bag.safetensors")
        assert again.labels == model.labels and len(again.features) == len(features)
        texts = ["a b", "", "zzz", "B a!"]
        assert [features(t) for t in texts] == [again.features(t) for t in texts]
        assert rl.allclose(model(texts), again(texts), atol=2e-3)
    other = tmp_path / "other.safetensors"
    rl.serialization.safetensors.save_file({"x": rl.zeros(2)}, other)
    with pytest.raises(ValueError, match="no packaged model of this kind, it has no labels"):
        zoo.BagClassifier.load(other)
    facts = {"sentiment": {"file": "bag.safetensors", "sha256": "0"}}
    monkeypatch.setattr(bags, "FOLDER", tmp_path)
    monkeypatch.setattr(bags, "facts", lambda: facts)
    with pytest.raises(RuntimeError, match="is damaged: install rushlight-text again"):
        bags.load_bag("sentiment")


def test_words_and_letters_become_ids():
    words = zoo.Features(["a", "a b"], 2)
    assert words("A b") == [1, 2] and words("c") == [0] and len(words) == 3
    letters = zoo.Features(ngrams=2, buckets=10)
    assert letters("ab") == letters(" AB  ") and len(letters("ab")) == 4 + 3
    assert all(0 < index < 10 for index in letters("ab")) and len(letters("")) == 3


LINES = ["ann lives in paris", "bob lives in rome", "ann likes bob", "rome is old"]
SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}


@pytest.fixture(scope="module")
def tokenizer():
    return train(LINES * 20, kind="wordpiece", vocab_size=90, min_frequency=1, max_length=32)


def learned(tokenizer, folder, head, batches, **config):
    """A tiny model that knows a few examples by heart, in a folder."""
    rl.manual_seed(0)
    model = build_model("bert-base-uncased", head, vocab_size=len(tokenizer), **SIZES, **config)
    optimizer = rl.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(60):
        for batch in batches:
            optimizer.zero_grad()
            model(**batch).loss.backward()
            optimizer.step()
    save_model(model, folder)
    tokenizer.save(folder)
    return folder


def test_text_classification(tokenizer, tmp_path):
    texts, labels = LINES[:4], [0, 1, 0, 1]
    batch = tokenizer(texts, padding=True, return_tensors=True) | {"labels": rl.tensor(labels)}
    names = {"id2label": {"0": "ann", "1": "no"}}
    folder = learned(tokenizer, tmp_path, "sequence-classification", [batch], **names)
    classify = pipeline("text-classification", folder)
    assert [each["label"] for each in classify(texts)] == ["ann", "no", "ann", "no"]
    best = classify(texts[0], top_k=2)
    assert [each["label"] for each in best] == ["ann", "no"]
    assert sum(each["score"] for each in best) == pytest.approx(1, abs=1e-5)
    entries = json.loads((folder / "config.json").read_text())
    entries.pop("id2label")
    (folder / "config.json").write_text(json.dumps(entries))
    assert pipeline("text-classification", folder)(texts[0])["label"] == "LABEL_0"


def test_token_classification(tokenizer, tmp_path):
    kinds = {"ann": 1, "bob": 1, "paris": 3, "rome": 3}
    batches = []
    for line in LINES:
        found = tokenizer(line, offsets=True)
        labels = []
        for start, end in found.pop("offset_mapping"):
            words = [w for w in line.split() if w in kinds and _within(line, w, start, end)]
            word = words[0] if words else ""
            first = word and line.index(word) == start
            labels.append(kinds[word] if first else kinds[word] + 1 if word else 0)
        batch = {name: rl.tensor([values]) for name, values in found.items()}
        batches.append(batch | {"labels": rl.tensor([labels])})
    names = {str(i): n for i, n in enumerate(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"])}
    folder = learned(
        tokenizer, tmp_path, "token-classification", batches, id2label=names, num_labels=5
    )
    tag = pipeline("token-classification", folder)
    found = tag(LINES)
    assert [[(e["entity"], e["text"]) for e in row] for row in found] == [
        [("PER", "ann"), ("LOC", "paris")],
        [("PER", "bob"), ("LOC", "rome")],
        [("PER", "ann"), ("PER", "bob")],
        [("LOC", "rome")],
    ]
    assert tag(LINES[3])[0]["start"] == 0 and 0.5 < tag(LINES[3])[0]["score"] <= 1


def _within(line, word, start, end):
    return end > start and line.index(word) <= start < line.index(word) + len(word)


def test_question_answering(tokenizer, tmp_path):
    cases = [("ann lives in", LINES[0], "paris"), ("bob lives in", LINES[1], "rome")]
    batches = []
    for question, context, answer in cases:
        found = tokenizer(question, context, offsets=True)
        places = found.pop("offset_mapping")
        kinds = found["token_type_ids"]
        begin = context.index(answer)
        first = next(i for i, (s, e) in enumerate(places) if kinds[i] and s == begin and e > s)
        last = next(i for i, (s, e) in enumerate(places) if kinds[i] and e == begin + len(answer))
        batch = {name: rl.tensor([values]) for name, values in found.items()}
        ends = {"start_positions": rl.tensor([first]), "end_positions": rl.tensor([last])}
        batches.append(batch | ends)
    folder = learned(tokenizer, tmp_path, "question-answering", batches)
    ask = pipeline("question-answering", folder)
    for question, context, answer in cases:
        found = ask(question, context)
        assert found["answer"] == answer == context[found["start"] : found["end"]]
        assert 0 < found["score"] <= 1


def test_fill_mask(tokenizer, tmp_path):
    ids = tokenizer(LINES, padding=True, return_tensors=True)
    batches = []
    for place in (1, 2, 3):
        masked = ids["input_ids"].clone()
        masked[:, place] = tokenizer.mask_token_id
        batches.append({**ids, "input_ids": masked, "labels": ids["input_ids"]})
    folder = learned(tokenizer, tmp_path, "masked-lm", batches)
    fill = pipeline("fill-mask", folder)
    first = tokenizer.tokenize(LINES[3])
    text = LINES[3].replace("rome", "[MASK]", 1) if first[0] == "rome" else None
    if text is not None:
        best = fill(text, top_k=3)
        assert best[0]["token"] == "rome" and best[0]["text"] == LINES[3] and len(best) == 3
    with pytest.raises(ValueError, match=r"needs one \[MASK\], it has 0"):
        fill("no mask")


def test_embedding_and_generation(tokenizer, tmp_path):
    folder = learned(
        tokenizer,
        tmp_path / "labels",
        "sequence-classification",
        [{"input_ids": rl.tensor([[2, 5, 3]]), "labels": rl.tensor([0])}],
    )
    vectors = pipeline("embedding", folder)(LINES)
    assert vectors.shape == (4, 32) and rl.allclose(vectors.norm(dim=1), rl.ones(4), atol=1e-5)
    rl.manual_seed(0)
    words = train(LINES, vocab_size=280, min_frequency=1)
    writer = build_model("gpt2", "causal-lm", vocab_size=len(words), n_embd=16, n_layer=1, n_head=2)
    save_model(writer, tmp_path / "writer")
    words.save(tmp_path / "writer")
    write = pipeline("text-generation", tmp_path / "writer")
    answer = write("ann", max_new_tokens=4)
    assert isinstance(answer, str) and "".join(write.stream("ann", max_new_tokens=4)) == answer
    assert write(["ann", "bob lives"], max_new_tokens=4)[0] == answer


def test_tasks_are_checked():
    with pytest.raises(ValueError, match="no task is called 'sing'"):
        pipeline("sing")
    for task in TASKS[len(PACKAGED) :]:
        with pytest.raises(ValueError, match="needs the folder of a model"):
            pipeline(task)


def test_pipeline_at_the_root():
    assert rushlight_text.pipeline is pipeline
    assert "pipeline" in dir(rushlight_text)
    assert rushlight_text.pipeline("sentiment")("a lovely film")["label"] == "positive"
