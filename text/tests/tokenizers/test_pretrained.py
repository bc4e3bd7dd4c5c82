"""Tokenizers in folders give transformers' ids, offsets and texts (recorded); training, chat."""

import base64
import json
import pickle

import pytest

import rushlight as rl
from rushlight_text.tokenizers import Tokenizer, from_tiktoken, train
from rushlight_text.tokenizers.tiktoken import read_ranks

NAMES = ["bert", "gpt2", "roberta"]
LINES = ["the cat sat on the mat", "the dog and the cat!", "a mat, for the dog?"] * 30


@pytest.fixture(scope="module")
def cases(recorded):
    return recorded("pretrained_tokenizers")


def folder_of(files, path):
    path.mkdir(exist_ok=True)
    for name, text in files.items():
        (path / name).write_text(text, encoding="utf-8")
    return path


@pytest.fixture(params=["saved", "former"])
def loaded(request, cases, tmp_path):
    """A function from a name to the tokenizer: of `tokenizer.json`, or of the former files."""

    def load(name):
        case = cases[name]
        if request.param == "saved":
            return Tokenizer.from_folder(folder_of(case["files"], tmp_path / name)), case
        settings = json.loads(case["files"]["tokenizer_config.json"])
        files = case["former"] | {"tokenizer_config.json": json.dumps(settings)}
        return Tokenizer.from_folder(folder_of(files, tmp_path / name)), case

    return load


@pytest.mark.parametrize("name", NAMES)
def test_ids_offsets_and_texts(loaded, name):
    tokenizer, case = loaded(name)
    answers = case["answers"]
    for place, text in enumerate(answers["texts"]):
        found = tokenizer(text, offsets=True)
        assert found["input_ids"] == answers["ids"][place], text
        assert [list(o) for o in found["offset_mapping"]] == answers["offsets"][place], text
        ids = answers["ids"][place]
        assert tokenizer.decode(ids) == answers["decoded"][place]
        assert tokenizer.decode(ids, skip_special_tokens=True) == answers["plain"][place]
    for (first, second), ids, kinds in zip(
        answers["pairs"], answers["pair_ids"], answers["type_ids"], strict=True
    ):
        found = tokenizer(first, second)
        assert found["input_ids"] == ids == tokenizer.encode(first, second)
        assert found.get("token_type_ids") == kinds


@pytest.mark.parametrize("name", ["bert", "roberta"])
def test_batches(loaded, name):
    tokenizer, case = loaded(name)
    batch = case["batch"]
    found = tokenizer(batch["texts"], padding=True, truncation=True, max_length=7)
    assert found == {key: batch[key] for key in found}
    tensors = tokenizer(batch["texts"], padding="max_length", max_length=40, return_tensors="pt")
    assert tensors["input_ids"].shape == (3, 40) and tensors["input_ids"].dtype == rl.int64
    assert tensors["attention_mask"].sum(1).tolist() == [
        len(tokenizer.encode(text)) for text in batch["texts"]
    ]
    assert tokenizer.batch_decode(tensors["input_ids"], skip_special_tokens=True) == [
        tokenizer.decode(tokenizer.encode(text), skip_special_tokens=True)
        for text in batch["texts"]
    ]
    long = tokenizer(batch["texts"], padding=True, multiple=8)["input_ids"]
    assert {len(row) % 8 for row in long} == {0}


def test_chat(cases, tmp_path):
    case = cases["gpt2"]
    tokenizer = Tokenizer.from_folder(folder_of(case["files"], tmp_path / "gpt2"))
    messages = [
        {"role": "user", "content": " Hello "},
        {"role": "assistant", "content": "Hi!"},
    ]
    text = tokenizer.apply_chat_template(messages, tokenize=False)
    assert text == case["chat"][0]
    prompt = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert prompt == case["chat"][1]
    assert tokenizer.apply_chat_template(messages) == tokenizer.encode(text)
    tokenizer.chat_template = "{{ raise_exception('no system') }}"
    with pytest.raises(ValueError, match="refuses: no system"):
        tokenizer.apply_chat_template(messages)
    tokenizer.chat_template = "{{ ().__class__.__mro__ }}"
    with pytest.raises(Exception, match="unsafe"):
        tokenizer.apply_chat_template(messages)
    tokenizer.chat_template = None
    with pytest.raises(ValueError, match="no chat_template"):
        tokenizer.apply_chat_template(messages)


