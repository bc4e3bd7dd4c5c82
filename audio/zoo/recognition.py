"""The recogniser of the English prompts, with a language model and without."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from fitting import fit
from ngrams import write_arpa
from speech import LABELS, VOICE, Clip, Rows, ctc_loss, parted_by_words, pieces, rates, transcribed
from templates import Templates

import rushlight as rl
from rushlight_audio.models.decoder import CTCDecoder, ctc_decoder
from rushlight_audio.zoo import Recogniser
from rushlight_audio.zoo.files import Packaged

TOKENS = ["|" if each == " " else each for each in LABELS]


def recognise(folder: str, asked: argparse.Namespace) -> tuple[Packaged, dict]:
    """Characters of the English voice; sentences are held out.

    First of whole prompts; then also of parts of them in any order, cut where the network hears a
    space, so that it does not learn the prompts by heart.
    """
    known, held = parted_by_words(transcribed(folder))
    network = Recogniser(LABELS)
    learn(network, known, 800)
    parts = [piece for seed in range(3) for piece in pieces(network, known, seed)]
    learn(network, known + parts, 3000)
    return network, {
        "data": f"{len(known)} prompts of {VOICE}",
        "licence": "CC BY-SA 3.0",
        "_metrics": errors(network, known, held),
    }


def learn(network: Recogniser, clips: list[Clip], steps: int) -> None:
    """Some steps with rows of clips."""
    rows, numbers = Rows(clips, seed=5), iter(range(steps))

    def loss_of() -> rl.Tensor:
        # The longest prompts last half a minute; every fourth batch has room for them.
        waveforms, symbols = rows.batch(8, 8) if next(numbers) % 4 else rows.batch(32, 2)
        return ctc_loss(network(waveforms), symbols)

    fit(network, loss_of, steps, 2e-3)


def errors(network: Recogniser, known: list[Clip], held: list[Clip]) -> dict[str, dict[str, float]]:
    """Word and character error rates of the best character of each frame, and of beams with
    n-grams of the texts learnt from."""
    texts = [clip.text for clip in held]
    outputs = [network.emissions(clip.waveform, network.rate) for clip in held]
    heard = [network.predict(clip.waveform, network.rate)["text"] for clip in held]
    found = {f"{len(held)} sentences held out": rates(heard, texts)}
    templates = Templates(known)
    nearest = [templates.nearest(clip) for clip in held]
    found["the words of the most similar prompt learnt from"] = rates(nearest, texts)
    with tempfile.TemporaryDirectory() as folder:
        learnt = sorted({clip.text for clip in known})
        for name, decoder in _decoders(Path(folder), learnt).items():
            found[f"the same with {name}"] = rates(
                [_best(decoder, each) for each in outputs], texts
            )
    return found


def _decoders(folder: Path, texts: list[str]) -> dict[str, CTCDecoder]:
    """Beams with n-grams of characters, which can spell any word, and of words, which only know
    those learnt from."""
    words = sorted({word for text in texts for word in text.split()})
    names = "lexicon", "letters", "words", "tokens"
    lexicon, by_letter, by_word, tokens = (folder / name for name in names)
    lexicon.write_text("".join(f"{word} {' '.join(word)} |\n" for word in words))
    # torchaudio would number the tokens for the model in the order of a hash table
    tokens.write_text("\n".join(TOKENS) + "\n")
    write_arpa(by_letter, [list(f"{text} ".replace(" ", "|")) for text in texts], 6)
    write_arpa(by_word, [text.split() for text in texts], 3)
    return {
        "6-grams of characters": ctc_decoder(
            None, TOKENS, str(by_letter), str(tokens), lm_weight=0.6
        ),
        "3-grams of words": ctc_decoder(str(lexicon), TOKENS, str(by_word), lm_weight=1.0),
    }


def _best(decoder: CTCDecoder, outputs: rl.Tensor) -> str:
    """The text of the best hypothesis."""
    tokens = decoder.idxs_to_tokens(decoder(outputs[None])[0][0].tokens)
    return " ".join("".join(tokens).replace("|", " ").split())
