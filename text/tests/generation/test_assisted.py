"""Guessed ids change the number of calls, never the answer."""

import pytest
import tiny_folders

import rushlight as rl
from rushlight_text.generation import generate, generate_text, stream_ids
from rushlight_text.generation.assisted import Lookup
from rushlight_text.models.pretrained import build_model, int8_copy, load_model
from rushlight_text.tokenizers import train

NAMES = ["gpt2", "llama", "t5", "bart", "marian"]
OPTIONS = [
    {},
    {"repetition_penalty": 1.3, "min_new_tokens": 4},
    {"no_repeat_ngram_size": 2, "forced_eos_token_id": 1},
    {"do_sample": True, "top_k": 5},
    {"do_sample": True, "temperature": 0.7, "top_p": 0.8},
]


@pytest.fixture(scope="module")
def models(recorded_folder, tmp_path_factory):
    configs, parts = tiny_folders.parts(recorded_folder)
    folder = tmp_path_factory.mktemp("tiny")
    return {
        name: load_model(tiny_folders.write(folder / name, configs[name], parts[name]["weights"]))
        for name in NAMES
    }


@pytest.fixture(scope="module")
def gpt():
    rl.manual_seed(3)
    sizes = {"n_layer": 2, "n_embd": 16, "n_head": 2, "vocab_size": 40}
    return build_model("gpt2", "causal-lm", **sizes).eval()


def other(model):
    """A model of the same shape that guesses badly."""
    rl.manual_seed(11)
    made = type(model)(model.config).eval()
    with rl.no_grad():
        for weight in made.parameters():
            weight.normal_(0.0, 0.3)
    return made


def calls_of(model, run):
    """What `run` gives, and how often the model was called meanwhile."""
    calls = []
    handle = model.register_forward_hook(lambda *_: calls.append(1))
    try:
        return run(), len(calls)
    finally:
        handle.remove()


def drawn(model, ids, mask=None, **options):
    """The ids of a seed, and what the generator gives afterwards."""
    rl.manual_seed(5)
    found = generate(
        model, ids, mask, max_new_tokens=12, decoder_start_token_id=0, pad_token_id=0, **options
    )
    return found.tolist(), float(rl.rand(1))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("options", OPTIONS)
def test_an_assistant_leaves_ids_and_random_numbers(models, name, options):
    model = models[name]
    ids = rl.tensor([[7, 4, 9, 7, 4]])
    alone = drawn(model, ids, eos_token_id=1, **options)
    for helper in (model, other(model), int8_copy(model)):
        for schedule in ("constant", "heuristic"):
            more = {"assistant_model": helper, "num_assistant_tokens_schedule": schedule}
            assert drawn(model, ids, eos_token_id=1, **options, **more) == alone
    assert drawn(model, ids, eos_token_id=1, **options, prompt_lookup_num_tokens=3) == alone


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_a_padded_prompt(models, name):
    ids, mask = rl.tensor([[0, 0, 9, 7, 4]]), rl.tensor([[0, 0, 1, 1, 1]])
    alone = drawn(models[name], ids, mask)
    for helper in (models[name], other(models[name])):
        assert drawn(models[name], ids, mask, assistant_model=helper) == alone
    assert drawn(models[name], ids, mask, prompt_lookup_num_tokens=4) == alone


def test_right_guesses_save_calls(gpt):
    prompt = rl.tensor([[1, 2, 3]])
    alone, calls = calls_of(gpt, lambda: generate(gpt, prompt, max_new_tokens=18))
    assert calls == 18
    small = int8_copy(gpt)  # of so small a model every guess is right
    for count, least in ((2, 6), (5, 3), (17, 1)):
        options = {"num_assistant_tokens": count, "num_assistant_tokens_schedule": "constant"}
        found, calls = calls_of(
            gpt,
            lambda o=options: generate(gpt, prompt, max_new_tokens=18, assistant_model=small, **o),
        )
        assert found.tolist() == alone.tolist()
        assert calls == least


def test_the_schedule(gpt):
    seen = []
    small = int8_copy(gpt)
    small.register_forward_hook(lambda *_: seen.append(1))
    options = {"num_assistant_tokens": 2, "num_assistant_tokens_schedule": "heuristic"}
    _, calls = calls_of(
        gpt,
        lambda: generate(
            gpt, rl.tensor([[1]]), max_new_tokens=21, assistant_model=small, **options
        ),
    )
    assert (calls, len(seen)) == (4, 2 + 4 + 6 + 5)  # 3 + 5 + 7 ids, then the 6 that are left


