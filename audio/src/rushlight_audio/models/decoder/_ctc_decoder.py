"""Beam search over the outputs of a network that was trained with CTC."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

import rushlight as rl
from rushlight_audio.models.decoder._arpa import NGramModel, NGramScorer
from rushlight_audio.models.decoder._language_model import (
    CTCDecoderLM,
    Scorer,
    UserScorer,
    ZeroScorer,
)
from rushlight_audio.models.decoder._lexicon import (
    Dictionary,
    prefix_tree,
    read_lexicon,
    read_tokens,
)
from rushlight_audio.models.decoder._search import (
    Options,
    free_search,
    lexicon_search,
    told_of,
)

__all__ = ["CTCDecoder", "CTCHypothesis", "ctc_decoder"]

Lexicon = dict[str, list[list[str]]]


class CTCHypothesis(NamedTuple):
    """What may have been said.

    `tokens` ``[L]`` are numbers of tokens, between silences, without blanks and repetitions;
    `words` is empty without a lexicon; `timesteps` ``[L]`` say at which frame each token begins,
    counted from 1, with 0 for the silence before the first frame.
    """

    tokens: rl.Tensor
    words: list[str]
    score: float
    timesteps: rl.Tensor


class WordSpan(NamedTuple):
    """A word and its frames, counted from 0; `end` is behind its last token's first frame."""

    word: str
    start: int
    end: int


