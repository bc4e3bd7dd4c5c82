"""How plans of convolutions run over groups of channels, and with an epilogue behind them."""

from __future__ import annotations

__all__ = ["channel_slices", "of_all_groups", "output_slices", "with_epilogues"]


def of_all_groups(plan, groups):
    """``run(x, w, out, bias)`` by a plan of all groups, or of one for each; where the plan takes
    `epilogues`, one can be a further argument."""
    if groups == 1 or getattr(plan, "every_group", False):
        return plan.run

    def run(x, w, out, bias, *epilogue):
        biases = [None] * groups if bias is None else output_slices(bias, groups)
        for part in zip(channel_slices(x, groups), output_slices(w, groups),
                        channel_slices(out, groups), biases, strict=True):  # fmt: skip
            plan.run(*part, *epilogue)

    return run


def channel_slices(array, groups):
    """Where the channels of each group begin, in images."""
    step = array.shape[1] // groups
    return [array[:, i * step :] for i in range(groups)]


def output_slices(array, groups):
    """Where the outputs of each group begin, in weights or a bias."""
    step = array.shape[0] // groups
    return [array[i * step :] for i in range(groups)]


def with_epilogues(plan, groups):
    """``run(x, w, out, bias, *epilogue)`` of a forward plan, which says in `epilogues` whether it
    takes "all", "light" ones or (without that) none: the others get a pass of their own."""
    run = of_all_groups(plan, groups)
    kinds = getattr(plan, "epilogues", "none")
    return run if kinds == "all" else _then(run, kinds == "light")


def _then(run, takes_light):
    """``run(x, w, out, bias, *epilogue)`` by a plan that takes light epilogues alone, or none."""

    def then(x, w, out, bias, epilogue=None):
        if epilogue is None or takes_light and epilogue.is_light:
            run(x, w, out, bias, *(() if epilogue is None else (epilogue,)))
        else:
            run(x, w, out, bias)
            epilogue.run(out)

    return then
