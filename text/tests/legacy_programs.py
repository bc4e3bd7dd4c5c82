"""Old programs, run by torchtext 0.6 for the record and by `rushlight_text.legacy` in the tests.

Every function takes the module of fields and iterators and a folder, and gives plain Python values.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

WORDS = "the a cat dog bird sees follows likes hears red small old slowly again".split()
LABELS = ["pos", "neg", "neutral"]


def rows(count: int, seed: int = 0) -> list[tuple[str, str, int]]:
    """Sentences of different lengths, a label, a number."""
    pick = random.Random(seed)
    return [
        (
            " ".join(pick.choices(WORDS, k=pick.randint(1, 9))),
            pick.choice(LABELS),
            pick.randint(0, 9),
        )
        for _ in range(count)
    ]


def files(folder: Path) -> None:
    """The same rows as CSV, TSV and JSON lines."""
    lines = rows(60)
    table = [f"{text},{label},{n}" for text, label, n in lines]
    (folder / "data.csv").write_text("text,label,n\n" + "\n".join(table) + "\n")
    (folder / "data.tsv").write_text("\n".join("\t".join(map(str, row)) for row in lines) + "\n")
    records = [{"t": text, "l": {"name": label}, "n": n} for text, label, n in lines]
    (folder / "data.json").write_text("\n".join(json.dumps(record) for record in records) + "\n")


def plain(value):
    """Tensors as lists, tuples as lists."""
    if isinstance(value, (tuple, list)):
        return [plain(each) for each in value]
    return value.tolist() if hasattr(value, "tolist") else value


def fields(data):
    """A text, a label and a number."""
    text = data.Field(lower=True, include_lengths=True)
    return text, data.LabelField(), data.Field(sequential=False, use_vocab=False)


def tabular(data, folder, kind="csv"):
    """A data set from a file, its vocabularies built."""
    text, label, number = fields(data)
    columns = [("text", text), ("label", label), ("n", number)]
    if kind == "json":
        columns = {"t": ("text", text), "l.name": ("label", label), "n": ("n", number)}
    if kind == "header":
        columns = {"label": ("label", label), "text": ("text", text), "n": ("n", number)}
    name, form = ("data.csv", "csv") if kind == "header" else (f"data.{kind}", kind)
    dataset = data.TabularDataset(
        str(folder / name), format=form, fields=columns, skip_header=kind == "csv"
    )
    text.build_vocab(dataset, max_size=9, min_freq=2)
    label.build_vocab(dataset)
    return dataset, text, label


def batches(iterator):
    """Text, lengths, label and number of every batch, and iterating over a batch."""
    found = []
    for batch in iterator:
        inputs, target = batch
        found.append([plain(batch.text), plain(batch.label), plain(batch.n), plain(target)])
        assert plain(inputs) == [plain(batch.text), plain(batch.n)]
    return found


def kinds_of_files(data, folder):
    """The four ways to read a table."""
    found = []
    for kind in ("csv", "tsv", "json", "header"):
        dataset, text, label = tabular(data, folder, kind)
        found.append([text.vocab.itos, label.vocab.itos, dict(text.vocab.stoi)])
        found.append(batches(data.Iterator(dataset, 16, train=False, sort=False, shuffle=False)))
    return found


def bucket_iterators(data, folder):
    """Shuffled buckets, sorted ones, dynamic sizes, epochs; Python's seed decides."""
    found = []
    key = lambda example: len(example.text)  # noqa: E731
    for options in (
        {},
        {"sort_within_batch": True},
        {"sort": True},
        {"train": False},
        {"shuffle": False, "sort_within_batch": True},
        {"batch_size_fn": lambda new, count, sofar: sofar + len(new.text), "batch_size": 20},
    ):
        random.seed(7)
        dataset, _, _ = tabular(data, folder)
        iterator = data.BucketIterator(dataset, **{"batch_size": 8, "sort_key": key} | options)
        found.append([batches(iterator), batches(iterator), iterator.iterations])
    return found


def plain_iterators(data, folder):
    """Shuffled and in order, splits, going on from a state."""
    random.seed(3)
    dataset, _, _ = tabular(data, folder)
    dataset.sort_key = lambda example: len(example.text)
    train, test = data.Iterator.splits((dataset, dataset), batch_sizes=(16, 32))
    found = [batches(train), batches(test), len(train), train.epoch]
    state = None
    for place, _ in enumerate(train):
        if place == 1:
            state = train.state_dict()
            break
    other = data.Iterator(dataset, 16)
    other.load_state_dict(state)
    return [*found, batches(other), batches(other)]


def random_splits(data, folder):
    """The three forms of `split`."""
    dataset, _, _ = tabular(data, folder)
    found = []
    for options in (
        {"split_ratio": 0.7},
        {"split_ratio": [0.6, 0.3, 0.1]},
        {"split_ratio": [7, 3]},
    ):
        random.seed(5)
        parts = dataset.split(random_state=random.getstate(), **options)
        found.append([[example.text for example in part.examples] for part in parts])
    random.seed(5)
    parts = dataset.split(0.5, stratified=True, random_state=random.getstate())
    found.append([len(part) for part in parts])
    return found


