"""What a builder's network is and computes, measured the same way by torchvision, which writes it
down, and by Rushlight, which must measure the same."""

from __future__ import annotations

import hashlib
import inspect
import warnings
import zlib
from typing import Any

import numpy as np

CLASSES = 10
SEED = 5

# Sides of images where 64 pixels do not do: the second classifier of Inception v3 wants 299, and
# MaxViT is built for one size.
SIDES = {"inception_v3": 299, "inception_v3-plain": 96, "maxvit_t": 224, "vit_h_14": 56}

# Networks with other arguments than a builder's defaults, by a name of their own.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "densenet121-saving": ("densenet121", {"memory_efficient": True, "drop_rate": 0.3}),
    "googlenet-plain": (
        "googlenet",
        {"init_weights": False, "aux_logits": False, "transform_input": True, "dropout": 0.5},
    ),
    "inception_v3-plain": (
        "inception_v3",
        {"init_weights": False, "aux_logits": False, "transform_input": True},
    ),
    "mobilenet_v2-narrow": ("mobilenet_v2", {"width_mult": 0.35, "dropout": 0.5}),
    "mobilenet_v3_large-dilated": (
        "mobilenet_v3_large",
        {"dilated": True, "reduced_tail": True, "width_mult": 0.75},
    ),
    "resnet50-dilated": (
        "resnet50",
        {"replace_stride_with_dilation": [False, True, True], "zero_init_residual": True},
    ),
    "swin_t-wide": ("swin_t", {"attention_dropout": 0.2, "dropout": 0.1, "mlp_ratio": 2.0}),
    "vit_b_32-represented": (
        "vit_b_32",
        {"representation_size": 48, "dropout": 0.1, "attention_dropout": 0.1},
    ),
}

# How far results may be apart, by how they were computed; the largest value is 1.
TOLERANCES = {
    "init": 3e-6, "train": 1e-8, "grad": 1e-7, "eval": 1e-8, "single": 1e-5, "part": 1e-6,
    "flow": 1e-5, "slope": 1e-5,
}  # fmt: skip
FLOAT32 = 1e-6

# In float32 rounding alone takes some networks, normalised by the statistics of few pixels, further
# than that from their scores in float64: ours may be as many times as far as torchvision's.
ROUNDING = 8

Arrays = dict[str, np.ndarray]


def options(name: str) -> dict[str, Any]:
    """The arguments of a builder."""
    found: dict[str, Any] = {"num_classes": CLASSES}
    if name.startswith("vit"):
        found["image_size"] = side(name)
    if name in ("googlenet", "inception_v3"):
        found["init_weights"] = True
    return {**found, **VARIANTS.get(name, ("", {}))[1]}


def side(name: str) -> int:
    """The side of the images that a network is given."""
    return SIDES.get(name, 64)


