"""Types as they are written in stubs: of annotations, of ATen's schemas, of names and defaults."""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing

# What ATen's schemas call types.
ATEN = {
    "Tensor": "Tensor", "Scalar": "Number", "number": "Number", "int": "int", "SymInt": "int",
    "float": "float", "bool": "bool", "str": "str", "ScalarType": "dtype", "Layout": "layout",
    "Device": "DeviceLike", "Generator": "Generator", "MemoryFormat": "memory_format",
    "Dimname": "str", "Storage": "Any", "Stream": "Any", "complex": "complex", "QScheme": "Any",
}  # fmt: skip

# What arguments of these names are everywhere; those of layers first.
_INTS = """in_features out_features in_channels out_channels num_embeddings embedding_dim num_heads
embed_dim hidden_size input_size num_layers groups num_features num_groups d_model nhead
dim_feedforward num_classes upscale_factor downscale_factor dim dim0 dim1 start_dim end_dim
batch_size num_workers num_parameters num_encoder_layers num_decoder_layers n_classes
proj_size in1_features in2_features lower upper step_size total_iters num_samples diagonal k
history_size max_iter padding_idx blank ignore_index T_max T_0 T_mult warmup_steps hop_length
win_length n_fft storage_offset dense_dim""".split()
_FLOATS = """p eps momentum lr weight_decay dampening alpha beta gamma lambd threshold
negative_slope init_scale label_smoothing dropout max_norm norm_type margin rho growth_factor
backoff_factor lr_decay initial_accumulator_value t0 eta_min factor start_factor end_factor
base_lr max_lr pct_start div_factor final_div_factor std mean gain temperature delta
low_clamp tolerance tolerance_change tolerance_grad min_val max_val slope a b""".split()
_SIZES = """kernel_size stride dilation output_padding output_size normalized_shape
upscale_sizes""".split()
_BOOLS = """bias inplace keepdim bidirectional batch_first affine track_running_stats ceil_mode
count_include_pad return_indices nesterov maximize capturable differentiable amsgrad centered
elementwise_affine add_bias_kv add_zero_attn norm_first training requires_grad pin_memory sparse
scale_grad_by_freq align_corners antialias drop_last shuffle persistent_workers enabled
full log_input swap strict copy_model non_blocking zero_infinity validate_args foreach train
size_average has_biases""".split()
_TENSORS = """input target weight other query key value src tgt grad_output running_mean
running_var input1 input2 x1 x2 anchor positive negative attn_mask key_padding_mask src_mask
tgt_mask memory memory_mask tgt_key_padding_mask src_key_padding_mask offsets
per_sample_weights indices mask tensor tensor1 tensor2 var log_probs targets input_lengths
target_lengths theta grid pos_weight mat1 mat2 in_proj_weight in_proj_bias out_proj_weight
out_proj_bias w_ih w_hh b_ih b_hh""".split()
# What arguments of constructors are.
_OF_CLASSES = {
    "reduce": "bool", "fused": "bool",
    **dict.fromkeys("scale low high df df1 df2".split(), "Tensor | Number"),  # of distributions
}  # fmt: skip
# Tensors that functions of layers take None for, in the middle of their arguments.
_OPTIONAL = frozenset(("running_mean", "running_var"))
NAMED = {
    **dict.fromkeys(_INTS, "int"), **dict.fromkeys(_FLOATS, "float"),
    **dict.fromkeys(_SIZES, "int | Sequence[int]"), **dict.fromkeys(_BOOLS, "bool"),
    **dict.fromkeys(_TENSORS, "Tensor"),
    "dtype": "dtype", "device": "DeviceLike", "generator": "Generator", "layout": "layout",
    "memory_format": "memory_format", "out": "Tensor", "reduction": "str", "mode": "str",
    "padding_mode": "str", "padding": "int | str | Sequence[int]", "nonlinearity": "str",
    "module": "Module", "modules": "Iterable[Module]", "params": "ParamsT",
    "betas": "tuple[float, float]", "optimizer": "Optimizer", "name": "str",
    "size": "int | Sequence[int]", "scale_factor": "float | Sequence[float]",
    "correction": "Number",
    **dict.fromkeys("start end step".split(), "Number | Tensor"),
    **dict.fromkeys("logits probs loc concentration rate".split(), "Tensor | Number"),
    "tensors": "Sequence[Tensor]", "parameters": "Tensor | Iterable[Tensor]",
}  # fmt: skip


def aten(argument) -> str:
    """The type of an argument of a schema."""
    base = ATEN.get(argument.type, "Any")
    shape = argument.shape
    listed = "[" in shape
    if listed:
        inner = f"{base} | None" if shape.startswith("?[") else base
        sized = any(c.isdigit() for c in shape)
        base = f"Sequence[{inner}]"
        if argument.type == "Tensor":
            base += " | Tensor"  # whose rows are taken
        if argument.type != "Tensor" and (sized or argument.name in ("dim", "size", "shape")):
            base = f"{ATEN.get(argument.type, 'Any')} | {base}"
    return f"{base} | None" if shape.endswith("?") else base


def returned(types_: tuple[str, ...]) -> str:
    """What a schema returns."""
    found = []
    for text in types_:
        bare = text.partition("(")[0] + text.partition(")")[2] if "(" in text else text
        listed, bare = "[]" in bare, bare.replace("[]", "").replace("?", "").split(" ")[0]
        kind = ATEN.get(bare, "Any")
        found.append(f"tuple[{kind}, ...]" if listed else kind)
    if not found:
        return "None"
    return found[0] if len(found) == 1 else f"tuple[{', '.join(found)}]"


