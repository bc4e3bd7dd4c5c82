"""Views of the storage: whatever view they are taken of, offsets count from its beginning."""

import pytest

import rushlight


def _storage():
    return rushlight.arange(12.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x, lambda x: x[3:], lambda x: x.reshape(3, 4).t(), lambda x: x[::2],
        lambda x: x.as_strided((2, 2), (3, 1), 2), lambda x: x.reshape(3, 4)[1:, 1:],
        lambda x: x[0].expand(4),
    ],
)  # fmt: skip
def test_offsets_count_from_the_storage(make):
    view = make(_storage())
    assert view.as_strided((2, 3), (4, 1), 1).tolist() == [[1.0, 2.0, 3.0], [5.0, 6.0, 7.0]]
    again = view.as_strided((2,), (1,), 4).as_strided((3,), (5,), 0)
    assert again.tolist() == [0.0, 5.0, 10.0]


def test_the_offset_is_the_views_own_by_default():
    assert _storage()[3:].as_strided((2,), (2,)).tolist() == [3.0, 5.0]


def test_writes_and_gradients_reach_the_storage():
    x = _storage().requires_grad_()
    y = x * 1
    y.as_strided((2,), (2,), 0).mul_(10)
    assert y.tolist()[:4] == [0.0, 1.0, 20.0, 3.0]
    y.as_strided((3, 2), (1, 1), 0).sum().backward()
    assert x.grad.tolist()[:5] == [10.0, 2.0, 20.0, 1.0, 0.0]


def test_an_expanded_input_shares_its_gradient():
    x = rushlight.ones(1, requires_grad=True)
    x.expand(4).as_strided((1,), (1,), 0).sum().backward()
    assert x.grad.tolist() == [1.0]


def test_refusals():
    x = _storage()
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 48"):
        x.as_strided((13,), (1,))
    with pytest.raises(RuntimeError, match="mismatch in length of strides and shape"):
        x.as_strided((2, 2), (1,))
    with pytest.raises(RuntimeError, match="Negative strides"):
        x.as_strided((2,), (-1,), 4)


def test_scatter_into_the_storage_of_an_input_with_gaps():
    base = rushlight.arange(20.0)
    x = base.as_strided((3, 3), (6, 2), 1)
    y = rushlight.as_strided_scatter(x, -rushlight.ones(2, 2), (2, 2), (1, 2))
    assert y.tolist() == [[-1.0, -1.0, 5.0], [7.0, 9.0, 11.0], [13.0, 15.0, 17.0]]
    assert y.stride() == (6, 2) and y.storage_offset() == 1
    assert x.tolist() == [[1.0, 3.0, 5.0], [7.0, 9.0, 11.0], [13.0, 15.0, 17.0]]


def test_scatter_gives_no_gradient_to_what_it_replaces():
    x = rushlight.arange(6.0).reshape(2, 3).requires_grad_()
    src = rushlight.tensor([10.0, 20.0, 30.0], requires_grad=True)
    y = rushlight.as_strided_scatter(x, src, (3,), (2,))
    (y * rushlight.arange(1.0, 7.0).reshape(2, 3)).sum().backward()
    assert x.grad.tolist() == [[0.0, 2.0, 0.0], [4.0, 0.0, 6.0]]
    assert src.grad.tolist() == [1.0, 3.0, 5.0]


def test_tensors_without_elements_keep_their_strides():
    x = rushlight.empty_strided((0, 5, 0), (7, 8, 9))
    assert x.stride() == (7, 8, 9)
    assert rushlight.empty_like(x).stride() == (7, 8, 9)
    assert x.clone().stride() == (7, 8, 9)
    assert x.transpose(0, 1).stride() == (8, 7, 9)
    assert x.is_contiguous()
    assert rushlight.empty(2, 0, 3).stride() == (3, 3, 1)
    assert rushlight.ones(5, 4, 3)[:, :0].stride() == (12, 3, 1)
    assert rushlight.empty_permuted((1, 0, 5, 1), (0, 1, 3, 2)).stride() == (5, 5, 1, 5)


@pytest.mark.parametrize(
    ("size", "stride", "offset"),
    [((3, 2), (2, 1), 1), ((2, 2), (0, 5), None), ((12,), (1,), 0), ((), (), 11), ((1,), (40,), 3)],
)
def test_windows_on_whole_storages(size, stride, offset):
    torch = pytest.importorskip("torch")
    ours, theirs = _storage(), torch.arange(12.0)
    for _ in range(3):
        found = ours.as_strided(size, stride, offset)
        wanted = theirs.as_strided(size, stride, offset)
        assert found.tolist() == wanted.tolist() and found.stride() == wanted.stride()
        assert found.storage_offset() == wanted.storage_offset() and found._base is ours
    with rushlight.inference_mode():
        assert ours.as_strided(size, stride, offset).tolist() == wanted.tolist()
    ours.as_strided((2, 2), (3, 1), 4).add_(10)
    theirs.as_strided((2, 2), (3, 1), 4).add_(10)
    assert ours.tolist() == theirs.tolist() and ours._version == theirs._version


@pytest.mark.parametrize(
    ("size", "stride", "offset"),
    [((13,), (1,), 0), ((2,), (12,), 0), ((2,), (1,), 11), ((2,), (1,), -1), ((2,), (-1,), 5),
     ((2, 2), (1,), 0)],
)  # fmt: skip
def test_windows_beyond_the_storage_are_refused(size, stride, offset):
    for _ in range(2):
        with pytest.raises(RuntimeError):
            _storage().as_strided(size, stride, offset)


def test_a_window_on_a_tensor_without_history_can_be_written_to():
    values, memory = rushlight.rand(3, requires_grad=True), rushlight.zeros(6)
    memory.as_strided((3,), (2,)).copy_(values)
    (memory * rushlight.arange(6.0)).sum().backward()
    assert values.grad.tolist() == [0.0, 2.0, 4.0]