class CTCDecoder:
    """Finds the best hypotheses of outputs; made by :func:`ctc_decoder`."""

    def __init__(
        self,
        nbest: int,
        lexicon: Lexicon | None,
        word_dict: Dictionary | None,
        tokens_dict: Dictionary,
        lm: Scorer,
        decoder_options: Options,
        blank_token: str,
        sil_token: str,
        unk_word: str,
    ) -> None:
        self.nbest = nbest
        self.lexicon = lexicon
        self.word_dict = word_dict
        self.tokens_dict = tokens_dict
        self.blank = tokens_dict.index(blank_token)
        self.silence = tokens_dict.index(sil_token)
        specials = (len(tokens_dict), self.silence, self.blank)
        if lexicon is None or word_dict is None:
            self._search = free_search(decoder_options, lm, told_of(decoder_options, *specials))
        else:
            told = told_of(decoder_options, *specials, word_dict.index(unk_word))
            tree = prefix_tree(lexicon, word_dict, tokens_dict, lm)
            self._search = lexicon_search(decoder_options, lm, told, tree)

    def decode_begin(self) -> None:
        """Begin a stream."""
        self._search.begin()

    def decode_step(self, emissions: rl.Tensor) -> None:
        """Go on by the frames `emissions` ``[T, N]`` of a stream."""
        if emissions.dim() != 2:
            raise RuntimeError(
                f"decode_step: emissions must be of shape [frames, tokens], got "
                f"{list(emissions.shape)}"
            )
        self._search.run(self._checked(emissions).numpy())

    def decode_end(self) -> None:
        """End a stream."""
        self._search.finish()

    def get_final_hypothesis(self) -> list[CTCHypothesis]:
        """The `nbest` best hypotheses behind :meth:`decode_end`."""
        last = self._search.last
        order = np.argsort(-last.score, kind="stable")[: self.nbest].tolist()
        return [self._hypothesis(row) for row in order]

    def get_partial_hypothesis(self) -> CTCHypothesis:
        """The best hypothesis so far of a stream that has not ended; its last word may change."""
        return self._hypothesis(int(self._search.last.score.argmax()))

    def __call__(
        self, emissions: rl.Tensor, lengths: rl.Tensor | None = None
    ) -> list[list[CTCHypothesis]]:
        """The `nbest` best hypotheses of each row of the batch.

        Args:
            emissions: logarithms of probabilities, or other scores, of tokens, ``[B, T, N]`` of
                float32 on the CPU.
            lengths: ``[B]``, frames that count; all of them by default.
        """
        if emissions.dim() != 3:
            raise RuntimeError(
                "CTCDecoder: emissions must be of shape [batch, frames, tokens], got "
                f"{list(emissions.shape)}"
            )
        rows = self._checked(emissions).numpy()
        sizes = [rows.shape[1]] * rows.shape[0] if lengths is None else lengths.tolist()
        if len(sizes) != len(rows) or not all(0 <= size <= rows.shape[1] for size in sizes):
            raise ValueError(
                f"CTCDecoder: lengths must be {len(rows)} numbers from 0 to {rows.shape[1]}, got "
                f"{sizes}"
            )
        found = []
        for row, size in zip(rows, sizes, strict=True):
            self.decode_begin()
            self._search.run(row[:size])
            self.decode_end()
            found.append(self.get_final_hypothesis())
        return found

    def _checked(self, emissions: rl.Tensor) -> rl.Tensor:
        """Emissions that the search can read."""
        if emissions.dtype != rl.float32:
            raise RuntimeError(f"emissions must be float32, got {emissions.dtype}")
        if not emissions.is_cpu:
            raise RuntimeError("emissions must be a CPU tensor: give emissions.cpu()")
        if emissions.shape[-1] != len(self.tokens_dict):
            raise RuntimeError(
                f"emissions has scores of {emissions.shape[-1]} tokens, the decoder has "
                f"{len(self.tokens_dict)}"
            )
        return emissions.detach()

    def _hypothesis(self, row: int) -> CTCHypothesis:
        """A hypothesis of the last frame, traced back."""
        path, words = self._search.beam.path(row)
        changes = [
            (token, time)
            for time, token in enumerate(path)
            if token != self.blank and (time == 0 or token != path[time - 1])
        ]
        return CTCHypothesis(
            tokens=rl.tensor([token for token, _ in changes], dtype=rl.int64),
            words=[] if self.word_dict is None else [self.word_dict.entries[w] for w in words],
            score=float(self._search.last.score[row]),
            timesteps=rl.tensor([time for _, time in changes], dtype=rl.int32),
        )

    def idxs_to_tokens(self, idxs: Iterable[int] | rl.Tensor) -> list[str]:
        """Tokens of numbers."""
        numbers = idxs.tolist() if isinstance(idxs, rl.Tensor) else idxs
        return [self.tokens_dict.entries[int(number)] for number in numbers]

    def word_spans(self, hypothesis: CTCHypothesis) -> list[WordSpan]:
        """When each word of a hypothesis was said.

        Words follow from the lexicon's spellings; without a lexicon a word is what stands between
        silences. A silence that ends a spelling does not count.
        """
        times = [max(time - 1, 0) for time in hypothesis.timesteps.tolist()]
        said = list(zip(hypothesis.tokens.tolist(), times, strict=True))
        if self.lexicon is None:
            return self._between_silences(said)
        spans, place = [], 0
        for word in hypothesis.words:
            place, taken = self._taken(word, said, place)
            spans.append(WordSpan(word, taken[0], taken[-1] + 1))
        return spans

    def _between_silences(self, said: list[tuple[int, int]]) -> list[WordSpan]:
        found = []
        for silent, group in itertools.groupby(said, lambda pair: pair[0] == self.silence):
            if not silent:
                tokens, times = zip(*group, strict=True)
                found.append(
                    WordSpan("".join(self.idxs_to_tokens(tokens)), times[0], times[-1] + 1)
                )
        return found

    def _taken(self, word: str, said: list[tuple[int, int]], place: int) -> tuple[int, list[int]]:
        """What is behind `word` from `place` on, and the frames of its tokens."""
        while place < len(said) and said[place][0] == self.silence:
            place += 1
        for heard in self._spelled(word):
            found = said[place : place + len(heard)]
            if heard and [token for token, _ in found] == heard:
                return place + len(heard), [time for _, time in found]
        return place, [said[min(place, len(said) - 1)][1]]  # an unknown word

    def _spelled(self, word: str) -> list[list[int]]:
        """How `word` is spelled without silences; then the same with its repetitions merged, as the
        search lets a word end with a repeated token that was said once."""
        spellings = (self.lexicon or {}).get(word, [])
        numbers = [[self.tokens_dict.index(token) for token in each] for each in spellings]
        loud = [[each for each in row if each != self.silence] for row in numbers]
        return loud + [[token for token, _ in itertools.groupby(row)] for row in loud]


