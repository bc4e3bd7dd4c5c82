"""Tags of operators, as PyTorch 2.13 gives them."""

import pytest

import rushlight
from rushlight import Tag
from rushlight.library import custom_op

aten = rushlight.ops.aten
# Without pt2_compliant_tag, which all of ATen's have.
TAGS = {
    aten.add.Tensor: "core pointwise", aten.add_.Tensor: "inplace pointwise",
    aten.add.out: "out pointwise", aten.view.default: "core",
    aten.rand.default: "core nondeterministic_seeded",
    aten.bernoulli.default: "nondeterministic_seeded",
    aten.item.default: "data_dependent_output", aten.nonzero.default: "core dynamic_output_shape",
    aten._local_scalar_dense.default: "core data_dependent_output", aten.mm.default: "core",
    aten.relu.default: "core pointwise", aten.sum.dim_IntList: "core reduction",
    aten.transpose_.default: "inplace inplace_view", aten.sort.values: "out",
    aten.expand_copy.default: "view_copy", aten.index_copy.default: "",
    aten.linear.default: "", aten.clone.default: "core pointwise",
    aten.dropout.default: "maybe_aliasing_or_mutating nondeterministic_seeded",
    aten.full.default: "core", aten.permute.default: "core",
    aten.sigmoid_.default: "inplace pointwise",
}  # fmt: skip


@pytest.mark.parametrize("overload", TAGS, ids=str)
def test_tags_of_overloads(overload):
    names = [tag.name for tag in overload.tags]
    assert sorted(names) == sorted([*TAGS[overload].split(), "pt2_compliant_tag"])
    assert all(isinstance(tag, Tag) for tag in overload.tags)


def test_tags_are_pytorchs():
    torch = pytest.importorskip("torch")
    checked = 0
    for schema in torch._C._jit_get_all_schemas():
        space, _, name = schema.name.partition("::")
        word = schema.overload_name or "default"
        ours = getattr(getattr(aten, name, None), word, None) if space == "aten" else None
        theirs = getattr(getattr(torch.ops.aten, name, None), word, None)
        if ours is None or theirs is None:
            continue
        checked += 1
        found = sorted(tag.name for tag in ours.tags)
        assert found == sorted(tag.name for tag in theirs.tags), (name, word)
    assert checked > 1500


@pytest.mark.parametrize("tags, wanted", [
    (None, [Tag.pt2_compliant_tag]), ((), [Tag.pt2_compliant_tag]),
    (Tag.nondeterministic_seeded, [Tag.nondeterministic_seeded, Tag.pt2_compliant_tag]),
    ((Tag.pt2_compliant_tag, Tag.core), [Tag.pt2_compliant_tag, Tag.core]),
    ((Tag.needs_fixed_stride_order,), [Tag.needs_fixed_stride_order, Tag.pt2_compliant_tag]),
])  # fmt: skip
def test_tags_of_custom_ops(tags, wanted):
    @custom_op("tests_tags::twice", mutates_args=(), tags=tags)
    def twice(x: rushlight.Tensor) -> rushlight.Tensor:
        return x * 2

    assert rushlight.ops.tests_tags.twice.default.tags == wanted
    assert twice(rushlight.ones(2)).tolist() == [2.0, 2.0]
