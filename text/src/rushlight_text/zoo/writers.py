"""Packaged networks that write text: plays by characters, old English in plain words."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_text.data.collate import pad_ids
from rushlight_text.generation import generate
from rushlight_text.models.pretrained import build_model
from rushlight_text.tokenizers.pretrained import Tokenizer
from rushlight_text.zoo.files import read_network, write_network

__all__ = ["CharacterWriter", "PlainEnglish", "bare"]

PAD, END = 0, 1
# Where a text that is longer than a verse may be cut: after a mark and the spaces behind it.
_MARKS = re.compile(r"[^.:;?!]*[.:;?!]+['’\")\]]*\s*|[^.:;?!]+$")


class CharacterWriter(nn.Module):
    """A GPT-2 of characters, which goes on with a text.

    It sees a window of so many characters as it has positions: of longer texts it reads the last
    half of a window, writes the other half, and so on.

    Args:
        model: a GPT-2 over the characters.
        characters: in the order of their ids.

    Example
    -------
    >>> from rushlight_text.zoo import load_network
    >>> len(load_network("character_gpt")("KING HENRY.\\n", max_new_tokens=80))
    80
    """

    def __init__(self, model: nn.Module, characters: Sequence[str]):
        super().__init__()
        self.model, self.characters = model, list(characters)
        self.ids = {character: number for number, character in enumerate(characters)}

    def encode(self, text: str) -> list[int]:
        """The ids of a text; ValueError naming the characters that are unknown, or no text."""
        unknown = sorted(set(text) - set(self.ids))
        if unknown:
            raise ValueError(
                f"CharacterWriter: text has characters {unknown} that the model has not seen; "
                f"it knows {''.join(self.characters)!r}"
            )
        if not text:
            raise ValueError("CharacterWriter: text must have at least one character, got ''")
        return [self.ids[character] for character in text]

    def __call__(self, texts: str | Sequence[str], **options: Any) -> Any:
        """What comes after a text, without it; a list for several; options as of :meth:`stream`."""
        if isinstance(texts, str):
            return "".join(self.stream(texts, **options))
        return ["".join(self.stream(text, **options)) for text in texts]

    def stream(self, text: str, max_new_tokens: int = 200, **options: Any) -> Iterator[str]:
        """Pieces of what comes after a text, of up to half a window.

        Args:
            text: at least one character.
            max_new_tokens: characters to write.
            options: as of :class:`rushlight_text.generation.options.Options`; drawn at random with
                a temperature of 0.8 unless ``do_sample=False`` or `num_beams` is given.
        """
        if max_new_tokens < 1:
            raise ValueError(f"CharacterWriter: max_new_tokens must be positive: {max_new_tokens}")
        if options.get("num_return_sequences", 1) != 1:
            raise NotImplementedError(
                "CharacterWriter: num_return_sequences is 1; pass a list of the same text"
            )
        drawn = options.setdefault("do_sample", options.get("num_beams", 1) == 1)
        options.setdefault("temperature", 0.8 if drawn else 1.0)
        half = self.model.config.n_positions // 2
        ids = self.encode(text)
        return self._pieces(ids, max_new_tokens, half, options)

    def _pieces(
        self, ids: list[int], count: int, half: int, options: dict[str, Any]
    ) -> Iterator[str]:
        while count > 0:
            seen = rl.tensor([ids[-half:]])
            found = generate(self.model, seen, max_new_tokens=min(half, count), **options)
            new = found[0, seen.shape[1] :].tolist()
            yield "".join(self.characters[index] for index in new)
            ids, count = ids + new, count - len(new)

    def save(self, path: str | os.PathLike) -> None:
        """Write one file."""
        write_network(path, self.model, characters=self.characters)

    @classmethod
    def load(cls, path: str | os.PathLike) -> CharacterWriter:
        """Read what :meth:`save` wrote."""
        model, notes = read_network(path, partial(build_model, head="causal-lm"))
        return cls(model, notes["characters"]).eval()


def bare(text: str) -> str:
    """A text without the brackets around added words, with single spaces and plain apostrophes.

    >>> bare("darkness  [was] upon Zion’s hill")
    "darkness was upon Zion's hill"
    """
    return " ".join(text.replace("[", "").replace("]", "").replace("’", "'").split())


class PlainEnglish(nn.Module):
    """A transformer from the English of 1611 to that of 850 words.

    Texts longer than a verse are cut at marks of punctuation and put together again.

    Args:
        model: an encoder-decoder over the tokens.
        tokenizer: whose first ids are padding and end.

    Example
    -------
    >>> from rushlight_text.zoo import load_network
    >>> load_network("plain_english")("And he spake unto them.")
    'And he said to them.'
    """

    longest = 96  # tokens of a piece, and of its translation

    def __init__(self, model: nn.Module, tokenizer: Tokenizer):
        super().__init__()
        self.model, self.tokenizer = model, tokenizer

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without the brackets of added words, and the end."""
        return [*self.tokenizer.encode(bare(text)), END]

    def pieces(self, text: str) -> list[str]:
        """Parts of a text of at most `longest` ids each, cut after marks or, where there is none,
        between words."""
        found: list[str] = []
        for part in _MARKS.findall(text):
            if found and len(self.encode(found[-1] + part)) <= self.longest:
                found[-1] += part
            else:
                found += self._between_words(part)
        return found

    def _between_words(self, part: str) -> list[str]:
        found = [""]
        for word in re.findall(r"\s*\S+\s*", part):
            if found[-1] and len(self.encode(found[-1] + word)) > self.longest:
                found.append("")
            found[-1] += word
        return [each for each in found if each]

    def predict(self, texts: Sequence[str], **options: Any) -> list[str]:
        """The translation of each text; of longer ones than a verse the first `longest` ids."""
        if not texts:
            return []
        rows = [self.encode(text)[: self.longest] for text in texts]
        ids, mask = pad_ids(rows, PAD)
        options = {"max_new_tokens": self.longest, "num_beams": 4, **options}
        found = generate(self.model, ids, mask, **options)
        return self.tokenizer.batch_decode(found[:, 1:], skip_special_tokens=True)

    def __call__(self, texts: str | Sequence[str], **options: Any) -> Any:
        """A text for a text, a list for several.

        Args:
            texts: English as of the King James bible.
            options: as of :class:`rushlight_text.generation.options.Options`; four beams by
                default, `max_new_tokens` of each piece.
        """
        listed = [texts] if isinstance(texts, str) else list(texts)
        cut = [self.pieces(text) for text in listed]
        flat = iter(self.predict([piece for row in cut for piece in row], **options))
        found = [" ".join(next(flat).strip() for _ in row) for row in cut]
        return found[0] if isinstance(texts, str) else found

    def save(self, path: str | os.PathLike) -> None:
        """Write one file."""
        write_network(path, self.model, tokenizer=self.tokenizer.backend.to_str())

    @classmethod
    def load(cls, path: str | os.PathLike) -> PlainEnglish:
        """Read what :meth:`save` wrote."""
        import tokenizers

        model, notes = read_network(path, partial(build_model, head="seq2seq-lm"))
        backend = tokenizers.Tokenizer.from_str(notes["tokenizer"])
        names = {"pad_token": "[PAD]", "eos_token": "<|endoftext|>"}
        return cls(model, Tokenizer(backend, names)).eval()
