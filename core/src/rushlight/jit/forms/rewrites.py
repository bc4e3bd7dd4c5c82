"""Calls of public functions in the terms of ATen, for archives, where a form in TorchScript will
not do: the arguments decide which operator it is."""

from __future__ import annotations

import inspect

from rushlight.jit import kinds, tensors, tree
from rushlight.jit.kinds import BOOL, FLOAT, INT, TENSOR
from rushlight.nn import functional as F  # noqa: N812 - the usual name

REWRITES: dict = {}
# Functions of nn.functional that ATen has with other arguments, and that have no form yet.
OTHERWISE = frozenset(["embedding_bag"])
_PAIR = kinds.Type("Tuple", TENSOR, TENSOR)
_TRIPLE = kinds.Type("Tuple", TENSOR, TENSOR, TENSOR)
# Functions that have one result or two; the operators of their names have two always.
_BY_INDICES = frozenset("adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d".split())
_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
_PADDINGS = {"zeros": 0, "border": 1, "reflection": 2}


def is_otherwise(name, function):
    """Whether a function of nn.functional has other arguments than the operator of its name."""
    known = getattr(F, name, None) is function or name == "embedding_bag"  # the op in it too
    return name in OTHERWISE and known


def _rewrite(function):
    REWRITES[function.__name__.lstrip("_")] = function
    return function


def rewritten(target, call):
    """The call of an operator for that of a public function; None where there is nothing to do."""
    function = REWRITES.get(target.script)
    if function is None:
        return None
    try:
        signature = inspect.signature(target.function())
        bound = signature.bind(*call.args, **call.kwargs).arguments
    except (TypeError, ValueError):
        return None
    if target.script in _BY_INDICES and "return_indices" not in signature.parameters:
        return None  # the operator itself
    found = function(bound)
    if found is None:
        return None
    name, args, *taken = found
    if not taken:
        return tree.Call(tensors.Aten(name), args, {}, type=call.type, at=call.at)
    index, kind = taken
    made = tree.Call(tensors.Aten(name), args, {}, type=kind, at=call.at)
    return tree.Item(made, index, type=call.type, at=call.at)


def _const(value, kind):
    return tree.Const(value, type=kind)


def _numbers(values):
    items = [_const(v, INT) for v in values]
    return tree.Sequence("list", items, type=kinds.list_of(INT))


def _listed(expr):
    """One number as a list of it, which stands for all dimensions."""
    if expr.type != INT:
        return expr
    return tree.Sequence("list", [expr], type=kinds.list_of(INT))


def _paired(expr):
    """One number as two, for height and width."""
    if expr.type != INT:
        return expr
    return tree.Sequence("list", [expr, expr], type=kinds.list_of(INT))


@_rewrite
def _stft(given):
    """``stft`` says whether it pads: the operator without `center` does not."""
    names = ("hop_length", "win_length", "window", "center", "pad_mode", "normalized", "onesided",
             "return_complex")  # fmt: skip
    none, false = tree.nothing(), _const(False, BOOL)
    usual = (none, none, none, _const(True, BOOL), _const("reflect", kinds.STR), false, none, none)
    rest = [given.get(n) or u for n, u in zip(names, usual, strict=True)]
    return "stft", [given["input"], given["n_fft"], *rest]


@_rewrite
def _norm(given):
    """``norm`` with dimensions names its order."""
    if "dim" not in given:
        return None
    order = given.get("p", _const(2.0, FLOAT))
    if order.type == kinds.STR:
        order = _const(2.0, FLOAT)
    keep = given.get("keepdim", _const(False, BOOL))
    return "norm", [given["input"], order, _listed(given["dim"]), keep]


@_rewrite
def _tensordot(given):
    """``tensordot`` over so many dimensions names them."""
    dims = given.get("dims", _const(2, INT))
    tensors_given = [given.get("a", given.get("input")), given.get("b", given.get("other"))]
    if isinstance(dims, tree.Const):
        count = dims.value
        first, second = _numbers(range(-count, 0)), _numbers(range(count))
    elif isinstance(dims, tree.Sequence) and len(dims.items) == 2:
        first, second = map(_listed, dims.items)
    else:
        return None
    return "tensordot", [*tensors_given, first, second]


