"""Modules around others whose names are those of the inner ones."""

from __future__ import annotations

from rushlight import nn

__all__ = ["CHECKPOINTED", "SHARDED", "Wrapper", "clean_name"]

SHARDED, CHECKPOINTED = "_fsdp_wrapped_module", "_checkpoint_wrapped_module"


class Wrapper(nn.Module):
    """A module around the one called `_inner_name`, whose attributes and items it has; state dicts
    are loaded by the names without the wrapping."""

    _inner_name: str

    def __init__(self):
        super().__init__()
        self._register_load_state_dict_pre_hook(self._rename_loaded)

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == self._inner_name:
                raise
            return getattr(getattr(self, self._inner_name), name)

    def __getitem__(self, key):
        return getattr(self, self._inner_name)[key]

    def _rename_loaded(self, state_dict, prefix, *args):
        """The names of a state dict as `load_state_dict` looks for them."""
        own = self._inner_name + "."
        for key in [key for key in state_dict if key.startswith(prefix)]:
            rest = key[len(prefix) :]
            if not rest.startswith(own):
                state_dict[prefix + own + rest] = state_dict.pop(key)


def clean_name(name: str) -> str:
    """A parameter's name without the parts that wrapping adds."""
    return name.replace(SHARDED + ".", "").replace(CHECKPOINTED + ".", "")
