"""Generation: greedy, sampled, with beams; by ids and by text, whole or as it comes.

Begin reading at `decoding.py`; `options.py` lists what can be chosen, `processors.py` what is done
to scores; `grammar/` keeps answers within a pattern or a schema. Imports tokenizers and core;
models come from outside.
"""

from rushlight_text.generation import grammar, processors
from rushlight_text.generation.decoding import generate, stream_ids
from rushlight_text.generation.options import Options
from rushlight_text.generation.text import generate_text, stop_at, stream_text

__all__ = [
    "Options",
    "generate",
    "generate_text",
    "grammar",
    "processors",
    "stop_at",
    "stream_ids",
    "stream_text",
]
