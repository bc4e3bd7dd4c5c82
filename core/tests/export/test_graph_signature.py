"""Signatures of graphs: the loss and its gradients."""

import pytest

import rushlight
from rushlight.export import ExportBackwardSignature, ExportGraphSignature, export, graph_signature
from rushlight.export.verifier import SpecViolationError


def signature(home, *kinds):
    """A signature whose outputs are of these kinds, each named by its position."""
    outputs = [
        home.OutputSpec(
            getattr(home.OutputKind, kind), home.TensorArgument(f"out_{i}"), f"target_{i}"
        )
        for i, kind in enumerate(kinds)
    ]
    return home.ExportGraphSignature([], outputs)


CASES = [
    ("USER_OUTPUT",),
    ("GRADIENT_TO_PARAMETER",),
    ("LOSS_OUTPUT",),
    ("BUFFER_MUTATION", "LOSS_OUTPUT", "GRADIENT_TO_PARAMETER", "GRADIENT_TO_PARAMETER",
     "GRADIENT_TO_USER_INPUT", "USER_OUTPUT"),
]  # fmt: skip


@pytest.mark.parametrize("kinds", CASES)
def test_gradients_are_those_of_pytorch(kinds):
    pytest.importorskip("torch")
    import torch.export.graph_signature as theirs

    def facts(home):
        found = signature(home, *kinds).backward_signature
        return None if found is None else vars(found)

    assert facts(graph_signature) == facts(theirs)


def test_a_loss_and_its_gradients():
    found = signature(graph_signature, *CASES[-1]).backward_signature
    assert found == ExportBackwardSignature(
        {"out_2": "target_2", "out_3": "target_3"}, {"out_4": "target_4"}, "out_1"
    )
    with pytest.raises(AssertionError, match="2 outputs of kind LOSS_OUTPUT"):
        _ = signature(graph_signature, "LOSS_OUTPUT", "LOSS_OUTPUT").backward_signature


def test_programs_have_none():
    program = export(rushlight.nn.Linear(2, 1), (rushlight.ones(1, 2),))
    assert program.graph_signature.backward_signature is None
    (spec,) = program.graph_signature.output_specs
    spec.kind = graph_signature.OutputKind.LOSS_OUTPUT
    with pytest.raises(SpecViolationError, match="LOSS_OUTPUT: programs compute no gradients"):
        program.validate()
    assert isinstance(program.graph_signature, ExportGraphSignature)