def ctc_decoder(
    lexicon: str | None,
    tokens: str | list[str],
    lm: str | CTCDecoderLM | None = None,
    lm_dict: str | None = None,
    nbest: int = 1,
    beam_size: int = 50,
    beam_size_token: int | None = None,
    beam_threshold: float = 50,
    lm_weight: float = 2,
    word_score: float = 0,
    unk_score: float = float("-inf"),
    sil_score: float = 0,
    log_add: bool = False,
    blank_token: str = "-",
    sil_token: str = "|",
    unk_word: str = "<unk>",
) -> CTCDecoder:
    """A beam search over CTC's outputs.

    Args:
        lexicon: a file whose lines are a word and its spelling in tokens; None: any tokens.
        tokens: a list of tokens in the order of the outputs, or a file with one to a line.
        lm: a file of an n-gram language model over words (over tokens without a lexicon), ARPA or
            KenLM's binary format, or a :class:`CTCDecoderLM`.
        lm_dict: a file with one word to a line, numbered as `lm` numbers them; the lexicon's words
            by default.
        nbest: hypotheses that are returned.
        beam_size: hypotheses that are kept from frame to frame.
        beam_size_token: tokens of each frame that are tried; all by default.
        beam_threshold: hypotheses whose score is further from the best are dropped.
        lm_weight: factor of the language model's scores.
        word_score: added for each word.
        unk_score: added for each unknown word; with ``-inf`` there are none.
        sil_score: added for each frame of silence.
        log_add: probabilities of hypotheses that become the same are added; the greater one counts
            otherwise.
        blank_token: CTC's blank.
        sil_token: silence.
        unk_word: the word that stands for unknown ones.

    Raises:
        FileNotFoundError: there is no such file.
        KeyError: a spelling has a token that `tokens` lacks.
        ValueError: `nbest`, `beam_size` or `beam_size_token` is below 1, or a file is damaged.

    >>> decoder = ctc_decoder(lexicon=None, tokens=["-", "|", "a", "b"])
    >>> emissions = rl.log_softmax(8 * rl.eye(4)[[2, 2, 0, 2, 3]], dim=1)
    >>> decoder.idxs_to_tokens(decoder(emissions.unsqueeze(0))[0][0].tokens)
    ['|', 'a', 'a', 'b', '|']
    """
    sizes = {"nbest": nbest, "beam_size": beam_size, "beam_size_token": beam_size_token}
    for name, size in sizes.items():
        if size is not None and size < 1:
            raise ValueError(f"ctc_decoder: {name} must be at least 1, got {size}")
    tokens_dict = read_tokens(tokens)
    words = read_lexicon(lexicon) if lexicon else None
    word_dict = _words(words, lm, lm_dict, tokens_dict, unk_word)
    if lm is None:
        scorer: Scorer = ZeroScorer()
    elif isinstance(lm, (str, os.PathLike)):
        entries = (word_dict or tokens_dict).entries if words else tokens_dict.entries
        scorer = NGramScorer(NGramModel.read(lm), entries)
    elif isinstance(lm, CTCDecoderLM):
        scorer = UserScorer(lm)
    else:
        raise TypeError(
            f"ctc_decoder: lm is a path, a CTCDecoderLM or None, got {type(lm).__name__}"
        )
    options = Options(
        beam_size,
        beam_size_token or len(tokens_dict),
        beam_threshold,
        lm_weight,
        word_score,
        unk_score,
        sil_score,
        log_add,
    )
    return CTCDecoder(
        nbest, words, word_dict, tokens_dict, scorer, options, blank_token, sil_token, unk_word
    )


def _words(
    lexicon: Lexicon | None,
    lm: str | CTCDecoderLM | None,
    lm_dict: str | None,
    tokens: Dictionary,
    unk_word: str,
) -> Dictionary | None:
    """The numbers of words: as in `lm_dict`, or in the order of the lexicon."""
    if lm_dict is not None:
        entries = read_tokens(lm_dict).entries
    elif lexicon is not None:
        entries = list(lexicon)
    else:
        return None
    if unk_word not in entries:
        entries = [*entries, unk_word]
    return Dictionary([[entry] for entry in entries], default=unk_word)
