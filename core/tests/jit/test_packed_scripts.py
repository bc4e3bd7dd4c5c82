"""Scripts over packed sequences: values, and archives that both libraries read."""

# ruff: noqa: UP006, UP035, UP045 - annotations that TorchScript has had from its start
import io
from typing import List, Optional, Tuple

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def models(library):  # noqa: C901 - a list of modules
    """Modules by name, each with its arguments: `PACKED` stands for a packed sequence."""
    nn, rnn = library.nn, library.nn.utils.rnn
    Tensor, PackedSequence = library.Tensor, library.nn.utils.rnn.PackedSequence  # noqa: N806

    class PadsAndPacks(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.LSTM(3, 4, batch_first=True, bidirectional=True)

        def forward(self, x: Tensor, n: Tensor):
            packed = rnn.pack_padded_sequence(x, n, batch_first=True, enforce_sorted=False)
            found, (h, c) = self.layer(packed)
            y, k = rnn.pad_packed_sequence(found, True, padding_value=-1.0, total_length=7)
            return y, k, h, c

    class Layer(nn.Module):
        def __init__(self, layer):
            super().__init__()
            self.layer = layer

        def forward(self, packed: PackedSequence):
            same = PackedSequence(packed[0], packed[1], packed[2], packed[3])
            found, h = self.layer(same)
            return found.data, found.batch_sizes, found.unsorted_indices, h

    class GivenStates(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(3, 4, num_layers=2, bidirectional=True, proj_size=2)
            self.gru = nn.GRU(3, 4)

        def forward(
            self, packed: PackedSequence, h: Tensor, c: Optional[Tuple[Tensor, Tensor]] = None
        ):
            same = PackedSequence(packed[0], packed[1], packed[2], packed[3])
            found, (a, b) = self.lstm(same, c)
            rows, last = self.gru(packed, h)
            return found.data, a, b, rows.data, last

    class Sequences(nn.Module):
        def forward(self, parts: List[Tensor]):
            packed = rnn.pack_sequence(parts, enforce_sorted=False)
            padded = rnn.pad_sequence(parts, batch_first=True, padding_side="left")
            back = rnn.unpack_sequence(packed)
            return padded, rnn.pad_packed_sequence(packed)[0], back, len(packed)

    class Rebuilds(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.RNN(3, 3, nonlinearity="relu") for _ in range(2)])

        def forward(self, packed: PackedSequence):
            for layer in self.layers:
                packed, _ = layer(packed)
            sizes, order, back = packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices
            other = PackedSequence(packed.data * 2, sizes, order, back)
            data, sizes, order, back = other
            return rnn.pad_packed_sequence(other)[0], data, sizes, order, back, packed[0]

    class AsksForTheOrder(nn.Module):
        def forward(self, x: Tensor, n: List[int]):
            packed = rnn.pack_padded_sequence(x, library.tensor(n))
            if packed.sorted_indices is None:
                return packed.data, rnn.invert_permutation(packed.unsorted_indices)
            return x, packed.sorted_indices

    x = (library.arange(30.0).reshape(5, 2, 3) - 15) / 10
    packed = rnn.pack_padded_sequence(x, library.tensor([3, 5]), enforce_sorted=False)
    h = library.arange(8.0).reshape(1, 2, 4) / 8
    return {
        "pads and packs": (PadsAndPacks(), (x.transpose(0, 1), library.tensor([3, 5]))),
        "lstm": (Layer(nn.LSTM(3, 4)), (packed,)),
        "gru": (Layer(nn.GRU(3, 4, 2)), (packed,)),
        "rnn": (Layer(nn.RNN(3, 4, bias=False, bidirectional=True)), (packed,)),
        "given states": (GivenStates(), (packed, h)),
        "sequences": (Sequences(), ([x[:2, 0], x[:4, 1]],)),
        "rebuilds": (Rebuilds(), (packed,)),
        "asks for the order": (AsksForTheOrder(), (x, [4, 1])),
    }


NAMES = list(models(rushlight))


def plain(value):
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return value.detach().numpy() if hasattr(value, "detach") else value


def agree(found, expected):
    if isinstance(expected, list):
        assert isinstance(found, list) and len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            agree(one, other)
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    else:
        assert found == expected


def saved(library, scripted):
    file = io.BytesIO()
    library.jit.save(scripted, file)
    return file.getvalue()


@pytest.fixture(scope="module")
def cases():
    ours, theirs = models(rushlight), models(torch)
    for name, (module, _) in theirs.items():
        values = {n: rushlight.tensor(v.numpy()) for n, v in module.state_dict().items()}
        ours[name][0].load_state_dict(values)
    return ours, theirs


@pytest.mark.parametrize("name", NAMES)
def test_scripts_and_archives_agree_with_pytorch(cases, name):
    (module, given), (their_module, their_given) = (case[name] for case in cases)
    expected = plain(their_module(*their_given))
    agree(plain(module(*given)), expected)
    scripted = rushlight.jit.script(module)
    agree(plain(scripted(*given)), expected)
    archive = saved(rushlight, scripted)
    agree(plain(rushlight.jit.load(io.BytesIO(archive))(*given)), expected)
    agree(plain(torch.jit.load(io.BytesIO(archive))(*their_given)), expected)
    theirs = saved(torch, torch.jit.script(their_module))
    agree(plain(rushlight.jit.load(io.BytesIO(theirs))(*given)), expected)


def test_scripts_refuse_what_pytorch_refuses(cases):
    for library, case in zip((rushlight, torch), cases, strict=True):
        module, (x, _) = case["pads and packs"]
        scripted = library.jit.script(module)
        with pytest.raises(Exception, match="greater than 0"):
            scripted(x, library.tensor([0, 5]))
    packed = rushlight.nn.utils.rnn.pack_sequence([rushlight.ones(3, 3)])
    assert [*rushlight.jit.script(cases[0]["lstm"][0])(packed)[1].tolist()] == [1, 1, 1]
