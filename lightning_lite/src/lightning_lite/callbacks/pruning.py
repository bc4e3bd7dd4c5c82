"""ModelPruning: weights are set to zero while the model trains."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import rushlight as rl
from lightning_lite.callbacks.callback import Callback
from lightning_lite.errors import MisconfigurationException
from lightning_lite.messages import info
from lightning_lite.state import TrainerFn
from rushlight.nn.utils import prune

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushlight.nn import Module

FUNCTIONS = {
    "ln_structured": prune.LnStructured,
    "l1_unstructured": prune.L1Unstructured,
    "random_structured": prune.RandomStructured,
    "random_unstructured": prune.RandomUnstructured,
}
PARAMETERS = ("weight", "bias")


class ModelPruning(Callback):
    """Prunes parameters after every epoch, with the methods of `rushlight.nn.utils.prune`.

    `pruning_fn`: a name ("l1_unstructured", "ln_structured", "random_structured",
    "random_unstructured") or a `BasePruningMethod`. `parameters_to_prune`: pairs of module and
    name; by default `parameter_names` ("weight", "bias") of all modules. `amount`: a share, a
    number, or a function of the epoch that gives one; `apply_pruning`: whether an epoch prunes, or
    a function that says so. `use_global_unstructured` ranks all parameters together. With
    `use_lottery_ticket_hypothesis`, what stays is set back to its first value (drawn anew with
    `resample_parameters`) before it is pruned. `make_pruning_permanent` removes the masks at the
    end. `verbose`: 1 tells the share of zeros, 2 that of each parameter.
    """

    PARAMETER_NAMES = PARAMETERS

    def __init__(
        self,
        pruning_fn: Callable | str,
        parameters_to_prune: Sequence[tuple[Module, str]] | None = (),
        parameter_names: list[str] | None = None,
        use_global_unstructured: bool = True,
        amount: int | float | Callable[[int], int | float] = 0.5,
        apply_pruning: bool | Callable[[int], bool] = True,
        make_pruning_permanent: bool = True,
        use_lottery_ticket_hypothesis: bool | Callable[[int], bool] = True,
        resample_parameters: bool = False,
        pruning_dim: int | None = None,
        pruning_norm: int | None = None,
        verbose: int = 0,
        prune_on_train_epoch_end: bool = True,
    ) -> None:
        self._parameters_to_prune: Any = parameters_to_prune
        self._parameter_names = parameter_names or self.PARAMETER_NAMES
        self._use_global_unstructured = use_global_unstructured
        self._amount, self._apply_pruning = amount, apply_pruning
        self._make_pruning_permanent = make_pruning_permanent
        self._use_lottery_ticket = use_lottery_ticket_hypothesis
        self._resample_parameters = resample_parameters
        self._prune_on_train_epoch_end = prune_on_train_epoch_end
        self._verbose = verbose
        self._options: dict[str, Any] = {}
        self.pruning_fn = self._method(pruning_fn, pruning_dim, pruning_norm)
        self._originals: list[tuple[Any, str, Any]] = []
        if not callable(amount) and not isinstance(amount, int | float):
            raise MisconfigurationException(
                f"ModelPruning: amount={amount!r}; expected a number or a function of the epoch"
            )
        if verbose not in (0, 1, 2):
            raise MisconfigurationException(f"ModelPruning: verbose={verbose}; expected 0, 1 or 2")

    def _method(self, given: Any, dim: int | None, norm: int | None) -> Any:
        """The pruning method that an argument means."""
        if isinstance(given, str):
            given = given.lower()
            if given not in FUNCTIONS:
                raise MisconfigurationException(
                    f"ModelPruning: pruning_fn={given!r}; expected one of {sorted(FUNCTIONS)}"
                )
            if given.endswith("_structured"):
                self._options = _structured_options(given, dim, norm)
            method: Any = FUNCTIONS[given]
        else:
            method = given
            if not (inspect.isclass(given) and issubclass(given, prune.BasePruningMethod)):
                raise MisconfigurationException(
                    f"ModelPruning: pruning_fn={given!r}; expected a name or a BasePruningMethod"
                )
        if self._use_global_unstructured and method.PRUNING_TYPE != "unstructured":
            raise MisconfigurationException(
                f"ModelPruning: {method.__name__} is structured; give use_global_unstructured=False"
            )
        return method

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Choose the parameters, and keep what they were."""
        self._parameters_to_prune = self.sanitize_parameters_to_prune(
            pl_module, self._parameters_to_prune, self._parameter_names
        )
        if self._use_lottery_ticket and not self._originals:
            self._originals = [
                (module, name, deepcopy(module)) for module, name in self._parameters_to_prune
            ]

    @staticmethod
    def sanitize_parameters_to_prune(
        pl_module: Any, parameters_to_prune: Any = (), parameter_names: Any = PARAMETERS
    ) -> list[tuple[Any, str]]:
        """The pairs of module and name that are pruned. MisconfigurationException for pairs that
        are not parameters of the module."""
        if not parameters_to_prune:
            modules = [each for each in pl_module.modules() if each is not pl_module]
            found = [
                (module, name)
                for module in modules
                for name in parameter_names
                if isinstance(getattr(module, name, None), rl.nn.Parameter)
            ]
        else:
            found = [tuple(pair) for pair in parameters_to_prune]
        own = {id(each) for each in pl_module.modules()}
        wrong = [
            name for module, name in found if id(module) not in own or not hasattr(module, name)
        ]
        if not found or wrong:
            raise MisconfigurationException(
                f"ModelPruning: parameters_to_prune: {wrong or 'none'}; expected pairs of a "
                "module of the model and the name of its parameter"
            )
        return found

    # -- when -----------------------------------------------------------------------------------

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Prune after the training epoch."""
        if self._prune_on_train_epoch_end:
            self._run(trainer.current_epoch)

    def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Prune after the validation."""
        training = trainer.state.fn is TrainerFn.FITTING and not trainer.sanity_checking
        if training and not self._prune_on_train_epoch_end:
            self._run(trainer.current_epoch)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Remove the masks."""
        if self._make_pruning_permanent:
            self.make_pruning_permanent(pl_module)

    def _run(self, epoch: int) -> None:
        prunes = self._apply_pruning
        amount = self._amount(epoch) if callable(self._amount) else self._amount
        if not (prunes(epoch) if callable(prunes) else prunes) or not amount:
            return
        self.apply_pruning(amount)
        ticket = self._use_lottery_ticket
        if ticket(epoch) if callable(ticket) else ticket:
            self.apply_lottery_ticket_hypothesis()

    # -- what -----------------------------------------------------------------------------------

    def apply_pruning(self, amount: int | float) -> None:
        """Prune a share, or a number, of what is left."""
        before = self._zeros()
        if self._use_global_unstructured:
            prune.global_unstructured(
                self._parameters_to_prune, pruning_method=self.pruning_fn, amount=amount
            )
        else:
            for module, name in self._parameters_to_prune:
                self.pruning_fn.apply(module, name, amount=amount, **self._options)
        if self._verbose:
            self._tell(before, amount)

    def apply_lottery_ticket_hypothesis(self) -> None:
        """Set what is not pruned back to its first value, or to one that is drawn anew."""
        with rl.no_grad():
            for module, name, original in self._originals:
                if self._resample_parameters and hasattr(original, "reset_parameters"):
                    original = deepcopy(original)
                    original.reset_parameters()
                getattr(module, f"{name}_orig").copy_(getattr(original, name))

    def make_pruning_permanent(self, module: Any) -> None:
        """Put the pruned values in the parameters' places, without masks."""
        for each in module.modules():
            for name in [n.removesuffix("_mask") for n, _ in each.named_buffers(recurse=False)]:
                if hasattr(each, f"{name}_orig"):
                    prune.remove(each, name)

    def _zeros(self) -> list[tuple[int, int]]:
        """Zeros and elements of each parameter's mask."""
        masks = [getattr(each, f"{name}_mask", None) for each, name in self._parameters_to_prune]
        sizes = [getattr(each, name).numel() for each, name in self._parameters_to_prune]
        return [
            (0 if mask is None else int((mask == 0).sum()), size)
            for mask, size in zip(masks, sizes, strict=True)
        ]

    def _tell(self, before: list[tuple[int, int]], amount: int | float) -> None:
        after = self._zeros()
        total = sum(size for _, size in after)
        zeros = [sum(count for count, _ in rows) for rows in (before, after)]
        info(
            f"{self.pruning_fn.__name__}, amount {amount}: {zeros[0]}/{total} -> "
            f"{zeros[1]}/{total} ({zeros[1] / total:.2%}) are zero"
        )
        if self._verbose > 1:
            for (module, name), (count, size) in zip(self._parameters_to_prune, after, strict=True):
                info(f"  {type(module).__name__}.{name}: {count}/{size} ({count / size:.2%})")

    def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        """With `make_pruning_permanent`, checkpoints hold pruned weights, not weights and masks."""
        if not self._make_pruning_permanent:
            return
        state = checkpoint["state_dict"]
        pruned = [name.removesuffix("_mask") for name in state if name.endswith("_mask")]
        for name in pruned:
            state[name] = state.pop(f"{name}_orig") * state.pop(f"{name}_mask")


def _structured_options(name: str, dim: int | None, norm: int | None) -> dict[str, Any]:
    """The arguments of structured methods."""
    if dim is None:
        raise MisconfigurationException(f"ModelPruning: {name} needs pruning_dim")
    if name != "ln_structured":
        return {"dim": dim}
    if norm is None:
        raise MisconfigurationException(f"ModelPruning: {name} needs pruning_norm")
    return {"dim": dim, "n": norm}
