"""Tables: to which species does a penguin belong?

    python tables.py        (needs `pip install palmerpenguins`)

344 penguins of Palmer Station: island, sex, sizes and weight, with empty cells (CC0; Horst, Hill
and Gorman 2020). A fifth, drawn, is held out. The baseline answers the most frequent species.
"""

from __future__ import annotations

from palmerpenguins import load_penguins

import rushlight as rl
from lightning_lite.easy import TabularDataLoaders, accuracy, cont_cat_split, tabular_learner

rl.manual_seed(0)

table = load_penguins()
numbers, words = cont_cat_split(table, dep_var=["species", "year"])
dls = TabularDataLoaders.from_df(
    table, cat_names=words, cont_names=numbers, y_names="species", seed=0, bs=32
)
learn = tabular_learner(dls, metrics=accuracy)
learn.fit_one_cycle(10, 0.01)

found = learn.validate()[1]
share = table["species"].value_counts(normalize=True).iloc[0]
print(f"accuracy {found:.1%} of {len(dls.valid.dataset)} penguins, the same species {share:.1%}")
assert found >= 0.95