@_rewrite
def _affine_grid(given):
    """``affine_grid`` has another name."""
    corners = given.get("align_corners", _const(False, BOOL))
    return "affine_grid_generator", [given["theta"], given["size"], _plain(corners)]


@_rewrite
def _grid_sample(given):
    """``grid_sample`` takes numbers for its modes."""
    mode = _MODES[getattr(given.get("mode"), "value", "bilinear")]
    padding = _PADDINGS[getattr(given.get("padding_mode"), "value", "zeros")]
    corners = _plain(given.get("align_corners", _const(False, BOOL)))
    args = [given["input"], given["grid"], _const(mode, INT), _const(padding, INT), corners]
    return "grid_sampler", args


@_rewrite
def _unfold(given):
    """``unfold`` of images: numbers stand for both dimensions."""
    if "kernel_size" not in given:
        return None  # the method of one dimension
    options = [given["kernel_size"]]
    for name, usual in (("dilation", 1), ("padding", 0), ("stride", 1)):
        options.append(given.get(name, _const(usual, INT)))
    return "im2col", [given["input"], *map(_paired, options)]


@_rewrite
def _fold(given):
    """``fold`` of images: numbers stand for both dimensions."""
    options = [given["output_size"], given["kernel_size"]]
    for name, usual in (("dilation", 1), ("padding", 0), ("stride", 1)):
        options.append(given.get(name, _const(usual, INT)))
    return "col2im", [given["input"], *map(_paired, options)]


def _max_pool(count):
    def call(given):
        options = [given["kernel_size"], given.get("stride"), given.get("padding")]
        options += [given.get("dilation"), given.get("ceil_mode")]
        usual = (None, _empty(), _const(0, INT), _const(1, INT), _const(False, BOOL))
        args = [u if _is_none(o) else o for o, u in zip(options, usual, strict=True)]
        indices = getattr(given.get("return_indices"), "value", False)
        name = f"max_pool{count}d" + ("_with_indices" if indices else "")
        return name, [given["input"], *args]

    call.__name__ = f"max_pool{count}d"
    return call


def _avg_pool(count):
    def call(given):
        names = ("stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")
        usual = (_empty(), _const(0, INT), _const(False, BOOL), _const(True, BOOL), None)
        pairs = zip(names[: 5 if count > 1 else 4], usual, strict=False)
        args = [u if _is_none(given.get(n)) else given[n] for n, u in pairs]
        args = [a for a in args if a is not None]
        return f"avg_pool{count}d", [given["input"], given["kernel_size"], *args]

    call.__name__ = f"avg_pool{count}d"
    return call


def _adaptive_max_pool(count):
    def call(given):
        args = [given["input"], given["output_size"]]
        name = f"adaptive_max_pool{count}d"
        if getattr(given.get("return_indices"), "value", False):
            return name, args
        return name, args, _const(0, INT), _PAIR

    call.__name__ = f"adaptive_max_pool{count}d"
    return call


def _with_indices(name):
    def call(given):
        return name, [*given.get("args", ()), *given.get("kwargs", {}).values()]

    call.__name__ = f"{name}_with_indices"
    return call


def _pools(*counts):
    for count in counts:
        _rewrite(_max_pool(count))
        _rewrite(_avg_pool(count))
        _rewrite(_adaptive_max_pool(count))
        _rewrite(_with_indices(f"adaptive_max_pool{count}d"))


_pools(1, 2, 3)


# ----------------------------------------------------------------------------- distinct elements
@_rewrite
def _unique(given):
    """``unique`` is one operator for elements and one for slices, with three results each."""
    usual = {"sorted": _const(True, BOOL), **_COUNTED}
    options = [given.get(name) or value for name, value in usual.items()]
    if _is_none(given.get("dim")):
        return _chosen("_unique2", [given["input"], *options], *options[1:])
    return _chosen("unique_dim", [given["input"], given["dim"], *options], *options[1:])