def test_doubt_ends_guesses(gpt):
    """No id of a network with drawn weights has a high probability."""
    options = {"max_new_tokens": 6, "assistant_model": gpt, "assistant_confidence_threshold": 0.9}
    _, calls = calls_of(gpt, lambda: generate(gpt, rl.tensor([[1, 2]]), **options))
    assert calls == 2 * 3  # of three guesses, each behind one id, and three checks


def test_a_repeated_text_is_looked_up(gpt):
    """A network that repeats an id goes on so: four ids a call."""
    fixed = int8_copy(gpt, dynamic=False)
    prompt = rl.tensor([[4, 8, 4, 8, 4]])
    run = {"max_new_tokens": 16, "processors": [alternate]}
    alone, calls = calls_of(fixed, lambda: generate(fixed, prompt, **run))
    found, fewer = calls_of(
        fixed, lambda: generate(fixed, prompt, prompt_lookup_num_tokens=3, **run)
    )
    assert found.tolist() == alone.tolist() == [[4, 8] * 10 + [4]]
    assert (calls, fewer) == (16, 4)


def alternate(ids, scores):
    only = rl.full_like(scores, float("-inf"))
    only[:, 12 - int(ids[0, -1])] = 0.0
    return only


def test_lookup_takes_the_longest_and_last_place():
    lookup = Lookup(3, 2)
    assert lookup.propose(rl.tensor([[1, 2, 3]]), 9) == []
    assert lookup.propose(rl.tensor([[1, 2, 3, 2]]), 9) == [3, 2, 3]  # goes on with itself
    assert lookup.propose(rl.tensor([[1, 2, 3, 2, 9, 1, 2]]), 9) == [3, 2, 9]
    assert lookup.propose(rl.tensor([[1, 2, 3, 2, 9, 1, 2]]), 2) == [3, 2]
    assert lookup.propose(rl.tensor([[1, 2, 3, 2, 9, 1, 2, 5, 5]]), 9) == [5, 5, 5]


def test_streams_and_ends(gpt):
    prompt = rl.tensor([[1, 2, 3]])
    whole = generate(gpt, prompt, max_new_tokens=12)[0, 3:].tolist()
    streamed = [
        int(ids[0]) for ids in stream_ids(gpt, prompt, max_new_tokens=12, assistant_model=gpt)
    ]
    assert streamed == whole
    end = whole[-1]
    short = generate(gpt, prompt, max_new_tokens=12, eos_token_id=end)
    for more in ({"assistant_model": gpt}, {"prompt_lookup_num_tokens": 5}):
        found = generate(gpt, prompt, max_new_tokens=12, eos_token_id=end, **more)
        assert found.tolist() == short.tolist()
    stop = {"stop": lambda ids: rl.tensor([ids.shape[1] >= 6])}
    found = generate(gpt, prompt, max_new_tokens=12, assistant_model=gpt, **stop)
    assert found[0, 3:].tolist() == whole[:3]


def short(positions):
    """A network with few positions, which writes numbers in order: 7 behind 6."""
    sizes = {"n_layer": 1, "n_embd": 8, "n_head": 2, "vocab_size": 40}
    return build_model("gpt2", "causal-lm", n_positions=positions, **sizes).eval()


def rising(ids, scores):
    only = rl.full_like(scores, float("-inf"))
    only[:, (int(ids[0, -1]) + 1) % 40] = 0.0
    return only


def test_guesses_stay_within_the_positions():
    """An answer that ends in time is found, though more ids are allowed than there are positions;
    an assistant may have fewer."""
    run = {"max_new_tokens": 99, "eos_token_id": 12, "processors": [rising]}
    prompt, model = rl.tensor([[1, 2, 3, 4]]), short(12)
    alone = generate(model, prompt, **run)
    assert alone.tolist() == [list(range(1, 13))]
    for helper in (short(12), short(8), short(2)):
        assert generate(model, prompt, assistant_model=helper, **run).tolist() == alone.tolist()
    again = rl.tensor([[5, 6, 7, 8, 9, 5, 6]])
    alone = generate(model, again, **run)
    assert generate(model, again, prompt_lookup_num_tokens=9, **run).tolist() == alone.tolist()
    with pytest.raises(ValueError, match="13 ids are more than the model's 12 positions"):
        generate(model, prompt, assistant_model=short(12), **{**run, "eos_token_id": 0})


