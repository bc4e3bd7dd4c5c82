"""Write down what is published about torchvision's classification models: names of classes of
ImageNet, addresses of weights with their figures, and what their state dicts are made of.

Facts alone, no prose: the notes in `_docs` are left out.

Usage: python ci/vision_model_facts.py [--check]   in an environment with torchvision
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import sys
import warnings
from enum import Enum
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "vision" / "tests" / "models"))

import measured  # noqa: E402

PUBLISHED = ROOT / "vision" / "src" / "rushlight_vision" / "models" / "published"
BUILDERS = ROOT / "vision" / "tests" / "models" / "builders.json"
MODULES = (
    "alexnet", "convnext", "densenet", "efficientnet", "feature_extraction", "googlenet",
    "inception", "maxvit", "mnasnet", "mobilenetv2", "mobilenetv3", "regnet", "resnet",
    "shufflenetv2", "squeezenet", "swin_transformer", "vgg", "vision_transformer", "_api",
    "_utils",
)  # fmt: skip
LEFT_OUT = ("categories", "_docs")


def lines(table: dict[str, Any]) -> str:
    """A table as JSON, one entry a line."""
    rows = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in table.items()]
    return "{\n" + ",\n".join(rows) + "\n}\n"


def categories() -> str:
    """The names of the 1000 classes of ImageNet."""
    from torchvision.models._meta import _IMAGENET_CATEGORIES

    return json.dumps({"ImageNet-1K": _IMAGENET_CATEGORIES}, indent=0) + "\n"


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value


def weights() -> str:
    """Every published file: address, figures, and the arguments of its preset."""
    from torchvision import models
    from torchvision.models._meta import _IMAGENET_CATEGORIES

    table = {}
    for name in models.list_models(module=models):
        for entry in models.get_model_weights(name):
            named = entry.meta["categories"]
            if named is not None and list(named) != list(_IMAGENET_CATEGORIES):
                raise ValueError(f"{entry}: its classes are not those of ImageNet")
            table[str(entry)] = {
                "categories": None if named is None else "ImageNet-1K",
                "url": entry.url,
                "transforms": {k: _plain(v) for k, v in entry.transforms.keywords.items()},
                "meta": {k: v for k, v in entry.meta.items() if k not in LEFT_OUT},
            }
    return lines(table)


def nodes(model: Any) -> list[Any]:
    """How many nodes the model's graphs have, of training and evaluation, and a digest of their
    names."""
    from torchvision.models.feature_extraction import get_graph_node_names

    names = get_graph_node_names(model, suppress_diff_warning=True)
    return [len(names[0]), len(names[1]), measured.digest([*names[0], "", *names[1]])]


def described(name: str) -> dict[str, Any]:
    """A builder: its weights, the entry that is the default, and the state of its model."""
    from torchvision import models

    enum = models.get_model_weights(name)
    builder = models.get_model_builder(name)
    model = builder()
    return {
        "module": builder.__module__.rpartition(".")[2],
        "class": type(model).__name__,
        "weights": enum.__name__,
        "entries": list(enum.__members__),
        "default": enum["DEFAULT"].name,
        "parameters": sum(each.numel() for each in model.parameters()),
        "entries_of_state": len(model.state_dict()),
        "state": measured.fingerprint(model.state_dict()),
        "nodes": nodes(model),
        "signature": list(inspect.signature(builder).parameters),
    }


def builders() -> str:
    """All builders of models that classify."""
    from torchvision import models

    return lines({name: described(name) for name in models.list_models(module=models)})


def names() -> str:
    """Parameters of all functions, classes and their methods in the files of models, by module."""
    homes = {name: importlib.import_module(f"torchvision.models.{name}") for name in MODULES}
    return lines({name: measured.defined(home) for name, home in homes.items()})


FILES = {
    PUBLISHED / "categories.json": categories,
    PUBLISHED / "weights.json": weights,
    BUILDERS: builders,
    BUILDERS.with_name("names.json"): names,
}


def write(check: bool) -> int:
    """Write the files; with `check` say which would change instead."""
    changed = 0
    for path, made in FILES.items():
        text = made()
        if check:
            same = path.exists() and path.read_text() == text
            changed += not same
            print(f"{path.relative_to(ROOT)}: {'as published' if same else 'differs'}")
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        print(f"{path.relative_to(ROOT)}: {len(text) // 1000} kB")
    return 1 if changed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    return write(arguments.check)


if __name__ == "__main__":
    sys.exit(main())
