"""SoX's effects, which torchaudio had up to 2.8, without libsox.

`applying` has the functions, `sound` the table and the arguments; the other files have the effects.
"""

from rushlight_audio.sox_effects.applying import (
    apply_effects_file,
    apply_effects_tensor,
    effect_names,
    init_sox_effects,
    shutdown_sox_effects,
)

__all__ = [
    "apply_effects_file",
    "apply_effects_tensor",
    "effect_names",
    "init_sox_effects",
    "shutdown_sox_effects",
]
