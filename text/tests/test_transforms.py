"""Transforms and collate functions: values by hand, `pad_sequence` against PyTorch's."""

import pytest

import rushlight as rl
from rushlight_text import functional as F
from rushlight_text import transforms as T
from rushlight_text.data import collate_bags, collate_padded
from rushlight_text.vocab import Vocab


@pytest.fixture
def words():
    return Vocab(["<pad>", "<bos>", "<eos>", "<unk>", "a", "b", "c"], default_index=3)


def test_from_tokens_to_a_padded_tensor(words):
    steps = T.Sequential(
        T.VocabTransform(words),
        T.Truncate(2),
        T.AddToken(1),
        T.AddToken(2, begin=False),
        T.ToTensor(0),
        T.PadTransform(6, 0),
    )
    batch = steps([["a", "b", "c"], ["z"]])
    assert batch.dtype == rl.int64
    assert batch.tolist() == [[1, 4, 5, 2, 0, 0], [1, 3, 2, 0, 0, 0]]
    assert steps(["c"]).tolist() == [1, 6, 2, 0, 0, 0]


def test_to_tensor():
    assert F.to_tensor([1, 2], dtype=rl.int32).dtype == rl.int32
    assert F.to_tensor([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    with pytest.raises(ValueError, match="different lengths .1 to 2. need a padding_value"):
        T.ToTensor()([[1], [2, 3]])
    with pytest.raises(TypeError, match="expected integer ids, got the string 'a'"):
        T.ToTensor()(["a"])
    with pytest.raises(TypeError, match="must be a list of tokens or ids.*not str"):
        F.to_tensor("ab")


def test_truncate_add_token_and_integers():
    assert F.truncate([1, 2, 3], 2) == [1, 2]
    assert F.truncate([["a", "b"], []], 1) == [["a"], []]
    assert F.add_token(["a"], "<eos>", begin=False) == ["a", "<eos>"]
    assert T.StrToIntTransform()([["1", "2"], ["3"]]) == [[1, 2], [3]]
    with pytest.raises(ValueError, match="must not be negative, got -1"):
        F.truncate([1], -1)
    with pytest.raises(TypeError, match="not str"):
        F.truncate("abc", 2)


def test_pad_leaves_longer_tensors():
    long = rl.arange(4)
    assert T.PadTransform(3, 9)(long).tolist() == [0, 1, 2, 3]
    assert T.PadTransform(6, 9)(long).tolist() == [0, 1, 2, 3, 9, 9]
    with pytest.raises(TypeError, match="'input' must be a tensor, not list"):
        F.pad([1], 3, 0)


def test_label_to_index(tmp_path):
    assert T.LabelToIndex(["neg", "pos"])(["pos", "neg"]) == [1, 0]
    path = tmp_path / "labels.txt"
    path.write_text("z\na\n")
    transform = T.LabelToIndex(label_path=path, sort_names=True)
    assert transform("z") == 1 and transform.label_names == ["a", "z"]
    with pytest.raises(FileNotFoundError, match="absent.txt"):
        T.LabelToIndex(label_path=tmp_path / "absent.txt")
    with pytest.raises(ValueError, match="give label_names or label_path$"):
        T.LabelToIndex()
    with pytest.raises(ValueError, match="not both"):
        T.LabelToIndex(["a"], tmp_path)
    with pytest.raises(TypeError, match="must be a Vocab, not dict"):
        T.VocabTransform({})


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("side", ["left", "right"])
def test_pad_sequence_against_torch(batch_first, side):
    torch = pytest.importorskip("torch")
    arrays = [rl.randn(length, 3).numpy() for length in (2, 5, 1)]
    ours = F.pad_sequence([rl.from_numpy(a) for a in arrays], batch_first, -1.5, side)
    theirs = torch.nn.utils.rnn.pad_sequence(
        [torch.from_numpy(a) for a in arrays], batch_first, -1.5, side
    )
    assert ours.tolist() == theirs.tolist()


def test_pad_sequence_refuses():
    with pytest.raises(ValueError, match="empty list"):
        F.pad_sequence([])
    with pytest.raises(ValueError, match="'left' or 'right', got 'top'"):
        F.pad_sequence([rl.zeros(2)], padding_side="top")
    with pytest.raises(ValueError, match=r"sequence 0 has shape \[2, 3\], sequence 1 has \[2, 4\]"):
        F.pad_sequence([rl.zeros(2, 3), rl.zeros(2, 4)])


def test_collate_bags():
    ids, offsets, labels = collate_bags([([5, 6], 0), ([], 1), (rl.tensor([7]), 1)])
    assert (ids.tolist(), offsets.tolist(), labels.tolist()) == ([5, 6, 7], [0, 2, 2], [0, 1, 1])
    assert ids.dtype == offsets.dtype == labels.dtype == rl.int64
    assert collate_bags([([1], 0.5)])[2].dtype == rl.float32
    with pytest.raises(TypeError, match="sample 0 holds text"):
        collate_bags([(["a"], 0)])
    with pytest.raises(ValueError, match=r"ids of sample 1 .* shape \[1, 2\]"):
        collate_bags([([1], 0), (rl.tensor([[1, 2]]), 0)])


def test_collate_padded():
    ids, lengths, labels = collate_padded([([5, 6], 0), ([7], 1)], padding_value=9)
    assert ids.tolist() == [[5, 6], [7, 9]]
    assert (lengths.tolist(), labels.tolist()) == ([2, 1], [0, 1])
