"""Published files that are fetched, unpacked, put in place by hand, damaged or hostile."""

from __future__ import annotations

import gzip
import io
import shutil
import tarfile
import zipfile
from pathlib import Path

import fakes_arrays  # noqa: F401 - registers fakes
import fakes_lists  # noqa: F401
import fakes_targets  # noqa: F401
import pytest
from comparing import item, same
from faking import FAKES

from rushlight_vision import datasets
from rushlight_vision.datasets import integrity, utils
from rushlight_vision.datasets._published import File


def packed(path, folder, names=None, inner=""):
    """An archive of a folder's content (or of some names in it), below `inner`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    entries = [folder / name for name in names] if names else sorted(folder.iterdir())
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for entry in entries:
                for file in [entry, *sorted(entry.rglob("*"))]:
                    archive.write(file, Path(inner) / file.relative_to(folder))
    else:
        with tarfile.open(path, "w:gz" if path.name.endswith("gz") else "w") as archive:
            for entry in entries:
                archive.add(entry, Path(inner) / entry.name)
    return path


# Data set -> (folder of the fake that is packed, names in it, folder inside the archive).
ARCHIVES = {
    "CIFAR10": ("", ["cifar-10-batches-py"], ""),
    "STL10": ("", ["stl10_binary"], ""),
    "Omniglot": ("omniglot-py", ["images_background"], ""),
    "CLEVRClassification": ("clevr", None, ""),
    "Country211": ("", ["country211"], ""),
    "EuroSAT": ("eurosat", ["2750"], ""),
    "DTD": ("dtd", ["dtd"], ""),
    "FGVCAircraft": ("", ["fgvc-aircraft-2013b"], ""),
    "Food101": ("", ["food-101"], ""),
    "RenderedSST2": ("", ["rendered-sst2"], ""),
    "Imagenette": ("", ["imagenette2"], ""),
    "Caltech256": ("caltech256", ["256_ObjectCategories"], ""),
    "SUN397": ("", ["SUN397"], ""),
    "VOCDetection": ("", ["VOCdevkit"], ""),
    "INaturalist": ("2021_valid", None, "val"),
    "PhotoTour": ("liberty", None, ""),
    "SBDataset": ("", None, "benchmark_RELEASE/dataset"),
}


@pytest.fixture
def any_sum(monkeypatch):
    """Files need not be the published ones."""
    there = lambda path, md5=None: Path(path).is_file()  # noqa: E731
    monkeypatch.setattr(integrity, "check_integrity", there)


def published(name, tmp_path, monkeypatch):
    """The class, the first case of its fake, and the archive, whose address and sum it has now."""
    if FAKES[name].needs:
        pytest.importorskip(FAKES[name].needs)
    source = tmp_path / "source"
    source.mkdir()
    case = FAKES[name](source)[0]
    kind = getattr(datasets, name)
    folder, names, inner = ARCHIVES[name]
    real = kind._files

    def files(self):
        (file, *_) = real(self)
        place = tmp_path / "served" / file.kept
        if not place.exists():
            packed(place, source / folder, names, inner)
        md5 = utils.calculate_md5(place)
        return (File(place.as_uri(), md5, file.kept, file.into),)

    monkeypatch.setattr(kind, "_files", files)
    return kind, case


def check(dataset, case):
    assert len(dataset) == len(case.items)
    for number, expected in enumerate(case.items):
        assert same(item(dataset[number]), expected)


@pytest.mark.parametrize("name", sorted(ARCHIVES))
def test_archives_are_fetched_and_unpacked(name, tmp_path, monkeypatch, any_sum, capsys):
    kind, case = published(name, tmp_path, monkeypatch)
    root = tmp_path / "root"
    check(kind(str(root), **case.arguments, download=True), case)
    shutil.rmtree(tmp_path / "served")
    check(kind(str(root), **case.arguments, download=True), case)  # nothing is fetched again


@pytest.mark.parametrize("name", ["CIFAR10", "EuroSAT", "INaturalist", "SBDataset"])
def test_archives_that_lie_there_are_unpacked(name, tmp_path, monkeypatch, any_sum):
    kind, case = published(name, tmp_path, monkeypatch)
    root = tmp_path / "root"
    with pytest.raises(RuntimeError, match=r"Use download=True to fetch it\. Without network, put"):
        kind(str(root), **case.arguments)
    (served,) = (tmp_path / "served").iterdir()
    target = root / "eurosat" if name == "EuroSAT" else root
    target.mkdir(parents=True, exist_ok=True)
    shutil.copy(served, target / served.name)
    check(kind(str(root), **case.arguments), case)


def test_altered_archives_are_not_unpacked(tmp_path, monkeypatch, capsys):
    kind, case = published("Food101", tmp_path, monkeypatch)
    root = tmp_path / "root"
    with pytest.raises(RuntimeError, match="food-101.tar.gz"):
        kind(str(root))
    served = tmp_path / "served" / "food-101.tar.gz"
    root.mkdir(exist_ok=True)
    (root / served.name).write_bytes(served.read_bytes()[:-20])
    with pytest.raises(RuntimeError, match="not found, or not whole"):
        kind(str(root))
    with pytest.warns(RuntimeWarning, match="truncated or altered"):
        check(kind(str(root), download=True), case)


def test_an_address_that_is_gone_is_named(tmp_path):
    class Gone(datasets.Food101):
        def _files(self):
            return (File((tmp_path / "nowhere.tar.gz").as_uri()),)

    with pytest.raises(
        RuntimeError, match=r"Gone: nowhere.tar.gz could not .*Without network, put"
    ):
        Gone(str(tmp_path), download=True)


def test_data_sets_that_are_not_given_out_say_so(tmp_path, any_sum):
    for name in ("StanfordCars", "LFWPeople"):
        with pytest.raises(ValueError, match="download must be False"):
            getattr(datasets, name)(str(tmp_path), download=True)
    city = FAKES["Cityscapes"](tmp_path)[0]
    with pytest.raises(RuntimeError, match="cannot be downloaded"):
        datasets.Cityscapes(str(tmp_path), **city.arguments).download()


def test_caltech101_unpacks_the_archives_in_its_archive(tmp_path, any_sum):
    pytest.importorskip("scipy")
    source = tmp_path / "source"
    source.mkdir()
    case = FAKES["Caltech101"](source)[1]
    inside = tmp_path / "inside" / "caltech-101"
    packed(inside / "101_ObjectCategories.tar.gz", source / "caltech101", ["101_ObjectCategories"])
    packed(inside / "Annotations.tar", source / "caltech101", ["Annotations"])
    root = tmp_path / "root"
    packed(root / "caltech101" / "caltech-101.zip", tmp_path / "inside")
    check(datasets.Caltech101(str(root), **case.arguments), case)
    assert not (root / "caltech101" / "caltech-101").exists()


def test_emnist_unpacks_the_split_from_the_zip_file(tmp_path, any_sum):
    source = tmp_path / "source"
    source.mkdir()
    case = FAKES["EMNIST"](source)[0]
    for path in sorted((source / "EMNIST" / "raw").iterdir()):
        target = tmp_path / "inside" / "gzip" / f"{path.name}.gz"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(gzip.compress(path.read_bytes()))
    root = tmp_path / "root"
    packed(root / "EMNIST" / "raw" / "gzip.zip", tmp_path / "inside")
    check(datasets.EMNIST(str(root), **case.arguments), case)


def climbing_tar(path, name, link=None):
    """A tar file with a good member and one that leads out of the folder."""
    with tarfile.open(path, "w") as archive:
        for member in (tarfile.TarInfo("good.txt"), tarfile.TarInfo(name)):
            if link and member.name == name:
                member.type, member.linkname = tarfile.SYMTYPE, link
                archive.addfile(member)
            else:
                member.size = 4
                archive.addfile(member, io.BytesIO(b"text"))


@pytest.mark.parametrize(
    ("name", "link"),
    [
        ("../out.txt", None),
        ("a/../../out.txt", None),
        ("link", "../../etc"),
        ("link", "/etc/passwd"),
    ],
)
def test_tar_files_that_climb_out_are_refused(name, link, tmp_path):
    climbing_tar(tmp_path / "bad.tar", name, link)
    with pytest.raises(ValueError, match=r"bad\.tar is truncated, altered or unsafe"):
        utils.extract_archive(str(tmp_path / "bad.tar"), str(tmp_path / "into" / "deep"))
    assert not list((tmp_path / "into").rglob("*.txt")) and not (tmp_path / "out.txt").exists()


@pytest.mark.parametrize("name", ["../out.txt", "/tmp/out.txt", "a\\..\\..\\out.txt"])
def test_zip_files_that_climb_out_are_refused(name, tmp_path):
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        archive.writestr("good.txt", "text")
        archive.writestr(name, "text")
    with pytest.raises(ValueError, match="leads out of the folder"):
        utils.extract_archive(str(tmp_path / "bad.zip"), str(tmp_path / "into"))
    assert not list((tmp_path / "into").rglob("*.txt"))


def test_unpacking_joins_what_is_there(tmp_path):
    content, into = tmp_path / "content", tmp_path / "into"
    for folder, text in ((content, "new"), (into, "old")):
        (folder / "a" / "b").mkdir(parents=True)
        (folder / "a" / "both.txt").write_text(text)
        (folder / "a" / "b" / f"{text}.txt").write_text(text)
    (content / "a" / "link").symlink_to("both.txt")
    for ending in ("zip", "tar"):
        utils.extract_archive(packed(tmp_path / f"a.{ending}", content, ["a"]), into)
        files = {str(each.relative_to(into)): each.read_text() for each in into.rglob("*.txt")}
        assert files == {"a/both.txt": "new", "a/b/new.txt": "new", "a/b/old.txt": "old"}
    assert (into / "a" / "link").is_symlink() and [each.name for each in into.iterdir()] == ["a"]


def test_damaged_archives_leave_nothing(tmp_path):
    """Not even the members in front of the damage."""
    (tmp_path / "content").mkdir()
    for name in "abc":
        (tmp_path / "content" / name).write_bytes(bytes(range(256)) * 99)
    for ending in ("tar", "zip"):
        whole = bytearray(packed(tmp_path / f"a.{ending}", tmp_path / "content").read_bytes())
        if ending == "tar":
            del whole[-30_000:]
        else:
            at = whole.rindex(b"PK\x01\x02") // 2  # in the data of a member
            whole[at : at + 9] = bytes(9)
        (tmp_path / f"a.{ending}").write_bytes(whole)
        with pytest.raises(ValueError, match=rf"a\.{ending} is truncated, altered"):
            utils.extract_archive(tmp_path / f"a.{ending}", tmp_path / "into")
        assert list((tmp_path / "into").iterdir()) == []


def test_damaged_archives_are_named(tmp_path):
    (tmp_path / "content").mkdir()
    (tmp_path / "content" / "a.bin").write_bytes(bytes(range(256)) * 99)
    for name in ("a.zip", "a.tar", "a.tgz"):
        whole = packed(tmp_path / name, tmp_path / "content").read_bytes()
        (tmp_path / name).write_bytes(whole[: len(whole) // 2])
        with pytest.raises(ValueError, match=f"{name} is truncated"):
            utils.extract_archive(tmp_path / name, tmp_path / "into")
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"text" * 999)[:-9])
    with pytest.raises(ValueError, match="a.txt.gz is truncated"):
        utils.extract_archive(tmp_path / "a.txt.gz")
    assert not (tmp_path / "a.txt").exists()
    with pytest.raises(RuntimeError, match="expected an archive"):
        utils.extract_archive(tmp_path / "content" / "a.bin")


def test_single_packed_files_and_what_is_given_back(tmp_path):
    import bz2
    import lzma

    for module, ending in ((gzip, ".gz"), (bz2, ".bz2"), (lzma, ".xz")):
        path = tmp_path / f"text.txt{ending}"
        path.write_bytes(module.compress(b"text"))
        found = utils.extract_archive(str(path), remove_finished=True)
        assert found == str(tmp_path / "text.txt") and not path.exists()
        assert (tmp_path / "text.txt").read_bytes() == b"text"


def test_the_other_helpers(tmp_path, capsys):
    (tmp_path / "b").mkdir(), (tmp_path / "a").mkdir()
    (tmp_path / "z.txt").write_text("z"), (tmp_path / "y.png").write_text("y")
    assert utils.list_dir(tmp_path) == ["a", "b"]
    assert utils.list_dir(tmp_path, prefix=True)[0] == str(tmp_path / "a")
    assert utils.list_files(tmp_path, ".txt") == ["z.txt"]
    assert utils.check_md5(tmp_path / "z.txt", "fbade9e36a3f36d3d676c1b808451dd7")
    assert not utils.check_md5(tmp_path / "z.txt", "0" * 32)
    with pytest.raises(ValueError, match="split must be a string, got int"):
        utils.verify_str_arg(3, "split")
    archive = packed(tmp_path / "served" / "c.tar.gz", tmp_path, ["a", "z.txt"])
    utils.download_and_extract_archive(archive.as_uri(), tmp_path / "got", remove_finished=True)
    assert (tmp_path / "got" / "z.txt").read_text() == "z"
    assert not (tmp_path / "got" / "c.tar.gz").exists()


def test_google_drive_addresses(monkeypatch, tmp_path):
    asked = []
    for module in (utils, utils.download_url.__globals__):
        target = module if isinstance(module, dict) else vars(module)
        monkeypatch.setitem(
            target, "fetch", lambda urls, path, md5=None: asked.append((urls, path))
        )
    utils.download_file_from_google_drive("ID/1", tmp_path, "a.zip")
    utils.download_url("https://drive.google.com/file/d/XY_z/view", tmp_path, "b.zip")
    start = "https://drive.usercontent.google.com/download?export=download&confirm=t&id="
    assert asked == [([f"{start}ID/1"], tmp_path / "a.zip"), ([f"{start}XY_z"], tmp_path / "b.zip")]


def test_pickles_of_batches_run_no_code(tmp_path, any_sum):
    FAKES["CIFAR10"](tmp_path)
    (tmp_path / "cifar-10-batches-py" / "test_batch").write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    with pytest.raises(ValueError, match=r"test_batch is .* unsafe: it names \w+.system"):
        datasets.CIFAR10(str(tmp_path), train=False)
    (tmp_path / "cifar-10-batches-py" / "batches.meta").write_bytes(b"\x80\x02}q")
    with pytest.raises(ValueError, match=r"batches\.meta is truncated"):
        datasets.CIFAR10(str(tmp_path))


def test_annotations_that_are_wrong_are_named(tmp_path):
    path, _ = fakes_targets.coco_file(tmp_path)
    good = path.read_text()
    for text, message in (
        (good[:-30], "is no JSON file"),
        ("[1]", r'expected an object with a list "images"'),
        (good.replace('"image_id": 30', '"image_id": 31'), "annotation 6 is of image 31, which is"),
        (good.replace('"id": 5, ', ""), r'annotations\[0\] has no "id"'),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=f"instances.json.*{message}"):
            datasets.CocoDetection(str(tmp_path), str(path))
    FAKES["VOCDetection"](tmp_path)
    xml = tmp_path / "VOCdevkit" / "VOC2012" / "Annotations" / "2007_000001.xml"
    xml.write_text(xml.read_text()[:-20])
    with pytest.raises(ValueError, match="2007_000001.xml is truncated or altered"):
        datasets.VOCDetection(str(tmp_path))[1]


def test_the_index_of_annotations(tmp_path):
    path, annotations = fakes_targets.coco_file(tmp_path)
    coco = datasets.CocoDetection(str(tmp_path), str(path)).coco
    assert coco.getAnnIds([10]) == [5, 7] and coco.getAnnIds(30) == [6]
    assert coco.getAnnIds(catIds=[1]) == [6, 7] and coco.getAnnIds(iscrowd=True) == [6]
    assert coco.getAnnIds(areaRng=[5, 7]) == [5]
    assert coco.loadAnns(5) == [annotations[0]] and coco.getCatIds(catNms=["car"]) == [2]
    assert coco.getCatIds(supNms="animal") == [1] and coco.loadCats([2])[0]["name"] == "car"
    assert sorted(coco.getImgIds(catIds=[1])) == [10, 30] and len(coco.getImgIds()) == 3
    assert coco.catToImgs == {1: [30, 10], 2: [10]} and set(coco.imgToAnns) == {10, 30}
