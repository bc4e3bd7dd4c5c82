"""What PyTorch has and Rushlight has not: names that refuse when they are used, with advice.

Importing such a module, and taking a name from it, works, so that ``import torch.package`` or
``from torch.ao.quantization import QConfig`` at the head of a program does no
harm to runs that never come to use it. *Using* the name - calling it, taking an attribute of it,
deriving a class from it - raises NotImplementedError with the name and what to use instead.
``isinstance(x, name)`` is False: no object is of a kind that does not exist here.

Consequence for programs that probe: ``hasattr(torch, "compile")`` is True, as in PyTorch 2.13, and
the call refuses. Probes that ask (``is_available()``, ``is_initialized()``) get a truthful no.
"""

from __future__ import annotations

import importlib
import sys
import types
import typing
from collections.abc import Callable
from importlib.machinery import ModuleSpec

_PLAIN_LOOP = "run the model in one process; several batches a step give the same large batch"
_EAGER = "call the model itself; elementwise chains are already compiled at first use"
_FUNCTIONAL = "use rushlight.autograd.functional (jvp, vjp, jacobian, hessian, hvp, vhp)"

_MODES = "use overrides.TorchFunctionMode, or a subclass with __torch_function__"
_BYTES = (
    "use nn.int8.quantize_int8(model, dynamic=True) for layers of bytes, or bfloat16 or float16 "
    "tensors"
)
_SCALES = "use integers and a scale of your own"
_FLAT = "use rushlight.autograd.Function on the tensors of the nested arguments (tree_flatten)"

