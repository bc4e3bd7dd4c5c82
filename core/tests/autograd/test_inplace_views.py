"""``x.t_()`` and its kin: the tensor takes the new shape, its history stays right."""

import pytest

import rushlight


def test_the_tensor_itself_changes_and_keeps_its_memory():
    x = rushlight.arange(6.0).reshape(2, 3).clone()
    address = x.data_ptr()
    assert x.t_() is x and x.shape == (3, 2) and x.stride() == (1, 3)
    assert x.unsqueeze_(0).shape == (1, 3, 2) and x.squeeze_().shape == (3, 2)
    assert x.transpose_(0, 1).shape == (2, 3) and x.swapaxes_(0, 1).shape == (3, 2)
    assert x.as_strided_((2,), (2,), 1).tolist() == [1.0, 3.0]
    assert x.data_ptr() == address + 4 and x._version == 6


def test_gradients_pass_through():
    w = rushlight.arange(6.0).reshape(2, 3).requires_grad_()
    x = w * 2
    x.t_()
    x.mul_(rushlight.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    x.sum().backward()
    assert w.grad.tolist() == [[2.0, 6.0, 10.0], [4.0, 8.0, 12.0]]


def test_a_view_that_changes_shape_still_writes_into_its_base():
    w = rushlight.ones(2, 3, requires_grad=True)
    base = w * 1
    row = base[0]
    row.unsqueeze_(1)
    row.mul_(5)
    assert base.tolist() == [[5.0, 5.0, 5.0], [1.0, 1.0, 1.0]]
    base.sum().backward()
    assert w.grad.tolist() == [[5.0, 5.0, 5.0], [1.0, 1.0, 1.0]]


def test_refusals():
    w = rushlight.ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        w.t_()
    base = w * 1
    kept = base[0]
    with pytest.raises(NotImplementedError, match=r"x = x\.t\(\.\.\.\)"):
        base.t_()
    assert kept.shape == (3,)


def test_views_made_unrecorded_of_a_tensor_with_history_are_not_written_to():
    x = rushlight.ones(2, 2, requires_grad=True)
    y = x * 1
    with rushlight.no_grad():
        view = y[0]
        view.mul_(2)  # nobody records, so nothing can go wrong
    for write in (
        lambda: view.mul_(5),
        lambda: view.add_(x[0]),
        lambda: view.zero_(),
        lambda: view.copy_(x[0]),
        lambda: view.__setitem__(0, 3.0),
    ):
        with pytest.raises(RuntimeError, match="created in no_grad mode"):
            write()
