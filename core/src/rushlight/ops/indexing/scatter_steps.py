"""What writes at indices are in ATen, for programs that are captured."""

from __future__ import annotations

from rushlight.ops._table.aten import in_aten, name_in
from rushlight.tensor.tensor import Tensor

_HEAD = "(Tensor(a!) self, int dim, Tensor index, "
_SCATTERED = (
    f"scatter_.value{_HEAD}Scalar value) -> Tensor(a!)",
    f"scatter_.src{_HEAD}Tensor src) -> Tensor(a!)",
    f"scatter_.reduce{_HEAD}Tensor src, *, str reduce) -> Tensor(a!)",
    f"scatter_.value_reduce{_HEAD}Scalar value, *, str reduce) -> Tensor(a!)",
)


def _step(self, dim, index, src=None, value=None, *, reduce=None):
    """The overload of ATen that captured programs call."""
    src = src if value is None else value
    given = {"self": self, "dim": dim, "index": index}
    given["src" if isinstance(src, Tensor) else "value"] = src
    return name_in(_SCATTERED[0]), given if reduce is None else {**given, "reduce": reduce}


def captured_write(functional):
    """Declare a method that scatters in place; `functional` does the same by values."""

    def decorate(function):
        run = {name_in(_SCATTERED[0]): function}
        return in_aten(*_SCATTERED, call=_step, run=run, functional=functional)(function)

    return decorate
