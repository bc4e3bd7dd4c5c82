"""Samplers by length and by tokens, streams of lines, packed blocks, padded ids."""

import gzip
import random

import pytest

import rushlight as rl
from rushlight.utils.data import DataLoader
from rushlight_text.data import (
    LengthBucketSampler,
    PackedBlocks,
    TextLines,
    TokenBudgetSampler,
    pack,
    pad_ids,
)

PICK = random.Random(0)
LENGTHS = [PICK.randint(1, 60) for _ in range(1003)]


def padding(batches, lengths):
    padded = sum(max(lengths[i] for i in b) * len(b) for b in batches)
    return padded / sum(lengths) - 1


@pytest.mark.parametrize(
    "sampler",
    [
        LengthBucketSampler(LENGTHS, 16),
        LengthBucketSampler(LENGTHS, 16, shuffle=False),
        TokenBudgetSampler(LENGTHS, 512),
        TokenBudgetSampler(LENGTHS, 512, max_sequences=9, multiple=8),
    ],
    ids=["bucket", "sorted", "budget", "both"],
)
def test_every_index_once_and_little_padding(sampler):
    count = len(sampler)
    batches = list(sampler)
    assert len(batches) == count
    assert sorted(i for batch in batches for i in batch) == list(range(len(LENGTHS)))
    assert padding(batches, LENGTHS) < 0.07
    at_random = [list(range(len(LENGTHS)))[i : i + 16] for i in range(0, len(LENGTHS), 16)]
    assert padding(at_random, LENGTHS) > 0.5


def test_budgets_hold():
    for multiple, most in ((1, None), (8, 9)):
        sampler = TokenBudgetSampler(LENGTHS, 256, max_sequences=most, multiple=multiple)
        for batch in sampler:
            longest = -(-max(LENGTHS[i] for i in batch) // multiple) * multiple
            assert longest * len(batch) <= 256 and len(batch) <= (most or 256)
    assert list(TokenBudgetSampler([9, 1, 1], 4, shuffle=False)) == [[1, 2], [0]]


def test_epochs_differ_and_come_again():
    first, again = LengthBucketSampler(LENGTHS, 32), LengthBucketSampler(LENGTHS, 32)
    one, two = list(first), list(first)
    assert one != two and list(again) == one
    again.set_epoch(1)
    assert list(again) == two
    assert list(LengthBucketSampler(LENGTHS, 32, seed=1)) != one


def test_drop_last_and_loader():
    sampler = LengthBucketSampler(LENGTHS, 16, drop_last=True)
    assert len(sampler) == 62 and all(len(batch) == 16 for batch in sampler)
    rows = [[i] * n for i, n in enumerate(LENGTHS[:50])]
    loader = DataLoader(
        rows, batch_sampler=LengthBucketSampler(LENGTHS[:50], 8), collate_fn=pad_ids
    )
    seen = sorted(int(row.max()) for ids, _ in loader for row in ids)
    assert seen == list(range(50))


def test_wrong_sizes():
    with pytest.raises(ValueError, match="batch_size must be positive.* 0"):
        LengthBucketSampler([1], 0)
    with pytest.raises(ValueError, match="length 1 is -2"):
        LengthBucketSampler([1, -2], 1)
    with pytest.raises(ValueError, match="max_tokens and multiple must be positive, got 0 and 1"):
        TokenBudgetSampler([1], 0)
    with pytest.raises(ValueError, match="block_size must be positive, got 0"):
        list(pack([[1]], 0))
    with pytest.raises(ValueError, match="block_size must be positive, got -1"):
        PackedBlocks([[1]], -1)


@pytest.fixture
def files(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\r\n\nfour")
    with gzip.open(tmp_path / "b.txt.gz", "wt", encoding="utf-8") as file:
        file.write("fünf\nsix\n")
    return [tmp_path / "a.txt", tmp_path / "b.txt.gz"]


def test_lines(files):
    lines = TextLines(files)
    assert list(lines) == list(lines) == ["one", "two", "", "four", "fünf", "six"]
    assert list(TextLines(files[0], lambda line: line.upper() or None)) == ["ONE", "TWO", "FOUR"]
    mixed = TextLines(files, buffer_size=3)
    first, second = list(mixed), list(mixed)
    assert sorted(first) == sorted(lines) and (first != second or first != list(lines))
    assert list(TextLines(files, buffer_size=3)) == first


@pytest.mark.parametrize("workers", [0, 2])
def test_workers_share_the_lines(files, workers):
    loader = DataLoader(TextLines(files), batch_size=None, num_workers=workers)
    assert sorted(loader) == sorted(["one", "two", "", "four", "fünf", "six"])


def test_bad_lines_are_named(tmp_path, files):
    with pytest.raises(FileNotFoundError, match="gone"):
        TextLines(tmp_path / "gone.txt")
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"fine\n\xff\xfe\n")
    with pytest.raises(ValueError, match=r"bad\.txt, line 2: not UTF-8"):
        list(TextLines(bad))
    assert list(TextLines(bad, errors="replace"))[1] == "\ufffd\ufffd"


def test_memory_is_bounded(tmp_path):
    import tracemalloc

    path = tmp_path / "long.txt"
    with open(path, "w") as file:
        for number in range(200_000):
            file.write(f"line {number} with some words in it\n")
    tracemalloc.start()
    count = sum(1 for _ in TextLines(path, buffer_size=100))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 200_000 and peak < 1_000_000 < path.stat().st_size


def test_packing():
    rows = [[1, 2, 3], [4], [], [5, 6, 7, 8, 9]]
    assert list(pack(rows, 4)) == [[1, 2, 3, 4], [5, 6, 7, 8]]
    assert list(pack(rows, 4, drop_last=False))[-1] == [9]
    assert list(pack(rows, 20, separator=0, drop_last=False)) == [
        [1, 2, 3, 0, 4, 0, 0, 5, 6, 7, 8, 9, 0]
    ]
    blocks = list(PackedBlocks([list(range(10))], 3))
    assert [(x.tolist(), y.tolist()) for x, y in blocks] == [
        ([0, 1, 2], [1, 2, 3]),
        ([3, 4, 5], [4, 5, 6]),
    ]
    assert blocks[0][0].dtype == rl.int64


def test_padded_ids():
    ids, mask = pad_ids([[5, 6, 7], rl.tensor([8])], pad_id=1)
    assert ids.tolist() == [[5, 6, 7], [8, 1, 1]] and mask.tolist() == [[1, 1, 1], [1, 0, 0]]
    ids, mask = pad_ids([[5, 6, 7], [8]], side="left", multiple=4)
    assert ids.tolist() == [[0, 5, 6, 7], [0, 0, 0, 8]] and mask.tolist()[1] == [0, 0, 0, 1]
    assert pad_ids([[5, 6, 7]], max_length=2)[0].tolist() == [[5, 6]]
    assert pad_ids([[5, 6, 7]], max_length=2, side="left")[0].tolist() == [[6, 7]]
    with pytest.raises(ValueError, match="side must be 'left' or 'right', got 'top'"):
        pad_ids([[1]], side="top")
    with pytest.raises(ValueError, match="empty list"):
        pad_ids([])
