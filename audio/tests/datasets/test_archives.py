"""Archives are fetched, checked and unpacked whole; recordings of other packages are read."""

import gzip
import hashlib
import importlib.util
import io
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

import rushlight as rl
from rushlight.utils.download import DownloadError
from rushlight_audio import datasets
from rushlight_audio.datasets import archives, japanese_vowels, pocketsphinx, utils
from rushlight_audio.datasets.archives import Archive, unpack

_spec = importlib.util.spec_from_file_location(
    "audio_dataset_folders", Path(__file__).with_name("folders.py")
)
folders = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(folders)


def packed(folder, path):
    """A tar.gz, zip, whl or deb of what is in a folder."""
    if path.suffix in (".zip", ".whl"):
        with zipfile.ZipFile(path, "w") as archive:
            for each in sorted(folder.rglob("*")):
                archive.write(each, each.relative_to(folder))
        return path
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:xz" if path.suffix == ".deb" else "w:gz") as archive:
        archive.add(folder, ".")
    if path.suffix != ".deb":
        path.write_bytes(data.getvalue())
        return path
    path.write_bytes(b"!<arch>\n")
    with path.open("ab") as file:
        for name, content in (("debian-binary", b"2.0\n\n"), ("data.tar.xz", data.getvalue())):
            head = f"{name:16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n"
            file.write(head.encode() + content + b"\n" * (len(content) % 2))
    return path