# The longest entry that is a name or a prefix of it counts. A value that ends in "..." or starts
# a module is looked up with find_advice.
ADVICE = {
    "jit": "use jit.script, jit.trace, jit.load, jit.save and jit.freeze",
    "onnx": "use rushlight.onnx.export and what it gives",
    "fx": "use fx.symbolic_trace, fx.Interpreter and the passes that are there",
    "fx.experimental.proxy_tensor": "use make_fx, or fx.symbolic_trace",
    "fx.experimental.symbolic_shapes": "sizes are Python's numbers here",
    "compiler.load_compiled_function": "use export.save and export.load, whose module() "
    "computes the same, and compiler.load_cache_artifacts for its kernels",
    "export": "use export.export, whose program runs by ExportedProgram.module()",
    "distributed": "use the collectives that are there, or one process: " + _PLAIN_LOOP,
    "distributed.checkpoint": "use distributed.checkpoint.save and load on state dicts",
    "distributed.fsdp": "use distributed.fsdp.fully_shard, or nn.parallel.DistributedDataParallel",
    "distributed.tensor": "use distribute_tensor, and full_tensor() or to_local() of the result",
    "distributed.rpc": "use distributed.send and recv, or objects in collectives",
    "sparse": "use the functions of rushlight.sparse that are there, or to_dense()",
    "nested": "use the functions of rushlight.nested that are there",
    "quantization": _BYTES,
    "ao": _BYTES,
    "quantize_per_tensor": "use bfloat16 or float16 tensors",
    "qint8": "use int8 and a scale of your own",
    "quint8": "use uint8 and a scale of your own",
    "qint32": "use int32 and a scale of your own",
    "quint4x2": "use uint8 and a scale of your own",
    "quint2x4": "use uint8 and a scale of your own",
    "per_tensor_affine": _SCALES,
    "per_tensor_symmetric": _SCALES,
    "per_channel_affine": _SCALES,
    "per_channel_symmetric": _SCALES,
    "per_channel_affine_float_qparams": _SCALES,
    "classes": "write the class in Python",
    "PyTorchFileReader": "use rushlight.load, or zipfile for single records",
    "embedding_bag": "use nn.functional.embedding_bag, whose arguments are input, weight, offsets",
    "embedding_renorm_": "use nn.functional.embedding with max_norm",
    "saddmm": "use sparse.addmm",
    "dsmm": "use mm",
    "hsmm": "use mm, and to_sparse on the result",
    "resize_as_sparse_": "use sparse_coo_tensor with the new size",
    "quantize_per_channel": "use bfloat16 or float16 tensors",
    "quantize_per_tensor_dynamic": "use bfloat16 or float16 tensors",
    "dequantize": "use bfloat16 or float16 tensors",
    "sym_fresh_size": "sizes are Python's numbers here",
    "float4_e2m1fn_x2": "use bfloat16 or float16",
    "package": "use rushlight.save and rushlight.load",
    "utils.cpp_extension": "write the operation in Python, with rushlight.autograd.Function for "
    "its gradient; there is no C++ interface",
    "utils._python_dispatch": "use TorchDispatchMode, _disable_current_modes, transform_subclass",
    "utils._mode_utils": "use no_dispatch",
    "utils.bottleneck": "use rushlight.profiler.where_does_my_step_go",
    "utils.mobile_optimizer": "use the model itself",
    "autograd.NestedIOFunction": _FLAT,
    "autograd.function.NestedIOFunction": _FLAT,
    "autograd.function.custom_function_call": "use Function.apply, which transforms see, too",
    "autograd.graph.region_activation_memory_budget": "use rushlight.utils.checkpoint on the part "
    "of the model whose activations are too large",
    "autograd.graph.set_override_stale_capture_stream": "capture backward passes on the stream of "
    "their forward",
    "autograd.gradcheck": "use rushlight.autograd.gradcheck, or functional.jacobian",
    "library.CustomOpDef.register_torch_dispatch": _MODES,
    "library.register_torch_dispatch": _MODES,
    "library.CustomOpDef.register_effect": "call the operator: calls keep their order",
    "library.wrap_triton": "write the kernel with Numba, or as CUDA C++ through CuPy",
    "library.capture_triton": "write the kernel with Numba, or as CUDA C++ through CuPy",
    "library.fallthrough_kernel": "leave the key without a kernel",
    "library.Library.fallback": "use overrides.TorchFunctionMode",
    "utils.checkpoint.GraphExecGroup": "use several checkpoints, each with a backward of its own",
    "utils.checkpoint.SAC_IGNORED_OPS": "name the ops in create_selective_checkpoint_contexts; "
    "none is left out of its policy",
    "_dynamo": _EAGER,
    "_inductor": _EAGER,
    "_export": "use rushlight.export, whose programs are saved as .pt2 files",
    "_functorch": _FUNCTIONAL,
    "_higher_order_ops": "use rushlight.cond and while_loop, or write the loop in Python",
    "_logging": "use the logging module",
    "_subclasses": "build tensors with device='meta'",
    "_prims": "use the public functions",
    "_refs": "use the public functions",
    "nn.intrinsic": "use the plain layers",
    "nn.quantized": "use the plain layers in bfloat16",
    "nn.qat": "use the plain layers",
    "nn.attention.flex_attention": "use nn.functional.scaled_dot_product_attention with a mask",
    "multiprocessing.queue": "use rushlight.multiprocessing.Queue",
    "utils.data": "derive from Dataset or IterableDataset, and chain steps as generators",
    "cuda": "compute on the CPU; guard GPU code with rushlight.cuda.is_available()",
    "xpu": "compute on the CPU; guard with rushlight.xpu.is_available()",
    "mps": "compute on the CPU; guard with rushlight.backends.mps.is_available()",
    "backends": "compute on the CPU with float32 matrices",
    "_C": "use the public functions",
    "utils.benchmark": "print the Measurements of Timer.blocked_autorange() one by one",
}

# Modules that may be imported although nothing in them exists; their submodules too.
ABSENT = frozenset(
    "ao "
    "fx.passes.backends "
    "nn.attention.flex_attention nn.intrinsic nn.qat nn.quantized package "
    "quantization utils.bottleneck utils.cpp_extension "
    "utils.mobile_optimizer _export _functorch "
    "_logging _prims _refs _subclasses jit._recursive jit._script "
    "onnx.symbolic_helper onnx.symbolic_opset9 onnx.utils onnx.operators "
    "distributed._shard distributed._tensor distributed.checkpoint.hf_storage "
    "distributed.algorithms.model_averaging distributed.pipelining distributed.rpc "
    "distributed.utils distributed.launcher".split()
)

# Functions and classes of the top level that exist only in order to refuse.
NAMES = frozenset(
    "quantize_per_tensor qint8 quint8 qint32 quint4x2 quint2x4 "
    "per_tensor_affine per_tensor_symmetric per_channel_affine per_channel_symmetric "
    "per_channel_affine_float_qparams "
    "classes embedding_bag embedding_renorm_ saddmm dsmm hsmm resize_as_sparse_ "
    "quantize_per_channel "
    "quantize_per_tensor_dynamic dequantize sym_fresh_size "
    "float4_e2m1fn_x2 PyTorchFileReader".split()
)


