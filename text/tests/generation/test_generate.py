"""Generation gives transformers' ids (recorded); options, errors, streams, stop strings."""

import pytest
import tiny_folders

import rushlight as rl
from rushlight_text.generation import (
    generate,
    generate_text,
    processors,
    stream_ids,
    stream_text,
)
from rushlight_text.models.pretrained import build_model, load_model
from rushlight_text.tokenizers import train

NAMES = ["gpt2", "llama", "t5", "bart", "marian"]


@pytest.fixture(scope="module")
def models(recorded_folder, tmp_path_factory):
    configs, parts = tiny_folders.parts(recorded_folder)
    folder = tmp_path_factory.mktemp("tiny")
    return {
        name: load_model(tiny_folders.write(folder / name, configs[name], parts[name]["weights"]))
        for name in NAMES
    }


def ended(row, start, end):
    """A row to its end: what transformers fills up beams with is not always the padding."""
    new = row[start:]
    return row[: start + new.index(end) + 1] if end in new else row


@pytest.mark.parametrize("name", NAMES)
def test_transformers_ids(models, recorded, name):
    first, *runs = recorded("generated")[name]
    ids = rl.tensor(first["input"])
    assert len(runs) == 18
    for run in runs:
        options = dict(run["options"])
        if "bad_words_ids" in options:
            options["bad_words"] = options.pop("bad_words_ids")
        found = generate(
            models[name],
            ids,
            (ids != run["pad"]).long(),
            max_new_tokens=8,
            eos_token_id=run["end"],
            pad_token_id=run["pad"],
            decoder_start_token_id=run["pad"],
            **options,
        )
        start = ids.shape[1] if name in ("gpt2", "llama") else 1
        ours, theirs = (
            [ended(row, start, run["end"]) for row in rows] for rows in (found.tolist(), run["ids"])
        )
        assert ours == theirs, (run["options"], run["end"])
        assert found.shape[1] == len(run["ids"][0])


@pytest.mark.parametrize("name", ["gpt2", "t5", "bart", "marian"])
def test_groups_of_beams(models, recorded, name):
    first, *runs = recorded("diverse_beams")[name]
    ids = rl.tensor(first["input"])
    assert len(runs) == 12
    for run in runs:
        settings = {"eos_token_id": run["end"], "pad_token_id": run["pad"]}
        settings |= {"decoder_start_token_id": run["pad"], "max_new_tokens": 8}
        mask = (ids != run["pad"]).long()
        found = generate(models[name], ids, mask, **settings, **run["options"])
        start = ids.shape[1] if name == "gpt2" else 1
        ours, theirs = (
            [ended(row, start, run["end"]) for row in rows] for rows in (found.tolist(), run["ids"])
        )
        assert ours == theirs, (run["options"], run["end"])


def test_a_penalty_makes_groups_differ(models):
    ids = rl.tensor([[5, 9, 7]])
    options = {"num_beams": 4, "num_beam_groups": 4, "num_return_sequences": 4}
    options |= {"eos_token_id": 23, "pad_token_id": 0, "max_new_tokens": 4}
    same = generate(models["gpt2"], ids, **options).tolist()
    differ = generate(models["gpt2"], ids, diversity_penalty=50.0, **options).tolist()
    assert len({tuple(row) for row in same}) == 1
    assert len({row[3] for row in differ}) == 4


def test_processors(recorded):
    first, *others = recorded("generated")["processors"]
    scores = rl.tensor(first["scores"])
    made = {
        "top_k": processors.top_k(4),
        "top_p": processors.top_p(0.8),
        "min_p": processors.min_p(0.1),
        "temperature": processors.temperature(0.7),
    }
    ids = rl.zeros(3, 1, dtype=rl.long)
    assert len(others) == 4
    for case in others:
        found = made[case["name"]](ids, scores)
        expected = rl.tensor(
            [[float("-inf") if x is None else x for x in row] for row in case["scores"]]
        )
        assert rl.equal(rl.isinf(found), rl.isinf(expected)), case["name"]
        finite = ~rl.isinf(expected)
        assert rl.allclose(found[finite], expected[finite], atol=1e-6)


