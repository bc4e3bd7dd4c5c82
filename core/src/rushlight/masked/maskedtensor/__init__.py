"""Tensors that carry a mask: the class, what makes its tensors, and what functions do with them.

Start at :mod:`.core`; :mod:`.tables` says which file answers for a function.
"""

from . import choosing as _choosing  # noqa: F401 - each fills its part of the tables
from . import conversions as _conversions  # noqa: F401
from . import elementwise as _elementwise  # noqa: F401
from . import others as _others  # noqa: F401
from . import passthrough as _passthrough  # noqa: F401
from . import reductions as _reductions  # noqa: F401
from .core import MaskedTensor, is_masked_tensor
from .creation import as_masked_tensor, masked_tensor

__all__ = ["MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor"]
