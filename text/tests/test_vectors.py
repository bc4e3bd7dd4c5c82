"""Word vectors from files: numbers, cache, archives, character n-grams."""

import io
import tarfile
import zipfile

import pytest

from rushlight_text.vocab import CharNGram, FastText, GloVe, Vectors, pretrained_aliases

LINES = "hello 1 2\nHi 3 4\nworld 5 6\n"


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "w.vec"
    path.write_text(LINES)
    return path


def test_vectors_of_words(source, tmp_path):
    vectors = Vectors(source, cache=tmp_path / "c")
    assert vectors.itos == ["hello", "Hi", "world"] and vectors.stoi["Hi"] == 1
    assert vectors.dim == 2 and len(vectors) == 3 and "Hi" in vectors and "hi" not in vectors
    assert vectors.vectors.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert vectors["hello"].tolist() == [1, 2] and vectors["none"].tolist() == [0, 0]
    both = vectors.get_vecs_by_tokens(["HELLO", "Hi"], lower_case_backup=True)
    assert both.tolist() == [[1, 2], [3, 4]]
    assert vectors.get_vecs_by_tokens("HELLO").tolist() == [0, 0]
    assert vectors.get_vecs_by_tokens("world").tolist() == [5, 6]


def test_what_was_read_is_kept(source, tmp_path):
    Vectors(source, cache=tmp_path / "c")
    source.unlink()
    assert Vectors("w.vec", cache=tmp_path / "c")["world"].tolist() == [5, 6]


def test_max_vectors_and_unknown_words(source, tmp_path):
    few = Vectors(source, tmp_path / "c", max_vectors=2, unk_init=lambda x: x.fill_(9))
    assert few.itos == ["hello", "Hi"] and few["world"].tolist() == [9, 9]
    assert (tmp_path / "c" / "w.vec_2.pt").is_file()


def test_headers_odd_words_and_lengths(tmp_path):
    path = tmp_path / "h.vec"
    path.write_bytes(b"2 2\nb\xff 1 2\nok 3 4\n")
    with pytest.warns(UserWarning, match="a header"):
        vectors = Vectors(path, cache=tmp_path)
    assert vectors.itos == ["ok"] and vectors["ok"].tolist() == [3, 4]
    path.write_text("a 1 2\nb 1 2 3\n")
    with pytest.raises(RuntimeError, match="b'b' has 3 dimensions, but previously .* 2 dimensions"):
        Vectors(path, cache=tmp_path / "other")
    with pytest.raises(RuntimeError, match="no vectors found at .*gone"):
        Vectors("gone.vec", cache=tmp_path)


def test_character_grams(tmp_path):
    rows = "2gram-#BEGIN#a 1 2\n2gram-ab 3 4\n3gram-#BEGIN#ab 5 6\nx 1 1\n2gram-b#END# 7 7\n"
    (tmp_path / "charNgram.txt").write_text(rows)
    vectors = CharNGram(cache=tmp_path)
    assert vectors["ab"].tolist() == [[4.0, 4.75]]  # the mean of four grams
    assert vectors["q"].tolist() == [[0, 0]]
    assert vectors.get_vecs_by_tokens(["ab", "q"]).shape == (2, 1, 2)


def test_archives_are_fetched_and_unpacked(tmp_path, monkeypatch):
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    with zipfile.ZipFile(mirror / "glove.6B.zip", "w") as archive:
        archive.writestr("glove.6B.50d.txt", LINES)
    (mirror / "wiki.de.vec").write_text(LINES)
    with tarfile.open(mirror / "jmt_pre-trained_embeddings.tar.gz", "w:gz") as archive:
        entry = tarfile.TarInfo("charNgram.txt")
        entry.size = len(LINES)
        archive.addfile(entry, io.BytesIO(LINES.encode()))
    monkeypatch.setenv("RUSHLIGHT_MIRRORS", str(mirror))
    assert GloVe("6B", 50, cache=tmp_path / "c")["Hi"].tolist() == [3, 4]
    assert FastText("de", cache=tmp_path / "c")["Hi"].tolist() == [3, 4]
    assert CharNGram(cache=tmp_path / "c").itos == ["hello", "Hi", "world"]
    assert pretrained_aliases["glove.6B.50d"](cache=tmp_path / "c").dim == 2


def test_aliases_and_names():
    assert len(pretrained_aliases) == 13
    assert {"charngram.100d", "fasttext.simple.300d", "glove.twitter.27B.25d"} <= set(
        pretrained_aliases
    )
    with pytest.raises(ValueError, match=r"name must be one of .*got '7B'"):
        GloVe("7B")
