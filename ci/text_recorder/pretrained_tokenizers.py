"""Folders of tokenizers as transformers saves them, and what it makes of sentences with them."""

from __future__ import annotations

import base64
import json
import tempfile
from pathlib import Path

import tiktoken
import transformers
from corpus import questions, sentences
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

PAIRS = [("the cat sees", "a dog"), ("", "x y"), ("my old friend follows the lamp", "no")]
TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}<{{ m['role'] }}>\n{{ m['content'] | trim }}\n"
    "{% endfor %}{% if add_generation_prompt %}<assistant>\n{% endif %}"
)
MESSAGES = [{"role": "user", "content": " Hello "}, {"role": "assistant", "content": "Hi!"}]


def _bert(folder: Path):
    from word_tokenizers import _wordpieces

    (folder / "vocab.txt").write_text("\n".join(_wordpieces()) + "\n")
    return transformers.BertTokenizer(str(folder / "vocab.txt"), model_max_length=16)


def _byte_level() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=330,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>", "<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(sentences(400), trainer)
    return tokenizer


def _gpt2(folder: Path):
    vocab, merges = _byte_level().model.save(str(folder))
    made = transformers.GPT2Tokenizer(vocab, merges)
    made.chat_template = TEMPLATE
    return made


def _roberta(folder: Path):
    vocab, merges = _byte_level().model.save(str(folder))
    return transformers.RobertaTokenizer(vocab, merges)


MAKERS = {"bert": _bert, "gpt2": _gpt2, "roberta": _roberta}


def _answers(tokenizer) -> dict:
    texts = [text for text in questions() if "\x00" not in text]
    single = [tokenizer(text)["input_ids"] for text in texts]
    return {
        "texts": texts,
        "ids": single,
        "offsets": [tokenizer(t, return_offsets_mapping=True)["offset_mapping"] for t in texts],
        "decoded": [tokenizer.decode(ids) for ids in single],
        "plain": [tokenizer.decode(ids, skip_special_tokens=True) for ids in single],
        "pairs": PAIRS,
        "pair_ids": [tokenizer(a, b)["input_ids"] for a, b in PAIRS],
        "type_ids": [tokenizer(a, b).get("token_type_ids") for a, b in PAIRS],
    }


def _batch(tokenizer) -> dict:
    if tokenizer.pad_token is None:
        return {}
    texts = sentences(3, seed=5)
    options = {"padding": True, "truncation": True, "max_length": 7}
    return {"texts": texts, **dict(tokenizer(texts, **options))}


def _tiktoken() -> dict:
    ranks = {bytes([byte]): byte for byte in range(256)}
    words = [b"th", b"the", b" the", b" c", b"at", b" cat", b"in", b"ing", b"ee", b"se"]
    ranks |= {word: 256 + place for place, word in enumerate(words)}
    pattern = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    encoding = tiktoken.Encoding(
        "tiny", pat_str=pattern, mergeable_ranks=ranks, special_tokens={"<|end|>": 266}
    )
    texts = questions()
    return {
        "ranks": [[base64.b64encode(token).decode(), rank] for token, rank in ranks.items()],
        "texts": texts,
        "ids": [encoding.encode(text, disallowed_special=()) for text in texts],
    }


def record(folder: Path) -> None:
    """Write ``pretrained_tokenizers.json``: files by name, and answers."""
    found: dict = {"tiktoken": _tiktoken()}
    for name, make in MAKERS.items():
        with tempfile.TemporaryDirectory() as scratch:
            source, target = Path(scratch, "source"), Path(scratch, "saved")
            source.mkdir()
            tokenizer = make(source)
            tokenizer.save_pretrained(target)
            files = {p.name: p.read_text() for p in sorted(target.iterdir())}
            former = {p.name: p.read_text() for p in sorted(source.iterdir())}
            found[name] = {
                "files": files,
                "former": former,
                "answers": _answers(tokenizer),
                "batch": _batch(tokenizer),
            }
            if tokenizer.chat_template:
                found[name]["chat"] = [
                    tokenizer.apply_chat_template(MESSAGES, tokenize=False),
                    tokenizer.apply_chat_template(
                        MESSAGES, tokenize=False, add_generation_prompt=True
                    ),
                ]
    (folder / "pretrained_tokenizers.json").write_text(json.dumps(found))
