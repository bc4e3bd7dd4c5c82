"""Every layer of the table of tests/nn, exported: PyTorch's ops, equal values."""

import copy
import sys
import warnings
from pathlib import Path

import pytest

import rushlight
import rushlight.export

torch = pytest.importorskip("torch")

sys.path.insert(0, str(Path(__file__).parent))

from capture_agreement import (  # noqa: E402
    TABLE,
    build,
    calls,
    detached,
    exported,
    inputs_for,
    same_values,
    seeded,
)

ROWS = [pytest.param(*row, id=f"{i}-{row[0]}") for i, row in enumerate(TABLE)]
# What is refused: the layer -> why.
REFUSED = {
    "FractionalMaxPool2d": "draws its windows from the values of a random tensor",
    "FractionalMaxPool3d": "draws its windows from the values of a random tensor",
    "GaussianNLLLoss": "looks for negative variances, which PyTorch refuses as well",
    "AdaptiveLogSoftmaxWithLoss": "counts the targets of each cluster",
}
# Where the ops are not PyTorch's: the layer -> why.
OTHERWISE = {
    "LocalResponseNorm": "sums of slices here, a mean over windows there",
    "EmbeddingBag": "offsets of a matrix of indices are implied here",
    "PairwiseDistance": "its parts here",
    "ReLU6": "hardtanh there",
    "L1Loss": "broadcast first there",
    "MSELoss": "broadcast first there",
    "HuberLoss": "broadcast first there",
    "SmoothL1Loss": "broadcast first there",
    "PoissonNLLLoss": "its parts here",
    "KLDivLoss": "its parts here",
    "MarginRankingLoss": "its parts here",
    "HingeEmbeddingLoss": "its parts here",
    "SoftMarginLoss": "its parts here",
    "MultiLabelSoftMarginLoss": "a dimension as -1 here",
    "CosineEmbeddingLoss": "its parts here",
    "TripletMarginLoss": "its parts here",
    "TripletMarginWithDistanceLoss": "the distance's parts here",
    "RNNCell": "its parts here",
    "LSTMCell": "its parts here",
    "GRUCell": "its parts here",
    "MultiheadAttention": "other views of the heads",
    "TransformerEncoderLayer": "other views of the heads",
    "TransformerDecoderLayer": "other views of the heads",
    "Transformer": "other views of the heads",
}


def _is_refused(name, kwargs):
    lasting = name == "BatchNorm1d" and kwargs.get("momentum", 0) is None
    return name in REFUSED or lasting or name == "Embedding" and "max_norm" in kwargs


@pytest.mark.parametrize("name, args, kwargs, specs", ROWS)
def test_values_are_the_layers(name, args, kwargs, specs):
    layer = build(rushlight, name, args, kwargs)
    inputs = detached(inputs_for(rushlight, specs))
    seeded(layer, inputs)  # lazy layers get their parameters
    if _is_refused(name, kwargs):
        with pytest.raises((NotImplementedError, RuntimeError), match="captured"):
            exported(rushlight, layer, inputs)
        return
    program = exported(rushlight, copy.deepcopy(layer), inputs)
    module = copy.deepcopy(program.module())
    same_values(seeded(module, inputs), seeded(layer, inputs), "Transformer" not in name)
    state = module.state_dict()
    for key, value in layer.state_dict().items():
        same_values(state[key], value)


@pytest.mark.parametrize("name, args, kwargs, specs", ROWS)
def test_ops_are_pytorchs(name, args, kwargs, specs):
    if _is_refused(name, kwargs) or name in OTHERWISE:
        return
    ours, theirs = (
        calls(_program(library, name, args, kwargs, specs).graph) for library in (rushlight, torch)
    )
    assert ours == theirs


def test_the_exceptions_are_layers():
    assert {*REFUSED, *OTHERWISE} <= {row[0] for row in TABLE}


def _program(library, name, args, kwargs, specs):
    layer = build(library, name, args, kwargs)
    inputs = detached(inputs_for(library, specs))
    with library.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layer(*inputs)
    return exported(library, layer, inputs)
