"""A transformer whose outputs stand beside its inputs: each letter gives one piece.

Where input and output have the same order and hardly differ in length, as spelling and sounds have,
the output can be cut into as many pieces as there are letters (``text/zoo/alignment.py`` finds
where). A network that knows which letter it is at needs no attention from one side to the other,
and learns from fewer words. After Yao and Zweig, Sequence-to-Sequence Neural Net Models for
Grapheme-to-Phoneme Conversion (2015), whose aligned network beats the one that has to find the
order itself; positions are turned as in Su et al., RoFormer (2021).
"""

from __future__ import annotations

from typing import Any

import rushlight as rl
from rushlight import nn

__all__ = ["AlignedTransformer"]

functional = nn.functional
Turn = tuple[rl.Tensor, rl.Tensor]
_WAVE = 10000.0  # the longest wave of the turned positions


class _Attention(nn.Module):
    """Self-attention with turned positions, of the past alone where `causal`."""

    def __init__(self, width: int, heads: int, causal: bool):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.into = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: rl.Tensor, turn: Turn) -> rl.Tensor:
        batch, length, width = x.shape
        heads = self.into(x).view(batch, length, 3 * self.heads, width // self.heads)
        both, value = heads[:, :, : 2 * self.heads], heads[:, :, 2 * self.heads :]
        half = both.shape[-1] // 2
        across = rl.cat((-both[..., half:], both[..., :half]), -1)
        both = both * turn[0] + across * turn[1]
        query, key = both[:, :, : self.heads], both[:, :, self.heads :]
        mixed = functional.scaled_dot_product_attention(
            query.transpose(1, 2),
            key.transpose(1, 2),
            value.transpose(1, 2),
            is_causal=self.causal,
        )
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class _Block(nn.Module):
    """Attention and a layer of four times the width, each behind a norm and added."""

    def __init__(self, width: int, heads: int, dropout: float, causal: bool):
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.wide_norm = nn.LayerNorm(width)
        self.attention = _Attention(width, heads, causal)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: rl.Tensor, turn: Turn) -> rl.Tensor:
        x = x + self.dropout(self.attention(self.attention_norm(x), turn))
        return x + self.dropout(self.down(functional.relu(self.up(self.wide_norm(x)))))


class AlignedTransformer(nn.Module):
    """Letters to as many pieces, each piece given the letters around it and the pieces before.

    Args:
        letters: number of ids of letters; 0 and 1 are the begin and the end of a word.
        pieces: number of ids of pieces.
        width: of the blocks.
        encoder_layers: blocks over the letters, both ways.
        decoder_layers: blocks over letters and pieces, of the past alone.
        heads: of the attention; `width` is a multiple of twice as many.
        letter_width: length of the vectors of the letters.
        span: letters that the first convolution sees, an odd number.
        longest: letters of a word at most.
        dropout: in training.

    Example
    -------
    >>> import rushlight as rl
    >>> network = AlignedTransformer(letters=30, pieces=10, width=16, heads=2).eval()
    >>> tuple(network(rl.tensor([[0, 5, 6, 7, 1]]), rl.tensor([[10, 3, 4]])).shape)
    (1, 3, 10)
    """

    def __init__(
        self,
        letters: int,
        pieces: int,
        *,
        width: int = 160,
        encoder_layers: int = 4,
        decoder_layers: int = 2,
        heads: int = 4,
        letter_width: int = 64,
        span: int = 7,
        longest: int = 32,
        dropout: float = 0.1,
    ):
        super().__init__()
        self.config: dict[str, Any] = {
            "letters": letters,
            "pieces": pieces,
            "width": width,
            "encoder_layers": encoder_layers,
            "decoder_layers": decoder_layers,
            "heads": heads,
            "letter_width": letter_width,
            "span": span,
            "longest": longest,
        }
        self.none = pieces  # stands before the first piece
        self.letters = nn.Embedding(letters, letter_width)
        self.around = nn.Conv1d(letter_width, width, span, padding=span // 2)
        self.pieces = nn.Embedding(pieces + 1, width)
        nn.init.normal_(self.pieces.weight, std=0.5)
        self.encoder = nn.ModuleList(
            _Block(width, heads, dropout, causal=False) for _ in range(encoder_layers)
        )
        self.decoder = nn.ModuleList(
            _Block(width, heads, dropout, causal=True) for _ in range(decoder_layers)
        )
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, pieces)
        self.dropout = nn.Dropout(dropout)
        size = width // heads
        rate = _WAVE ** (-rl.arange(0, size, 2) / size)
        angle = rl.arange(longest + 2)[:, None] * rate
        angle = rl.cat((angle, angle), 1)[:, None, :]
        self.register_buffer("cosine", angle.cos(), persistent=False)
        self.register_buffer("sine", angle.sin(), persistent=False)

    def _turn(self, length: int) -> Turn:
        return self.cosine[:length], self.sine[:length]

    def encode(self, letters: rl.Tensor) -> rl.Tensor:
        """Vectors ``[B, T, width]`` of the letters; ids ``[B, T + 2]`` with begin and end."""
        vectors = self.letters(letters).transpose(1, 2)
        x = self.dropout(functional.relu(self.around(vectors).transpose(1, 2)))
        turn = self._turn(x.shape[1])
        for block in self.encoder:
            x = block(x, turn)
        return x[:, 1:-1]

    def decode(self, encoded: rl.Tensor, before: rl.Tensor) -> rl.Tensor:
        """Logits ``[B, T, pieces]`` of the pieces of the first T letters; `before` ``[B, T]`` are
        the pieces before each, `none` before the first."""
        x = encoded + self.pieces(before)
        turn = self._turn(x.shape[1])
        for block in self.decoder:
            x = block(x, turn)
        return self.head(self.norm(x))

    def forward(self, letters: rl.Tensor, before: rl.Tensor) -> rl.Tensor:
        """:meth:`decode` of :meth:`encode`."""
        return self.decode(self.encode(letters), before)

    @rl.no_grad()
    def search(self, letters: rl.Tensor, num_beams: int) -> tuple[rl.Tensor, rl.Tensor]:
        """The most likely pieces of words of one length, by a beam search.

        Args:
            letters: int64 ``[B, T + 2]``, with begin and end.
            num_beams: sequences that are kept at each letter.

        Returns:
            pieces ``[B, K, T]`` and the logarithms ``[B, K]`` of their probabilities, the best
            first; K is `num_beams`, or less where there are not so many sequences.
        """
        encoded = self.encode(letters)
        batch, length, width = encoded.shape
        before = rl.full((batch, 1, 1), self.none)
        scores = rl.zeros(batch, 1)
        for number in range(1, length + 1):
            beams = before.shape[1]
            seen = encoded[:, None, :number].expand(batch, beams, number, width)
            logits = self.decode(seen.flatten(0, 1), before.flatten(0, 1))[:, -1]
            total = scores[:, :, None] + logits.log_softmax(-1).view(batch, beams, -1)
            total = total.flatten(1)
            scores, found = total.topk(min(num_beams, total.shape[1]), 1)
            parent = (found // self.none)[:, :, None].expand(-1, -1, number)
            before = rl.cat((before.gather(1, parent), (found % self.none)[:, :, None]), 2)
        return before[:, :, 1:], scores
