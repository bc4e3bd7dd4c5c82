"""fastai's data sets by their published addresses, fetched once and unpacked."""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from os import PathLike
from pathlib import Path

from rushlight.hub import download_url_to_file

_STORE = "https://s3.amazonaws.com/fast-ai-"
_SAMPLE, _IMAGES, _PLACES = f"{_STORE}sample", f"{_STORE}imageclas", f"{_STORE}imagelocal"
_TEXTS, _COCO, _MODELS = f"{_STORE}nlp", f"{_STORE}coco", f"{_STORE}modelzoo"
_DAMAGE = (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, shutil.ReadError)


class URLs:
    """Addresses of the archives that fastai's courses use, for `untar_data`.

    >>> URLs.PETS.rsplit("/", 1)[-1]
    'oxford-iiit-pet.tgz'
    """

    ADULT_SAMPLE = f"{_SAMPLE}/adult_sample.tgz"
    BIWI_SAMPLE = f"{_SAMPLE}/biwi_sample.tgz"
    CIFAR = f"{_SAMPLE}/cifar10.tgz"
    COCO_SAMPLE = f"{_COCO}/coco_sample.tgz"
    COCO_TINY = f"{_COCO}/coco_tiny.tgz"
    HUMAN_NUMBERS = f"{_SAMPLE}/human_numbers.tgz"
    IMDB = f"{_TEXTS}/imdb.tgz"
    IMDB_SAMPLE = f"{_SAMPLE}/imdb_sample.tgz"
    ML_SAMPLE = f"{_SAMPLE}/movie_lens_sample.tgz"
    ML_100k = "https://files.grouplens.org/datasets/movielens/ml-100k.zip"
    MNIST_SAMPLE = f"{_SAMPLE}/mnist_sample.tgz"
    MNIST_TINY = f"{_SAMPLE}/mnist_tiny.tgz"
    MNIST_VAR_SIZE_TINY = f"{_IMAGES}/mnist_var_size_tiny.tgz"
    PLANET_SAMPLE = f"{_SAMPLE}/planet_sample.tgz"
    PLANET_TINY = f"{_SAMPLE}/planet_tiny.tgz"
    IMAGENETTE = f"{_IMAGES}/imagenette2.tgz"
    IMAGENETTE_160 = f"{_IMAGES}/imagenette2-160.tgz"
    IMAGENETTE_320 = f"{_IMAGES}/imagenette2-320.tgz"
    IMAGEWOOF = f"{_IMAGES}/imagewoof2.tgz"
    IMAGEWOOF_160 = f"{_IMAGES}/imagewoof2-160.tgz"
    IMAGEWOOF_320 = f"{_IMAGES}/imagewoof2-320.tgz"
    IMAGEWANG = f"{_IMAGES}/imagewang.tgz"
    IMAGEWANG_160 = f"{_IMAGES}/imagewang-160.tgz"
    IMAGEWANG_320 = f"{_IMAGES}/imagewang-320.tgz"
    DOGS = f"{_SAMPLE}/dogscats.tgz"
    CALTECH_101 = f"{_IMAGES}/caltech_101.tgz"
    CARS = f"{_IMAGES}/stanford-cars.tgz"
    CIFAR_100 = f"{_IMAGES}/cifar100.tgz"
    CUB_200_2011 = f"{_IMAGES}/CUB_200_2011.tgz"
    FLOWERS = f"{_IMAGES}/oxford-102-flowers.tgz"
    FOOD = f"{_IMAGES}/food-101.tgz"
    MNIST = f"{_IMAGES}/mnist_png.tgz"
    PETS = f"{_IMAGES}/oxford-iiit-pet.tgz"
    AG_NEWS = f"{_TEXTS}/ag_news_csv.tgz"
    AMAZON_REVIEWS = f"{_TEXTS}/amazon_review_full_csv.tgz"
    AMAZON_REVIEWS_POLARITY = f"{_TEXTS}/amazon_review_polarity_csv.tgz"
    DBPEDIA = f"{_TEXTS}/dbpedia_csv.tgz"
    MT_ENG_FRA = f"{_TEXTS}/giga-fren.tgz"
    SOGOU_NEWS = f"{_TEXTS}/sogou_news_csv.tgz"
    WIKITEXT = f"{_TEXTS}/wikitext-103.tgz"
    WIKITEXT_TINY = f"{_TEXTS}/wikitext-2.tgz"
    YAHOO_ANSWERS = f"{_TEXTS}/yahoo_answers_csv.tgz"
    YELP_REVIEWS = f"{_TEXTS}/yelp_review_full_csv.tgz"
    YELP_REVIEWS_POLARITY = f"{_TEXTS}/yelp_review_polarity_csv.tgz"
    BIWI_HEAD_POSE = f"{_PLACES}/biwi_head_pose.tgz"
    CAMVID = f"{_PLACES}/camvid.tgz"
    CAMVID_TINY = f"{_SAMPLE}/camvid_tiny.tgz"
    LSUN_BEDROOMS = f"{_IMAGES}/bedroom.tgz"
    PASCAL_2007 = f"{_PLACES}/pascal_2007.tgz"
    PASCAL_2012 = f"{_PLACES}/pascal_2012.tgz"
    MACAQUES = "https://storage.googleapis.com/ml-animal-sounds-datasets/macaques.zip"
    ZEBRA_FINCH = "https://storage.googleapis.com/ml-animal-sounds-datasets/zebra_finch.zip"
    SIIM_SMALL = f"{_PLACES}/siim_small.tgz"
    TCGA_SMALL = f"{_PLACES}/tcga_small.tgz"
    OPENAI_TRANSFORMER = f"{_MODELS}/transformer.tgz"
    WT103_FWD = f"{_MODELS}/wt103-fwd.tgz"
    WT103_BWD = f"{_MODELS}/wt103-bwd.tgz"


