# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _float
from rushlight._words import _int
from rushlight.tensor.tensor import Tensor
from typing import Any
from typing import NamedTuple

class Followers(NamedTuple):
    score: Any
    before: Any
    state: Any
    node: Any
    token: Any
    parent: Any
    word: Any
    blank: Any
    words: tuple[_int, _int, _int]
class PrefixTree:
    def __init__(self, starts: Any, tokens: Any, nodes: Any, best: Any, label_starts: Any, labels: Any) -> None: ...
    def followers(self, hypotheses: Any, heard: Any, tried: Any, silence: Any, blank: _int, unknown: _int = ..., weight: _float = ...) -> Followers: ...
    nodes: Any
    tokens: Any
def best_rows(score: Any, key: Tensor, most: _int, threshold: _float = ...) -> Any: ...
def summed_rows(score: Any, key: Tensor, most: _int, threshold: _float = ...) -> Any: ...
