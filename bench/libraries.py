"""Steps of training and generation of small models of transformers: on core and on PyTorch; and a
gigabyte of safetensors beside what the disk gives.

Both run the same unchanged programs, one thread, in processes that take turns: the least time of
each call over the rounds. Ours runs in an environment that answers for the name `torch`
(`rushlight torch install`), PyTorch's in one of its own, both with transformers.

Usage: python bench/libraries.py THEIRS [--rounds 5]    writes results/libraries.json and .md
       python: of an environment with rushlight as torch; THEIRS: that of one with torch
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "ci"))
from alternating import least_seconds

RESULTS = Path(__file__).parent / "results"
SIZES = {"hidden_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4}
ROWS, WORDS, NEW = 8, 32, 32  # of a batch of training; generated tokens
SECONDS = 1.5  # for a call in a round
GIGABYTE, PARTS = 2**30, 16


def models():
    """Name -> (model, arguments of a step, whether it generates)."""
    import torch
    import transformers as t

    ids = torch.randint(3, 1000, (ROWS, WORDS))
    decoder = {"vocab_size": 1000, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    labels = {"input_ids": ids, "labels": ids}
    gpt2 = {"n_embd": 128, "n_layer": 4, "n_head": 4, "n_positions": 128}
    t5 = {"d_model": 128, "d_kv": 32, "d_ff": 512, "num_layers": 4, "num_heads": 4}
    ends = {"decoder_start_token_id": 0, "eos_token_id": 2, "pad_token_id": 0}
    wide = {**SIZES, "intermediate_size": 512}
    kinds = ids[:, 0] % 2
    image = {"pixel_values": torch.randn(ROWS, 3, 64, 64), "labels": kinds}
    sound = {"input_values": torch.randn(2, 8000), "labels": kinds[:2]}
    convolutions = {
        "conv_dim": (64,) * 7,
        "num_conv_pos_embeddings": 16,
        "classifier_proj_size": 64,
    }
    return {
        "BERT": (
            t.BertForSequenceClassification(t.BertConfig(vocab_size=1000, **wide)),
            {"input_ids": ids, "labels": kinds},
            False,
        ),
        "GPT-2": (t.GPT2LMHeadModel(t.GPT2Config(**gpt2, **decoder)), labels, True),
        "Llama": (t.LlamaForCausalLM(t.LlamaConfig(**wide, **decoder)), labels, True),
        "T5": (
            t.T5ForConditionalGeneration(t.T5Config(vocab_size=1000, **t5, **ends)),
            labels,
            True,
        ),
        "ViT": (
            t.ViTForImageClassification(t.ViTConfig(image_size=64, patch_size=8, **wide)),
            image,
            False,
        ),
        "Wav2Vec2": (
            t.Wav2Vec2ForSequenceClassification(t.Wav2Vec2Config(**wide, **convolutions)),
            sound,
            False,
        ),
    }


def least(call):
    """The least seconds of a call, in a round."""
    call()
    best, end = math.inf, time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def step_of(model, arguments):
    """A step of training with AdamW."""
    import torch

    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model.train()

    def step():
        optimizer.zero_grad()
        model(**arguments).loss.backward()
        optimizer.step()

    return step


def generation_of(model, ids):
    """Greedy generation of a fixed number of tokens for two prompts."""
    model.eval()
    given = {"max_new_tokens": NEW, "min_new_tokens": NEW, "do_sample": False}
    return lambda: model.generate(ids[:2], attention_mask=(ids[:2] >= 0).long(), **given)


def seconds_of_models():
    """Seconds of every call in this process."""
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(1)
    found = {}
    for name, (model, arguments, generates) in models().items():
        found[f"{name}: step of training"] = least(step_of(model, arguments))
        if generates:
            found[f"{name}: {NEW} tokens"] = least(generation_of(model, arguments["input_ids"]))
    return found


def seconds_of_files():
    """Seconds to write a gigabyte of safetensors, flushed to the disk, and to read it; and of plain
    bytes."""
    import torch
    from safetensors.torch import load_file, save_file

    tensors = {f"w{i}": torch.randn(GIGABYTE // PARTS // 4) for i in range(PARTS)}
    data = bytes(GIGABYTE)
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:
        file, plain = Path(folder) / "a.safetensors", Path(folder) / "plain"
        found = {
            "safetensors: save 1 GiB": timed(lambda: flushed(save_file, tensors, file)),
            "plain file: write 1 GiB": timed(lambda: flushed(write, data, plain)),
        }
        found["safetensors: load 1 GiB"] = timed(lambda: read_all(load_file(file)))
        found["plain file: read 1 GiB"] = timed(plain.read_bytes)
    return found


def write(data, file):
    """A plain file."""
    file.write_bytes(data)


def flushed(save, what, file):
    """Save, and wait until the disk has it."""
    save(what, file)
    with open(file, "rb") as opened:
        os.fsync(opened.fileno())


def read_all(tensors):
    """Touch every page: what is mapped is not yet read."""
    return [each[::1024].sum() for each in tensors.values()]


def timed(call):
    """The least seconds of three calls."""
    best = math.inf
    for _ in range(3):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def compared(theirs, rounds):
    """Name -> {"ours": s, "theirs": s}: least times over rounds in which processes take turns."""
    rows = {}
    for part in ("models", "files"):
        command = [__file__, "--time", part]
        best = least_seconds(theirs, lambda which, command=command: command, rounds)
        for which, found in best.items():
            for name, took in found.items():
                rows.setdefault(name, {})[which] = took
    return rows


def page_of(best):
    """The table, and geometric means."""
    text = ["# Programs of transformers on core and on PyTorch", ""]
    text += ["One thread; least times of calls, processes in turn.", ""]
    text += ["| call | rushlight, ms | PyTorch, ms | ratio |", "| --- | --- | --- | --- |"]
    for name, row in best.items():
        ratio = row["theirs"] / row["ours"]
        text.append(
            f"| {name} | {row['ours'] * 1e3:.2f} | {row['theirs'] * 1e3:.2f} | {ratio:.2f} |"
        )
    for words, end in (("steps of training", "training"), ("generation", "tokens")):
        ratios = [r["theirs"] / r["ours"] for n, r in best.items() if n.endswith(end)]
        text += ["", f"Geometric mean of {words}: {statistics.geometric_mean(ratios):.2f}"]
    return "\n".join(text) + "\n"


def main():
    """The command line."""
    if sys.argv[1:2] == ["--time"]:
        parts = {"models": seconds_of_models, "files": seconds_of_files}
        print(json.dumps(parts[sys.argv[2]]()))
        return
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("theirs")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    best = compared(options.theirs, options.rounds)
    (RESULTS / "libraries.json").write_text(json.dumps(best, indent=1) + "\n")
    page = page_of(best)
    (RESULTS / "libraries.md").write_text(page)
    print(page)


if __name__ == "__main__":
    main()
