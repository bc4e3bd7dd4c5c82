"""How long pretrained models of rushlight_text take beside transformers on PyTorch.

Models have their published sizes and drawn weights. Both run in processes of their own, in turn,
on one thread or on several; what counts is the shortest of a few calls in each round (time of the
processor on one thread). Weights of bytes, and inputs of bytes with them ("dynamic"), stand against
PyTorch's float32, and so does float32 with ids guessed by layers of bytes. Prints a table in
Markdown.

Usage: python ci/text_speed.py PYTHON [--threads N] [--rounds N]
       PYTHON: of an environment with torch and transformers
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

from alternating import least_seconds

CALLS = 4  # of each kind in a round
LENGTHS = {"BERT-base, 1 x 128": (1, 128), "BERT-base, 8 x 64": (8, 64)}
PROMPT, NEW = 32, 64  # tokens of a decoding
BYTES, DYNAMIC = ", int8", ", int8 dynamic"
GUESSED = ", int8 guesses"  # float32 decides, the layers of bytes guess
PROMPTS = 4  # for these, as it depends on the text how many guesses are right


def ours(threads: int) -> dict[str, Callable[[], Any]]:
    """Calls of rushlight_text; those of bytes end in BYTES or DYNAMIC."""
    import rushlight as rl
    from rushlight_text.generation import generate
    from rushlight_text.models.pretrained import build_model, int8_copy, quantize_int8

    rl.set_num_threads(threads)
    rl.manual_seed(0)
    found: dict[str, Callable[[], Any]] = {}
    for end in ("", BYTES, DYNAMIC):
        bert = build_model("bert-base-uncased").eval()
        gpt = build_model("gpt2", "causal-lm").eval()
        if end:
            for model in (bert, gpt):
                quantize_int8(model, dynamic=end == DYNAMIC)
        for name, shape in LENGTHS.items():
            words = rl.randint(0, 30000, shape)
            found[name + end] = lambda m=bert, w=words: m(w)
        prompt = rl.randint(0, 50000, (1, PROMPT))
        found[f"GPT-2, {NEW} tokens{end}"] = lambda m=gpt, p=prompt: generate(
            m, p, max_new_tokens=NEW, min_new_tokens=NEW, do_sample=False
        )
    gpt = build_model("gpt2", "causal-lm").eval()
    helper = int8_copy(gpt)
    prompts = rl.randint(0, 50000, (PROMPTS, 1, PROMPT))
    options = {"max_new_tokens": NEW, "min_new_tokens": NEW, "assistant_model": helper}
    found[f"GPT-2, {NEW} tokens{GUESSED}"] = lambda: [generate(gpt, p, **options) for p in prompts]
    return found


def theirs(threads: int) -> dict[str, Callable[[], Any]]:
    """The same calls of transformers, all in float32."""
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    bert = transformers.BertModel(transformers.BertConfig()).eval()
    gpt = transformers.GPT2LMHeadModel(transformers.GPT2Config()).eval()
    found: dict[str, Callable[[], Any]] = {}
    for name, shape in LENGTHS.items():
        words = torch.randint(0, 30000, shape)
        found[name] = lambda w=words: bert(w)
    prompt = torch.randint(0, 50000, (1, PROMPT))
    found[f"GPT-2, {NEW} tokens"] = lambda: gpt.generate(
        prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=NEW, min_new_tokens=NEW,
        do_sample=False, pad_token_id=0,
    )  # fmt: skip
    return found


def measure(which: str, threads: int) -> None:
    """Print the seconds of each call."""
    warnings.simplefilter("ignore")
    clock = time.process_time if threads == 1 else time.perf_counter
    if which == "ours":
        from rushlight import no_grad

        calls = ours(threads)
    else:
        from torch import no_grad

        calls = theirs(threads)
    found = {}
    with no_grad():
        for name, call in calls.items():
            call()
            times = PROMPTS if name.endswith(GUESSED) else 1
            found[name] = min(_seconds(call, clock) for _ in range(CALLS)) / times
    print(json.dumps(found))


def _seconds(call: Callable[[], Any], clock: Callable[[], float]) -> float:
    begin = clock()
    call()
    return clock() - begin


def compare(python: str, threads: int, rounds: int) -> None:
    """Measure both in turn, and print their table."""
    more = ["--threads", str(threads)]
    best = least_seconds(python, lambda which: [__file__, "--one", which, *more], rounds)
    print("| call | transformers, ms | Rushlight, ms | ratio |\n| --- | --- | --- | --- |")
    for name, took in best["ours"].items():
        peer = best["theirs"][name.partition(BYTES)[0]]
        print(f"| {name} | {peer * 1000:.3g} | {took * 1000:.3g} | {peer / took:.2f} |")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("python", nargs="?", default=sys.executable)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--one", choices=["ours", "theirs"], help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        measure(asked.one, asked.threads)
    else:
        compare(asked.python, asked.threads, asked.rounds)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
