"""ONNXProgram: what an export gives."""

from __future__ import annotations

import copy
import os
from typing import TYPE_CHECKING, Any

import rushlight
from rushlight.machine import np
from rushlight.utils import _pytree as pytree

if TYPE_CHECKING:
    from onnx import ModelProto

    from rushlight.export import ExportedProgram

_LARGEST = 2**31 - 2**24  # bytes; a file of the format cannot be longer than 2 GiB
_SMALL = 1024  # bytes; weights smaller than this stay in the model's own file


class ONNXProgram:
    """A model in ONNX's form (`model_proto`) with the program it was made of (`exported_program`).

    Calling it runs the model by ONNX Runtime and gives a list of tensors.
    """

    def __init__(
        self, model_proto: ModelProto, exported_program: ExportedProgram | None = None
    ) -> None:
        self.model_proto, self.exported_program = model_proto, exported_program
        self._session: Any = None

    def __repr__(self) -> str:
        graph = self.model_proto.graph
        inputs = ", ".join(value.name for value in graph.input)
        outputs = ", ".join(value.name for value in graph.output)
        return f"ONNXProgram({len(graph.node)} nodes; {inputs} -> {outputs})"

    def save(
        self,
        destination: Any,
        *,
        include_initializers: bool = True,
        keep_initializers_as_inputs: bool = False,
        external_data: bool | None = None,
    ) -> None:
        """Write the model to a file, by its path or open for bytes (then all in one).

        With `external_data` weights go to `destination` + ".data" beside it; None does so where the
        file would be too long. Without `include_initializers` the weights are left out and are
        inputs; with `keep_initializers_as_inputs` they may be replaced by inputs.
        """
        import onnx

        model = self.model_proto
        if not include_initializers or keep_initializers_as_inputs:
            model = _with_weights_as_inputs(model, include_initializers)
        if hasattr(destination, "write"):
            destination.write(model.SerializeToString())
            return
        if external_data is None:
            external_data = model.ByteSize() > _LARGEST
        path = os.fspath(destination)
        data = os.path.basename(path) + ".data"
        if external_data:
            place = os.path.join(os.path.dirname(path), data)
            if os.path.exists(place):
                os.remove(place)  # the library would write behind what is there
            onnx.save_model(
                copy.deepcopy(model), path, save_as_external_data=True, location=data,
                size_threshold=_SMALL,
            )  # fmt: skip
        else:
            onnx.save_model(model, path)

    def initialize_inference_session(self, initializer: Any = None) -> None:
        """Make ready to be called; `initializer` gives a session of ONNX Runtime for a path."""
        self._session = (initializer or _session)(self.model_proto.SerializeToString())

    def __call__(self, *args: Any, **kwargs: Any) -> list[rushlight.Tensor]:
        """The outputs for some inputs, by ONNX Runtime (`pip install onnxruntime`)."""
        if self._session is None:
            self.initialize_inference_session()
        return [_tensor(v) for v in self._session.run(None, self._given(args, kwargs))]

    def call_reference(self, *args: Any, **kwargs: Any) -> list[rushlight.Tensor]:
        """The same by the slow evaluator of the onnx package."""
        from onnx.reference import ReferenceEvaluator

        evaluator = ReferenceEvaluator(self.model_proto)
        return [_tensor(np.asarray(v)) for v in evaluator.run(None, self._given(args, kwargs))]

    def _given(self, args, kwargs):
        """Inputs by their names."""
        leaves = [v for v in pytree.tree_leaves((args, kwargs)) if isinstance(v, rushlight.Tensor)]
        weights = {value.name for value in self.model_proto.graph.initializer}
        names = [v.name for v in self.model_proto.graph.input if v.name not in weights]
        if len(leaves) != len(names):
            raise ValueError(f"the model takes {len(names)} tensors ({names}), got {len(leaves)}")
        return {
            n: np.asarray(v.detach().cpu().numpy(), order="C")
            for n, v in zip(names, leaves, strict=True)
        }

    def apply_weights(self, state_dict: dict[str, rushlight.Tensor]) -> None:
        """Put other values in the place of weights, by their names."""
        from rushlight.onnx._types import array_of

        weights = {value.name: value for value in self.model_proto.graph.initializer}
        for name, tensor in state_dict.items():
            if name not in weights:
                raise ValueError(f"state_dict: the model has no weights called {name!r}")
            if tuple(weights[name].dims) != tuple(tensor.shape):
                raise ValueError(
                    f"state_dict[{name!r}] must have the shape {tuple(weights[name].dims)}, got "
                    f"{tuple(tensor.shape)}"
                )
            weights[name].raw_data = array_of(tensor).tobytes()
        self._session = None

    def optimize(self) -> None:
        """Nothing is left to do: what is constant was computed while the model was made."""

    def release(self) -> None:
        """Give back what running the model has taken."""
        self._session = None

    @property
    def model(self):
        """Refused: there is no onnxscript here."""
        raise NotImplementedError(
            "ONNXProgram.model: use model_proto, the model of the onnx package"
        )


def _session(content):
    try:
        import onnxruntime
    except ImportError:
        raise ImportError(
            "ONNXProgram is called by ONNX Runtime, which is not installed: pip install onnxruntime"
        ) from None
    return onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])


def _tensor(value):
    return rushlight.from_numpy(np.array(value))


def _with_weights_as_inputs(model, kept):
    import onnx

    model = copy.deepcopy(model)
    for weight in model.graph.initializer:
        value = onnx.helper.make_tensor_value_info(weight.name, weight.data_type, list(weight.dims))
        model.graph.input.append(value)
    if not kept:
        del model.graph.initializer[:]
    return model
