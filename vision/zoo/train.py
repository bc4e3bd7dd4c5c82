"""Train networks of the zoo, measure them, and write their weights, facts, pictures and cards.

Weights go to the package in float16 (figures are those of the weights as they are shipped).

Usage: python vision/zoo/train.py [NAME ...] [--steps N] [--cards]
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import cards
import figures
import pictures
import recipes

import rushlight as rl
from rushlight_vision import models

PACKAGE = Path(models.zoo.__file__).with_name("weights")
FACTS = PACKAGE / "facts.json"
SEED = 0
DIGITS = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]
SHAPES = ["square", "disc", "triangle", "ring", "cross"]
# Model -> the data it learns from, its licence, and what its classes are called.
DATA: dict[str, tuple[str, str, list[str] | None]] = {
    "digits_cnn": ("digits", "CC BY-SA 3.0", DIGITS),
    "shapes_classifier": ("shapes", "BSD-3-Clause", SHAPES),
    "shapes_detector": ("shapes", "BSD-3-Clause", ["__background__", *SHAPES]),
    "shapes_segmenter": ("shapes", "BSD-3-Clause", ["__background__", *SHAPES]),
    "denoiser": ("textures", "BSD-3-Clause", None),
    "digits_autoencoder": ("digits", "CC BY-SA 3.0", None),
}
SOURCES = {
    "digits": "DigitsSample train (3,500 handwritten digits of MNIST, CC BY-SA 3.0)",
    "shapes": "GeneratedShapes train (computed, without limits of use)",
    "textures": "GeneratedShapes train with generated textures (computed, without limits of use)",
}


def rounded(model: Any) -> dict[str, rl.Tensor]:
    """The state of a model as it is stored: floating-point numbers as float16."""
    return {
        name: each.detach().half() if each.is_floating_point() else each
        for name, each in model.state_dict().items()
    }


def stored(name: str, model: Any) -> dict[str, Any]:
    """Write the weights; what is known of them before they are measured."""
    state = rounded(model)
    path = PACKAGE / f"{name}.safetensors"
    rl.safetensors.save_file(state, path)
    model.load_state_dict(
        {key: each.to(model.state_dict()[key].dtype) for key, each in state.items()}
    )
    source, licence, categories = DATA[name]
    return {
        "data": SOURCES[source],
        "licence": licence,
        "recipe": f"python vision/zoo/train.py {name}",
        "date": datetime.date.today().isoformat(),
        "num_params": sum(each.numel() for each in model.parameters()),
        "categories": categories,
        "file": path.name,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }


def make(name: str, steps: int | None) -> dict[str, Any]:
    """Train and measure one network; its facts."""
    rl.manual_seed(SEED)
    start = time.process_time()
    model = models.get_model(name)
    recipes.train(name, model, steps)
    facts = stored(name, model)
    facts["cpu_seconds"] = round(time.process_time() - start)
    facts["_metrics"] = figures.measured(name, model)
    pictures.draw(name, model)
    print(f"{name}: {facts['_metrics']}, {facts['cpu_seconds']} s", flush=True)
    return facts


def main() -> None:
    """Train what is named, or all, and write the cards."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    parser.add_argument("--steps", type=int, help="train for so many steps, to try things out")
    parser.add_argument("--cards", action="store_true", help="write the cards anew, train nothing")
    arguments = parser.parse_args()
    names = [] if arguments.cards else arguments.names or list(recipes.RECIPES)
    for name in names:
        facts = json.loads(FACTS.read_text(encoding="utf-8"))
        facts[name] = make(name, arguments.steps)
        FACTS.write_text(json.dumps(dict(sorted(facts.items())), indent=1) + "\n", encoding="utf-8")
    cards.write(json.loads(FACTS.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
