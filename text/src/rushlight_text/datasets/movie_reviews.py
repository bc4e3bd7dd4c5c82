"""Sentences of movie reviews with human scores, as published with VADER."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

from rushlight.utils.data import Dataset

__all__ = ["MovieReviewSentences"]

MEMBER = "movieReviewSnippets_GroundTruth.txt"
FOLDS = 10
# Tenths of the file, by line: tenth 0 is the test, tenth 1 the validation, the rest is training.
SPLITS = {"test": (0,), "valid": (1,), "train": tuple(range(2, FOLDS)), "all": tuple(range(FOLDS))}
HINT = (
    "fetch the source distribution with `python3 -m pip download --no-deps --no-binary :all: "
    "vaderSentiment==3.3.2` and pass the path of the archive"
)


class MovieReviewSentences(Dataset):
    """10,605 sentences of movie reviews, each with the mean score of people (-4 to 4).

    From Hutto and Gilbert, "VADER" (ICWSM 2014), after Pang and Lee's sentences. Rushlight does not
    ship them: they stand in the source distribution of ``vaderSentiment`` 3.3.2.

    An item is ``(sentence, label)``: 1 for a score above zero, else 0. Lines fall into ten parts by
    their number modulo 10: part 0 is the test, part 1 the validation, the others are training, so
    the split never changes.

    Args:
        path: that archive, a folder it was unpacked into, or the text file itself.
        split: ``"train"``, ``"valid"``, ``"test"`` or ``"all"``.

    Raises:
        FileNotFoundError: nothing at `path`, or no such text file inside.
        ValueError: an unknown split, an archive that cannot be read, or a line of another form.
    """

    def __init__(self, path: str | os.PathLike, split: str = "train"):
        if split not in SPLITS:
            raise ValueError(
                f"MovieReviewSentences(): split must be one of {sorted(SPLITS)}, got {split!r}"
            )
        self.split = split
        self.sentences: list[str] = []
        self.scores: list[float] = []
        kept = SPLITS[split]
        text = _read(Path(path)).decode("utf-8")
        for number, line in enumerate(text.splitlines()):
            fields = line.split("\t", 2)
            if len(fields) != 3:
                raise ValueError(f"{path}, line {number + 1}: expected id, score and sentence")
            if number % FOLDS in kept:
                self.sentences.append(fields[2])
                self.scores.append(float(fields[1]))

    def __len__(self) -> int:
        return len(self.sentences)

    def __getitem__(self, index: int) -> tuple[str, int]:
        return self.sentences[index], int(self.scores[index] > 0)


def _read(path: Path) -> bytes:
    if path.is_dir():
        found = sorted([*path.rglob(MEMBER), *path.rglob("hutto_ICWSM_2014.tar.gz")])
        if not found:
            raise FileNotFoundError(f"{path}: no {MEMBER} in this folder; {HINT}")
        path = found[0]
    if not path.is_file():
        raise FileNotFoundError(f"no such file: {str(path)!r}; {HINT}")
    content = path.read_bytes()
    if path.suffix == ".txt":
        return content
    try:
        text = _from_archive(content)
    except (tarfile.TarError, OSError, EOFError) as error:
        raise ValueError(f"{path}: cannot be read as a tar archive: {error}; {HINT}") from error
    if text is None:
        raise FileNotFoundError(f"{path}: no {MEMBER} in this archive; {HINT}")
    return text


def _from_archive(content: bytes) -> bytes | None:
    """The text file in a tar archive, or in an archive inside it."""
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member in archive:
            name = member.name.rsplit("/", 1)[-1]
            if name != MEMBER and not (name.startswith("hutto_") and name.endswith(".tar.gz")):
                continue
            file = archive.extractfile(member)
            if file is None:  # a folder or a link of that name
                continue
            return file.read() if name == MEMBER else _from_archive(file.read())
    return None
