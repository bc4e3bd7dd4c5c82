"""TextBlock: texts as numbers of their tokens, by a vocabulary that training texts give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import rushlight as rl
from lightning_lite.easy.data.blocks import TransformBlock
from lightning_lite.easy.data.categories import Coder
from lightning_lite.easy.data.describing import describable
from lightning_lite.easy.text.batches import SortedText, StreamedText
from lightning_lite.easy.text.rules import PAD, SPECIAL
from lightning_lite.easy.text.tokens import JoinColumns, Tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable

FILLER = "xxfake"


def make_vocab(
    count: Counter[str],
    min_freq: int = 3,
    max_vocab: int = 60000,
    special_toks: Sequence[str] | None = None,
) -> list[str]:
    """The special tokens, and those that occur `min_freq` times, the most frequent first, at most
    `max_vocab`; filled up so that their number is a multiple of 8, which GPUs like."""
    special = list(SPECIAL if special_toks is None else special_toks)
    known = [token for token, often in count.most_common(max_vocab) if often >= min_freq]
    vocab = [*special, *(token for token in known if token not in special)][:max_vocab]
    return vocab + [FILLER] * (8 - len(vocab) % 8)


@describable
class Numericalize(Coder):
    """Tokens as their numbers in `vocab` `(T,)` (int64), 0 for those that are not there.

    `vocab`: by default what `make_vocab` makes of training's tokens, by `min_freq`, `max_vocab` and
    `special_toks`; `backwards`: from the last token to the first.
    """

    def __init__(
        self,
        vocab: Sequence[str] | None = None,
        min_freq: int = 3,
        max_vocab: int = 60000,
        special_toks: Sequence[str] | None = None,
        backwards: bool = False,
    ) -> None:
        self.given = vocab is not None
        self.min_freq, self.max_vocab, self.special_toks = min_freq, max_vocab, special_toks
        self.backwards = backwards
        self._set(list(vocab or []))

    def _set(self, vocab: list[str]) -> None:
        self.vocab = vocab
        numbers = {token: number for number, token in enumerate(vocab) if token != FILLER}
        self.numbers = numbers

    def relearn(self, state: dict[str, Any]) -> None:
        """Know the vocabulary that another has learnt."""
        self.given = True
        self._set(list(state["vocab"]))

    def setup(self, values: Iterable[Sequence[str]]) -> None:
        """Learn the vocabulary, unless one was given."""
        if not self.given:
            count = Counter(token for tokens in values for token in tokens)
            self._set(make_vocab(count, self.min_freq, self.max_vocab, self.special_toks))

    def __call__(self, value: Sequence[str]) -> Any:
        """The numbers of tokens."""
        found = [self.numbers.get(token, 0) for token in value]
        return rl.tensor(found[::-1] if self.backwards else found, dtype=rl.int64)

    def decode(self, value: Any) -> str:
        """The tokens of numbers, with spaces between."""
        tokens = [self.vocab[number] for number in value.tolist()]
        return " ".join(token for token in tokens if token != PAD)


class TextBlock(TransformBlock):
    """Texts; batches `(N, T)` (int64), filled up with 1.

    `tok_tfm`: a `Tokenizer`; `is_lm`: for a language model, whose batches are `(inputs, the token
    after each)`, and which has no other target; `seq_len`: how many tokens it reads at once;
    `vocab`, `min_freq`, `max_vocab`, `special_toks`, `backwards`: see `Numericalize`.
    """

    def __init__(
        self,
        tok_tfm: Callable[[Any], list[str]],
        vocab: Sequence[str] | None = None,
        is_lm: bool = False,
        seq_len: int = 72,
        backwards: bool = False,
        **options: Any,
    ) -> None:
        coder = Numericalize(vocab, backwards=backwards, **options)
        batches = StreamedText(seq_len) if is_lm else SortedText(seq_len)
        super().__init__("text", tok_tfm, coder, batches=batches, keeps=True)

    @classmethod
    def from_df(
        cls, text_cols: Any, *args: Any, tok: Any = None, rules: Any = None,
        tok_text_col: str = "text", mark_fields: bool | None = None, **options: Any,
    ) -> TextBlock:  # fmt: skip
        """Of a pandas DataFrame whose columns `text_cols` hold texts: they are joined in the column
        `tok_text_col`, which `ColReader` reads. `tok`, `rules`: see `Tokenizer`; further arguments:
        the block's."""
        made = cls(Tokenizer(tok, rules), *args, **options)
        made.prepare = JoinColumns(text_cols, tok_text_col, mark_fields)
        return made

    @classmethod
    def from_folder(
        cls, path: Any, *args: Any, tok: Any = None, rules: Any = None, **options: Any
    ) -> TextBlock:
        """Of text files. `tok`, `rules`: see `Tokenizer`; further arguments: the block's. `path` is
        taken for fastai's sake: the items say where files are."""
        return cls(Tokenizer(tok, rules), *args, **options)
