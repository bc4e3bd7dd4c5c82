"""How long searches over CTC's outputs take beside flashlight's (torchaudio's `ctc_decoder`).

Both run in processes of their own, in turn, one thread; what counts is the time of the processor,
the least of several rounds. The best words and tokens of both must be the same. Writes a table:
bench/results/audio_search.md.

Usage: python ci/audio_search_speed.py PYTHON [ROUNDS]   PYTHON: where torchaudio 2.9.1 is
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import random
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from alternating import least_seconds

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "audio" / "zoo"))

from ngrams import write_arpa  # noqa: E402

LETTERS = "abcdefghijklmnopqrstuvwxyz'"
WORDS, FRAMES, UTTERANCES = 5000, 200, 12
RESULTS = Path(__file__).resolve().parents[1] / "bench" / "results" / "audio_search.md"
HEADING = f"""# Searches over CTC's outputs beside flashlight-text 0.0.7

An utterance of {FRAMES} frames of drawn scores, {WORDS:,} drawn words, one thread, the mean of
{UTTERANCES - 2} utterances that are searched once each, the least of several rounds in turn
(`python ci/audio_search_speed.py PYTHON`). Both find the same words and tokens.

| search | flashlight, ms | Rushlight, ms | ratio |
| --- | --- | --- | --- |
"""


def files(folder: Path) -> tuple[str, str]:
    """A lexicon of drawn words, and trigrams of sentences of them."""
    draw = random.Random(3)
    words = sorted({"".join(draw.choices(LETTERS, k=draw.randint(2, 9))) for _ in range(WORDS)})
    lexicon, model = folder / "lexicon.txt", folder / "words.arpa"
    lexicon.write_text("".join(f"{word} {' '.join(word)} |\n" for word in words))
    common = [words[int(len(words) * draw.random() ** 3)] for _ in range(30000)]
    write_arpa(model, (common[at : at + 10] for at in range(0, len(common), 10)), 3)
    return str(lexicon), str(model)


def measure(theirs: bool) -> int:
    """Print the seconds of each search, and a digest of what was found."""
    warnings.simplefilter("ignore")
    if theirs:
        import torch
        from torchaudio.models.decoder import ctc_decoder
    else:
        import rushlight as torch
        from rushlight_audio.models.decoder import ctc_decoder
    torch.set_num_threads(1)
    torch.manual_seed(0)
    shape = (1, FRAMES, len(LETTERS) + 2)
    scores, *others = [(3 * torch.randn(shape)).log_softmax(-1) for _ in range(UTTERANCES)]
    tokens, found = ["-", *LETTERS, "|"], {}
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
        lexicon, model = files(Path(folder))
        for title, options in _searches(lexicon, model).items():
            for beams in (50, 200):
                decoder = ctc_decoder(tokens=tokens, beam_size=beams, lm_weight=1.0, **options)
                digest = _digest(decoder(scores))
                found[f"{beams} beams{title} [{digest}]"] = _seconds(decoder, others)
    print(json.dumps(found))
    return 0


def _searches(lexicon: str, model: str) -> dict[str, dict[str, Any]]:
    return {
        "": {"lexicon": lexicon},
        ", trigrams": {"lexicon": lexicon, "lm": model},
        ", no lexicon": {"lexicon": None},
        ", no lexicon, 5 tokens a frame": {"lexicon": None, "beam_size_token": 5},
    }


def _digest(hypotheses: Any) -> str:
    best = hypotheses[0][0]
    said = " ".join([*best.words, *map(str, best.tokens.tolist())])
    return hashlib.sha256(said.encode()).hexdigest()[:6]


def _seconds(decoder: Any, others: list[Any]) -> float:
    """Seconds for an utterance that was not searched before."""
    decoder(others[0])
    begin = time.process_time()
    for scores in others[1:]:
        decoder(scores)
    return (time.process_time() - begin) / (len(others) - 1)


def main() -> int:
    if sys.argv[1] in ("ours", "theirs"):
        return measure(sys.argv[1] == "theirs")
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    best = least_seconds(sys.argv[1], lambda which: [__file__, which], rounds)
    if best["ours"].keys() != best["theirs"].keys():
        print(f"other results: {sorted(best['ours'])}, flashlight {sorted(best['theirs'])}")
        return 1
    text = HEADING
    for name, ours in best["ours"].items():
        theirs = best["theirs"][name]
        row = name.split(" [")[0], theirs * 1000, ours * 1000, theirs / ours
        text += "| {} | {:.3g} | {:.3g} | {:.2f} |\n".format(*row)
    RESULTS.write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