def test_sampling_follows_the_probabilities(models):
    model = models["gpt2"]
    prompt = rl.tensor([[5, 9, 7]])
    expected = (model(prompt).logits[0, -1] / 1.5).softmax(-1)
    draws = 4000
    generator = rl.Generator().manual_seed(0)
    options = {"max_new_tokens": 1, "do_sample": True, "eos_token_id": 23, "temperature": 1.5}
    found = generate(model, prompt, num_return_sequences=draws, generator=generator, **options)[
        :, -1
    ]
    shares = rl.bincount(found, minlength=24).float() / draws
    assert (shares - expected).abs().max() < 0.03
    few = generate(model, prompt, num_return_sequences=200, top_k=2, **options)[:, -1]
    assert set(few.tolist()) == set(expected.topk(2)[1].tolist())
    nucleus = generate(model, prompt, num_return_sequences=200, top_p=1e-6, **options)[:, -1]
    assert set(nucleus.tolist()) == {int(expected.argmax())}
    again = [
        generate(
            model,
            prompt,
            max_new_tokens=6,
            do_sample=True,
            generator=rl.Generator().manual_seed(1),
        ).tolist()
        for _ in range(2)
    ]
    assert again[0] == again[1]


def test_a_batch_padded_on_the_left_is_its_rows(models):
    for name in ("gpt2", "llama"):
        rows = [[5, 9, 7, 11, 3], [4, 8], [6]]
        ids = rl.tensor([[0] * (5 - len(row)) + row for row in rows])
        mask = rl.tensor([[0] * (5 - len(row)) + [1] * len(row) for row in rows])
        options = {"max_new_tokens": 6, "eos_token_id": 2, "pad_token_id": 0}
        whole = generate(models[name], ids, mask, **options)[:, 5:]
        for row, found in zip(rows, whole.tolist(), strict=True):
            alone = generate(models[name], rl.tensor([row]), **options)[0, len(row) :].tolist()
            assert found[: len(alone)] == alone and set(found[len(alone) :]) <= {0}


def test_own_processors_and_stops(models):
    model = models["gpt2"]
    prompt = rl.tensor([[5, 9]])

    def only_odd(ids, scores):
        even = rl.arange(scores.shape[-1]) % 2 == 0
        return scores.masked_fill(even, float("-inf"))

    found = generate(model, prompt, max_new_tokens=6, processors=[only_odd], eos_token_id=0)
    assert all(index % 2 for index in found[0, 2:].tolist()) and found.shape == (1, 8)
    stopped = generate(
        model, prompt, max_new_tokens=9, eos_token_id=0, stop=lambda ids: ids[:, 0] == 5
    )
    assert stopped.shape == (1, 3)


@pytest.mark.parametrize("name", ["gpt2", "t5"])
@pytest.mark.parametrize("beams", [1, 3])
def test_answers_from_a_list(models, name, beams):
    ids = rl.tensor([[5, 9, 7], [4, 8, 6]])
    prompt = 3 if name == "gpt2" else 1
    choices = [[11, 12], [11, 13, 14], [3]]
    chosen = processors.one_of(choices, prompt, end=2)
    options = {"eos_token_id": 2, "pad_token_id": 0, "num_beams": beams, "max_new_tokens": 6}
    found = generate(models[name], ids, processors=[chosen], **options)[:, prompt:].tolist()
    for row in found:
        assert row[: row.index(2)] in choices and set(row[row.index(2) + 1 :]) <= {0}
    if beams > 1:  # all hypotheses are kept: the best answer is found
        scores = [_likelihood(models[name], ids[:1], [*choice, 2]) for choice in choices]
        best = choices[max(range(3), key=lambda place: scores[place])]
        assert found[0][: found[0].index(2)] == best
    with pytest.raises(ValueError, match="none may be empty"):
        processors.one_of([[]], 1, 2)


def _likelihood(model, ids, answer):
    """Mean log probability of an answer among the allowed ids' own."""
    total = 0.0
    for place, token in enumerate(answer):
        before = rl.tensor([answer[:place]], dtype=rl.long)
        if model.is_encoder_decoder:
            start = rl.zeros(1, 1, dtype=rl.long)
            logits = model(ids, decoder_input_ids=rl.cat([start, before], 1)).logits
        else:
            logits = model(rl.cat([ids, before], 1)).logits
        total += logits[0, -1].log_softmax(-1)[token].item()
    return total / len(answer)


