"""Inner names of PyTorch that the real Lightning imports, so that it runs on Rushlight."""

import pytest

import rushlight as rl
from rushlight.compat.paths import module_behind
from rushlight.utils import _pytree


def test_paths_and_names():
    assert module_behind("torch.nn.parallel.distributed") == "rushlight.nn.parallel"
    assert rl.ScriptModule is rl.jit.ScriptModule
    with pytest.raises(NotImplementedError, match="rushlight.load"):
        rl.PyTorchFileReader("x.pt")


@pytest.mark.parametrize("tree", [[1, (2, 3)], {"a": 1, "b": [2]}, (1,), 5])
def test_kinds_of_nodes_are_pytorchs(tree):
    torch = pytest.importorskip("torch")
    theirs = torch.utils._pytree
    kind = _pytree._get_node_type(tree)
    assert kind is theirs._get_node_type(tree)
    assert (kind in _pytree.SUPPORTED_NODES) == (kind in theirs.SUPPORTED_NODES)
    if kind in _pytree.SUPPORTED_NODES:
        node, other = _pytree.SUPPORTED_NODES[kind], theirs.SUPPORTED_NODES[kind]
        children, context = node.flatten_fn(tree)
        assert list(children) == list(other.flatten_fn(tree)[0])
        assert node.unflatten_fn(children, context) == tree
