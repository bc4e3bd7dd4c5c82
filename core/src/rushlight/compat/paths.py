"""Where the modules of PyTorch's packages are found here: ``torch.x.y`` -> ``rushlight.x.y``."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
from functools import cache

from rushlight import directory, refusals

PACKAGES = {
    "torch": "rushlight",
    "torchvision": "rushlight_vision",
    "torchaudio": "rushlight_audio",
    "torchtext": "rushlight_text",
    "lightning": "lightning_lite",
    "pytorch_lightning": "lightning_lite",
    "lightning_fabric": "lightning_lite.fabric",
}
# Packages that are written in Python over PyTorch, so that an installed one runs on Rushlight too:
# they are answered for only where they are absent.
GIVES_WAY = frozenset({"lightning", "pytorch_lightning", "lightning_fabric"})
# What to install for each.
DISTRIBUTIONS = {
    "torch": "rushlight",
    "torchvision": "rushlight-vision",
    "torchaudio": "rushlight-audio",
    "torchtext": "rushlight-text",
    "lightning": "rushlight-lightning-lite",
    "pytorch_lightning": "rushlight-lightning-lite",
    "lightning_fabric": "rushlight-lightning-lite",
}
# Modules whose names differ. Inner paths of PyTorch that programs import from are here too.
OTHER_NAMES = {
    "torch.version": "rushlight.compat.version",
    "torch.torch_version": "rushlight.compat.version",
    "torch.functional": "rushlight",
    "torch.fx._utils": "rushlight.fx.graph_text",
    "torch.ops": "rushlight.library.namespaces",
    "torch._tensor": "rushlight.tensor.tensor",
    "torch.amp.autocast_mode": "rushlight.amp.mode",
    "torch.autograd.grad_mode": "rushlight.autograd.mode",
    "torch.autograd.anomaly_mode": "rushlight.autograd.anomaly",
    "torch.distributed.tensor._utils": "rushlight.distributed.tensor.local_shapes",
    "torch.nn.parallel.distributed": "rushlight.nn.parallel",
    "torch.optim.adamw": "rushlight.optim.adam",
    "torch.nn.utils._named_member_accessor": "rushlight.nn.utils.member_access",
    "torch.nn.utils.weight_norm": "rushlight.nn.utils.weight_normalization",
    "torch.nn.utils.spectral_norm": "rushlight.nn.utils.spectral_normalization",
    "torch.utils.data._utils": "rushlight.utils.data._utils",
}
# Private modules of PyTorch that programs import from and whose names are here as they are there.
# Private files of other names hold other contents here.
PRIVATE_NAMES = frozenset(
    (
        "torch._C._functorch",
        "torch._C._nvtx",
        "torch._dynamo._trace_wrapped_higher_order_op",
        "torch.distributed._composable",
        "torch.distributed._functional_collectives",
        "torch.distributed.algorithms._checkpoint",
        "torch.export._draft_export",
        "torch.fx._compatibility",
        "torch.fx._pytree",
        "torch.fx._symbolic_trace",
        "torch.jit._state",
        "torch.masked._ops",
        "torch.testing._comparison",
        "torch.testing._internal",
        "torch.utils._contextlib",
        "torch.utils._device",
        "torch.utils._foreach_utils",
        "torch.utils._mode_utils",
        "torch.utils._python_dispatch",
        "torch.utils._pytree",
        "torchvision.models._api",
        "torchvision.models._meta",
        "torchvision.models._utils",
        "torchvision.models.detection._utils",
        "torchvision.models.optical_flow._utils",
        "torchvision.models.segmentation._utils",
        "torchvision.ops._utils",
        "torchvision.transforms._functional_video",
        "torchvision.transforms._presets",
        "torchvision.transforms._transforms_video",
    )
)
# Rushlight's own names that mean nothing, or something else, in PyTorch: modules, then values.
OWN_MODULES = frozenset(
    "torch." + name
    for name in (
        "compat devices directory dtypes errors extend inspection kernels legacy_types "
        "refusals settings tensor"
    ).split()
)
OWN_VALUES = frozenset(
    "torch.compiler." + name
    for name in "Expr Kernel ReferenceKernel compile is_traced reference xp".split()
)


def is_available(top: str) -> bool:
    """Whether the package behind a top-level name such as ``torchvision`` is installed."""
    return _exists(PACKAGES[top])


@cache
def _found(name: str) -> bool:
    try:
        # Some modules are made when the package they are in is imported, and have no spec.
        return importlib.util.find_spec(name) is not None or name in sys.modules
    except (ModuleNotFoundError, ValueError):
        return False


def _exists(name: str) -> bool:
    return name in sys.modules or _found(name)


def _is_public(name: str) -> bool:
    """Whether a private-looking name of PyTorch's is answered here on purpose."""
    top, _, rest = name.partition(".")
    if name in PRIVATE_NAMES:
        return True
    return top == "torch" and (rest in directory.PARTS or refusals.is_absent(rest))


def declared(top: str, table: str) -> dict[str, str]:
    """A table that the package behind a top-level name keeps in its `import_names`: `OTHER_NAMES`
    (full name: module here) or `ADVICE` (full name: what to use instead)."""
    if top not in GIVES_WAY or not is_available(top):
        return {}
    home = f"{PACKAGES[top].partition('.')[0]}.import_names"
    return getattr(importlib.import_module(home), table) if _exists(home) else {}


def other_name(name: str) -> str | None:
    """The module for a name that differs here; None for names that are the same."""
    found = OTHER_NAMES.get(name)
    return found or declared(name.partition(".")[0], "OTHER_NAMES").get(name)


@cache
def gives_way(top: str) -> bool:
    """Whether the real package of a top-level name is installed and is imported instead."""
    found = importlib.machinery.PathFinder.find_spec(top) if top in GIVES_WAY else None
    return found is not None and found.origin is not None  # a mere folder of that name has none


def module_behind(name: str) -> str | None:
    """The module that ``torch.x.y`` stands for, or None where there is none."""
    other = other_name(name)
    if other is not None:
        return other if is_available(name.partition(".")[0]) else None
    if name in OWN_MODULES:
        return None
    parent, _, last = name.rpartition(".")
    if not parent:
        return PACKAGES[name] if name in PACKAGES and is_available(name) else None
    home = module_behind(parent)
    if home is None or (last.startswith("_") and not _is_public(name)):
        return None
    if not _exists(f"{home}.{last}"):
        return None
    return f"{home}.{last}"
