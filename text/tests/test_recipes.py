"""The recipes run, learn, and leave folders that answer."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

import rushlight as rl
from rushlight_text.models.pretrained import build_model, save_model
from rushlight_text.pipelines import pipeline
from rushlight_text.tokenizers import train

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
