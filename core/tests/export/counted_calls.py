"""How often each op is called by a program, and as cases say it: ``"mm.default add.Tensor*2"``."""

import collections


def counted(text):
    pairs = (word.partition("*") for word in text.split())
    return collections.Counter({name: int(count or 1) for name, _, count in pairs})


def calls(program):
    """How often each op is called; reshapes count as views, of which PyTorch knows the strides."""
    targets = (str(n.target) for n in program.graph.nodes if n.op == "call_function")
    names = (name.removeprefix("aten.") for name in targets if "getitem" not in name)
    found = collections.Counter(name.replace("reshape", "view") for name in names)
    del found["clone.default"]
    return found
