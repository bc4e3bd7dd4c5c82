"""The recipes run, learn, and leave folders that answer."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

import rushlight as rl
from rushlight_text.models.pretrained import build_model, save_model
from rushlight_text.pipelines import pipeline
from rushlight_text.tokenizers import Tokenizer, train

pytest.importorskip("lightning_lite")
RECIPES = Path(__file__).parents[1] / "recipes"
if not RECIPES.is_dir():
    pytest.skip("the recipes are in the repository alone", allow_module_level=True)


def run(folder, name, *arguments):
    command = [sys.executable, str(RECIPES / f"{name}.py"), *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_a_gpt_from_scratch(tmp_path):
    (tmp_path / "lines.txt").write_text("the cat sat on the mat\nthe dog ran to the cat\n" * 60)
    sizes = ["--vocab", 280, "--block", 16, "--batch", 8, "--width", 32, "--layers", 1]
    options = ["--steps", 60, "--lr", 0.01, "--out", "gpt", *sizes]
    said = run(tmp_path, "gpt_from_scratch", "lines.txt", *options)
    found = float(said.split("perplexity of its own text: ")[1].split()[0])
    assert found < 4, said
    write = pipeline("text-generation", tmp_path / "gpt")
    assert write("the cat sat on", max_new_tokens=5).startswith(" the")


def test_translation(tmp_path):
    words = {"one": "eins", "two": "zwei", "three": "drei", "four": "vier", "five": "funf"}
    pick = random.Random(0)
    rows = [pick.choices(list(words), k=pick.randint(1, 4)) for _ in range(300)]
    lines = [f"{' '.join(row)}\t{' '.join(words[w] for w in row)}\n" for row in rows]
    (tmp_path / "train.tsv").write_text("".join(lines[:280]))
    (tmp_path / "valid.tsv").write_text("".join(lines[280:]))
    sizes = ["--vocab", 300, "--width", 32, "--layers", 1, "--tokens", 512]
    schedule = ["--steps", 800, "--warmup", 100, "--lr", 0.01, "--out", "out"]
    said = run(tmp_path, "translate", "train.tsv", "valid.tsv", *sizes, *schedule)
    assert float(said.split("BLEU ")[1].split(",")[0]) > 70, said
    translate = pipeline("translation", tmp_path / "out")
    assert translate("two five", num_beams=2) == "zwei funf"


@pytest.mark.parametrize("rank", [0, 4])
def test_fine_tuning(tmp_path, rank):
    pick = random.Random(0)
    rows = []
    for _ in range(240):
        label = pick.choice(["good", "bad"])
        words = pick.choices("the film was a story".split(), k=pick.randint(2, 8))
        words.insert(pick.randint(0, 2), {"good": "fine", "bad": "poor"}[label])
        rows.append(f"{label}\t{' '.join(words)}\n")
    (tmp_path / "train.tsv").write_text("".join(rows[:200]))
    (tmp_path / "valid.tsv").write_text("".join(rows[200:]))
    tokenizer = train(rows, kind="wordpiece", vocab_size=80, min_frequency=1, max_length=64)
    sizes = {"dim": 32, "n_layers": 1, "n_heads": 2, "hidden_dim": 64, "dropout": 0.0}
    sizes["initializer_range"] = 0.1  # published weights are that large
    rl.manual_seed(0)
    model = build_model("distilbert-base-uncased", vocab_size=len(tokenizer), **sizes)
    save_model(model, tmp_path / "base")
    tokenizer.save(tmp_path / "base")
    options = ["--epochs", 15, "--lr", 0.003, "--lora", rank, "--tokens", 128, "--out", "tuned"]
    run(tmp_path, "fine_tune_encoder", "base", "train.tsv", "valid.tsv", *options)
    judge = pipeline("text-classification", tmp_path / "tuned")
    found = judge(["the story was fine", "a poor film"])
    assert [each["label"] for each in found] == ["good", "bad"]


def encoder(folder, lines, **sizes):
    """A small DistilBERT with its tokenizer."""
    tokenizer = train(lines, kind="wordpiece", vocab_size=120, min_frequency=1, max_length=64)
    sizes = {"dim": 32, "n_heads": 2, "hidden_dim": 64, "dropout": 0.0, **sizes}
    rl.manual_seed(0)
    changes = {"vocab_size": len(tokenizer), "initializer_range": 0.1, **sizes}
    head = "sequence-classification" if "id2label" in sizes else None
    save_model(build_model("distilbert-base-uncased", head, **changes), folder)
    tokenizer.save(folder)


def test_distilling(tmp_path):
    pick = random.Random(0)
    rows = []
    for _ in range(240):
        label = pick.choice(["good", "bad"])
        words = pick.choices("the film was a story".split(), k=pick.randint(2, 8))
        words.insert(pick.randint(0, 2), {"good": "fine", "bad": "poor"}[label])
        rows.append(f"{label}\t{' '.join(words)}\n")
    (tmp_path / "train.tsv").write_text("".join(rows[:200]))
    (tmp_path / "valid.tsv").write_text("".join(rows[200:]))
    encoder(tmp_path / "base", rows, n_layers=2)
    tuned = ["--epochs", 10, "--lr", 0.003, "--tokens", 128, "--out", "tuned"]
    run(tmp_path, "fine_tune_encoder", "base", "train.tsv", "valid.tsv", *tuned)
    options = ["--layers", 1, "--epochs", 8, "--lr", 0.003, "--out", "small"]
    said = run(tmp_path, "distil", "tuned", "train.tsv", "valid.tsv", *options)
    assert "'accuracy': 1.0" in said and "'teacher': 1.0" in said
    judge = pipeline("text-classification", tmp_path / "small")
    assert judge.model.config.n_layers == 1
    found = judge(["the story was fine", "a poor film"])
    assert [each["label"] for each in found] == ["good", "bad"]


def test_extracting_answers(tmp_path):
    pick = random.Random(0)
    choices = {"who": "ann bob eve tom", "where": "paris rome oslo bonn", "when": "may june july"}

    def filler():
        return " ".join(pick.choices("the a was story then".split(), k=pick.randint(2, 9)))

    def paragraph():
        found = {asked: pick.choice(words.split()) for asked, words in choices.items()}
        text = f"{filler()} {found['who']} went to {found['where']} in {found['when']} {filler()}"
        asked, answer = pick.choice(list(found.items()))
        answers = [{"text": answer, "answer_start": text.index(f" {answer} ") + 1}]
        return {"context": text, "qas": [{"question": f"{asked} was it ?", "answers": answers}]}

    for part, count in (("train", 300), ("valid", 30)):
        data = {"data": [{"paragraphs": [paragraph() for _ in range(count)]}]}
        (tmp_path / f"{part}.json").write_text(json.dumps(data))
    lines = [*choices.values(), "the a was story then went to in who where when it ?"]
    encoder(tmp_path / "base", lines * 4, n_layers=2)
    options = ["--epochs", 13, "--lr", 0.003, "--window", 12, "--tokens", 512, "--out", "reader"]
    said = run(tmp_path, "extract_answers", "base", "train.json", "valid.json", *options)
    assert float(said.split("'exact': ")[1].split(",")[0]) >= 80, said
    read = pipeline("question-answering", tmp_path / "reader")
    assert read("where was it ?", "then bob went to rome in june")["answer"] == "rome"


def test_training_a_tokenizer(tmp_path):
    (tmp_path / "lines.txt").write_text("the cat sat on the mat\nthe dog ran to the cat\n" * 60)
    (tmp_path / "other.txt").write_text("the mat ran to the dog\n")
    for kind in ("byte_bpe", "wordpiece"):
        options = ["--valid", "other.txt", "--kind", kind, "--vocab", 300, "--out", kind]
        said = run(tmp_path, "train_tokenizer", "lines.txt", *options)
        assert "unknown 0.00, lines_back 100.00" in said
        assert float(said.split("tokens_per_word ")[1].split(",")[0]) < 1.5
        assert Tokenizer.from_folder(tmp_path / kind).encode("the cat")