def untar_data(
    url: str,
    archive: str | PathLike[str] | None = None,
    data: str | PathLike[str] | None = None,
    force_download: bool = False,
    base: str | PathLike[str] | None = None,
) -> Path:
    """Fetch an archive and unpack it, unless that was done before; the folder of its files.

    Args:
        url: where it is, a tar or zip file; see `URLs`. `RUSHLIGHT_MIRRORS` may name a folder or
            server that has it.
        archive: the folder of archives, by default `base/archive`.
        data: the folder of what was unpacked, by default `base/data`.
        force_download: fetch and unpack it again.
        base: by default the environment's `FASTAI_HOME`, or `~/.fastai`.

    The folder is called as the archive, without its ending, and holds what the archive's only
    folder holds if it has no more. Members that lead out of it are refused. ValueError for an
    archive that is damaged, unsafe or of no known kind.
    """
    name = url.rsplit("/", 1)[-1]
    ending = next((each for each in _endings() if name.lower().endswith(each)), None)
    if ending is None:
        raise ValueError(f"untar_data: url={url!r}; expected a name that ends in {_endings()}")
    home = Path(base or os.environ.get("FASTAI_HOME", "~/.fastai")).expanduser()
    packed = Path(archive or home / "archive") / name
    target = Path(data or home / "data") / name[: -len(ending)]
    if target.exists() and not force_download:
        return target
    if force_download or not packed.exists():
        packed.parent.mkdir(parents=True, exist_ok=True)
        download_url_to_file(url, str(packed))
    _unpack(packed, target)
    return target


def _endings() -> tuple[str, ...]:
    return tuple(ending for _, endings, _ in shutil.get_unpack_formats() for ending in endings)


def _unpack(packed: Path, target: Path) -> None:
    """Unpack an archive as the folder `target`, which appears when all of it is there."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".unpacking-", dir=target.parent) as aside:
        made = Path(aside, "files")
        try:
            if zipfile.is_zipfile(packed):
                _check_zip(packed)
                shutil.unpack_archive(packed, made)
            else:
                shutil.unpack_archive(packed, made, filter="data")
        except _DAMAGE as error:
            raise ValueError(f"{packed} is truncated, altered or unsafe: {error}") from error
        entries = list(made.iterdir())
        if target.exists():
            shutil.rmtree(target)
        os.replace(entries[0] if len(entries) == 1 and entries[0].is_dir() else made, target)


def _check_zip(packed: Path) -> None:
    """ValueError for members that lead out of a folder, which the library would leave out."""
    with zipfile.ZipFile(packed) as archive:
        for name in archive.namelist():
            path = Path(name.replace("\\", "/"))
            if ".." in path.parts or path.is_absolute():
                raise ValueError(f"{packed} is unsafe: its member {name!r} leads out of the folder")
