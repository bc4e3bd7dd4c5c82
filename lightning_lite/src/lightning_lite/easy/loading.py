"""load_learner: a Learner of a file of `Learner.export`, which holds no code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rushlight as rl
from lightning_lite.easy import exporting
from lightning_lite.easy.architectures import Recipe, build
from lightning_lite.easy.collab import CollabLearner
from lightning_lite.easy.data.describing import rebuild
from lightning_lite.easy.learner import Learner
from lightning_lite.easy.module import one_group
from lightning_lite.easy.tables import TabularLearner
from lightning_lite.easy.text.learner import LMLearner, TextLearner

if TYPE_CHECKING:
    from os import PathLike

    from rushlight.nn import Module

LEARNERS: dict[str, type[Learner]] = {
    each.__name__: each for each in (TextLearner, LMLearner, TabularLearner, CollabLearner)
}


def load_learner(
    fname: str | PathLike[str], cpu: bool = True, model: Module | None = None, **options: Any
) -> Learner:
    """The Learner that `Learner.export` wrote to the file `fname`, ready to predict other items.

    Nothing in the file is executed: it holds tensors and plain data, and can be taken from anyone.
    `cpu`: put weights on the CPU, wherever they were. `model`: the network, for a file of one of
    the program's own; ValueError without it, and for a file that is no Learner's. `options` go
    to the Learner. The file keeps no items, optimizer, callbacks or precision.

    >>> import rushlight as rl, tempfile
    >>> from lightning_lite.easy import Learner, load_learner
    >>> learn = Learner(([], []), rl.nn.Linear(2, 1), rl.nn.MSELoss(), path=tempfile.mkdtemp())
    >>> again = load_learner(learn.export(), model=rl.nn.Linear(2, 1))
    >>> rl.equal(again.model.weight, learn.model.weight)
    True
    """
    found = rl.load(fname, map_location="cpu" if cpu else None, weights_only=True)
    if not isinstance(found, dict) or found.get("format") != exporting.FORMAT:
        raise ValueError(
            f"load_learner: {str(fname)!r} is not a file of Learner.export of this version; "
            "expected one (Learner.load reads those of Learner.save)"
        )
    splitter = one_group
    if model is None:
        model, splitter = _built(found, fname)
    model.load_state_dict(found["weights"])
    learn = LEARNERS.get(found["learner"], Learner)(
        ([], []) if found["data"] is None else exporting.rebuild_data(found["data"]),
        model,
        exporting.rebuild_loss(found["loss"]),
        **{
            "splitter": splitter,
            "metrics": [exporting.rebuild_metric(each) for each in found["metrics"]],
            **options,
        },
    )
    learn.recipe = _recipe(found)
    for name in exporting.KNOWN:
        setattr(learn, name, rebuild(found["known"][name]))
    return learn


def _recipe(found: dict[str, Any]) -> Recipe | None:
    if found["recipe"] is None:
        return None
    name, config = found["recipe"]
    return Recipe(name, rebuild(config))


def _built(found: dict[str, Any], fname: Any) -> Any:
    recipe = _recipe(found)
    if recipe is None:
        raise ValueError(
            f"load_learner: {str(fname)!r} holds the weights of a network of the program's own, "
            f"{found['network']}; give it: load_learner(fname, model={found['network']}(...))"
        )
    return build(recipe)