def by_name(name: str, default, of_tensors: bool = True) -> str:
    """The type of a parameter without annotation; `of_tensors`: of a function of tensors, not one
    of modules or optimizers, where a target is a name."""
    none = " | None" if default is None or name in _OPTIONAL else ""
    known = NAMED.get(name)
    if name == "bias" and of_tensors and not isinstance(default, bool):
        return "Tensor | None"
    if known == "Tensor" and (not of_tensors or (name == "value" and default is None)):
        known = None
    if known is None and not of_tensors:
        known = _OF_CLASSES.get(name)
    if known is not None and not (known == "Tensor" and isinstance(default, (bool, int, str))):
        if isinstance(default, bool) or known == "bool":
            return "bool" + none
        if known == "int" and isinstance(default, float):
            return "float"
        if known in ("float", "int") and isinstance(default, (tuple, list, str)):
            return "Any"
        return known + none
    if isinstance(default, bool):
        return "bool"
    if isinstance(default, int):
        return "int"
    if isinstance(default, float):
        return "float"
    return "str" if isinstance(default, str) else "Any"


def variables_of(cls: type) -> tuple[typing.TypeVar, ...]:
    """The type variables of a generic class."""
    found = getattr(cls, "__parameters__", ())
    return found if isinstance(found, tuple) else ()


class Written:
    """Annotations as text, and what a stub has to import for them."""

    def __init__(self):
        self.imports: set[tuple[str, str]] = set()
        self.named: dict[str, tuple] = {}  # results with names: class -> fields
        self.variables: dict[str, typing.TypeVar] = {}  # of the generic classes of the module

    def text(self, hint) -> str:
        """A type as it is written; Any for what cannot be."""
        if hint is None or hint is type(None):
            return "None"
        if hint is typing.Any or hint is inspect.Parameter.empty or hint is ...:
            return "..." if hint is ... else "Any"
        if hint is typing.NoReturn:
            return "NoReturn"
        if isinstance(hint, typing.TypeVar) and hint.__constraints__:
            return " | ".join(map(self.text, hint.__constraints__))
        if isinstance(hint, typing.TypeVar):
            return hint.__name__ if hint.__name__ in self.variables else "Any"
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin in (typing.Union, types.UnionType):
            return " | ".join(dict.fromkeys(self.text(a) for a in arguments))
        if origin is typing.Literal:
            return f"Literal[{', '.join(map(repr, arguments))}]"
        if origin is collections.abc.Callable:
            return self._callable(arguments)
        if origin is not None:
            return self._generic(origin, arguments)
        return self._class(hint)

    def _callable(self, arguments) -> str:
        if not arguments:
            return "Callable[..., Any]"
        given, result = arguments
        if given is ...:
            return f"Callable[..., {self.text(result)}]"
        return f"Callable[[{', '.join(map(self.text, given))}], {self.text(result)}]"

    def _generic(self, origin, arguments) -> str:
        base = origin.__name__ if origin.__name__ in _BARE else self._class(origin, True)
        if base == "Any":
            return "Any"
        base = base.partition("[")[0]  # some are written with their usual argument
        return f"{base}[{', '.join(map(self.text, arguments))}]" if arguments else base

    def _class(self, hint, generic=False) -> str:
        if not isinstance(hint, type):
            return "Any"
        module, name = hint.__module__, hint.__qualname__
        if hint is types.ModuleType:  # which calls itself builtins.module
            module, name = "types", "ModuleType"
        if "." in name or "<" in name:
            return self._of_others(module, name)
        if module == "builtins":
            return _BARE.get(name, name)
        if hint is typing.Generic:
            return "Generic"
        if module in ("collections.abc", "typing"):
            if name == "Callable" and not generic:
                return "Callable[..., Any]"
            if name in ("Iterable", "Iterator", "Sequence") and not generic:
                return f"{name}[Any]"
            return name if name in TYPING else "Any"
        if name in getattr(hint, "__type_params__", ()):
            return "Any"
        if module.startswith("rushlight") or (module, name) in _FOREIGN:
            self.imports.add((module, name))
            count = 0 if generic else len(variables_of(hint))
            named = f"{name}[{', '.join(['Any'] * count)}]" if count else name
            return _FOREIGN.get((module, name), named)
        return self._of_others(module, name)

    def _of_others(self, module, name) -> str:
        """A class of another library, which stubs do not import."""
        return "Any"


_BARE = {
    "dict": "dict[Any, Any]", "list": "list[Any]", "tuple": "tuple[Any, ...]", "set": "set[Any]",
    "frozenset": "frozenset[Any]", "type": "type[Any]",
}  # fmt: skip
# Classes of Python's library that stubs import, and how they are written.
_FOREIGN = {
    ("os", "PathLike"): "PathLike[str]", ("pathlib", "Path"): "Path",
    ("datetime", "timedelta"): "timedelta", ("types", "ModuleType"): "ModuleType",
    ("concurrent.futures._base", "Future"): "Future",
}  # fmt: skip
TYPING = frozenset(
    "Any BinaryIO Callable Collection IO Iterable Iterator Mapping Sequence Generator Hashable "
    "Literal NamedTuple Self MutableMapping NoReturn Sized TextIO".split()
)
