"""Fields whose batches can be turned into text again."""

from __future__ import annotations

from itertools import takewhile
from typing import Any

import rushlight as rl
from rushlight_text._libraries import library
from rushlight_text.legacy.data.field import Field
from rushlight_text.legacy.vocab import SubwordVocab

__all__ = ["ReversibleField", "SubwordField"]


class ReversibleField(Field):
    """A field cut by ``revtok``, whose tokens keep the spaces; or by letters, ``tokenize=list``.

    Other arguments as of :class:`Field`.
    """

    def __init__(self, **kwargs: Any):
        self.use_revtok = kwargs.get("tokenize") is not list
        if kwargs.get("tokenize") is None:
            kwargs["tokenize"] = "revtok"
        kwargs.setdefault("unk_token", " UNK ")
        super().__init__(**kwargs)

    def reverse(self, batch: rl.Tensor) -> list[str]:
        """The text of each sequence of a batch, up to its end token, without other marks."""
        join = library("revtok", "revtok", "reverse()").detokenize if self.use_revtok else "".join
        rows: Any = batch.tolist() if self.batch_first else batch.t().tolist()
        dropped = (self.init_token, self.pad_token)
        texts = []
        for row in rows:
            tokens = takewhile(lambda t: t != self.eos_token, (self.vocab.itos[i] for i in row))
            texts.append(join([token for token in tokens if token not in dropped]))
        return texts


class SubwordField(ReversibleField):
    """A field of segments of words; build the vocabulary, then :meth:`segment` the data."""

    vocab_cls = SubwordVocab
    vocab: SubwordVocab

    def __init__(self, **kwargs: Any):
        kwargs["tokenize"] = "subword"
        kwargs.setdefault("unk_token", "\ufffd")
        super().__init__(**kwargs)

    def segment(self, *args: Any) -> None:
        """Cut the tokens of data sets, or of columns, into segments; in place."""
        for column in self._columns(args):
            for tokens in column:
                tokens[:] = self.vocab.segment(tokens)