def test_streams_are_the_same_ids(models):
    for name in ("gpt2", "t5"):
        ids = rl.tensor([[5, 9, 7], [4, 8, 6]])
        options = {"max_new_tokens": 7, "eos_token_id": 2}
        whole = generate(models[name], ids, **options)
        steps = rl.stack(list(stream_ids(models[name], ids, **options)), 1)
        assert steps.tolist() == whole[:, -steps.shape[1] :].tolist()
        assert rl.is_grad_enabled()
    with pytest.raises(NotImplementedError, match="beams end together"):
        next(stream_ids(models["gpt2"], ids, num_beams=2))


TEXTS = ["the cat sat on the mat.", "naïve façade 🙂 日本", "the dog and the cat"] * 5


@pytest.fixture(scope="module")
def speaker():
    """A model that says the third text by heart."""
    rl.manual_seed(0)
    tokenizer = train(TEXTS, vocab_size=300, min_frequency=1)
    model = build_model(
        "gpt2",
        "causal-lm",
        vocab_size=len(tokenizer),
        n_embd=32,
        n_layer=1,
        n_head=2,
        n_positions=64,
    )
    ids = [tokenizer.encode(text) + [tokenizer.eos_token_id] for text in TEXTS[:3]]
    optimizer = rl.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(60):
        loss = sum(model(rl.tensor([row]), labels=rl.tensor([row])).loss for row in ids)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval(), tokenizer


def test_text(speaker):
    model, tokenizer = speaker
    assert generate_text(model, tokenizer, "the cat", max_new_tokens=40) == " sat on the mat."
    both = generate_text(model, tokenizer, ["naïve", "the dog and"], max_new_tokens=60)
    assert both == [" façade 🙂 日本", " the cat"]
    cut = generate_text(model, tokenizer, "the cat", max_new_tokens=40, stop_strings=[" the m"])
    assert cut == " sat on"


def test_streamed_text(speaker):
    model, tokenizer = speaker
    for prompt, stops in (
        ("the cat", []),
        ("naïve", []),
        ("the cat", [" the m"]),
        ("the", ["zzz"]),
    ):
        options = {"max_new_tokens": 40, "stop_strings": stops}
        pieces = list(stream_text(model, tokenizer, prompt, **options))
        assert "".join(pieces) == generate_text(model, tokenizer, prompt, **options)
        assert not any("\ufffd" in piece for piece in pieces) and len(pieces) > 1


def test_wrong_options_are_named(models):
    model, ids = models["gpt2"], rl.tensor([[5, 9]])
    for options, message in (
        ({"max_new_tokens": 0}, "max_new_tokens must be at least 1: 0"),
        ({"temperature": 0.0}, "temperature must be positive: 0.0"),
        ({"top_p": 1.5}, "top_p must be from 0 to 1: 1.5"),
        ({"top_k": 0}, "top_k must be at least 1: 0"),
        ({"num_beams": 4, "num_beam_groups": 3}, "must divide num_beams, 4: 3"),
        ({"num_beams": 2, "num_beam_groups": 2, "diversity_penalty": -1.0}, "not be negative"),
        ({"num_beams": 2, "diversity_penalty": 1.0}, "acts between groups of beams"),
        ({"num_return_sequences": 2}, "2 sequences are more than 1 beams"),
    ):
        with pytest.raises(ValueError, match=message):
            generate(model, ids, **options)
    with pytest.raises(TypeError, match=r"no option is called \['beams'\]"):
        generate(model, ids, beams=3)
    with pytest.raises(NotImplementedError, match="beams are searched, not drawn"):
        generate(model, ids, num_beams=2, do_sample=True)
    with pytest.raises(ValueError, match=r"must be integers \[B, T\]"):
        generate(model, rl.tensor([5, 9]))
    with pytest.raises(ValueError, match="at least one id"):
        generate(model, rl.zeros(1, 0, dtype=rl.long))
    with pytest.raises(ValueError, match="must be padded on the left"):
        generate(model, ids, rl.tensor([[1, 0]]))
    with pytest.raises(ValueError, match=r"attention_mask has shape \[1, 3\]"):
        generate(model, ids, rl.ones(1, 3))
    with pytest.raises(ValueError, match="20 positions"):
        generate(model, ids, max_new_tokens=30, eos_token_id=23, min_new_tokens=30)