@pytest.mark.parametrize("ending", ["tar.gz", "tgz", "zip", "whl", "deb"])
def test_unpacking(tmp_path, ending):
    folders.text(tmp_path / "in" / "a" / "b.txt", "content")
    archive = packed(tmp_path / "in", tmp_path / f"x.{ending}")
    folders.text(tmp_path / "out" / "a" / "old.txt", "stays")
    assert unpack(archive, tmp_path / "out") == tmp_path / "out"
    assert {p.name for p in (tmp_path / "out").rglob("*")} == {"a", "b.txt", "old.txt"}
    cut = archive.read_bytes()
    archive.write_bytes(cut[: len(cut) // 2])
    with pytest.raises(ValueError, match=f"x.{ending} is truncated, altered or unsafe"):
        unpack(archive, tmp_path / "other")
    assert list((tmp_path / "other").iterdir()) == []
    assert Archive(f"http://host/x.{ending}").stem == "x"


def test_members_outside_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("../evil.txt", "evil")
    with pytest.raises(ValueError, match="leads out of the folder"):
        unpack(tmp_path / "x.zip", tmp_path / "out")
    member = tarfile.TarInfo("../evil.txt")
    with tarfile.open(tmp_path / "x.tar", "w") as tar:
        tar.addfile(member, io.BytesIO(b""))
    with pytest.raises(ValueError, match="unsafe"):
        unpack(tmp_path / "x.tar", tmp_path / "out")
    assert not (tmp_path / "evil.txt").exists()
    with pytest.raises(ValueError, match="expected an archive"):
        unpack(tmp_path / "x.txt", tmp_path)


def served(monkeypatch, module, folder, url):
    """Let an address of a module be a file, with its own sum; gives the archive's path."""
    name = url.rsplit("/", 1)[-1]
    path = folder / "served" / name
    path.parent.mkdir()
    packed(folder / "source", path)
    monkeypatch.setattr(
        archives, "fetch", lambda urls, *a, **k: module_fetch([path.as_uri()], *a, **k)
    )
    return hashlib.sha256(path.read_bytes()).hexdigest()


module_fetch = archives.fetch


def test_a_data_set_is_fetched_and_unpacked(tmp_path, monkeypatch):
    folders.YESNO(tmp_path / "source")
    url = "http://www.openslr.org/resources/1/waves_yesno.tar.gz"
    digest = served(monkeypatch, datasets.yesno, tmp_path, url)
    root = tmp_path / "root"
    root.mkdir()
    with pytest.raises(DownloadError, match="waves_yesno.tar.gz could not be downloaded"):
        datasets.YESNO(root, download=True)
    monkeypatch.setattr(datasets.yesno, "_SUM", digest)
    assert len(datasets.YESNO(root, download=True)) == 2
    assert len(datasets.YESNO(root)) == 2
    # The archive alone is enough.
    shutil.rmtree(root / "waves_yesno")
    assert len(datasets.YESNO(root)) == 2


def test_commands_are_unpacked_into_their_folder(tmp_path, monkeypatch):
    folders.SPEECHCOMMANDS(tmp_path / "all")
    (tmp_path / "all" / "SpeechCommands" / "speech_commands_v0.02").rename(tmp_path / "source")
    url = "http://download.tensorflow.org/data/speech_commands_v0.02.tar.gz"
    digest = served(monkeypatch, datasets.speechcommands, tmp_path, url)
    monkeypatch.setitem(datasets.speechcommands._SUMS, "speech_commands_v0.02", digest)
    assert len(datasets.SPEECHCOMMANDS(tmp_path / "root", download=True)) == 8


def test_offline(tmp_path, monkeypatch):
    monkeypatch.setattr(
        archives, "fetch", lambda urls, *a, **k: module_fetch(["http://127.0.0.1:9/x"], *a, **k)
    )
    with pytest.raises(DownloadError, match="train-clean-100.tar.gz could not be downloaded"):
        datasets.LIBRISPEECH(tmp_path, download=True)
    with pytest.raises(RuntimeError, match=r"LibriTTS.*http://www.openslr.org/resources/60/.*tar"):
        datasets.LIBRITTS(tmp_path)


def test_helpers(tmp_path):
    folders.text(tmp_path / "in" / "a.txt", "content")
    archive = packed(tmp_path / "in", tmp_path / "x.zip")
    utils.download_url(archive.as_uri(), tmp_path / "got", hash_value=_sum(archive))
    assert utils.extract_archive(str(tmp_path / "got" / "x.zip")) == [
        str(tmp_path / "got" / "a.txt")
    ]
    with pytest.raises(ValueError, match="hash_type must be 'sha256' or 'md5', got 'sha1'"):
        utils.download_url(archive.as_uri(), tmp_path, hash_type="sha1")
    with pytest.raises(DownloadError):
        utils.download_url(archive.as_uri(), tmp_path / "b", "b.zip", "0" * 64)


def _sum(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_asterisk_prompts(tmp_path):
    sounds = tmp_path / "usr" / "share" / "asterisk" / "sounds"
    for voice in ("en_US_f_Allison", "fr_CA_f_June"):
        for name in ("hello", "digits/1"):
            folders.sound(sounds / voice / f"{name}.wav", 8000)
    prompts = datasets.AsteriskPrompts(tmp_path, ("en", "fr"))
    assert [item[1:] for item in prompts] == [
        (8000, "digits/1", "en", "Allison"),
        (8000, "hello", "en", "Allison"),
        (8000, "digits/1", "fr", "June"),
        (8000, "hello", "fr", "June"),
    ]
    assert prompts[0][0].shape == (1, 400)
    assert len(datasets.AsteriskPrompts(sounds, "fr")) == 2
    with pytest.raises(RuntimeError, match=r"http://deb.debian.org.*-ru-wav_1.6.1-1_all.deb"):
        datasets.AsteriskPrompts(tmp_path, "ru")
    with pytest.raises(ValueError, match="`languages` must be one of"):
        datasets.AsteriskPrompts(tmp_path, "de")


def test_pocketsphinx_clips_of_a_package(tmp_path):
    data = tmp_path / "in" / "usr" / "share" / "pocketsphinx" / "test" / "data"
    for subset, table in (("librivox", "transcription"), ("cards", "cards.transcription")):
        folders.sound(data / subset / "001.wav")
        folders.text(data / subset / table, f"<s> ten of {subset}  </s> (001)\n")
    packed(tmp_path / "in", tmp_path / pocketsphinx._PACKAGE.name)
    clips = datasets.PocketSphinxClips(tmp_path)
    assert [item[1:] for item in clips] == [
        (16000, "ten of librivox", "001"),
        (16000, "ten of cards", "001"),
    ]
    assert len(datasets.PocketSphinxClips(tmp_path, "cards")) == 1


def test_sonic_pi_samples(tmp_path):
    for name in ("bd_808", "tabla_ke1", "bd_fat"):
        folders.sound(tmp_path / "samples" / f"{name}.flac", 44100, channels=2)
    samples = datasets.SonicPiSamples(tmp_path)
    assert samples.classes == ["bd", "tabla"]
    assert [item[1:] for item in samples][1:] == [
        (44100, "bd", "bd_fat"),
        (44100, "tabla", "tabla_ke1"),
    ]
    assert samples[0][0].shape == (2, 400)


def test_hydrogen_drumkits(tmp_path):
    data = tmp_path / "drumkits"
    for kit in ("A", "B"):
        layers = ""
        for number, name in enumerate(("Kick 1", "Open HiHat", "Zap")):
            folders.sound(data / kit / f"{number}.wav", 44100)
            files = "".join(
                f"<layer><filename>{file}.wav</filename></layer>" for file in (number, "gone")
            )
            layers += f"<instrument><name>{name}</name>{files}</instrument>"
        xmlns = 'xmlns="http://www.hydrogen-music.org/drumkit"' if kit == "A" else ""
        text = f"<drumkit_info {xmlns}><instrumentList>{layers}</instrumentList></drumkit_info>"
        folders.text(data / kit / "drumkit.xml", text)
    hits = datasets.HydrogenDrumkits(tmp_path)
    assert (hits.kits, len(hits)) == (["A", "B"], 6)
    assert [item[1:] for item in hits][3:] == [
        (44100, "kick", "Kick 1", "B"),
        (44100, "hihat", "Open HiHat", "B"),
        (44100, "other", "Zap", "B"),
    ]
    assert len(datasets.HydrogenDrumkits(tmp_path, ["A"])) == 3
    with pytest.raises(ValueError, match="`kits` must be one of .*got 'C'"):
        datasets.HydrogenDrumkits(tmp_path, ["C"])


def test_pyannote_sample(tmp_path):
    folder = tmp_path / "sample"
    folders.sound(folder / "sample.wav", frames=16000)
    folders.text(folder / "sample.rttm", "SPEAKER sample 1 0.100 0.250 <NA> <NA> a <NA> <NA>\n")
    folders.text(folder / "sample.stm", ";; note\nsample 1 Ann 0.5 0.75 Oh, hello.\n")
    sample = datasets.PyannoteSample(tmp_path)
    assert sample.turns == [datasets.pyannote.Turn("a", 0.1, 0.35)]
    waveform, rate, turn = sample[0]
    assert (rate, turn) == (16000, datasets.pyannote.Turn("Ann", 0.5, 0.75, "Oh, hello."))
    assert rl.equal(waveform, sample.recording[0][:, 8000:12000])


def test_japanese_vowels_of_a_wheel(tmp_path):
    folder = tmp_path / "in" / "aeon" / "datasets" / "data" / "JapaneseVowels"
    rows = "@problemName x\n@data\n1.5,2:3,4.25:9\n1,2,3:4,5,6:1\n"
    for split in ("TRAIN", "TEST"):
        folders.text(folder / f"JapaneseVowels_{split}.ts", rows)
    packed(tmp_path / "in", tmp_path / japanese_vowels._PACKAGE.name)
    found = list(datasets.JapaneseVowels(tmp_path, "test"))
    assert [(features.tolist(), label) for features, label in found] == [
        ([[1.5, 3], [2, 4.25]], 8),
        ([[1, 4], [2, 5], [3, 6]], 0),
    ]


def test_gzip_alone_is_no_archive(tmp_path):
    (tmp_path / "x.gz").write_bytes(gzip.compress(b"text"))
    with pytest.raises(ValueError, match="expected an archive"):
        unpack(tmp_path / "x.gz", tmp_path)
