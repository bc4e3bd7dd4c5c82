"""The page that says of each network of the zoo what it is, learnt from, and how well it does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pictures

from rushlight_vision import models

PAGE = Path(__file__).with_name("CARDS.md")
HEAD = """# Networks of the zoo

Small networks whose weights are inside the package. `python vision/zoo/train.py` trains them
all and writes this page; the figures are those of the weights as they are shipped, in float16, on
data that training did not see.

"""
# What the figures alone do not say.
NOTES = {
    "denoiser": "It has seen no photo: the two of scikit-learn (384 x 512 pixels of each, noise "
    "0.1) go from 20.0 to 24.1 dB (china.jpg, whose fine textures it takes for noise) and to "
    "29.5 dB (flower.jpg).",
    "shapes_classifier": "Held-out pictures come from the same program as those of training.",
    "shapes_detector": "Held-out pictures come from the same program as those of training.",
    "shapes_segmenter": "Held-out pictures come from the same program as those of training.",
}
TEMPLATE = """## `{name}`

{summary}

| | |
| --- | --- |
| data | {data} |
| licence of the weights | {licence} |
| recipe | `{recipe}` ({cpu_seconds} s of CPU time on one core, seed 0) |
| parameters | {num_params:,} |
{figures}| date | {date} |

![{caption}](pictures/{name}.png)

*{caption}.* {note}
"""


def _card(name: str, facts: dict[str, Any]) -> str:
    summary = (models.get_model_builder(name).__doc__ or "").split("\n\n")[0].replace(":class:", "")
    rows = [
        f"| {where}: {key} | {value} |\n"
        for where, values in facts["_metrics"].items()
        for key, value in values.items()
    ]
    caption = pictures.PICTURES[name][0]
    words = {"summary": " ".join(summary.split()), "figures": "".join(rows), "caption": caption}
    text = TEMPLATE.format(name=name, note=NOTES.get(name, ""), **words, **facts)
    return text.replace(" \n", "\n")


def write(facts: dict[str, dict[str, Any]]) -> None:
    """Write the page."""
    text = HEAD + "\n".join(_card(name, each) for name, each in facts.items())
    PAGE.write_text(text, encoding="utf-8")
