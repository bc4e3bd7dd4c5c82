"""Conversations as text, by a template of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rushlight_text._libraries import library

__all__ = ["render"]


def render(
    template: str | None,
    messages: Sequence[Mapping[str, Any]],
    add_generation_prompt: bool = False,
    variables: Mapping[str, Any] | None = None,
) -> str:
    """The text of messages, by a Jinja template (library ``jinja2``, in its sandbox).

    The template knows ``messages``, ``add_generation_prompt``, the variables, and
    ``raise_exception(text)``.

    Raises ValueError without a template, or where the template refuses.
    """
    if not template:
        raise ValueError("this tokenizer has no chat_template: set one, or pass it to Tokenizer()")
    sandbox = library("jinja2.sandbox", "jinja2", "apply_chat_template()")
    environment = sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.globals["raise_exception"] = _refuse
    return environment.from_string(template).render(
        messages=messages, add_generation_prompt=add_generation_prompt, **(variables or {})
    )


def _refuse(text: str) -> None:
    raise ValueError(f"the chat_template refuses: {text}")
