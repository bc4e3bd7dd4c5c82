"""Tables as batches that `test_tabular_loaders.py` compares with fastai's.

`python fastai_tables.py` runs them with fastai and writes `fastai_tables.json`.
"""

from __future__ import annotations

import json
from pathlib import Path

TABLE = {
    # fastai also numbers categories that validation alone has; here they are unknown.
    "kind": ["b", "a", "c", "a", None, "b", "d", "a", "d", "c"],
    "flag": [True, False, True, True, False, False, True, False, True, True],
    "hours": [4.0, None, 2.5, 8.0, 3.5, None, 1.0, 6.0, 2.0, 4.5],
    "age": [30.0, 41.5, 22.0, 35.0, 28.0, 51.0, 19.5, 44.0, 33.0, 26.0],
    "rich": ["yes", "no", "no", "yes", "no", "yes", "no", "yes", "yes", "no"],
    "income": [3.0, 1.5, 2.0, 4.0, 1.0, 5.5, 0.5, 4.5, 3.5, 2.5],
}
VALID = [3, 5, 6, 9]


def rounded(part):
    """A tensor as nested lists of rounded numbers."""
    rows = part.reshape(len(part), -1).tolist()
    return [[round(float(each), 4) for each in row] for row in rows]


def answers(of, table):
    """Batches of validation by targets and procs."""
    found = {}
    for name, target, procs, block in (
        ("classes", "rich", [of.Categorify, of.FillMissing, of.Normalize], None),
        ("numbers", "income", [of.Categorify, of.FillMissing], None),
        ("several", ["age", "income"], [of.Categorify, of.FillMissing, of.Normalize], None),
        (
            "vocab",
            "rich",
            [of.Categorify, of.FillMissing],
            of.CategoryBlock(["yes", "no"]),
        ),
    ):
        numbers = ["hours"] if name == "several" else ["hours", "age"]
        dls = of.TabularDataLoaders.from_df(
            table, procs=procs, cat_names=["kind", "flag"], cont_names=numbers, y_names=target,
            y_block=block, valid_idx=VALID, bs=4,
        )  # fmt: skip
        found[name] = [rounded(part) for part in next(iter(dls.valid))]
        if name in ("classes", "vocab"):
            found[name].append(list(dls.vocab))
    numbers, categories = of.cont_cat_split(table, 5, "income")
    return {**found, "split": [sorted(numbers), sorted(categories)]}


def main():
    """Record fastai's answers."""
    import fastai.tabular.all as of
    import pandas

    found = answers(of, pandas.DataFrame(TABLE))
    Path(__file__).with_suffix(".json").write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