@_rewrite
def _unique_consecutive(given):
    """The operator has three results, whatever it is asked for."""
    options = [given.get(name) or value for name, value in _COUNTED.items()]
    dim = given.get("dim") or tree.nothing()
    return _chosen("unique_consecutive", [given["input"], *options, dim], *options)


_COUNTED = {"return_inverse": _const(False, BOOL), "return_counts": _const(False, BOOL)}


def _chosen(name, args, inverse, counts):
    """Of the values, the inverse and the counts those that are asked for; None where that is not
    known yet."""
    if not all(isinstance(option, tree.Const) for option in (inverse, counts)):
        return None
    if not inverse.value and not counts.value:
        return name, args, _const(0, INT), _TRIPLE
    if inverse.value and counts.value:
        return name, args
    stop, step = (_const(2, INT), None) if inverse.value else (None, _const(2, INT))
    return name, args, tree.Cut(None, stop, step), _TRIPLE


@_rewrite
def _lu(given):
    """``lu`` leaves out what the operator says of success, unless it is asked for."""
    pivot = given.get("pivot") or _const(True, BOOL)
    asked = given.get("get_infos") or _const(False, BOOL)
    if not isinstance(asked, tree.Const):
        return None
    args = [given["A"], pivot, _const(not asked.value, BOOL)]
    return (
        ("_lu_with_info", args)
        if asked.value
        else ("_lu_with_info", args, tree.Cut(None, _const(2, INT), None), _TRIPLE)
    )


def _is_none(expr):
    return expr is None or (isinstance(expr, tree.Const) and expr.value is None)


def _empty():
    return tree.Sequence("list", [], type=kinds.list_of(INT))


# What losses take before the number of their reduction, and behind it.
_LOSSES = {
    "multi_margin_loss": ("input target p margin weight", ""),
    "multilabel_margin_loss": ("input target", ""),
    "soft_margin_loss": ("input target", ""),
    "margin_ranking_loss": ("input1 input2 target margin", ""),
    "triplet_margin_loss": ("anchor positive negative margin p eps swap", ""),
    "cosine_embedding_loss": ("input1 input2 target margin", ""),
    "hinge_embedding_loss": ("input target margin", ""),
    "poisson_nll_loss": ("input target log_input full eps", ""),
    "ctc_loss": ("log_probs targets input_lengths target_lengths blank", "zero_infinity"),
}


def _loss(name, before, behind):
    def call(given):
        reduction = given.get("reduction", _const("mean", kinds.STR))
        number = {"none": 0, "mean": 1, "sum": 2}.get(getattr(reduction, "value", None))
        if number is None:
            return None
        defaults = inspect.signature(getattr(F, name)).parameters

        def value(label):
            default = defaults[label].default
            found = given.get(label) or _const(default, kinds.of_value(default))
            whole = label in ("p", "margin", "eps") and isinstance(found, tree.Const)
            return _const(float(found.value), FLOAT) if whole else found

        args = [*map(value, before.split()), _const(number, INT), *map(value, behind.split())]
        return name, args

    call.__name__ = name
    return call


def _losses(table):
    for name, (before, behind) in table.items():
        _rewrite(_loss(name, before, behind))


_losses(_LOSSES)


@_rewrite
def _rrelu(given):
    """``rrelu`` without its ``inplace``."""
    usual = (_const(1 / 8, FLOAT), _const(1 / 3, FLOAT), _const(False, BOOL))
    names = ("lower", "upper", "training")
    pairs = zip(names, usual, strict=True)
    return "rrelu", [given["input"], *(given.get(n) or u for n, u in pairs)]


@_rewrite
def _constant_pad(given):
    """The op of constant padding."""
    return "constant_pad_nd", [given["input"], given["pad"], given["value"]]


def _plain(expr):
    missing = isinstance(expr, tree.Const) and expr.value is None
    return _const(False, BOOL) if missing else expr