def built(torch: Any, models: Any, name: str) -> Any:
    """The network with its first weights."""
    torch.manual_seed(SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return models.get_model(VARIANTS.get(name, (name,))[0], **options(name))


def without_backbone_weights(builder: Any) -> dict[str, Any]:
    """The argument that keeps a builder from fetching the weights of its backbone."""
    names = inspect.signature(builder).parameters
    return {"weights_backbone": None} if "weights_backbone" in names else {}


def digest(rows: list[str]) -> str:
    """The beginning of the SHA-256 of lines."""
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()[:16]


def fingerprint(state: dict[str, Any]) -> str:
    """A digest of the names and shapes of a state dict, in their order."""
    return digest([f"{key} {tuple(value.shape)}" for key, value in state.items()])


def _rows(function: Any) -> list[list[str]]:
    """Names, kinds and plain defaults of parameters."""
    rows = []
    for name, each in inspect.signature(function).parameters.items():
        plain = each.default is None or isinstance(each.default, (int, float, str))
        default = repr(each.default) if plain else ""
        rows.append([name, each.kind.name, default])
    return rows


def parameters(value: Any) -> Any:
    """The parameters of a function, or of the methods of a class that it does not inherit."""
    if not inspect.isclass(value):
        return _rows(value)
    methods = {name: each for name, each in vars(value).items() if inspect.isfunction(each)}
    shown = [name for name in sorted(methods) if name == "__init__" or not name.startswith("_")]
    return {name: _rows(methods[name]) for name in shown}


def defined(module: Any) -> dict[str, Any]:
    """The parameters of what a file defines and a program may call, by name."""
    found = {}
    for name, value in sorted(vars(module).items()):
        if getattr(value, "__module__", "") != module.__name__ or not callable(value):
            continue
        if not name.startswith("_") and not name.endswith("_Weights"):
            found[name] = parameters(value)
    return found


def first_weights(model: Any) -> np.ndarray:
    """Of every entry of the state its mean magnitude, and the value in its middle."""
    rows = []
    for value in model.state_dict().values():
        flat = value.detach().numpy().reshape(-1).astype(np.float64)
        rows.append((np.abs(flat).mean(), flat[flat.size // 2]))
    return np.array(rows, np.float32)


def draw_weights(torch: Any, model: Any, name: str) -> np.random.Generator:
    """Give the network weights that both libraries draw from NumPy; returns what draws next."""
    draw = np.random.default_rng(zlib.crc32(name.encode()))
    for key, value in model.state_dict().items():
        shape = tuple(value.shape)
        if "int" in str(value.dtype) or "relative_coords" in key:
            continue
        if len(shape) > 1:
            new = draw.standard_normal(shape, np.float32) * np.float32(np.prod(shape[1:]) ** -0.5)
        elif key.endswith(("weight", "running_var")):
            new = draw.uniform(0.2, 0.6, shape)  # residual branches that do not amplify
        else:
            new = draw.standard_normal(shape) * 0.1
        value.copy_(torch.tensor(np.asarray(new, np.float32)))
    return draw


def _arrays(result: Any) -> list[np.ndarray]:
    """The tensors of a result: one, or those of a named tuple."""
    results = list(result) if isinstance(result, tuple) else [result]
    return [np.array(each.detach().numpy()) for each in results]


def outputs(torch: Any, model: Any, name: str) -> Arrays:
    """Scores in training (float64), which leaves statistics of the images, then in evaluation
    (float64 and float32)."""
    draw = draw_weights(torch, model, name)
    images = draw.standard_normal((2, 3, side(name), side(name)))
    for module in model.modules():
        if hasattr(module, "running_var"):
            module.momentum = 1.0
    found: Arrays = {}
    with torch.no_grad():
        model.double().train()
        torch.manual_seed(SEED)
        for number, each in enumerate(_arrays(model(torch.tensor(images)))):
            found[f"train {number}"] = each
        model.eval()
        found["eval"] = _arrays(model(torch.tensor(images)))[0]
        model.float()
        found["single"] = _arrays(model(torch.tensor(images.astype(np.float32))))[0]
    return found


def measure(torch: Any, models: Any, name: str) -> Arrays:
    """Everything that is compared of a builder."""
    model = built(torch, models, name)
    found = {
        "state": np.array(fingerprint(model.state_dict())),
        "parameters": np.array(sum(each.numel() for each in model.parameters())),
        "init": first_weights(model),
    }
    return {**found, **outputs(torch, model, name)}


def apart(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference, as a part of the largest value."""
    scale = float(np.abs(expected).max(initial=0.0)) or 1.0
    return float(np.abs(found - expected).max(initial=0.0)) / scale


def differences(found: Arrays, expected: Arrays) -> list[str]:
    """What differs between two measurements."""
    if set(found) != set(expected):
        return [f"{sorted(found)} instead of {sorted(expected)}"]
    lines = []
    for kind, value in expected.items():
        tolerance = TOLERANCES.get(kind.split()[0])
        if value.dtype == np.float32 and tolerance is not None:  # computed in it by torchvision
            tolerance = max(tolerance, FLOAT32)
        if kind == "single":
            tolerance = max(tolerance, ROUNDING * apart(value, expected["eval"]))
        if tolerance is None or value.shape != found[kind].shape:
            if not np.array_equal(found[kind], value):
                lines.append(f"{kind}: {found[kind]} instead of {value}")
        elif not apart(found[kind], value) <= tolerance:
            lines.append(f"{kind}: differs by {apart(found[kind], value):.1e}")
    return lines


def save(path: str, table: dict[str, Arrays]) -> None:
    """Write measurements by builder as one compressed file."""
    np.savez_compressed(
        path,
        **{f"{name}/{kind}": each for name, row in table.items() for kind, each in row.items()},
    )


def load(path: str) -> dict[str, Arrays]:
    """What :func:`save` wrote."""
    table: dict[str, Arrays] = {}
    with np.load(path) as file:
        for key in file.files:
            name, _, kind = key.partition("/")
            table.setdefault(name, {})[kind] = file[key]
    return table
