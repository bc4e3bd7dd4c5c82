"""Small files of the form of every published data set, under their published names."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import lzma
import tarfile
import zipfile
from pathlib import Path

CSV = '"2","A ""quoted"" title","and, a text"\n"1","Ünï","two\\nlines"\n'
GLUE = "index\tsentence1\tsentence2\tlabel\n0\tA \"b\tC'd\t{0}\n1\tE\tF\t{1}\n"
TAGS = "The DT B-NP\ndog NN I-NP\n\nRuns VB B-VP\n"
SQUAD = {
    "data": [
        {
            "paragraphs": [
                {
                    "context": "Ann ran home.",
                    "qas": [
                        {"question": "Who?", "answers": [{"text": "Ann", "answer_start": 0}]},
                        {"question": "Why?", "answers": []},
                    ],
                }
            ]
        }
    ]
}
TALK = "<doc docid='1'>\n<url>x</url>\n {0} one \n{0} two\n</doc>\n"
XML = (
    "<mteval><set><doc><seg id='1'> {0} three </seg><seg id='2'>{0} four</seg></doc></set></mteval>"
)
STORIES = {
    f"http://{source}/{split}": (
        f"{source} {split} says\n\nIt ends.\n\n@highlight\n\n{split} is short\n"
    )
    for source in ("cnn", "dailymail")
    for split in ("train", "val", "test")
}


def story_name(address: str) -> str:
    """The name of a story in the archives."""
    return hashlib.sha1(address.encode()).hexdigest() + ".story"


def _tar(members: dict[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in members.items():
            data = content.encode() if isinstance(content, str) else content
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def _zip(members: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _reviews(stem: str) -> bytes:
    return _tar({f"{stem}/test.csv": CSV, f"{stem}/train.csv": CSV * 2})


def _talks(pair: str, year: int) -> bytes:
    names = {}
    for language in pair.split("-"):
        names[f"{pair}/train.tags.{pair}.{language}"] = TALK.format(language)
        for part in ("dev2010", "tst2010", "tst2013", "tst2014"):
            names[f"{pair}/IWSLT{year}.TED.{part}.{pair}.{language}.xml"] = XML.format(language)
    return _tar(names)


def _glue(stem: str, labels: tuple[str, str]) -> bytes:
    rows = GLUE.format(*labels)
    test = "\n".join(line.rsplit("\t", 1)[0] for line in rows.splitlines()) + "\n"
    return _zip({f"{stem}/train.tsv": rows, f"{stem}/dev.tsv": rows * 1, f"{stem}/test.tsv": test})


def files() -> dict[str, bytes]:
    """The content of every file by name."""
    reviews = (
        "amazon_review_full_csv amazon_review_polarity_csv dbpedia_csv sogou_news_csv "
        "yahoo_answers_csv yelp_review_full_csv yelp_review_polarity_csv"
    ).split()
    found = {f"{stem}.tar.gz": _reviews(stem) for stem in reviews}
    found |= {"train.csv": CSV.encode() * 2, "test.csv": CSV.encode()}
    found["en.txt.xz"] = lzma.compress(b"one line\n\nthird\n")
    cola = 'gj04\t1\t\tA "good one.\ngj04\t0\t*\tBad one a.\nbroken\n'
    names = ("in_domain_train", "in_domain_dev", "out_of_domain_dev")
    found["cola_public_1.1.zip"] = _zip(
        {f"cola_public/raw/{n}.tsv": "head\n" + cola for n in names}
    )
    for part in ("train", "test"):
        found[f"{part}.txt.gz"] = gzip.compress(TAGS.encode())
        found[f"msr_paraphrase_{part}.txt"] = (
            b'Quality\tid\tid\ta\tb\n1\t2\t3\tOne "x\tTwo\n0\t4\t5\tA\tB\n'
        )
    found["enwik9.zip"] = _zip({"enwik9": "<page>\n  text\n</page>\n"})
    imdb = {
        f"aclImdb/{part}/{label}/{n}_1.txt": f"{label} film {n}\nsecond"
        for part in ("train", "test")
        for label in ("neg", "pos", "unsup")
        for n in range(2)
    }
    found["aclImdb_v1.tar.gz"] = _tar(imdb)
    found["2016-01.tgz"] = _tar({"2016-01/texts/de/en/de-en.tgz": _talks("de-en", 16)})
    inner = "2017-01-trnmted/texts/DeEnItNlRo/DeEnItNlRo/DeEnItNlRo-DeEnItNlRo.tgz"
    found["2017-01-trnmted.tgz"] = _tar({inner: _talks("de-en", 17)})
    nli = "gold\t" + "\t".join("abcdefg") + '\nneutral\t1\t2\t3\t4\tP "p\tQ\n-\t1\t2\t3\t4\tX\tY\n'
    splits = ("train", "dev_matched", "dev_mismatched")
    found["multinli_1.0.zip"] = _zip({f"multinli_1.0/multinli_1.0_{s}.txt": nli for s in splits})
    for name, prefix in (
        ("training", "train"),
        ("validation", "val"),
        ("mmt16_task1_test", "test"),
    ):
        pair = {f"{prefix}.{x}": f"{x} one\n{x} two\n" for x in ("de", "en")}
        found[f"{name}.tar.gz"] = _tar(pair)
    for part in ("train", "valid", "test"):
        found[f"ptb.{part}.txt"] = f" {part} a b \n c\n".encode()
    found["QNLIv2.zip"] = _glue("QNLI", ("entailment", "not_entailment"))
    found["RTE.zip"] = _glue("RTE", ("not_entailment", "entailment"))
    found["WNLI.zip"] = _zip(
        {
            f"WNLI/{p}.tsv": "index\ta\tb\tlabel\n0\tOne\tTwo\t1\n1\tC\tD\t0\n"
            for p in ("train", "dev", "test")
        }
    )
    found["quora_duplicate_questions.tsv"] = (
        b'id\tq\tq\ta\tb\tdup\n0\t1\t2\tWhy ""x?\tHow?\t1\n1\t3\t4\tA\tB\t0\n'
    )
    found["SST-2.zip"] = _zip(
        {
            "SST-2/train.tsv": "sentence\tlabel\ngood film \t1\nbad\t0\n",
            "SST-2/dev.tsv": "sentence\tlabel\nfine\t1\n",
            "SST-2/test.tsv": "index\tsentence\n0\t odd one \n",
        }
    )
    sts = 'main\tMSR\t2012\t7\t2.5\tA "cat\tA dog\nmain\tMSR\t2012\t8\t0.00\tx\ty\n'
    found["Stsbenchmark.tar.gz"] = _tar(
        {f"stsbenchmark/sts-{p}.csv": sts for p in ("train", "dev", "test")}
    )
    for version in ("1.1", "2.0"):
        for part in ("train", "dev"):
            found[f"{part}-v{version}.json"] = json.dumps(SQUAD).encode()
    tagged = TAGS.replace(" ", "\t")
    parts = ("train", "dev", "test")
    found["en-ud-v2.zip"] = _zip({f"en-ud-v2/en-ud-tag.v2.{p}.txt": tagged for p in parts})
    for size in ("2", "103"):
        wiki = {
            f"wikitext-{size}/wiki.{p}.tokens": f" \n = {p} = \n text \n"
            for p in ("train", "valid", "test")
        }
        found[f"wikitext-{size}-v1.zip"] = _zip(wiki)
    for source in ("cnn", "dailymail"):
        stories = {
            f"{source}/stories/{story_name(address)}": story
            for address, story in STORIES.items()
            if source in address
        }
        found[f"{source}_stories.tgz"] = _tar(stories)
        for part, name in (("train", "training"), ("val", "validation"), ("test", "test")):
            found[f"{source}_wayback_{name}_urls.txt"] = f"http://{source}/{part}\n".encode()
    return found


def write(folder: Path) -> None:
    """Write them all."""
    for name, content in files().items():
        (folder / name).write_bytes(content)


def answers(datasets, name: str, root: Path) -> list:
    """The items of every split of a data set, as plain lists."""
    made = getattr(datasets, name)(root=str(root))
    parts = made if isinstance(made, tuple) else (made,)
    return [[list(item) if isinstance(item, tuple) else item for item in part] for part in parts]
