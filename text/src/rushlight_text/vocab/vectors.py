"""Pretrained word vectors: text files of ``token v1 v2 ...``, read once and kept as a tensor."""

from __future__ import annotations

import os
import warnings
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import rushlight as rl
from rushlight_text.utils import download_from_url, extract_archive

__all__ = ["CharNGram", "FastText", "GloVe", "Vectors", "pretrained_aliases"]

Initializer = Callable[[rl.Tensor], rl.Tensor]


class Vectors:
    """Vectors of words from a text file, one word a line: the word, a space, its numbers.

    The file is parsed once; tables and tensor are kept beside it in `cache` as ``NAME.pt``. A first
    line of two fields (as of fastText's files) is skipped with a warning.

    Args:
        name: a file: a path, or its name in `cache`.
        cache: folder of files and of what was read from them; default ``.vector_cache``.
        url: where the file, or an archive that holds it, is fetched from if it is not there.
        unk_init: makes the vector of an unknown word out of one of zeros; default: leaves the
            zeros.
        max_vectors: read only the first so many lines.

    Attributes:
        itos: words by row. stoi: row of each word. vectors: ``[V, dim]`` float32. dim: their
        length.

    Raises:
        RuntimeError: no such file and no `url`; or lines of different lengths.
    """

    def __init__(
        self,
        name: str | os.PathLike,
        cache: str | os.PathLike | None = None,
        url: str | None = None,
        unk_init: Initializer | None = None,
        max_vectors: int | None = None,
    ):
        self.itos: list[str] = []
        self.stoi: dict[str, int] = {}
        self.vectors = rl.zeros(0, 0)
        self.dim = 0
        self.unk_init: Initializer = rl.Tensor.zero_ if unk_init is None else unk_init
        self.cache(os.fspath(name), cache, url=url, max_vectors=max_vectors)

    def cache(
        self,
        name: str,
        cache: str | os.PathLike | None,
        url: str | None = None,
        max_vectors: int | None = None,
    ) -> None:
        """Fetch and parse the file unless that has been done; called once by the constructor."""
        folder = Path(".vector_cache" if cache is None else cache)
        suffix = f"_{max_vectors}" if max_vectors else ""
        source = Path(name) if Path(name).is_file() else folder / name
        kept = folder / f"{source.name}{suffix}.pt"
        if not kept.is_file():
            if not source.is_file():
                _fetch(source, url)
            read = _parse(source, max_vectors)
            folder.mkdir(parents=True, exist_ok=True)
            rl.save(read, kept)
        self.itos, self.stoi, self.vectors, self.dim = rl.load(kept)

    def __len__(self) -> int:
        return len(self.vectors)

    def __contains__(self, token: object) -> bool:
        return token in self.stoi

    def __getitem__(self, token: str) -> rl.Tensor:
        """The vector ``[dim]`` of a word, or what `unk_init` makes."""
        row = self.stoi.get(token)
        return self.unk_init(rl.zeros(self.dim)) if row is None else self.vectors[row]

    def get_vecs_by_tokens(
        self, tokens: str | Sequence[str], lower_case_backup: bool = False
    ) -> rl.Tensor:
        """``[dim]`` of one word, ``[N, dim]`` of several.

        With `lower_case_backup` a word that is unknown as it stands is looked up in small letters.
        """
        if isinstance(tokens, str):
            return self._looked_up(tokens, lower_case_backup)
        return rl.stack([self._looked_up(token, lower_case_backup) for token in tokens])

    def _looked_up(self, token: str, lower_case_backup: bool) -> rl.Tensor:
        small = lower_case_backup and token not in self.stoi
        return self[token.lower() if small else token]


class GloVe(Vectors):
    """GloVe's vectors (Pennington et al. 2014): `name` is ``"42B"``, ``"840B"``, ``"twitter.27B"``
    or ``"6B"``, `dim` the length that the archive holds (6B: 50, 100, 200, 300; twitter: 25, 50,
    100, 200; else 300). Other arguments as of :class:`Vectors`."""

    url = {
        "42B": "http://nlp.stanford.edu/data/glove.42B.300d.zip",
        "840B": "http://nlp.stanford.edu/data/glove.840B.300d.zip",
        "twitter.27B": "http://nlp.stanford.edu/data/glove.twitter.27B.zip",
        "6B": "http://nlp.stanford.edu/data/glove.6B.zip",
    }

    def __init__(self, name: str = "840B", dim: int = 300, **kwargs):
        if name not in self.url:
            raise ValueError(f"GloVe(): name must be one of {sorted(self.url)}, got {name!r}")
        super().__init__(f"glove.{name}.{dim}d.txt", url=self.url[name], **kwargs)


