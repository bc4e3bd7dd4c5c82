# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import Number
from rushlight._words import _bool
from rushlight._words import _float
from rushlight._words import _int
from rushlight.distributions.distribution import Distribution
from rushlight.distributions.transform import Transform
from rushlight.tensor.tensor import Tensor
from typing import Any

class _Kind(Transform):
    ...
class AbsTransform(_Kind):
    domain: Any
    codomain: Any
class AffineTransform(Transform):
    bijective: _bool
    def __init__(self, loc: Tensor | Number, scale: Tensor | Number, event_dim: _int = ..., cache_size: _int = ...) -> None: ...
    @property
    def event_dim(self) -> Any: ...
    @property
    def domain(self) -> Any: ...
    @property
    def codomain(self) -> Any: ...
    def with_cache(self, cache_size: _int = ...) -> Any: ...
    @property
    def sign(self) -> Any: ...
    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any: ...
    def forward_shape(self, shape: Any) -> Any: ...
    def inverse_shape(self, shape: Any) -> Any: ...
    loc: Tensor | Number
    scale: Tensor | Number
class CumulativeDistributionTransform(Transform):
    bijective: _bool
    codomain: Any
    sign: _int
    def __init__(self, distribution: Distribution, cache_size: _int = ...) -> None: ...
    @property
    def domain(self) -> Any: ...
    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any: ...
    def with_cache(self, cache_size: _int = ...) -> Any: ...
    distribution: Distribution
class ExpTransform(_Kind):
    domain: Any
    codomain: Any
    bijective: _bool
    sign: _int
    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any: ...
class PowerTransform(Transform):
    domain: Any
    codomain: Any
    bijective: _bool
    def __init__(self, exponent: Tensor | _float, cache_size: _int = ...) -> None: ...
    def with_cache(self, cache_size: _int = ...) -> Any: ...
    sign: Any
    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any: ...
    def forward_shape(self, shape: Any) -> Any: ...
    def inverse_shape(self, shape: Any) -> Any: ...
    exponent: Any
class SigmoidTransform(_Kind):
    domain: Any
    codomain: Any
    bijective: _bool
    sign: _int
    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any: ...
class SoftplusTransform(_Kind):
    domain: Any
    codomain: Any
    bijective: _bool
    sign: _int
    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any: ...
class TanhTransform(_Kind):
    domain: Any
    codomain: Any
    bijective: _bool
    sign: _int
    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any: ...
def clipped_sigmoid(x: Any) -> Any: ...
