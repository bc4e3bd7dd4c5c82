"""ServableModule: a model with what a server needs to call it, and a check that it can."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lightning_lite.callbacks.callback import Callback
from lightning_lite.messages import info


class ServableModule:
    """What a module mixes in to be served.

    `configure_payload` is an example of what clients send, `configure_serialization` the functions
    that read it and write the answer, `serve_step` the step in between, and `configure_response`
    the answer to the example.
    """

    def configure_payload(self) -> dict[str, Any]:
        """An example: `{"body": {name: value}}`."""
        raise NotImplementedError(f"{type(self).__name__} does not define configure_payload")

    def configure_serialization(self) -> tuple[dict[str, Callable], dict[str, Callable]]:
        """Functions by name: those that read the payload, those that write the answer."""
        raise NotImplementedError(f"{type(self).__name__} does not define configure_serialization")

    def serve_step(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The answer's entries from the payload's."""
        raise NotImplementedError(f"{type(self).__name__} does not define serve_step")

    def configure_response(self) -> dict[str, Any]:
        """The answer that the example must get."""
        raise NotImplementedError(f"{type(self).__name__} does not define configure_response")


class ServableModuleValidator(Callback):
    """Calls a `ServableModule` as a server would, before training, and compares its answer.

    The call is made in this process, without a server. `exit_on_failure` raises what went wrong
    (otherwise it is told); `successful` says how it went.
    """

    def __init__(
        self,
        optimization: str | None = None,
        server: str = "fastapi",
        host: str = "127.0.0.1",
        port: int = 8080,
        timeout: int = 20,
        exit_on_failure: bool = True,
    ) -> None:
        super().__init__()
        if optimization is not None:
            raise NotImplementedError(f"ServableModuleValidator(optimization={optimization!r})")
        self.exit_on_failure = exit_on_failure
        self.successful: bool | None = None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Call the module."""
        if not isinstance(pl_module, ServableModule):
            raise TypeError(
                f"ServableModuleValidator: {type(pl_module).__name__} is no ServableModule"
            )
        try:
            self._call(pl_module)
        except Exception as error:
            self.successful = False
            if self.exit_on_failure:
                raise
            info(f"ServableModuleValidator: {type(error).__name__}: {error}")
        else:
            self.successful = True

    def _call(self, module: Any) -> None:
        readers, writers = module.configure_serialization()
        body = module.configure_payload()["body"]
        training = module.training
        module.eval()
        try:
            given = {name: readers[name](value) for name, value in body.items()}
            answer = module.serve_step(**given)
        finally:
            module.train(training)
        written = {name: writers[name](value) for name, value in answer.items()}
        expected = module.configure_response()
        if written != expected:
            raise ValueError(f"the answer is {written}; configure_response gives {expected}")

    def state_dict(self) -> dict[str, Any]:
        """How it went."""
        return {"successful": self.successful}
