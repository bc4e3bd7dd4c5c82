"""Exported programs of recurrent layers over packed sequences."""

import io

import packed_models
import pytest
from packed_models import CASES

import rushlight
from rushlight.export import Dim, export

SHAPES = ((3, 6), (5, 9), (2, 3))


def exported(name):
    case = CASES[name]
    model = packed_models.encoder(rushlight, **case)
    given = [packed_models.tokens(rushlight, case, *shape, i) for i, shape in enumerate(SHAPES)]
    batch, steps = Dim("batch", min=2), Dim("steps", min=3, max=12)
    sizes = {0: batch, 1: steps} if case.get("batch_first", True) else {0: steps, 1: batch}
    program = export(model, given[0], dynamic_shapes={"tokens": sizes, "lengths": {0: batch}})
    return model, program, given


def same(found, expected):
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.shape == theirs.shape
        rushlight.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("name", CASES)
def test_programs_take_other_batches_and_lengths(name):
    model, program, given = exported(name)
    file = io.BytesIO()
    rushlight.export.save(program, file)
    file.seek(0)
    forms = program, program.run_decompositions(), rushlight.export.load(file)
    for form in forms:
        module = form.module()
        for values in given:
            same(module(*values), model(*values))


@pytest.mark.parametrize("name", ["lstm", "gru, both ways"])
def test_packing_and_the_layer_are_nodes(name):
    _, program, _ = exported(name)
    names = [str(n.target) for n in program.graph.nodes if n.op == "call_function"]
    layer = "lstm" if name == "lstm" else "gru"
    for expected in ("_pack_padded_sequence.default", f"{layer}.data",
                     "_pad_packed_sequence.default"):  # fmt: skip
        assert any(found.endswith(expected) for found in names)


def test_pytorch_reads_the_archive(tmp_path):
    torch = pytest.importorskip("torch")
    model, program, given = exported("both ways, two layers")
    path = tmp_path / "program.pt2"
    rushlight.export.save(program, path)
    module = torch.export.load(path).module()
    for values in given:
        found = module(*(torch.tensor(v.numpy()) for v in values))
        same([rushlight.tensor(v.detach().numpy()) for v in found], model(*values))


def test_sizes_of_results_follow_from_the_batch_and_the_lengths():
    _, program, _ = exported("falling lengths")
    tags, hidden, lengths = program.graph.output_node().args[0]
    assert str(hidden.meta["sizes"][1]) == str(lengths.meta["sizes"][0])
    assert str(tags.meta["sizes"][0]) == str(lengths.meta["sizes"][0])
