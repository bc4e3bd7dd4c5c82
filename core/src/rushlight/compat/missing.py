"""What is raised where a program asks for something that Rushlight does not have."""

from __future__ import annotations

from rushlight.compat.paths import DISTRIBUTIONS, PACKAGES, is_available

# The longest prefix that fits is quoted; it says what to do instead.
ADVICE = {
    "torch.compile": "kernels are compiled as they are used; leave the call out",
    "torch.compiler": "kernels are compiled as they are used; leave the call out",
    "torch._dynamo": "there is no graph compiler to configure; leave the call out",
    "torch._inductor": "there is no graph compiler to configure; leave the call out",
    "torch.fx": "models run eagerly; use module hooks, or `nn.Module.named_modules()`, to inspect "
    "or change them",
    "torch.jit": "keep the module as it is, and store its `state_dict()`",
    "torch.export": "keep the module as it is, and store its `state_dict()`",
    "torch.onnx": "store the `state_dict()` with `torch.save`; export it where PyTorch is installed",
    "torch.distributed": "train in one process",
    "torch.nn.parallel.DistributedDataParallel": "train in one process, without the wrapper",
    "torch.multiprocessing": "use Python's `multiprocessing`, passing NumPy arrays",
    "torch.utils.cpp_extension": "write the function with tensor operations, or as an "
    "`autograd.Function` over NumPy",
    "torch.quantization": "use floating point",
    "torch.ao": "use floating point",
    "torch.sparse": "use dense tensors",
    "torch.hub": "build the model and load its `state_dict` with `torch.load`",
    "torch.utils.model_zoo": "build the model and load its `state_dict` with `torch.load`",
    "torch.cuda.amp": "leave mixed precision out",
    "torch.amp": "leave mixed precision out",
    "torch.autocast": "leave mixed precision out",
    "torch.autograd.Variable": "use the tensor itself",
    "torch.autograd.profiler": "use Python's `cProfile`",
    "torch.profiler": "use Python's `cProfile`",
    "torch.utils.tensorboard": "write a CSV file, or use the `tensorboardX` package",
    "torch._C": "it is PyTorch's private C++ module; use the public function",
    "torch.ops": "it is PyTorch's private operator table; use the public function",
    "torch.mps": "use the device 'cpu'",
    "torch.xpu": "use the device 'cpu'",
    "lightning.fabric": "use the Trainer, or a loop of your own",
}


class MissingModule(ModuleNotFoundError, NotImplementedError):
    """An imported module or name that Rushlight does not have; it is named in the message."""


class MissingName(AttributeError, NotImplementedError):
    """An attribute of a module that Rushlight does not have; it is named in the message."""


def advice(name: str) -> str:
    """What to do instead of using `name`, or an empty string."""
    parts = name.split(".")
    for count in range(len(parts), 1, -1):
        found = ADVICE.get(".".join(parts[:count]))
        if found is not None:
            return found
    return ""


def describe(name: str) -> str:
    """The sentence that says that `name` is missing, and what to do."""
    top = name.partition(".")[0]
    if not is_available(top):
        return (
            f"{name} needs Rushlight's {DISTRIBUTIONS[top]} package ({PACKAGES[top]}), "
            "which is not installed"
        )
    hint = advice(name)
    return f"{name} is not available in Rushlight" + (f"; {hint}" if hint else "")