class FastText(Vectors):
    """fastText's vectors of Wikipedia (Bojanowski et al. 2016) in one `language`, of length 300."""

    url_base = "https://dl.fbaipublicfiles.com/fasttext/vectors-wiki/wiki.{}.vec"

    def __init__(self, language: str = "en", **kwargs):
        url = self.url_base.format(language)
        super().__init__(os.path.basename(url), url=url, **kwargs)


class CharNGram(Vectors):
    """Vectors of character 2- to 4-grams (Hashimoto et al. 2016): a word's is the mean of those of
    its grams, ``[1, dim]``."""

    name = "charNgram.txt"
    url = (
        "http://www.logos.t.u-tokyo.ac.jp/~hassy/publications/arxiv2016jmt/"
        "jmt_pre-trained_embeddings.tar.gz"
    )

    def __init__(self, **kwargs):
        super().__init__(self.name, url=self.url, **kwargs)

    def __getitem__(self, token: str) -> rl.Tensor:
        """The mean of the grams that are known; what `unk_init` makes where none is."""
        rows = [self.stoi[gram] for gram in _grams(token) if gram in self.stoi]
        if not rows:
            return self.unk_init(rl.zeros(1, self.dim))
        return self.vectors[rl.tensor(rows)].mean(0, keepdim=True)


def _grams(token: str) -> Iterator[str]:
    letters = ["#BEGIN#", *token, "#END#"]
    for length in (2, 3, 4):
        for start in range(len(letters) - length + 1):
            yield f"{length}gram-{''.join(letters[start : start + length])}"


def _fetch(source: Path, url: str | None) -> None:
    if not url:
        raise RuntimeError(f"no vectors found at {source}: put the file there, or pass its url")
    archive = source.parent / os.path.basename(url)
    download_from_url(url, path=str(archive))
    if archive.suffix in (".zip", ".gz", ".tgz"):
        extract_archive(str(archive), str(source.parent))
    if not source.is_file():
        raise RuntimeError(f"{archive} (from {url}) does not hold {source.name}")


def _parse(path: Path, max_vectors: int | None) -> tuple:
    """Words, their rows, the vectors and their length."""
    words: list[str] = []
    numbers, dim = array("f"), 0
    with open(path, "rb") as file:
        for line in file:
            if max_vectors and len(words) == max_vectors:
                break
            word, *fields = line.rstrip().split(b" ")
            if not dim and len(fields) > 1:
                dim = len(fields)
            elif len(fields) == 1:
                warnings.warn(f"{path}: skipped {line!r}: a header, not a vector", stacklevel=5)
                continue
            elif len(fields) != dim:
                raise RuntimeError(
                    f"Vector for token {word!r} has {len(fields)} dimensions, but previously read "
                    f"vectors have {dim} dimensions. All vectors must have the same number of "
                    f"dimensions ({path}, line {len(words) + 1})."
                )
            if (text := _decoded(word)) is not None:
                words.append(text)
                numbers.extend(map(float, fields))
    rows = rl.frombuffer(numbers, dtype=rl.float32).clone() if numbers else rl.zeros(0)
    return words, {word: row for row, word in enumerate(words)}, rows.view(-1, dim or 1), dim


def _decoded(word: bytes) -> str | None:
    """The word, or None: published files hold a few words that are not UTF-8."""
    try:
        return word.decode("utf-8")
    except UnicodeDecodeError:
        return None


_GLOVE = [("6B", (50, 100, 200, 300)), ("42B", (300,)), ("840B", (300,))]
_GLOVE.append(("twitter.27B", (25, 50, 100, 200)))

# Names that the legacy fields take in ``build_vocab(vectors=...)``.
_NAMED: dict[str, Callable[..., Vectors]] = {
    "charngram.100d": CharNGram,
    "fasttext.en.300d": partial(FastText, language="en"),
    "fasttext.simple.300d": partial(FastText, language="simple"),
}
pretrained_aliases = _NAMED | {
    f"glove.{name}.{dim}d": partial(GloVe, name=name, dim=dim)
    for name, lengths in _GLOVE
    for dim in lengths
}
