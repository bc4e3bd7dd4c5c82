"""Learner: data, model and loss in one object that trains in one line."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rushlight as rl
from lightning_lite.easy.architectures import Recipe
from lightning_lite.easy.exporting import contents
from lightning_lite.easy.module import LearnerModule, group_rates, name_of, one_group
from lightning_lite.easy.predicting import Predicting
from lightning_lite.easy.recorder import Recorder
from lightning_lite.easy.schedules import (
    ParamScheduler,
    SchedCos,
    SchedNo,
    combine_scheds,
    combined_cos,
    set_values,
)
from lightning_lite.easy.weights_file import path_of, read_weights, write_weights
from lightning_lite.trainer import Trainer
from lightning_lite.tuner import Tuner

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from os import PathLike

    from lightning_lite.callbacks.callback import Callback
    from lightning_lite.easy.data.loaders import DataLoaders
    from rushlight.nn import Module

Adam = partial(rl.optim.AdamW, betas=(0.9, 0.99), eps=1e-5, weight_decay=0.01)


class Learner(Predicting):
    """Trains `model` on `dls`, by fastai's methods.

    `dls`: a pair of loaders (training, validation), or an object with `train` and `valid`; batches
    are `(*inputs, target)`. `loss_func(output, target)`; `opt_func(groups)`, by default AdamW as
    fastai's Adam; `lr`: the rate of `fit` without one, and the highest of the others.
    `splitter(model)`: lists of parameters, the first layers' first, for freezing and for rates by
    depth (`slice`). `metrics(output, target)` are means over the validation data. `cbs`: callbacks
    of the Trainer; further keywords go to it (`accelerator`, `precision`, `logger`, ...).

    >>> import rushlight as rl
    >>> from rushlight.utils.data import DataLoader, TensorDataset
    >>> x = rl.randn(64, 3)
    >>> data = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16)
    >>> model, loss = rl.nn.Linear(3, 1), rl.nn.MSELoss()
    >>> learn = Learner((data, data), model, loss, enable_progress_bar=False)
    >>> learn.fit_one_cycle(2, 0.05)
    >>> len(learn.recorder.values)
    2
    """

    # What `tabular_learner` and `collab_learner` know of their data.
    processor: Any = None
    vocab: Any = None
    users: Any = None
    items: Any = None
    # How the network is built, where a function of `easy` built it.
    recipe: Recipe | None = None
    module_class: type[LearnerModule] = LearnerModule

    def __init__(
        self,
        dls: DataLoaders | Sequence[Iterable[Any]],
        model: Module,
        loss_func: Callable,
        opt_func: Callable[..., Any] = Adam,
        lr: float = 0.001,
        splitter: Callable[[Any], list[list[Any]]] = one_group,
        cbs: Callback | Sequence[Callback] | None = None,
        metrics: Callable[..., Any] | Sequence[Callable[..., Any]] | None = None,
        path: str | PathLike[str] = ".",
        moms: tuple[float, float, float] = (0.95, 0.85, 0.95),
        train_bn: bool = True,
        **trainer_options: Any,
    ) -> None:
        self.train_dl, self.valid_dl = _loaders(dls)
        self.dls = dls
        measured = _as_list(metrics)
        functions = {"loss_func": loss_func, "opt_func": opt_func, "splitter": splitter}
        functions.update({f"metrics[{number}]": each for number, each in enumerate(measured)})
        _check_functions(functions)
        self.module = self.module_class(model, loss_func, opt_func, splitter, measured)
        self.module.n_inp = getattr(dls, "n_inp", None)
        self.model, self.lr, self.moms, self.train_bn = model, lr, moms, train_bn
        self.cbs = _as_list(cbs)
        self.path = Path(path)
        self.recorder = Recorder([name_of(each) for each in measured])
        self._options = {
            "default_root_dir": path,
            "enable_checkpointing": False,
            "enable_model_summary": False,
            "logger": False,
            "num_sanity_val_steps": 0,
            **trainer_options,
        }
        self.trainer: Any = None

    @property
    def opt(self) -> Any:
        """The optimizer; made at first use."""
        return self.module.configure_optimizers()

    def create_opt(self) -> Any:
        """Make the optimizer anew, which forgets rates and averages; the optimizer."""
        self.module.optimizer = None
        return self.opt

    @property
    def loss_func(self) -> Any:
        """The loss; may be set."""
        return self.module.loss_func

    @loss_func.setter
    def loss_func(self, loss: Callable[..., Any]) -> None:
        _check_functions({"loss_func": loss})
        del self.module.loss_func  # a layer may be followed by a function
        self.module.loss_func = loss

    def add_cb(self, cb: Callback) -> Learner:
        """Have one more callback in all trainings; the Learner."""
        self.cbs.append(cb)
        return self

    def add_cbs(self, cbs: Sequence[Callback]) -> Learner:
        """Have more callbacks in all trainings; the Learner."""
        self.cbs.extend(_as_list(cbs))
        return self

    def remove_cb(self, cb: Callback | type[Callback]) -> Learner:
        """Have a callback, or all of a class, no more; the Learner."""
        gone = [each for each in self.cbs if each is cb or type(each) is cb]
        self.cbs = [each for each in self.cbs if each not in gone]
        return self

    @contextmanager
    def no_bar(self) -> Iterator[Learner]:
        """Trainings and predictions inside of the block show no progress bar."""
        before = self._options
        self._options = {**before, "enable_progress_bar": False}
        try:
            yield self
        finally:
            self._options = before

    def _trainer(self, epochs: int, cbs: list[Any]) -> Trainer:
        self.trainer = Trainer(max_epochs=epochs, callbacks=cbs, **self._options)
        return self.trainer

    def _rates(self, lr: Any) -> list[float]:
        return group_rates(self.lr if lr is None else lr, len(self.opt.param_groups))

    # -- training -------------------------------------------------------------------------------

    def fit(self, n_epoch: int, lr: Any = None, wd: float | None = None, cbs: Any = None) -> None:
        """Train for `n_epoch` epochs at a constant rate; `wd` is the weight decay from now on."""
        if lr is not None or self.trainer is None:
            set_values(self.opt, "lr", self._rates(lr))
        if wd is not None:
            set_values(self.opt, "weight_decay", wd)
        self.module.train()
        trainer = self._trainer(n_epoch, [*self.cbs, *_as_list(cbs), self.recorder])
        trainer.fit(self.module, self.train_dl, self.valid_dl)

    def _fit_scheduled(
        self, n_epoch: int, scheds: dict[str, Any], wd: float | None, cbs: Any
    ) -> None:
        self.fit(n_epoch, self._rates(None), wd, [ParamScheduler(scheds), *_as_list(cbs)])

    def fit_one_cycle(
        self,
        n_epoch: int,
        lr_max: Any = None,
        div: float = 25.0,
        div_final: float = 1e5,
        pct_start: float = 0.25,
        wd: float | None = None,
        moms: tuple[float, float, float] | None = None,
        cbs: Any = None,
    ) -> None:
        """Train while the rate goes up from `lr_max / div` to `lr_max` over the share `pct_start`,
        and down to `lr_max / div_final`; momentum goes the other way (`moms`). Smith 2018."""
        top = self._rates(lr_max)
        start, end = [rate / div for rate in top], [rate / div_final for rate in top]
        scheds = {
            "lr": combined_cos(pct_start, start, top, end),
            "mom": combined_cos(pct_start, *(moms or self.moms)),
        }
        self._fit_scheduled(n_epoch, scheds, wd, cbs)

    def fit_flat_cos(
        self,
        n_epoch: int,
        lr: Any = None,
        div_final: float = 1e5,
        pct_start: float = 0.75,
        wd: float | None = None,
        cbs: Any = None,
    ) -> None:
        """Train at a constant rate over the share `pct_start`, then along half a cosine to
        `lr / div_final`."""
        top = self._rates(lr)
        end = [rate / div_final for rate in top]
        flat = combine_scheds([pct_start, 1 - pct_start], [SchedNo(top, top), SchedCos(top, end)])
        self._fit_scheduled(n_epoch, {"lr": flat}, wd, cbs)

    def fit_sgdr(
        self,
        n_cycles: int,
        cycle_len: int,
        lr_max: Any = None,
        cycle_mult: int = 2,
        cbs: Any = None,
        wd: float | None = None,
    ) -> None:
        """Train `n_cycles` times along half a cosine from `lr_max` to 0, each time `cycle_mult`
        times as long as before, the first `cycle_len` epochs. Loshchilov and Hutter 2016."""
        lengths = [cycle_len * cycle_mult**number for number in range(n_cycles)]
        top = self._rates(lr_max)
        cycles = [SchedCos(top, [0.0] * len(top))] * n_cycles
        shares = [length / sum(lengths) for length in lengths]
        self._fit_scheduled(sum(lengths), {"lr": combine_scheds(shares, cycles)}, wd, cbs)

    def fine_tune(
        self,
        epochs: int,
        base_lr: float = 2e-3,
        freeze_epochs: int = 1,
        lr_mult: float = 100,
        pct_start: float = 0.3,
        div: float = 5.0,
        **kwargs: Any,
    ) -> None:
        """Train the last group alone for `freeze_epochs` epochs, then all for `epochs`, with rates
        by depth between `base_lr / 2 / lr_mult` and `base_lr / 2`. `kwargs`: `fit_one_cycle`'s."""
        self.freeze()
        self.fit_one_cycle(freeze_epochs, slice(base_lr), pct_start=0.99, **kwargs)
        base_lr /= 2
        self.unfreeze()
        rates = slice(base_lr / lr_mult, base_lr)
        self.fit_one_cycle(epochs, rates, pct_start=pct_start, div=div, **kwargs)

    # -- what learns ----------------------------------------------------------------------------

    def freeze_to(self, n: int) -> None:
        """Let only the parameter groups from `n` on learn; negative counts from the end. The
        optimizer forgets its averages."""
        self.module.freeze_to(n, self.train_bn)
        self.opt.state.clear()

    def freeze(self) -> None:
        """Let only the last parameter group learn."""
        self.freeze_to(-1)

    def unfreeze(self) -> None:
        """Let everything learn."""
        self.freeze_to(0)

    # -- the rate -------------------------------------------------------------------------------

    def lr_find(
        self,
        start_lr: float = 1e-7,
        end_lr: float = 10,
        num_it: int = 100,
        stop_div: bool = True,
        show_plot: bool = False,
        suggest_funcs: Sequence[Any] = ("valley",),
    ) -> Any:
        """The learning rate test: a named tuple of the rates that `suggest_funcs` ("valley",
        "slide", "minimum", "steep", or the rules of `lightning_lite.tuner.suggestions` by these
        names) find, as `learn.lr_find().valley`. Afterwards all is what it was, bit for bit.

        `stop_div`: whether it ends where losses explode; `show_plot` draws the curve.
        """
        names = [getattr(each, "__name__", each) for each in suggest_funcs]
        trainer = self._trainer(1, list(self.cbs))
        kept = self.module.optimizer
        self.module.optimizer = None
        self.module.train()
        try:
            test: Any = Tuner(trainer).lr_find(
                self.module,
                self.train_dl,
                min_lr=start_lr,
                max_lr=end_lr,
                num_training=num_it,
                early_stop_threshold=4.0 if stop_div else None,
                update_attr=False,
            )
        finally:
            self.module.optimizer = kept
        begin = num_it // 10
        rates = [test.suggestion(begin, 5, name) for name in names]
        if show_plot:
            test.plot(suggest=names[0] if names else False)
        return namedtuple("SuggestedLRs", names)(*rates)

    # -- keeping it -----------------------------------------------------------------------------

    def validate(self, dl: Any = None) -> list[float]:
        """The loss and the metrics on the validation data, or on `dl`."""
        trainer = self._trainer(1, list(self.cbs))
        (found,) = trainer.validate(self.module, dl or self.valid_dl, verbose=False) or [{}]
        return [found[name] for name in self.recorder.names[1:]]

    def save(self, file: Any, with_opt: bool = True) -> Path:
        """Write model and optimizer to `path/models/file.pt`; the path."""
        return write_weights(path_of(self.path, file), self.model, self.opt if with_opt else None)

    def load(self, file: Any, with_opt: bool = True, strict: bool = True) -> Learner:
        """Read model and optimizer of `save` back; the Learner. Nothing in the file is executed."""
        read_weights(path_of(self.path, file), self.model, self.opt if with_opt else None, strict)
        return self

    def export(self, fname: Any = "export.pkl") -> Path:
        """Write what predicting needs to the file `path/fname`, without code: weights, how the
        network is built, classes, blocks and transforms; `load_learner` reads it. The path.

        The network of a Learner that was given one has to be given to `load_learner` again. Not
        kept: items, getters of targets, optimizer, callbacks, precision. ValueError names a getter,
        transform, metric or loss that is a function of the program's own.
        """
        target = self.path / fname
        target.parent.mkdir(parents=True, exist_ok=True)
        rl.save(contents(self), target)
        return target

    def to_bf16(self) -> Learner:
        """Products in bfloat16 from now on."""
        self._options["precision"] = "bf16-mixed"
        return self

    def to_fp16(self) -> Learner:
        """Products in float16, with scaled losses, from now on."""
        self._options["precision"] = "16-mixed"
        return self

    def to_fp32(self) -> Learner:
        """Everything in float32 from now on."""
        self._options["precision"] = "32-true"
        return self

    def summary(self) -> str:
        """The table of layers."""
        from lightning_lite.utilities.model_summary import ModelSummary

        return str(ModelSummary(self.model, max_depth=-1))


def _as_list(given: Any) -> list[Any]:
    if given is None:
        return []
    return list(given) if isinstance(given, list | tuple) else [given]


def _check_functions(given: dict[str, Any]) -> None:
    """Complain of what cannot be called."""
    for name, each in given.items():
        if not callable(each):
            raise TypeError(f"Learner: {name} is {each!r}; expected a function")


def _loaders(dls: Any) -> tuple[Any, Any]:
    """Training and validation loaders of what was given."""
    pair = isinstance(dls, list | tuple) and len(dls) == 2
    if pair and not any(isinstance(each, rl.Tensor) for each in dls):
        return dls[0], dls[1]
    if hasattr(dls, "train") and hasattr(dls, "valid"):
        return dls.train, dls.valid
    given = "a pair with a tensor" if pair else f"a {type(dls).__name__}"
    raise TypeError(
        f"Learner: dls is {given}; expected a pair of loaders, or an object with train and valid"
    )
