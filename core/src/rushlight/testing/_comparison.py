"""Comparison of nested values by pairs; PyTorch's path of what :func:`assert_close` is made of."""

from rushlight.testing.close import assert_allclose, assert_close
from rushlight.testing.errors import ErrorMeta, UnsupportedInputs
from rushlight.testing.messages import make_scalar_mismatch_msg, make_tensor_mismatch_msg
from rushlight.testing.nested import not_close_error_metas, originate_pairs
from rushlight.testing.pairs import BooleanPair, NonePair, NumberPair, ObjectPair, Pair
from rushlight.testing.tensor_pair import TensorLikePair
from rushlight.testing.tolerances import default_tolerances, get_tolerances

__all__ = [
    "BooleanPair", "ErrorMeta", "NonePair", "NumberPair", "ObjectPair", "Pair", "TensorLikePair",
    "UnsupportedInputs", "assert_allclose", "assert_close", "default_tolerances",
    "get_tolerances", "make_scalar_mismatch_msg", "make_tensor_mismatch_msg",
    "not_close_error_metas", "originate_pairs",
]  # fmt: skip
