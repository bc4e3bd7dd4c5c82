"""Methods of layers that subclasses of programs call, as PyTorch's answer."""

import pytest

import rushlight

torch = pytest.importorskip("torch")
LIBRARIES = (rushlight, torch)


@pytest.mark.parametrize(
    "padding, mode", [(2, "zeros"), ((1, 2), "reflect"), ("same", "circular"), ("valid", "zeros")]
)
def test_padding_of_subclasses(padding, mode):
    ours, theirs = (
        lib.nn.Conv2d(3, 4, (3, 5), padding=padding, padding_mode=mode, dilation=(2, 1))
        for lib in LIBRARIES
    )
    found = ours._reversed_padding_repeated_twice
    assert list(found) == list(theirs._reversed_padding_repeated_twice)
    assert not ours.transposed and rushlight.nn.ConvTranspose1d(3, 4, 2).transposed


@pytest.mark.parametrize("size", [None, [10, 13], [2, 4, 11, 14], [9, 13], [1, 2, 3]])
def test_output_padding_of_subclasses(size):
    outcomes = []
    for lib in LIBRARIES:
        layer = lib.nn.ConvTranspose2d(3, 4, (2, 3), (2, 3), (0, 1), (1, 0))
        settings = layer.stride, layer.padding, layer.kernel_size, 2, layer.dilation
        try:
            found = layer._output_padding(lib.zeros(2, 3, 5, 5), size, *settings)
            outcomes.append(list(found))
        except ValueError as error:
            outcomes.append("elements" if "elements" in str(error) else "range")
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("make", [
    lambda nn: nn.GroupNorm(2, 4), lambda nn: nn.RMSNorm(4), lambda nn: nn.PReLU(3, 0.1),
    lambda nn: nn.GroupNorm(2, 4, affine=False),
])  # fmt: skip
def test_parameters_are_reset(make):
    layer = make(rushlight.nn)
    before = {name: value.tolist() for name, value in layer.state_dict().items()}
    with rushlight.no_grad():
        for value in layer.parameters():
            value.add_(5)
    layer.reset_parameters()
    assert {name: value.tolist() for name, value in layer.state_dict().items()} == before
    theirs = make(torch.nn)
    theirs.reset_parameters()
    assert {name: value.tolist() for name, value in theirs.state_dict().items()} == before


def test_relu6_is_a_hardtanh():
    for lib in LIBRARIES:
        layer = lib.nn.ReLU6(inplace=True)
        assert isinstance(layer, lib.nn.Hardtanh) and (layer.min_val, layer.max_val) == (0.0, 6.0)
        assert repr(layer) == "ReLU6(inplace=True)"
        assert layer(lib.tensor([-1.0, 3.0, 8.0])).tolist() == [0, 3, 6]


@pytest.mark.parametrize("kind, kwargs", [
    ("LSTM", {"proj_size": 3}), ("GRU", {"bidirectional": True}), ("RNN", {"batch_first": True}),
])  # fmt: skip
def test_sizes_of_recurrent_states(kind, kwargs):
    ours, theirs = (getattr(lib.nn, kind)(4, 5, 2, **kwargs) for lib in LIBRARIES)
    assert hasattr(ours, "get_expected_cell_size") == (kind == "LSTM")
    for sizes in (None, [3, 2]):
        x = rushlight.zeros(6, 4) if sizes else rushlight.zeros(7, 2, 4)
        y = torch.zeros(*x.shape)
        packed = None if sizes is None else (rushlight.tensor(sizes), torch.tensor(sizes))
        a, b = (None, None) if packed is None else packed
        expected = tuple(int(n) for n in theirs.get_expected_hidden_size(y, b))
        assert ours.get_expected_hidden_size(x, a) == expected
        states = rushlight.zeros(*expected)
        if kind == "LSTM":
            cells = tuple(int(n) for n in theirs.get_expected_cell_size(y, b))
            assert ours.get_expected_cell_size(x, a) == cells
            states = states, rushlight.zeros(*cells)
        ours.check_forward_args(x, states, a)
        wrong = rushlight.zeros(1, 1, 1)
        with pytest.raises(RuntimeError, match=r"Expected hidden.* size .*, got \[1, 1, 1\]"):
            ours.check_forward_args(x, (wrong, states[1]) if kind == "LSTM" else wrong, a)
    with pytest.raises(RuntimeError, match="one of"):
        ours.check_hidden_size(rushlight.zeros(2), (3,), "one of {} and {}")
