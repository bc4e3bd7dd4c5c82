"""The former path of :func:`rushlight.hub.load_state_dict_from_url`."""

from __future__ import annotations

from rushlight.utils.download import load_state_dict_from_url as load_url

__all__ = ["load_url"]
