"""Legacy data sets, from small files of the published form; what is there is not fetched."""

import gzip
import json
import tarfile
import zipfile
from pathlib import Path

import pytest

import rushlight as rl
from rushlight_text.legacy import data, datasets, vocab


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A folder for the files, and an empty one in the place of the network."""
    (tmp_path / "mirror").mkdir()
    monkeypatch.setenv("RUSHLIGHT_MIRRORS", str(tmp_path / "mirror"))
    return tmp_path


def test_translations(root):
    files = {"train.de": "Ein Hund\n\nZwei\n", "train.en": "A dog\nlost\nTwo\n"}
    for split in ("val", "test2016"):
        files |= {f"{split}.de": "Drei\n", f"{split}.en": "Three\n"}
    write(root / "multi30k", files)
    source, target = data.Field(), data.Field()
    train, valid, test = datasets.Multi30k.splits((".de", ".en"), (source, target), root=str(root))
    assert [(e.src, e.trg) for e in train] == [(["Ein", "Hund"], ["A", "dog"]), (["Zwei"], ["Two"])]
    assert len(valid) == len(test) == 1
    assert train.sort_key(train[0]) > train.sort_key(train[1])
    names = [("a", source), ("b", target)]
    plain = datasets.TranslationDataset(str(root / "multi30k/val"), (".de", ".en"), names)
    assert vars(plain[0]) == {"a": ["Drei"], "b": ["Three"]}
    write(root / "wmt14", {f"{n}.{x}": "a\n" for n in ("t", "v") for x in ("en", "de")})
    parts = datasets.WMT14.splits(
        (".en", ".de"), (source, target), str(root), train="t", validation="v", test=None
    )
    assert [len(part) for part in parts] == [1, 1]


def test_talks_are_cleaned(root):
    xml = "<mteval><srcset><doc><seg id='1'> {} </seg></doc></srcset></mteval>"
    files = {}
    for language, word in (("de", "Hallo"), ("en", "Hello")):
        files[f"de-en/train.tags.de-en.{language}"] = f"<url>x</url>\n {word} all \n"
        for year in ("2013", "2014"):
            name = f"de-en/IWSLT16.TED.tst{year}.de-en.{language}.xml"
            files[name] = xml.format(word)
    write(root / "iwslt", files)
    fields = (data.Field(), data.Field())
    train, valid, test = datasets.IWSLT.splits((".de", ".en"), fields, root=str(root))
    assert vars(train[0]) == {"src": ["Hallo", "all"], "trg": ["Hello", "all"]}
    assert vars(valid[0]) == vars(test[0]) == {"src": ["Hallo"], "trg": ["Hello"]}


def test_language_models(root):
    names = {"train": "a b\nc\n", "valid": "a\n", "test": "b\n"}
    write(root / "wikitext-2/wikitext-2", {f"wiki.{n}.tokens": t for n, t in names.items()})
    write(root / "penn-treebank", {f"ptb.{n}.txt": t for n, t in names.items()})
    text = data.Field()
    train, valid, test = datasets.WikiText2.splits(text, root=str(root))
    assert train[0].text == ["a", "b", "<eos>", "c", "<eos>"] and test[0].text == ["b", "<eos>"]
    only = datasets.PennTreebank.splits(
        text, root=str(root), validation=None, test=None, newline_eos=False
    )
    assert len(only) == 1 and only[0][0].text == ["a", "b", "c"]
    batches = [list(i) for i in datasets.WikiText2.iters(1, 2, root=str(root))]
    assert [len(each) for each in batches] == [2, 1, 1]
    assert batches[0][0].text.shape == (2, 1)
    assert datasets.WikiText103.files[0] == "wiki.train.tokens"


def pairs(name, **more):
    record = {
        "sentence1": "A man sleeps",
        "sentence2": "He rests",
        "sentence1_binary_parse": "( ( A man ) sleeps )",
        "sentence2_binary_parse": "( He rests )",
        "gold_label": "entailment",
    } | more
    lines = [record, record | {"gold_label": "-"}]
    return {name: "".join(json.dumps(line) + "\n" for line in lines)}


@pytest.mark.parametrize(
    ("name", "folder"), [("SNLI", "snli/snli_1.0"), ("MultiNLI", "multinli/multinli_1.0")]
)
def test_inference(root, name, folder):
    kind = getattr(datasets, name)
    ends = (
        ("train", "dev", "test") if name == "SNLI" else ("train", "dev_matched", "dev_mismatched")
    )
    stem = folder.rpartition("/")[2]
    for end in ends:
        write(root / folder, pairs(f"{stem}_{end}.jsonl", genre="fiction"))
    text, label = data.Field(), data.LabelField()
    options = {} if name == "SNLI" else {"genre_field": data.RawField()}
    train, valid, test = kind.splits(text, label, root=str(root), **options)
    assert [len(part) for part in (train, valid, test)] == [1, 1, 1]
    assert (train[0].premise, train[0].label) == (["A", "man", "sleeps"], "entailment")
    assert getattr(train[0], "genre", "fiction") == "fiction"
    assert train.sort_key(train[0]) == data.interleave_keys(3, 2)
    (batch,) = kind.iters(4, root=str(root), trees=True)[0]
    moves = batch.dataset.fields["premise_transitions"]
    assert [moves.vocab.itos[i] for i in batch.premise_transitions[:, 0].tolist()] == [
        "shift", "shift", "reduce", "shift", "reduce",
    ]  # fmt: skip
    words, lengths = batch.premise
    assert words.shape == (4, 1) and lengths.tolist() == [4]


def test_inference_in_other_languages(root):
    for part in ("dev", "test"):
        write(root / "xnli/XNLI-1.0", pairs(f"xnli.{part}.jsonl", language="de", genre="x"))
    text, label = data.Field(), data.LabelField()
    parts = datasets.XNLI.splits(text, label, root=str(root), language_field=data.RawField())
    assert [part[0].language for part in parts] == ["de", "de"]
    with pytest.raises(NotImplementedError, match="XNLI.splits"):
        datasets.XNLI.iters()


def test_reversed_trees():
    from rushlight_text.legacy.datasets.nli import ParsedTextField

    field = ParsedTextField(reverse=True)
    tokens = field.preprocess("( A ( man sleeps ) )")
    field.build_vocab([tokens])
    ids, _ = field.process([tokens])
    assert [field.vocab.itos[i] for i in ids[:, 0].tolist()] == ["<pad>", "sleeps", "man", "A"]


def test_trees_of_reviews(root):
    tree = "(3 (2 It) (4 (2 really) (3 works)))\n"
    write(root / "sst/trees", {f"{name}.txt": tree for name in ("train", "dev", "test")})
    text, label = data.Field(), data.Field(sequential=False)
    train, valid, _ = datasets.SST.splits(text, label, root=str(root), train_subtrees=True)
    assert [(" ".join(e.text), e.label) for e in train] == [
        ("It really works", "positive"),
        ("It", "neutral"),
        ("really works", "positive"),
        ("really", "neutral"),
        ("works", "positive"),
    ]
    assert len(valid) == 1
    (fine,) = datasets.SST.splits(
        text, label, root=str(root), validation=None, test=None, fine_grained=True,
        train_subtrees=True,
    )  # fmt: skip
    assert fine[2].label == "very positive"
    assert len(datasets.SST.iters(root=str(root))) == 3
    for bad in ("(3 (2 It)", "(3 It))", ""):
        with pytest.raises(ValueError, match="bracket"):
            data.Example.fromtree(bad, [("text", text)])


def test_questions(root):
    folder = root / "trec"
    folder.mkdir()
    (folder / "train_5500.label").write_bytes(b"NUM:dist How far is\xf0it ?\nHUM:ind Who ?\n")
    (folder / "TREC_10.label").write_bytes(b"NUM:dist How far ?\n")
    text, label = data.Field(), data.Field(sequential=False)
    train, test = datasets.TREC.splits(text, label, root=str(root))
    assert (train[0].text, train[0].label) == (["How", "far", "is", "it", "?"], "NUM")
    fine, _ = datasets.TREC.splits(text, label, root=str(root), fine_grained=True)
    assert fine[1].label == "HUM:ind"
    train, test = datasets.TREC.iters(batch_size=2, root=str(root))
    assert len(next(iter(train))) == 2


def test_reviews(root):
    files = {
        f"{part}/{label}/{n}.txt": f"{label} film {n}\nsecond line"
        for part in ("train", "test")
        for label in ("pos", "neg")
        for n in range(2)
    }
    write(root / "imdb/aclImdb", files)
    train, test = datasets.IMDB.splits(data.Field(), data.LabelField(), root=str(root))
    assert [(e.text[2], e.label) for e in train] == [
        ("0", "pos"),
        ("1", "pos"),
        ("0", "neg"),
        ("1", "neg"),
    ]
    assert sum(len(batch) for batch in datasets.IMDB.iters(3, root=str(root))[0]) == 4


def test_tagged_words(root):
    rows = "\n\n".join(f"dog{n} NN B-NP\nruns VB B-VP" for n in range(10)) + "\n"
    (root / "conll2000").mkdir()
    for part in ("train", "test"):
        write(root / "conll2000", {f"{part}.txt": rows})
    fields = [("words", data.Field()), ("tags", data.Field()), ("chunks", data.Field())]
    train, valid, test = datasets.CoNLL2000Chunking.splits(fields, root=str(root))
    assert [len(part) for part in (train, valid, test)] == [9, 1, 10]
    assert (test[3].words, test[3].chunks) == (["dog3", "runs"], ["B-NP", "B-VP"])
    again, _, _ = datasets.CoNLL2000Chunking.splits(fields, root=str(root))
    assert [e.words for e in again] == [e.words for e in train]
    assert train.sort_key(train[0]) == 2
    write(
        root / "udpos/en-ud-v2",
        {f"en-ud-tag.v2.{n}.txt": "a\tX\n" for n in ("train", "dev", "test")},
    )
    assert [len(part) for part in datasets.UDPOS.splits(fields[:2], root=str(root))] == [1, 1, 1]


STORY = (
    "1 Mary went home.\n2 John slept.\n3 Where is Mary? \thome\t1\n"
    "4 Ann ran.\n5 Who ran? \tAnn\t4\n"
)


def test_stories(root):
    folder = root / "tasks_1-20_v1-2" / "en-valid"
    write(
        folder, {f"qa{n}_{p}.txt": STORY for n in range(1, 21) for p in ("train", "valid", "test")}
    )
    field = datasets.BABI20Field(2)
    path = str(folder)
    train, valid, test = datasets.BABI20.splits(field, path=path)
    assert train[1].story == [["Mary", "went", "home"], ["John", "slept"], ["Ann", "ran"]]
    assert (train[1].query, train[1].answer) == (["Who", "ran"], ["Ann"])
    few = datasets.BABI20.splits(field, path=path, only_supporting=True)[0]
    assert few[1].story == [["Ann", "ran"]]
    assert len(datasets.BABI20.splits(field, path=path, joint=True)[0]) == 40
    batch = next(iter(datasets.BABI20.iters(2, memory_size=2, path=path)[0]))
    words = batch.dataset.fields["story"].vocab.itos
    assert batch.story.shape == (2, 2, 3)
    assert [words[i] for i in batch.story[1, 0].tolist()] == ["Ann", "ran", "<pad>"]
    with pytest.raises(AssertionError, match="from 1 to 20, got 21"):
        datasets.BABI20.splits(field, task=21)


def test_text_classification(root):
    archive = root / "ag_news_csv.tar.gz"
    write(root / "csv", {"train.csv": '"1","Good","a film"\n"2","Bad","a play"\n'})
    write(root / "csv", {"test.csv": '"2","Odd","play"\n"1","x","film"\n'})
    with tarfile.open(archive, "w:gz") as tar:
        for name in ("train.csv", "test.csv"):
            tar.add(root / "csv" / name, f"ag_news_csv/{name}")
    kind = datasets.text_classification
    train, test = kind.DATASETS["AG_NEWS"](root=str(root), ngrams=2)
    words = train.get_vocab()
    assert train[0][0] == 0 and words.itos[train[0][1][0]] == "good"
    assert "a film" in words.stoi and train.get_labels() == {0, 1} and len(test) == 2
    assert test[0][1].tolist() == [words["play"]]  # "odd" is unknown
    kept, _ = kind.AG_NEWS(root=str(root), vocab=words, include_unk=True)[::-1]
    assert kept[0][1].tolist() == [0, words["play"]]
    assert [label for label, _ in train] == [0, 1]
    with pytest.raises(TypeError, match="not of type Vocab, but dict"):
        kind.AG_NEWS(root=str(root), vocab={})


def test_archives_are_fetched(root, monkeypatch):
    with zipfile.ZipFile(root / "mirror/wikitext-2-v1.zip", "w") as archive:
        for part in ("train", "valid", "test"):
            archive.writestr(f"wikitext-2/wiki.{part}.tokens", "a\n")
    parts = datasets.WikiText2.splits(data.Field(), root=str(root / "new"))
    assert [len(part) for part in parts] == [1, 1, 1]
    for part in ("train", "test"):
        with gzip.open(root / f"mirror/{part}.txt.gz", "wt") as file:
            file.write("a b c\n\nd e f\n" * 5)
    fields = [(name, data.Field()) for name in "xyz"]
    assert len(datasets.CoNLL2000Chunking.splits(fields, root=str(root / "new"))[2]) == 6
    monkeypatch.setattr(datasets.IMDB, "urls", ("file:///nowhere/aclImdb_v1.tar.gz",))
    with pytest.raises(RuntimeError, match=r"aclImdb.*put the file into .*imdb.*RUSHLIGHT_MIRRORS"):
        datasets.IMDB.splits(data.Field(), data.LabelField(), root=str(root / "new"))


def test_vocabularies(tmp_path):
    from collections import Counter

    (tmp_path / "v.vec").write_text("a 1 2\nb 3 4\n")
    vectors = vocab.Vectors(tmp_path / "v.vec", tmp_path)
    made = vocab.Vocab(Counter("aabbbc"), max_size=2, vectors=vectors)
    assert made.itos == ["<unk>", "<pad>", "b", "a"] and made["zzz"] == 0
    assert made.vectors.tolist() == [[0, 0], [0, 0], [3, 4], [1, 2]]
    made.load_vectors([vectors, vectors])
    assert made.vectors.shape == (4, 4)
    made.set_vectors({"a": 0}, rl.tensor([[5.0]]), 1, unk_init=lambda x: x + 9)
    assert made.vectors.tolist() == [[9], [9], [9], [5]]
    last = vocab.Vocab(Counter("aab"), specials=["<unk>"], specials_first=False)
    assert last.itos == ["a", "b", "<unk>"] and last["q"] == 2 and len(last) == 3
    bare = vocab.Vocab(Counter("a"), specials=[])
    with pytest.raises(KeyError):
        bare.stoi["q"]
    bare.extend(last, sort=True)
    assert bare.itos == ["a", "<unk>", "b"] and bare.lookup_indices(["b", "a"]) == [2, 0]
    assert vocab.Vocab(Counter("ab")) == vocab.Vocab(Counter("ab")) != vocab.Vocab(Counter("abb"))
    with pytest.raises(ValueError, match="Got string input vector nothing"):
        made.load_vectors("nothing")
    with pytest.raises(TypeError, match="must be a name, a Vectors object"):
        made.load_vectors([3])


def test_fields_can_be_pickled():
    import pickle

    field = data.Field(dtype=rl.int32, lower=True)
    field.build_vocab([["a", "b"]])
    copied = pickle.loads(pickle.dumps(field))
    assert copied.dtype == rl.int32 and copied.process([["b"]]).tolist() == [[3]]
    assert copied.preprocess("A B") == ["a", "b"]


def test_reversible_fields(monkeypatch):
    import sys
    import types

    field = data.ReversibleField(tokenize=list, init_token="^", eos_token="$")
    field.build_vocab([list("abc")])
    assert field.reverse(field.process([list("cab"), list("b")])) == ["cab", "b"]

    class Segmenter:
        def __init__(self, counter, max_size):
            self.vocab = {"ab": 3.0, "a": 1.0, "b": 2.0}

        def __call__(self, tokens):
            return [letter for token in tokens for letter in token]

    tokenize = lambda line, decap=False: line.split()  # noqa: E731
    revtok = types.SimpleNamespace(
        tokenize=tokenize, detokenize=" ".join, SubwordSegmenter=Segmenter
    )
    monkeypatch.setitem(sys.modules, "revtok", revtok)
    words = data.ReversibleField()
    words.build_vocab([["x", "y"]])
    assert words.reverse(words.process([["y", "x"]])) == ["y x"]
    parts = data.SubwordField()
    rows = [["ab", "b"]]
    parts.build_vocab(rows)
    assert parts.vocab.itos == ["\ufffd", "<pad>", "b", "a", "ab"]
    parts.segment(rows)
    assert rows == [["a", "b", "b"]]


def test_errors_name_what_is_wrong(tmp_path):
    with pytest.raises(ValueError, match="nesting field must not be another NestedField"):
        data.NestedField(data.NestedField(data.Field()))
    with pytest.raises(ValueError, match="cannot have include_lengths"):
        data.NestedField(data.Field(include_lengths=True))
    with pytest.raises(ValueError, match="not a tuple of"):
        data.Field(include_lengths=True).numericalize([["a"]])
    with pytest.raises(ValueError, match="do not know how to numericalize"):
        data.Field(use_vocab=False, dtype=rl.bool).numericalize([[1]])
    with pytest.raises(ValueError, match="Stop words must be convertible"):
        data.Field(stop_words=3)
    with pytest.raises(ValueError, match="format must be csv, tsv or json, got 'xml'"):
        data.TabularDataset("x", "xml", [])
    (tmp_path / "x.csv").write_text("a\n")
    with pytest.raises(ValueError, match="skip_header must be False"):
        data.TabularDataset(str(tmp_path / "x.csv"), "csv", {}, skip_header=True)
    dataset = data.Dataset([], [("a", None)])
    with pytest.raises(AttributeError, match="no attribute and no field 'b'"):
        _ = dataset.b
    with pytest.raises(AssertionError, match="not between 0 and 1"):
        dataset.split(1.5)
    with pytest.raises(ValueError, match="a list of two or three"):
        dataset.split([1])
    with pytest.raises(ValueError, match="convert_token 3 is not None or callable"):
        data.Pipeline(3)
    with pytest.raises(ValueError, match="key b was not found"):
        data.Example.fromdict({"a": 1}, {"b": ("b", data.RawField())})
    with pytest.raises(NotImplementedError, match="unknown with a batch_size_fn"):
        len(data.Iterator(dataset, 3, batch_size_fn=max))


def test_batches_show_themselves():
    field = data.Field()
    example = data.Example.fromlist(["a b"], [("text", field)])
    dataset = data.Dataset([example], [("text", field)])
    field.build_vocab(dataset)
    batch = data.Batch([example], dataset)
    assert "of size 1]" in repr(batch) and "[.text]:[" in repr(batch) and "2x1" in repr(batch)
    assert repr(data.Batch()) == "Empty Batch instance"
    upper = data.Pipeline(str.upper).add_before(str.strip).add_after(lambda x: x + "!")
    assert upper([" a "]) == ["A!"]