def test_saving(cases, tmp_path):
    case = cases["bert"]
    tokenizer = Tokenizer.from_folder(folder_of(case["files"], tmp_path / "bert"))
    tokenizer.save(tmp_path / "again")
    again = Tokenizer.from_folder(tmp_path / "again")
    copied = pickle.loads(pickle.dumps(tokenizer))
    for other in (again, copied):
        assert other("the cat", "sees") == tokenizer("the cat", "sees")
        assert (other.pad_token_id, other.max_length) == (tokenizer.pad_token_id, 16)
    assert Tokenizer.from_file(tmp_path / "again/tokenizer.json").get_vocab() == again.get_vocab()
    assert repr(again) == f"Tokenizer(WordPiece, {len(again)} tokens)"


def test_ids_of_special_tokens(cases, tmp_path):
    tokenizer = Tokenizer.from_folder(folder_of(cases["bert"]["files"], tmp_path / "bert"))
    assert tokenizer.id_to_token(tokenizer.mask_token_id) == "[MASK]"
    assert tokenizer.bos_token_id is None and tokenizer.token_to_id("[CLS]") == 2
    assert tokenizer.add_special_tokens({"bos_token": "<new>"}) == 1
    assert tokenizer.bos_token_id == len(tokenizer) - 1
    assert tokenizer.add_special_tokens(["<new>", "<other>"]) == 1
    assert tokenizer.tokenize("the<other>") == ["the", "<other>"]
    with pytest.raises(ValueError, match="'new_token' is none of"):
        tokenizer.add_special_tokens({"new_token": "x"})
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = tokenizer.nothing


SPM = {
    "t5": ({"tokenizer_class": "T5Tokenizer"}, "unigram", "spiece.model", ([], [2])),
    "llama": ({"tokenizer_class": "LlamaTokenizer"}, "bpe_bytes", "tokenizer.model", ([1], [])),
    "both": ({"add_eos_token": True}, "bpe", "tokenizer.model", ([1], [2])),
    "bare": ({"add_bos_token": False}, "bare", "tokenizer.model", ([], [])),
}


@pytest.mark.parametrize("name", SPM)
def test_sentencepiece_in_folders(name, recorded, tmp_path):
    settings, model, file, (before, after) = SPM[name]
    entry = recorded("sentencepiece")[model]
    (tmp_path / file).write_bytes(base64.b64decode(entry["model"]))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    tokenizer = Tokenizer.from_folder(tmp_path)
    checked = 0
    for answer in entry["answers"]:
        text = answer["text"]
        # Marks in a text mean themselves in folders; lone spaces are cut otherwise.
        if any(mark in text for mark in ("<s>", "\u2581", "<unk>")) or not text.strip():
            continue
        checked += 1
        assert tokenizer.encode(text) == [*before, *answer["ids"], *after], text
        if "\u2047" not in answer["decoded"]:
            assert tokenizer.decode(answer["ids"]).strip() == answer["decoded"].strip()
    assert checked > 20
    assert tokenizer.eos_token == "</s>" and tokenizer.unk_token_id == 0
    if name == "t5":
        assert tokenizer.token_to_id("<extra_id_0>") == len(tokenizer) - 1
        assert tokenizer.tokenize("the<extra_id_7>")[-1] == "<extra_id_7>"


def test_sentencepiece_with_ids_of_its_own(recorded, tmp_path):
    entry = recorded("sentencepiece")["unigram"]
    (tmp_path / "spiece.model").write_bytes(base64.b64decode(entry["model"]))
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "XLMRobertaTokenizer"}')
    with pytest.raises(NotImplementedError, match="save it with tokenizer.json"):
        Tokenizer.from_folder(tmp_path)


def test_tiktoken(cases, tmp_path):
    case = cases["tiktoken"]
    ranks = {base64.b64decode(token): rank for token, rank in case["ranks"]}
    path = tmp_path / "tiny.tiktoken"
    path.write_text("\n".join(f"{token} {rank}" for token, rank in case["ranks"]) + "\n\n")
    assert read_ranks(path) == ranks
    tokenizer = from_tiktoken(path, special_tokens={"<|end|>": len(ranks)})
    for text, ids in zip(case["texts"], case["ids"], strict=True):
        assert tokenizer.encode(text) == ids, text
        assert tokenizer.decode(ids) == text
    assert tokenizer.encode("the<|end|>")[-1] == len(ranks)
    with pytest.raises(ValueError, match="cannot have id 999"):
        from_tiktoken(ranks, special_tokens={"<|end|>": 999})
    path.write_text("YQ== 0\nnot base64 1\n")
    with pytest.raises(ValueError, match=r"tiny\.tiktoken, line 2: not a token and a rank"):
        read_ranks(path)
    with pytest.raises(FileNotFoundError, match="gone"):
        read_ranks(tmp_path / "gone")


