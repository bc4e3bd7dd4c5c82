"""Texts, batches and networks that `test_texts.py` compares with fastai's.

`python fastai_texts.py` runs them with fastai and writes `fastai_texts.json`.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

TEXTS = [
    "The QUICK brown Fox... jumps!!!! over A lazy dog",
    "so so so good, good good",
    "It&#39;s <br />1/2 of #one amp; the other  \\n quot;x quot;",
    "NASA's U.S. base isn't HERE or There",
    "aaa bbb b bb AAA no No nO 1111",
    "a a a a. word word word, word",
]
CORPUS = [
    " ".join(f"w{(number * step) % 7}" for step in range(3 + 5 * number)) for number in range(9)
]
LM = {"emb_sz": 6, "n_hid": 8, "n_layers": 2}


def waves(of, shape, start):
    """Numbers between -0.5 and 0.5 of a shape."""
    values = [0.5 * math.sin(1.3 * start + 0.61 * place) for place in range(math.prod(shape))]
    return of.tensor(values, dtype=of.float32).reshape(shape)


def fill(of, model):
    """Give every weight a value by its name's rank; the shapes by name."""
    state = model.state_dict()
    for number, name in enumerate(sorted(state)):
        if state[name].dtype == of.float32:
            values = waves(of, tuple(state[name].shape), number)
            state[name] = values.abs() + 0.5 if "running_var" in name else values
    # Tied weights stand in the state under several names: one value for all.
    words = state[next(name for name in sorted(state) if name.endswith("encoder.weight"))]
    for name in state:
        if name.endswith(("encoder_dp.emb.weight", "1.decoder.weight")):
            state[name] = words
    model.load_state_dict(state)
    return {name: list(value.shape) for name, value in state.items()}


def rounded(values):
    """A tensor as a list of rounded numbers."""
    return [round(float(each), 4) for each in values.reshape(-1).tolist()]


def ids(of):
    """Three texts, filled up by chunks of 4 at the front."""
    rows = [[2, 5, 6, 7, 8, 9] * 2, [1] * 4 + [2, 6, 8, 9, 4, 1, 1, 1], [1] * 8 + [2, 7, 1, 1]]
    return of.tensor(rows)


def networks(of, language_model, classifier):
    """Outputs of both networks with given weights, in evaluation."""
    model = language_model(LM)
    found = {"lm shapes": fill(of, model)}
    model.eval()
    model.reset()
    x = ids(of)[:2, :4]
    with of.no_grad():
        found["lm"] = [rounded(model(x)[0]), rounded(model(x)[0]), rounded(model(x[:1])[0])]
    model = classifier(LM)
    found["classifier shapes"] = fill(of, model)
    model.eval()
    with of.no_grad():
        found["classifier"] = rounded(model(ids(of))[0])
    return found


def main():
    """Record fastai's answers."""
    import fastai.text.all as of
    import torch
    from fastai.text.core import defaults
    from fastai.text.models.core import get_language_model, get_text_classifier

    rules = of.compose(*defaults.text_proc_rules)
    found = {"rules": [rules(text) for text in TEXTS]}
    found["each"] = {
        rule.__name__: [rule(text) for text in TEXTS] for rule in defaults.text_proc_rules
    }
    count = Counter(token for text in CORPUS for token in text.split())
    found["vocab"] = [
        of.make_vocab(count, **way) for way in ({}, {"min_freq": 20}, {"max_vocab": 12})
    ]
    tokens = of.Tokenizer(of.BaseTokenizer())
    for name, is_lm in (("lm", True), ("classes", False)):
        blocks = [of.TextBlock(tokens, is_lm=is_lm, seq_len=5)]
        blocks += [] if is_lm else [of.CategoryBlock]
        block = of.DataBlock(
            blocks, splitter=of.IndexSplitter([1, 4, 6, 8]),
            get_y=None if is_lm else lambda text: str(len(text) % 2),
        )  # fmt: skip
        dls = block.dataloaders(CORPUS, bs=2 if is_lm else 4)
        batches = [[x.tolist(), y.tolist()] for x, y in dls.valid]
        found[name] = {"batches": batches, "lengths": [len(dls.train), len(dls.valid)]}
        found[name]["vocab"] = list(dls.vocab if is_lm else dls.vocab[0])
    found["networks"] = networks(
        torch,
        lambda way: get_language_model(of.AWD_LSTM, 10, {**of.awd_lstm_lm_config, **way}),
        lambda way: get_text_classifier(of.AWD_LSTM, 10, 3, 4, way, lin_ftrs=[5], max_len=8),
    )
    Path(__file__).with_suffix(".json").write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
