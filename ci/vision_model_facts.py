"""Write down what is published about torchvision's models: names of classes, addresses of weights
with their figures, and what their state dicts are made of.

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
# The packages of models for other tasks, and their files.
TASKS = {
    "detection": (
        "_utils", "anchor_utils", "backbone_utils", "faster_rcnn", "fcos", "generalized_rcnn",
        "image_list", "keypoint_rcnn", "mask_rcnn", "retinanet", "roi_heads", "rpn", "ssd",
        "ssdlite", "transform",
    ),
    "segmentation": ("_utils", "deeplabv3", "fcn", "lraspp"),
    "video": ("mvit", "resnet", "s3d", "swin_transformer"),
    "optical_flow": ("_utils", "raft"),
}  # fmt: skip
# What has no sense without PyTorch's tracer.
NOT_HERE = ("expand_masks_tracing_scale",)
LEFT_OUT = ("categories", "_docs")
CLASSES = {
    "ImageNet-1K": "_IMAGENET_CATEGORIES",
    "COCO": "_COCO_CATEGORIES",
    "COCO persons": "_COCO_PERSON_CATEGORIES",
    "VOC": "_VOC_CATEGORIES",
    "Kinetics-400": "_KINETICS400_CATEGORIES",
}


def lines(table: dict[str, Any]) -> str:
    """A table as JSON, one entry a line."""
    rows = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in table.items()]
    return "{\n" + ",\n".join(rows) + "\n}\n"


def task(name: str) -> Any:
    """A package of models: of a task, or those that classify."""
    return importlib.import_module(f"torchvision.models.{name}" if name else "torchvision.models")


def categories() -> str:
    """The names of all classes."""
    from torchvision.models import _meta

    table = {name: getattr(_meta, attribute) for name, attribute in CLASSES.items()}
    return json.dumps(table, indent=0) + "\n"


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value


def classes_of(entry: Any) -> str | None:
    """What the classes of some weights are called; None for unknown ones, "none" for none."""
    from torchvision.models import _meta

    if "categories" not in entry.meta:
        return "none"
    found = entry.meta["categories"]
    if found is None:
        return None
    for name, attribute in CLASSES.items():
        if list(found) == list(getattr(_meta, attribute)):
            return name
    raise ValueError(f"{entry}: its classes are not known")


def published(entry: Any) -> dict[str, Any]:
    """One file of weights."""
    made = entry.transforms
    preset = made if inspect.isclass(made) else made.func
    options = {} if inspect.isclass(made) else made.keywords
    return {
        "categories": classes_of(entry),
        "url": entry.url,
        "preset": preset.__name__,
        "transforms": {k: _plain(v) for k, v in options.items()},
        "meta": {k: v for k, v in entry.meta.items() if k not in LEFT_OUT},
    }


def weights() -> str:
    """Every published file: address, figures, and the arguments of its preset."""
    from torchvision import models

    table = {}
    for package in ("", *TASKS):
        for name in models.list_models(module=task(package)):
            for entry in models.get_model_weights(name):
                table[str(entry)] = published(entry)
    return lines(table)


def nodes(model: Any) -> list[Any]:
    """How many nodes the model's graphs have, of training and evaluation, and a digest of their
    names."""
    from torchvision.models.feature_extraction import get_graph_node_names

    names = get_graph_node_names(model, suppress_diff_warning=True)
    return [len(names[0]), len(names[1]), measured.digest([*names[0], "", *names[1]])]


def described(name: str, **options: Any) -> dict[str, Any]:
    """A builder: its weights, the entry that is the default, and the state of its model."""
    from torchvision import models

    enum = models.get_model_weights(name)
    builder = models.get_model_builder(name)
    model = builder(**options)
    found = {
        "module": builder.__module__.removeprefix("torchvision.models."),
        "class": type(model).__name__,
        "weights": enum.__name__,
        "entries": list(enum.__members__),
        "default": enum["DEFAULT"].name,
        "parameters": sum(each.numel() for each in model.parameters()),
        "entries_of_state": len(model.state_dict()),
        "state": measured.fingerprint(model.state_dict()),
    }
    if not options:
        found["nodes"] = nodes(model)
    return {**found, "signature": list(inspect.signature(builder).parameters)}


def on_backbones() -> str:
    """All builders of models for other tasks, by package; without weights."""
    from torchvision import models

    every = {name: models.list_models(module=task(name)) for name in TASKS}
    return lines(
        {
            name: described(name, weights=None, **measured.without_backbone_weights(builder(name)))
            for package in every.values()
            for name in package
        }
    )


def builder(name: str) -> Any:
    """A builder by name."""
    from torchvision import models

    return models.get_model_builder(name)


def builders() -> str:
    """All builders of models that classify."""
    from torchvision import models

    return lines({name: described(name) for name in models.list_models(module=models)})


def defined(module: str) -> dict[str, Any]:
    """What a file of models defines."""
    found = measured.defined(importlib.import_module(f"torchvision.models.{module}"))
    return {name: rows for name, rows in found.items() if name not in NOT_HERE}


def names() -> str:
    """Parameters of all functions, classes and their methods in the files of models, by module."""
    return lines({name: defined(name) for name in MODULES})


def names_of_tasks() -> str:
    """The same of the files of models for other tasks."""
    files = [f"{package}.{file}" for package, files in TASKS.items() for file in files]
    return lines({name: defined(name) for name in files})


FILES = {
    PUBLISHED / "categories.json": categories,
    PUBLISHED / "weights.json": weights,
    BUILDERS: builders,
    BUILDERS.with_name("names.json"): names,
    BUILDERS.with_name("task_builders.json"): on_backbones,
    BUILDERS.with_name("task_names.json"): names_of_tasks,
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