def advice_for(name: str) -> str:
    """What to use instead of ``rushlight.<name>``: the entry of its longest known prefix."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        found = ADVICE.get(".".join(parts[:end]))
        if found is not None:
            return found
    return "see the list of supported names in the documentation"


def refusal(name: str) -> NotImplementedError:
    """The error for a use of ``rushlight.<name>``."""
    return NotImplementedError(f"rushlight.{name} is not available. Instead: {advice_for(name)}.")


class RefusedAttribute(NotImplementedError, AttributeError):
    """The error for an attribute of what does not exist: `hasattr` answers False."""


class Refused:
    """Stands for a function, class or value that does not exist; every use of it raises."""

    def __init__(self, name: str):
        self.__dict__["_name"] = name
        self.__dict__["__name__"] = self.__dict__["__qualname__"] = name.rpartition(".")[2]
        self.__dict__["__doc__"] = f"Not available. Instead: {advice_for(name)}."

    def _refuse(self, *args, **kwargs):
        raise refusal(self._name)

    __call__ = __setattr__ = __getitem__ = __iter__ = __len__ = _refuse
    __enter__ = __exit__ = __mro_entries__ = __bool__ = _refuse

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(f"'{self._name}' has no attribute '{name}'")
        raise RefusedAttribute(*refusal(f"{self._name}.{name}").args)

    def __instancecheck__(self, instance):
        return False

    def __subclasscheck__(self, subclass):
        return False

    def __or__(self, other):  # in annotations: ``Tensor | fx.Node``
        return typing.Union[self, other]  # noqa: UP007 - the operands are not classes

    __ror__ = __or__

    def __repr__(self):
        return f"<rushlight.{self._name}: not available>"


class AbsentModule(types.ModuleType):
    """A module all of whose public names refuse."""

    __path__: list[str] = []  # so that its submodules can be imported

    def __getattr__(self, name):
        return lookup(self.__name__.removeprefix("rushlight."), name)


def lookup(module: str, name: str):
    """A :class:`Refused` for a name of a module; AttributeError for the interpreter's own names."""
    if name.startswith("__"):
        raise AttributeError(f"module 'rushlight.{module}' has no attribute '{name}'")
    return Refused(f"{module}.{name}")


def unavailable(
    path: str, needs: str, guard: str, error: type[Exception] = RuntimeError
) -> Callable:
    """The function ``rushlight.<path>`` of a device that is not there: it raises `error` and says
    what to `guard` and how."""

    def call(*args, **kwargs):
        raise error(f"rushlight.{path}: this version computes on the CPU only; guard {guard}")

    call.__name__ = call.__qualname__ = path.rpartition(".")[2]
    call.__doc__ = f"Needs {needs}; raises {error.__name__} in this version."
    return call


def rest_of(module: str, parts: str = "") -> Callable:
    """A module-level ``__getattr__`` for a module of which only a part exists; `parts` names the
    modules in it that are imported when they are asked for."""
    short, there = module.removeprefix("rushlight."), parts.split()

    def __getattr__(name):  # noqa: N807 - it becomes the module's
        if name in there:
            return importlib.import_module(f"{module}.{name}")
        return lookup(short, name)

    return __getattr__


def some_of(module: str, names: str):
    """A module-level ``__getattr__`` for a module that lacks only these names."""
    short, refused = module.removeprefix("rushlight."), names.split()

    def __getattr__(name):  # noqa: N807 - it becomes the module's
        if name in refused:
            return lookup(short, name)
        raise AttributeError(f"module '{module}' has no attribute '{name}'")

    return __getattr__


def is_absent(name: str) -> bool:
    """Whether ``rushlight.<name>`` is a module without anything in it."""
    parts = name.split(".")
    return any(".".join(parts[:end]) in ABSENT for end in range(1, len(parts) + 1))


class Finder:
    """Finds absent modules for ``import``; asked after every other finder."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """The specification of an absent module, or None for every other name."""
        package, _, rest = name.partition(".")
        if package != "rushlight" or not rest or not is_absent(rest):
            return None
        return ModuleSpec(name, Finder, is_package=True)

    @staticmethod
    def create_module(spec):
        """An empty module whose names refuse."""
        rest = spec.name.removeprefix("rushlight.")
        return AbsentModule(spec.name, f"Not available. Instead: {advice_for(rest)}.")

    @staticmethod
    def exec_module(module):
        """Nothing is left to do: the module's names are made when asked for."""


def install() -> None:
    """Let ``import`` find absent modules."""
    if Finder not in sys.meta_path:
        sys.meta_path.append(Finder)
