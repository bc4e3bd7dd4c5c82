"""What the inputs and outputs of an exported graph are: parameters, buffers, constants, the user's.

The names are those of the graph's nodes; a `target` is the name in the model.
"""

from __future__ import annotations

import dataclasses
from enum import Enum, auto

from rushlight.utils import _pytree as pytree


@dataclasses.dataclass
class TensorArgument:
    """A tensor, by the name of its node."""

    name: str


@dataclasses.dataclass
class SymIntArgument:
    """A size that may differ from call to call, by the name of its node."""

    name: str


@dataclasses.dataclass
class SymFloatArgument:
    """A float that depends on values, by the name of its node."""

    name: str


GENERATOR = "torch._C.Generator"  # what the class of generators is called in programs


@dataclasses.dataclass
class CustomObjArgument:
    """An object that is no tensor, such as a generator, by the name of its node; `class_fqn` is
    the name of its class in PyTorch."""

    name: str
    class_fqn: str
    fake_val: object = None


@dataclasses.dataclass
class ConstantArgument:
    """A number, string or None, which is the same in every call."""

    name: str
    value: int | float | bool | str | None


class InputKind(Enum):
    """What an input is."""

    USER_INPUT = auto()
    PARAMETER = auto()
    BUFFER = auto()
    CONSTANT_TENSOR = auto()
    CUSTOM_OBJ = auto()


class OutputKind(Enum):
    """What an output is. Exported programs have no losses and gradients: only signatures can."""

    USER_OUTPUT = auto()
    LOSS_OUTPUT = auto()
    BUFFER_MUTATION = auto()
    PARAMETER_MUTATION = auto()
    GRADIENT_TO_PARAMETER = auto()
    GRADIENT_TO_USER_INPUT = auto()
    USER_INPUT_MUTATION = auto()


@dataclasses.dataclass
class InputSpec:
    """One input; `persistent` is known of buffers: whether the state dict has it."""

    kind: InputKind
    arg: TensorArgument | SymIntArgument | SymFloatArgument | ConstantArgument | CustomObjArgument
    target: str | None
    persistent: bool | None = None

    def __str__(self):
        words = [f"{self.arg.name}: {self.kind.name}"]
        if self.target is not None:
            words.append(f"target='{self.target}'")
        if self.persistent is not None:
            words.append(f"persistent={self.persistent}")
        return " ".join(words)


@dataclasses.dataclass
class OutputSpec:
    """One output; `target` is what a mutation or gradient is of."""

    kind: OutputKind
    arg: TensorArgument | SymIntArgument | SymFloatArgument | ConstantArgument
    target: str | None

    def __str__(self):
        of = "" if self.target is None else f" target='{self.target}'"
        return f"{self.arg.name}: {self.kind.name}{of}"


@dataclasses.dataclass
class ExportBackwardSignature:
    """Which outputs of a graph are gradients: parameters and inputs of the user by the names of
    these outputs; and the name of the one that is the loss."""

    gradients_to_parameters: dict[str, str]
    gradients_to_user_inputs: dict[str, str]
    loss_output: str


