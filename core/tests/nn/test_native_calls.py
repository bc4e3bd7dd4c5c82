"""Functions of the top level whose arguments stand in another order than nn.functional's."""

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")


def _cases():
    torch.manual_seed(0)
    n, none = torch.randn, None
    x, w, b = n(4, 3, 5), n(3), n(3)
    mean, var = n(3), n(3).abs()
    gates = [n(16, 3), n(16, 4), n(16), n(16)]
    return {
        "batch_norm": (x, w, b, mean, var, False, 0.1, 1e-5, True),
        "instance_norm": (x, w, b, none, none, True, 0.1, 1e-5, True),
        "layer_norm": (x, [5], n(5), n(5), 1e-5, True),
        "group_norm": (x, 3, w, b),
        "rms_norm": (x, [5], n(5)),
        "embedding": (n(7, 3), torch.tensor([1, 2])),
        "dropout": (x, 0.5, False),
        "feature_dropout": (x, 0.5, False),
        "alpha_dropout": (x, 0.5, False),
        "feature_alpha_dropout": (x, 0.5, False),
        "native_dropout": (x, 0.5, False),
        "ctc_loss": (
            n(6, 2, 5).log_softmax(-1), torch.tensor([[1, 2], [3, 4]]), torch.tensor([6, 6]),
            torch.tensor([2, 2]), 0, 1,
        ),
        "kl_div": (x, x.abs(), 2),
        "binary_cross_entropy_with_logits": (x, x.abs().clamp(0, 1)),
        "cosine_embedding_loss": (n(4, 3), n(4, 3), torch.ones(4), 0.1, 1),
        "hinge_embedding_loss": (x, torch.ones(4, 3, 5)),
        "margin_ranking_loss": (n(4), n(4), torch.ones(4)),
        "poisson_nll_loss": (x, x.abs(), True, False, 1e-8, 1),
        "triplet_margin_loss": (n(4, 3), n(4, 3), n(4, 3)),
        "pairwise_distance": (n(4, 3), n(4, 3)),
        "convolution": (n(1, 3, 8, 8), n(4, 3, 3, 3), n(4), [1, 1], [0, 0], [1, 1], False, [0, 0],
                        1),
        "frobenius_norm": (x, [1, 2]),
        "nuclear_norm": (n(3, 4),),
        "lstm": (n(5, 2, 3), (n(1, 2, 4), n(1, 2, 4)), gates, True, 1, 0.0, False, False, False),
        "gru": (n(2, 5, 3), n(2, 2, 4), [n(12, 3), n(12, 4), n(12), n(12)] * 2, True, 1, 0.0,
                False, True, True),
        "rnn_tanh": (n(5, 2, 3), n(1, 2, 4), [n(4, 3), n(4, 4)], False, 1, 0.0, False, False,
                     False),
        "rnn_relu": (n(5, 2, 3), n(1, 2, 4), [n(4, 3), n(4, 4)], False, 1, 0.0, False, False,
                     False),
        "lstm_cell": (n(2, 3), (n(2, 4), n(2, 4)), *gates),
        "gru_cell": (n(2, 3), n(2, 4), n(12, 3), n(12, 4), n(12), n(12)),
        "rnn_tanh_cell": (n(2, 3), n(2, 4), n(4, 3), n(4, 4)),
        "rnn_relu_cell": (n(2, 3), n(2, 4), n(4, 3), n(4, 4), n(4), n(4)),
    }  # fmt: skip


CASES = _cases()


def _ours(value):
    if isinstance(value, torch.Tensor):
        return rushlight.from_numpy(value.numpy().copy())
    return type(value)(map(_ours, value)) if isinstance(value, tuple | list) else value


@pytest.mark.filterwarnings("ignore:.*norm is deprecated:UserWarning")
@pytest.mark.parametrize("name", CASES)
def test_calls(name):
    theirs = getattr(torch, name)(*CASES[name])
    ours = getattr(rushlight, name)(*_ours(CASES[name]))
    pairs = zip(ours, theirs, strict=True) if isinstance(theirs, tuple) else [(ours, theirs)]
    for found, expected in pairs:
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)


def test_in_place():
    for name in ("dropout_", "alpha_dropout_", "feature_dropout_", "feature_alpha_dropout_"):
        x = rushlight.ones(2, 3, 4)
        assert getattr(rushlight, name)(x, 0.5, True) is x


def test_masks():
    x = rushlight.ones(2000)
    out, kept = rushlight.native_dropout(x, 0.5, True)
    assert ((out == 2) == kept).all()
    assert 800 < kept.sum() < 1200


def test_reductions_are_numbers():
    with pytest.raises(TypeError, match="kl_div.*'reduction' must be 0 .none.*not str"):
        rushlight.kl_div(rushlight.ones(3), rushlight.ones(3), "mean")


@pytest.mark.parametrize("count", [0, 1, 3])
def test_layers_of_packed_data_want_all_their_parameters(count):
    x, params = rushlight.ones(5, 3), [rushlight.ones(9, 3)] * count
    with pytest.raises(RuntimeError, match=f"gru: expected 4 parameters, got {count}"):
        rushlight.gru(x, rushlight.tensor([3, 2]), x, params, True, 1, 0.0, False, False)


def test_names_of_arguments():
    x = rushlight.ones(2, 4)
    assert x.swapaxes(axis0=0, axis1=1).shape == (4, 2)
    assert [p.shape for p in x.hsplit(sections=2)] == [(2, 2)] * 2
    assert [p.shape for p in rushlight.tensor_split(x, indices=[1])] == [(1, 4)] * 2
    assert rushlight.isin(element=1, test_elements=x)
    for made in (
        rushlight.zeros(2, pin_memory=False),
        rushlight.ones(2, pin_memory=False),
        rushlight.full((2,), 1.0, pin_memory=False),
        rushlight.arange(2, pin_memory=False),
        rushlight.zeros_like(x[0, :2], pin_memory=False),
        rushlight.randint(3, (2,), pin_memory=False),
    ):
        assert made.shape == (2,)


def test_order_of_dimensions():
    for lib in (rushlight, torch):
        x = lib.zeros(2, 3, 4, 5)
        assert x.dim_order() == (0, 1, 2, 3)
        assert x.contiguous(memory_format=lib.channels_last).dim_order() == (0, 2, 3, 1)
        assert x.transpose(0, 3).dim_order() == (3, 1, 2, 0)


def test_control_flow_and_questions():
    x = rushlight.ones(2)
    assert rushlight.cond(x.sum() > 1, lambda a: a + 1, lambda a: a, (x,)).tolist() == [2, 2]
    (count,) = rushlight.while_loop(lambda i: i < 3, lambda i: (i + 1,), (rushlight.tensor(0),))
    assert count == 3
    assert rushlight.is_signed(x)
    assert not rushlight.is_inference(x)
    assert not rushlight.is_distributed(x)
    assert rushlight.get_device(x) == -1
    assert rushlight.detach(x.requires_grad_()).requires_grad is False
    assert rushlight.is_storage(x.untyped_storage())
    assert not rushlight.is_storage(x)
    assert rushlight.get_num_interop_threads() >= 1


def test_margin_ranking_wants_one_number_of_dimensions():
    arguments = (rushlight.ones(4, 3), rushlight.ones(4, 3), rushlight.ones(3))
    with pytest.raises(RuntimeError, match="number of dimensions"):
        rushlight.nn.functional.margin_ranking_loss(*arguments)
