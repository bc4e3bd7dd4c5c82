"""Languages that generation is kept within: regular expressions and JSON schemas.

Begin reading at `constraint.py`; `parsing.py` and `schemas.py` give an expression, `automata.py`
its automaton over characters, `index.py` the tokens that each state allows. Imports tokenizers
and core.
"""

from rushlight_text.generation.grammar.automata import Automaton
from rushlight_text.generation.grammar.constraint import (
    compile_pattern,
    compile_schema,
    index_of,
    within,
)
from rushlight_text.generation.grammar.index import TokenIndex

__all__ = ["Automaton", "TokenIndex", "compile_pattern", "compile_schema", "index_of", "within"]
