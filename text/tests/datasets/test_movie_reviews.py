"""The reader of movie-review sentences, on a small archive of the same form."""

import io
import tarfile

import pytest

from rushlight_text.datasets import MovieReviewSentences

LINES = [f"{i}\t{(-1) ** i * 0.5}\tSentence {i}\twith a tab" for i in range(20)]


def archive(members):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


@pytest.fixture
def source(tmp_path):
    text = "\n".join(LINES).encode()
    inner = archive({"hutto_ICWSM_2014/movieReviewSnippets_GroundTruth.txt": text})
    path = tmp_path / "vaderSentiment-3.3.2.tar.gz"
    path.write_bytes(archive({"vader/a.py": b"", "vader/extra/hutto_ICWSM_2014.tar.gz": inner}))
    return path


def test_splits_are_fixed_and_disjoint(source):
    assert [len(MovieReviewSentences(source, s)) for s in ("train", "valid", "test")] == [16, 2, 2]
    assert len(MovieReviewSentences(source, "all")) == 20
    assert list(MovieReviewSentences(source, "test")) == [
        ("Sentence 0\twith a tab", 1),
        ("Sentence 10\twith a tab", 1),
    ]
    assert MovieReviewSentences(source, "valid")[0] == ("Sentence 1\twith a tab", 0)


def test_unpacked_folder_and_plain_file(source, tmp_path):
    folder = tmp_path / "unpacked"
    with tarfile.open(source) as tar:
        for member in tar.getmembers():  # extractall(filter=) is younger than Python 3.11.4
            if member.isfile():
                target = folder / member.name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(tar.extractfile(member).read())
    assert len(MovieReviewSentences(folder, "all")) == 20
    plain = tmp_path / "movieReviewSnippets_GroundTruth.txt"
    plain.write_text("\n".join(LINES))
    assert MovieReviewSentences(plain, "all").scores[:2] == [0.5, -0.5]


def test_missing_and_broken_files_say_how_to_fetch(tmp_path, source):
    with pytest.raises(FileNotFoundError, match="absent.*pip download"):
        MovieReviewSentences(tmp_path / "absent")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="empty.*no movieReview.*pip download"):
        MovieReviewSentences(tmp_path / "empty")
    cut = tmp_path / "cut.tar.gz"
    cut.write_bytes(source.read_bytes()[:200])
    with pytest.raises(ValueError, match="cut.tar.gz: cannot be read as a tar"):
        MovieReviewSentences(cut)
    other = tmp_path / "other.tar.gz"
    other.write_bytes(archive({"a.txt": b"a"}))
    with pytest.raises(FileNotFoundError, match="other.tar.gz: no movieReview"):
        MovieReviewSentences(other)
    bad = tmp_path / "bad.txt"
    bad.write_text("1\t0.5\tfine\nno tabs")
    with pytest.raises(ValueError, match="bad.txt, line 2: expected id, score and sentence"):
        MovieReviewSentences(bad, "all")
    with pytest.raises(ValueError, match="split must be one of .*got 'dev'"):
        MovieReviewSentences(source, "dev")
