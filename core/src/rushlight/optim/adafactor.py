"""Adafactor."""

from __future__ import annotations

from rushlight.dtypes import finfo
from rushlight.ops.creation.tensors import zeros as new_zeros
from rushlight.optim.elementwise import FormulaOptimizer, moment, zeros
from rushlight.optim.options import check_single


class Adafactor(FormulaOptimizer):
    """Adaptive steps with second moments kept as a row and a column. (Shazeer and Stern, 2018.)

    The second moment of a matrix (of the last two dimensions) is estimated by the outer product of
    the running means over its rows and columns; steps are relative to the size of the parameter
    and clipped to a root mean square of `d`.
    """

    _takes_complex = False

    def __init__(
        self,
        params,
        lr=0.01,
        beta2_decay=-0.8,
        eps: tuple[float | None, float] = (None, 0.001),
        d=1.0,
        weight_decay=0.0,
        *,
        foreach=None,
        maximize=False,
    ):
        check_single("lr", lr)
        _check_signs(lr, beta2_decay, eps, weight_decay)
        if not d >= 1.0:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        super().__init__(params, {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay,
            "foreach": foreach, "maximize": maximize,
        })  # fmt: skip

    def _begin(self, state, parameter, group):
        shape = list(parameter.shape)
        if len(shape) < 2:
            state["variance"] = zeros(parameter)
            return
        like = {"dtype": parameter.dtype, "device": parameter.device}
        state["row_var"] = new_zeros([*shape[:-1], 1], **like)
        state["col_var"] = new_zeros([*shape[:-2], 1, shape[-1]], **like)

    def _formula(self, group, p, g, state, step):
        lr, (least, relative) = float(group["lr"]), group["eps"]
        least = finfo(p.dtype).eps if least is None else least
        beta2 = 1 - step ** group["beta2_decay"]
        size = max(relative, _root_mean_square(p)) * min(lr, 1 / step**0.5)
        p = p * (1 - lr * group["weight_decay"]) if group["weight_decay"] else p
        squares = g * g
        if p.dim() > 1:
            rows = moment(state["row_var"], squares.mean(-1, keepdim=True), beta2)
            columns = moment(state["col_var"], squares.mean(-2, keepdim=True), beta2)
            new = {"row_var": rows, "col_var": columns}
            estimate = (rows @ columns) / rows.mean(-2, keepdim=True).clamp(min=least)
        else:
            estimate = moment(state["variance"], squares, beta2)
            new = {"variance": estimate}
        update = estimate.clamp(min=least * least).rsqrt() * g
        clip = max(1.0, _root_mean_square(update) / group["d"])
        return p - update * (size / clip), new


def _root_mean_square(tensor):
    return tensor.norm(2).item() / tensor.numel() ** 0.5


def _check_signs(lr, beta2_decay, eps, weight_decay):
    if not lr >= 0.0:
        raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
    if not beta2_decay <= 0.0:
        raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
    for i, value in enumerate(eps, 1):
        if value is not None and not value >= 0.0:
            raise ValueError(f"epsilon{i} should be >= 0 but is: {value}")
    if not weight_decay >= 0.0:
        raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