@pytest.mark.parametrize("kind", ["byte_bpe", "bpe", "wordpiece", "unigram", "wordlevel"])
def test_training(kind, tmp_path):
    tokenizer = train(LINES, kind=kind, vocab_size=290, min_frequency=1)
    text = "the cat and the dog"
    ids = tokenizer.encode(text, add_special_tokens=False)
    assert tokenizer.decode(ids).replace("  ", " ").strip() == text
    assert len(tokenizer) <= 290 and len(ids) < len(text)
    tokenizer.save(tmp_path)
    assert Tokenizer.from_folder(tmp_path).encode("a mat!") == tokenizer.encode("a mat!")
    marked = train(LINES, kind=kind, vocab_size=300, special_tokens=["<x>", "[UNK]"])
    assert marked.token_to_id("<x>") == 0
    upper = train(LINES, kind=kind, vocab_size=290, lowercase=True)
    assert upper.encode("THE Cat") == upper.encode("the cat")


def test_what_training_marks():
    bert = train(LINES, kind="wordpiece", vocab_size=60)
    found = bert("the cat", "a dog")
    assert bert.id_to_token(found["input_ids"][0]) == "[CLS]" and bert.type_ids
    assert set(found["token_type_ids"]) == {0, 1}
    assert train(LINES, vocab_size=260).eos_token == "<|endoftext|>"
    assert train(iter(LINES), kind="unigram", vocab_size=60).encode("\u4e00") != []
    with pytest.raises(ValueError, match="kind must be one of .*'words'"):
        train(LINES, kind="words")
    with pytest.raises(TypeError, match="not one str"):
        train("text")
    with pytest.raises(ValueError, match="at least 256 for the bytes plus 1"):
        train(LINES, vocab_size=256)


def test_errors(cases, tmp_path):
    with pytest.raises(FileNotFoundError, match="none of tokenizer.json, vocab.txt"):
        Tokenizer.from_folder(tmp_path)
    with pytest.raises(FileNotFoundError, match="gone"):
        Tokenizer.from_file(tmp_path / "gone.json")
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(ValueError, match=r"tokenizer\.json: not a tokenizer"):
        Tokenizer.from_folder(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text("[]")
    with pytest.raises(ValueError, match="must hold one JSON object"):
        Tokenizer.from_folder(tmp_path)
    tokenizer = train(LINES, vocab_size=260)
    with pytest.raises(TypeError, match="must be a string, not int"):
        tokenizer.encode(3)
    with pytest.raises(ValueError, match="no pad_token"):
        tokenizer(["a", "bb"], padding=True)
    with pytest.raises(ValueError, match="padding must be True, False.*'left'"):
        tokenizer(["a"], padding="left")
    with pytest.raises(ValueError, match="pass max_length"):
        tokenizer(["a"], padding="max_length")
    with pytest.raises(ValueError, match="rows of different lengths make no tensor"):
        tokenizer(["a", "b c d"], return_tensors=True)
    with pytest.raises(ValueError, match="as many second texts"):
        tokenizer(["a", "b"], ["c"])
    with pytest.raises(IndexError, match="no token has id 999"):
        tokenizer.decode([999])
    with pytest.raises(ValueError, match="pad_token '<p>' is not in the vocabulary"):
        Tokenizer(tokenizer.backend, {"pad_token": "<p>"})
    with pytest.raises(TypeError, match=r"no special token is called \['x'\]"):
        Tokenizer(tokenizer.backend, {"x": "y"})


@pytest.mark.parametrize(
    "text",
    [
        "\ud83d\ude42".encode("utf-16", "surrogatepass").decode("utf-16"),
        "x" * 100_000,
        "\u202eabc\u202c \u05e9\u05dc\u05d5\u05dd",
        "\x00",
    ],
)
def test_odd_texts_come_back(text):
    tokenizer = train(LINES, vocab_size=280)
    assert tokenizer.decode(tokenizer.encode(text)) == text