def padding(data, folder):
    """Every option of padding and of tokens at the ends."""
    found = []
    batch = [["a", "b", "c", "d"], ["a"], ["b", "c"], []]
    for options in (
        {},
        {"init_token": "<s>", "eos_token": "</s>"},
        {"fix_length": 3},
        {"fix_length": 4, "init_token": "<s>", "eos_token": "</s>"},
        {"pad_first": True, "eos_token": "</s>"},
        {"truncate_first": True, "fix_length": 2, "batch_first": True},
        {"pad_token": "#", "unk_token": None},
        {"stop_words": ["b"], "lower": True},
    ):
        field = data.Field(include_lengths=True, **options)
        field.build_vocab([["a", "b"], ["c", "d", "d"]], specials=["<x>"])
        found.append([plain(field.pad(batch)), plain(field.process(batch)), field.vocab.itos])
        found.append(field.preprocess("A b  c\n"))
    return found


def numbers(data, folder):
    """Fields without a vocabulary, with functions before and after."""
    kinds = {str(kind).rpartition(".")[2]: kind for kind in data.Field.dtypes}
    field = data.Field(use_vocab=False, pad_token=0, dtype=kinds["float32"], batch_first=True)
    single = data.Field(sequential=False, use_vocab=False, dtype=kinds["float64"])
    post = data.Field(
        sequential=False,
        use_vocab=False,
        preprocessing=data.Pipeline(lambda x: x + "0"),
        postprocessing=lambda batch, vocab: [value + 1 for value in batch],
    )
    raw = data.RawField(preprocessing=str.upper, postprocessing=sorted)
    return [
        plain(field.process([[1, 2], [3]])),
        plain(single.process(["1.5", 2.5])),
        plain(post.process([post.preprocess("4"), post.preprocess("5")])),
        raw.process([raw.preprocess("b"), raw.preprocess("a")]),
    ]


def nested(data, folder):
    """Letters of words."""
    found = []
    sentences = [["ab", "c"], ["abc"], ["a", "bb", "ccc"]]
    for inner, outer in (
        ({}, {}),
        ({}, {"include_lengths": True}),
        ({"init_token": "<w>", "eos_token": "</w>"}, {"init_token": "<s>", "eos_token": "</s>"}),
        ({"init_token": "<w>"}, {"eos_token": "</s>", "include_lengths": True}),
        ({"fix_length": 4, "eos_token": "</w>"}, {"fix_length": 2}),
        ({"pad_first": True}, {"pad_first": True, "include_lengths": True}),
        ({"truncate_first": True, "fix_length": 2}, {"truncate_first": True, "fix_length": 2}),
    ):
        letters = data.Field(tokenize=list, **inner)
        field = data.NestedField(letters, **outer)
        values = [field.preprocess(words) for words in sentences]
        field.build_vocab(values)
        found.append([values, field.vocab.itos, plain(field.pad(values))])
        found.append([plain(field.process(values)), sorted(field.vocab.freqs.items())])
    return found


def language_model(data, folder):
    """Windows of one text."""
    found = []
    for first in (False, True):
        text = data.Field(batch_first=first, eos_token="<eos>")
        example = data.Example.fromlist([" ".join(WORDS * 3)], [("text", text)])
        dataset = data.Dataset([example], [("text", text)])
        text.build_vocab(dataset)
        iterator = data.BPTTIterator(dataset, batch_size=4, bptt_len=3)
        windows = [[plain(batch.text), plain(batch.target)] for batch in iterator]
        found.append([windows, len(iterator), iterator.iterations])
    return found


def examples(data, folder):
    """Examples from records."""
    text, label = data.Field(), data.LabelField()
    pair = {"a": [("x", text), ("y", label)], "b": None}
    both = data.Example.fromdict({"a": "one two", "b": 3}, pair)
    deep = data.Example.fromJSON(
        '{"a": [{"b": "x y"}, {"b": "z"}]}', {"a.b": ("x", data.RawField())}
    )
    listed = data.Example.fromlist(["p q\n", 5], [(("x", "y"), (text, label)), ("z", None)])
    return [vars(both), vars(deep), vars(listed)]


def filtering(data, folder):
    """Filters of examples and of tokens; columns of a data set."""
    dataset, text, _ = tabular(data, folder)
    short = data.Dataset(dataset.examples, dataset.fields, lambda e: len(e.text) < 3)
    dataset.filter_examples(["text"])
    return [[e.text for e in short], [e.text for e in dataset], list(dataset.label), len(short)]


def chunks(data, folder):
    """The functions below the iterators."""
    size = lambda new, count, sofar: max(len(new) * count, sofar)  # noqa: E731
    texts = [text.split() for text, _, _ in rows(30)]
    return [
        list(data.batch(range(7), 3)),
        list(data.batch(texts, 20, size)),
        list(data.pool(texts, 4, len, sort_within_batch=True)),
        data.interleave_keys(3, 9),
    ]


PROGRAMS = (
    kinds_of_files,
    bucket_iterators,
    plain_iterators,
    random_splits,
    padding,
    numbers,
    nested,
    language_model,
    examples,
    filtering,
    chunks,
)
