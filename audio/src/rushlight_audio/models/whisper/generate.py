"""Tokens of sound, one after the other."""

from __future__ import annotations

from collections.abc import Sequence

import rushlight as rl
from rushlight_audio.models.whisper.model import Cache, Whisper

__all__ = ["detect_language", "generate"]


@rl.no_grad()
def generate(
    model: Whisper,
    mel: rl.Tensor,
    prompt: Sequence[int],
    end: int,
    *,
    max_tokens: int | None = None,
    suppress: Sequence[int] = (),
    begin_suppress: Sequence[int] = (),
    temperature: float = 0.0,
    beam_size: int = 1,
    length_penalty: float = 1.0,
) -> list[tuple[list[int], float]]:
    """What is said in each spectrogram, with the mean log probability of its tokens.

    Args:
        model: the network.
        mel: ``[B, n_mels, 2 * n_audio_ctx]``; see :func:`log_mel_spectrogram`.
        prompt: tokens before the first one, such as start, language and task.
        end: the token that ends a text.
        max_tokens: most tokens behind the prompt; half of what the network can hold by default.
        suppress: tokens that are never said.
        begin_suppress: tokens that are not the first.
        temperature: 0 takes the best token, more draws one; with `beam_size` 1.
        beam_size: texts that are kept from token to token.
        length_penalty: power of the length that beams' scores are divided by.

    Returns:
        Tokens without prompt and end, and their mean log probability, for each row.
    """
    if temperature and beam_size > 1:
        raise ValueError("generate: temperature is for beam_size=1")
    most = model.dims.n_text_ctx // 2 if max_tokens is None else max_tokens
    most = min(most, model.dims.n_text_ctx - len(prompt))
    hidden = rl.zeros(model.dims.n_vocab, device=mel.device)
    hidden[list(suppress)] = -float("inf")
    first = hidden.clone()
    first[list(begin_suppress)] = -float("inf")
    found = []
    for row in model.encoder(mel).unbind(0):
        beams = _Beams(model, row.unsqueeze(0), list(prompt), end, beam_size)
        for number in range(most):
            if not beams.step(first if number == 0 else hidden, temperature):
                break
        found.append(beams.best(length_penalty))
    return found


class _Beams:
    """The texts of one sound that are still open, and those that have ended."""

    def __init__(self, model: Whisper, encoded: rl.Tensor, prompt: list[int], end: int, size: int):
        self.decoder = model.decoder
        self.end = end
        self.size = size
        self.sound = model.decoder.sound(encoded)
        self.past: Cache | None = None
        self.next = rl.tensor([prompt], device=encoded.device)
        self.texts: list[list[int]] = [[]]
        self.scores = [0.0]
        self.ended: list[tuple[list[int], float]] = []

    def step(self, hidden: rl.Tensor, temperature: float) -> bool:
        """Go on by a token; False if no text is open any more."""
        count = len(self.texts)
        sound = [
            (key.expand(count, -1, -1, -1), value.expand(count, -1, -1, -1))
            for key, value in self.sound
        ]
        logits, self.past = self.decoder(self.next, sound, self.past)
        logits = logits[:, -1] + hidden
        scores = rl.log_softmax(logits, dim=-1)
        if temperature:
            tokens = rl.multinomial(rl.softmax(logits / temperature, dim=-1), 1)
            chosen = [(0, int(tokens[0]), self.scores[0] + float(scores[0, tokens[0]]))]
        else:
            chosen = self._best(scores)
        self._keep(chosen)
        return bool(self.texts) and len(self.ended) < self.size

    def _best(self, scores: rl.Tensor) -> list[tuple[int, int, float]]:
        """Texts, tokens and scores of what may follow, the best first; enough that as many texts
        stay open if all of them end."""
        totals = scores + rl.tensor(self.scores, device=scores.device).unsqueeze(1)
        words = totals.shape[1]
        best, places = totals.view(-1).topk(min(self.size + len(self.scores), totals.numel()))
        return [
            (place // words, place % words, score)
            for place, score in zip(places.tolist(), best.tolist(), strict=True)
        ]

    def _keep(self, chosen: list[tuple[int, int, float]]) -> None:
        """Continue with the best texts that have not ended."""
        rows, texts, scores = [], [], []
        for rank, (row, token, score) in enumerate(chosen):
            text = self.texts[row]
            if token != self.end:
                rows.append(row)
                texts.append([*text, token])
                scores.append(score)
            elif rank < self.size:
                self.ended.append((text, score))
            if len(texts) == self.size:
                break
        self.texts, self.scores = texts, scores
        if rows:
            index = rl.tensor(rows, device=self.next.device)
            self.past = [(key[index], value[index]) for key, value in self.past or []]
            tokens = [[text[-1]] for text in texts]
            self.next = rl.tensor(tokens, device=self.next.device)

    def best(self, length_penalty: float) -> tuple[list[int], float]:
        """The best text, one that has ended if there is one."""
        texts = self.ended or list(zip(self.texts, self.scores, strict=True))
        text, score = max(texts, key=lambda each: each[1] / (len(each[0]) + 1) ** length_penalty)
        return text, score / (len(text) + 1)


@rl.no_grad()
def detect_language(
    model: Whisper, mel: rl.Tensor, start: int, languages: Sequence[int]
) -> rl.Tensor:
    """Probabilities ``[B, languages]`` that spectrograms ``[B, n_mels, 2 * n_audio_ctx]`` have each
    language, given the tokens of start and of languages."""
    tokens = rl.full((len(mel), 1), start, device=mel.device)
    logits = model(mel, tokens)[:, 0]
    return rl.softmax(logits[:, list(languages)], dim=-1)