@dataclasses.dataclass
class ExportGraphSignature:
    """The inputs and outputs of a graph in order, and what follows from them."""

    input_specs: list[InputSpec]
    output_specs: list[OutputSpec]

    def _inputs(self, kind) -> list[InputSpec]:
        return [spec for spec in self.input_specs if spec.kind is kind]

    def _outputs(self, kind) -> list[OutputSpec]:
        return [spec for spec in self.output_specs if spec.kind is kind]

    def _targets(self, kind) -> dict[str, str]:
        return {spec.arg.name: str(spec.target) for spec in self._inputs(kind)}

    def _named(self, kind) -> dict[str, str]:
        return {spec.arg.name: str(spec.target) for spec in self._outputs(kind)}

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the model's parameters."""
        return tuple(self._targets(InputKind.PARAMETER).values())

    @property
    def buffers(self) -> tuple[str, ...]:
        """The names of the model's buffers."""
        return tuple(self._targets(InputKind.BUFFER).values())

    @property
    def non_persistent_buffers(self) -> set[str]:
        """The names of buffers that the state dict has not."""
        return {str(s.target) for s in self._inputs(InputKind.BUFFER) if s.persistent is False}

    @property
    def lifted_tensor_constants(self) -> tuple[str, ...]:
        """The names of tensors that the model holds or makes from numbers."""
        return tuple(self._targets(InputKind.CONSTANT_TENSOR).values())

    @property
    def user_inputs(self) -> tuple:
        """The names of the user's inputs; the values of those that are constant."""
        return tuple(map(_shown, self._inputs(InputKind.USER_INPUT)))

    @property
    def user_outputs(self) -> tuple:
        """The names of the nodes that are returned; the values of those that are constant."""
        return tuple(map(_shown, self._outputs(OutputKind.USER_OUTPUT)))

    @property
    def inputs_to_parameters(self) -> dict[str, str]:
        """Parameters by the name of their input."""
        return self._targets(InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> dict[str, str]:
        """Buffers by the name of their input."""
        return self._targets(InputKind.BUFFER)

    @property
    def inputs_to_lifted_tensor_constants(self) -> dict[str, str]:
        """Constants by the name of their input."""
        return self._targets(InputKind.CONSTANT_TENSOR)

    @property
    def buffers_to_mutate(self) -> dict[str, str]:
        """Buffers by the name of the output that is their new value."""
        return self._named(OutputKind.BUFFER_MUTATION)

    @property
    def user_inputs_to_mutate(self) -> dict[str, str]:
        """The user's inputs by the name of the output that is their new value."""
        return self._named(OutputKind.USER_INPUT_MUTATION)

    @property
    def parameters_to_mutate(self) -> dict[str, str]:
        """Parameters by the name of the output that is their new value."""
        return self._named(OutputKind.PARAMETER_MUTATION)

    @property
    def backward_signature(self) -> ExportBackwardSignature | None:
        """The outputs that are the loss and its gradients; None without a loss. AssertionError for
        several losses."""
        losses = self._outputs(OutputKind.LOSS_OUTPUT)
        if len(losses) > 1:
            raise AssertionError(
                f"backward_signature: there are {len(losses)} outputs of kind LOSS_OUTPUT"
            )
        if not losses:
            return None
        return ExportBackwardSignature(
            self._named(OutputKind.GRADIENT_TO_PARAMETER),
            self._named(OutputKind.GRADIENT_TO_USER_INPUT),
            losses[0].arg.name,
        )

    @property
    def lifted_custom_objs(self) -> tuple[str, ...]:
        """The names of generators that the program draws from."""
        return tuple(self._targets(InputKind.CUSTOM_OBJ).values())

    @property
    def inputs_to_lifted_custom_objs(self) -> dict[str, str]:
        """The same by the name of their input."""
        return self._targets(InputKind.CUSTOM_OBJ)

    @property
    def input_tokens(self) -> tuple[str, ...]:
        """The tokens that order effects: none, as effects keep the order of the graph."""
        return ()

    @property
    def output_tokens(self) -> tuple[str, ...]:
        """The tokens that are returned: none."""
        return ()

    @property
    def assertion_dep_token(self) -> None:
        """None: assertions keep the order of the graph."""
        return None

    def get_replace_hook(self, replace_inputs: bool = False):
        """A function for the hooks of a graph module, ``with module._set_replace_hook(...):``,
        by which a pass that replaces nodes keeps the signature's names.

        Args:
            replace_inputs: whether names of inputs follow as well; False by default, where only
                those of outputs do.
        """

        def hook(old, new, user):
            if user.op == "output":
                _rename(self.output_specs, old.name, new)
            if replace_inputs and old.op == "placeholder":
                _rename(self.input_specs, old.name, new)

        return hook

    def replace_all_uses(self, old: str, new: str) -> None:
        """Call a node `new` that was called `old`."""
        _rename(self.input_specs, old, new)
        _rename(self.output_specs, old, new)

    def __str__(self):
        lines = ["", "# inputs", *map(str, self.input_specs)]
        return "\n".join([*lines, "", "# outputs", *map(str, self.output_specs), ""])


@dataclasses.dataclass
class ModuleCallSignature:
    """How a module is called: its arguments and result as structures. `inputs` and `outputs` are
    their leaves, of the model itself none."""

    inputs: list
    outputs: list
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec
    forward_arg_names: list[str] | None = None


def exchanged(signature):
    """The tensors among the arguments and results of a call of known signature, or of None."""
    found = [] if signature is None else [*signature.inputs, *signature.outputs]
    return [argument for argument in found if isinstance(argument, TensorArgument)]


def _rename(specs, old, new):
    for spec in specs:
        if isinstance(spec.arg, TensorArgument) and spec.arg.name == old:
            spec.arg.name = new


def _shown(spec: InputSpec | OutputSpec):
    return spec.arg.value if isinstance(spec.arg, ConstantArgument) else spec.arg.name


__all__ = [
    "ConstantArgument",
    "CustomObjArgument",
    "ExportBackwardSignature",
    "ExportGraphSignature",
    "InputKind",
    "InputSpec",
    "ModuleCallSignature",
    "OutputKind",
    "OutputSpec",
    "SymFloatArgument",
    "SymIntArgument",
    "TensorArgument",
    "exchanged",
]