def test_a_schema_and_an_own_generator():
    tokenizer = train(["yes no true false 0 1 2"] * 4, vocab_size=270)
    rl.manual_seed(0)
    sizes = {"n_layer": 1, "n_embd": 8, "n_head": 2, "vocab_size": 270}
    model = build_model("gpt2", "causal-lm", **sizes).eval()
    found = []
    for more in ({}, {"assistant_model": int8_copy(model)}, {"prompt_lookup_num_tokens": 4}):
        generator = rl.Generator().manual_seed(7)
        text = generate_text(
            model, tokenizer, "2", pattern="(yes|no){4}", max_new_tokens=20, do_sample=True,
            generator=generator, **more,
        )  # fmt: skip
        found.append((text, float(rl.rand(1, generator=generator))))
    assert found[0] == found[1] == found[2]
    assert set(found[0][0].replace("yes", "y").replace("no", "n")) <= {"y", "n"}


def test_int8_copy_leaves_the_model(gpt):
    before = {name: tensor.clone() for name, tensor in gpt.state_dict().items()}
    small = int8_copy(gpt)
    assert {
        name for name, tensor in gpt.state_dict().items() if (tensor != before[name]).any()
    } == set()
    assert "rushlight_int8" in small.config and "rushlight_int8" not in gpt.config
    assert small.transformer.wpe.weight is gpt.transformer.wpe.weight
    assert not small.training
    prompt = rl.tensor([[1, 2, 3]])
    assert (small(prompt).logits - gpt(prompt).logits).abs().max() < 0.01


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_logits_to_keep(models, name):
    ids = rl.tensor([[7, 4, 9, 7, 4]])
    whole = models[name](ids).logits
    rl.testing.assert_close(models[name](ids, logits_to_keep=2).logits, whole[:, -2:])
    with pytest.raises(ValueError, match="logits_to_keep must be 0 with labels"):
        models[name](ids, labels=ids, logits_to_keep=1)
    with pytest.raises(ValueError, match="it is -1"):
        models[name](ids, logits_to_keep=-1)


def test_a_cache_forgets(gpt):
    cache = gpt.make_cache(1, 8)
    gpt(rl.tensor([[1, 2, 3, 4]]), cache=cache)
    cache.crop(6)
    assert cache.used == 4
    cache.crop(2)
    after = gpt(rl.tensor([[7]]), cache=cache).logits
    rl.testing.assert_close(after, gpt(rl.tensor([[1, 2, 7]])).logits[:, -1:])


def test_errors(gpt, models):
    one, two = rl.tensor([[1, 2]]), rl.tensor([[1, 2], [3, 4]])
    large = build_model("gpt2", "causal-lm", n_layer=1, n_embd=8, n_head=2, vocab_size=50)
    for ids, options, message in (
        (two, {"assistant_model": gpt}, "one sequence, not for 2"),
        (
            one,
            {"prompt_lookup_num_tokens": 2, "do_sample": True, "num_return_sequences": 3},
            "not for 3",
        ),
        (one, {"assistant_model": gpt, "num_beams": 2}, "not for beams"),
        (one, {"assistant_model": gpt, "prompt_lookup_num_tokens": 2}, "not from both"),
        (one, {"assistant_model": large}, "a vocabulary of 50 ids, the model of 40"),
        (one, {"assistant_model": models["t5"]}, "must be a decoder where the model is one"),
        (one, {"prompt_lookup_num_tokens": 0}, "prompt_lookup_num_tokens must be at least 1: 0"),
        (one, {"num_assistant_tokens": 0}, "num_assistant_tokens must be at least 1: 0"),
        (one, {"max_matching_ngram_size": 0}, "max_matching_ngram_size must be at least 1: 0"),
        (one, {"assistant_confidence_threshold": 2.0}, "from 0 to 1: 2.0"),
        (one, {"num_assistant_tokens_schedule": "dynamic"}, "'constant' or 'heuristic': 'dynamic'"),
    ):
        with pytest.raises(ValueError, match=message):
            generate(gpt, ids, **options)
