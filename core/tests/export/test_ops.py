"""Every op of the table as an exported program: its values, and those of the archive read again."""

from __future__ import annotations

import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from op_models import NAMES, cases

import rushlight
import rushlight.export
from rushlight.export.serialization.values import FormatError
from rushlight.utils import _pytree as pytree

# The size of the result depends on values, or values are read; the error says so.
READ = frozenset("allclose equal histogramdd".split())
# Drawn from the generator of NumPy, or signs of vectors that are free.
DRAWN = frozenset(["lobpcg", "pca_lowrank", "svd_lowrank"])
WRITES = frozenset(["resize_as"])  # resizes its input
LEAST_SAVED = 1700


def values(program, inputs):
    rushlight.manual_seed(5)
    with rushlight.no_grad():
        leaves = pytree.tree_leaves(program(*inputs))
    return [x.resolve_conj().resolve_neg() for x in leaves if isinstance(x, rushlight.Tensor)]


def agree(found, expected, name):
    for one, other in zip(found, expected, strict=True):
        assert one.dtype is other.dtype and one.shape == other.shape
        if name in DRAWN:
            one, other = one.abs(), other.abs()
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_programs_have_the_values_of_the_op(name):
    refused = False
    for model, inputs in cases(name):
        expected = values(model, inputs)
        try:
            program = rushlight.export.export(model, inputs)
        except (NotImplementedError, RuntimeError) as error:
            assert any(
                word in str(error) for word in ("meta", "reads", "contiguous", "asks for a value")
            )
            refused = True
            continue
        agree(values(program.module(), inputs), expected, name)
    assert refused == (name in READ)


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """A folder of archives, what their programs give, and the ops that cannot be written."""
    folder, expected, refused = tmp_path_factory.mktemp("ops"), {}, set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in sorted(set(NAMES) - READ - WRITES):
            for i, (model, inputs) in enumerate(cases(name)):
                program = rushlight.export.export(model, inputs)
                try:
                    rushlight.export.save(program, folder / f"{name}-{i}.pt2")
                except FormatError as error:
                    assert "which ATen lacks" in str(error), name
                    refused.add(name)
                    continue
                expected[f"{name}-{i}"] = values(model, inputs), inputs
    return folder, expected, refused


def test_archives_have_the_values_of_the_op(archives):
    folder, expected, refused = archives
    assert len(expected) > LEAST_SAVED and refused == {"lobpcg"}
    for name, (wanted, inputs) in expected.items():
        program = rushlight.export.load(folder / f"{name}.pt2").module()
        agree(values(program, inputs), wanted, name.rsplit("-", 1)[0])


# PyTorch's archives cannot have unsigned 64-bit numbers.
NOT_COMPARED = DRAWN | {"hash_tensor"}
FREE_SIGNS = ("linalg_eig-", "linalg_eigh-")  # of vectors: LAPACKs differ, by processor too


def signed(results):
    """Eigenvalues, and vectors whose largest elements are positive."""
    values, vectors = results
    if not vectors.numel():
        return results
    largest = vectors.abs().argmax(-2, keepdim=True)
    return [values, vectors / vectors.gather(-2, largest).sgn()]


def test_pytorch_reads_the_archives_with_the_same_values(archives, tmp_path):
    pytest.importorskip("torch")
    folder, expected, _ = archives
    for name in expected:
        if name.rsplit("-", 1)[0] not in NOT_COMPARED:
            shutil.copy(folder / f"{name}.pt2", tmp_path)
    script = Path(__file__).parent / "pytorch_archives.py"
    done = subprocess.run(
        [sys.executable, str(script), "read", str(tmp_path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    count = 0
    for file in tmp_path.glob("*.pt"):
        found = pytree.tree_leaves(rushlight.load(file))
        found = [x.resolve_conj().resolve_neg() for x in found if isinstance(x, rushlight.Tensor)]
        wanted = expected[file.stem][0]
        if file.stem.startswith(FREE_SIGNS):
            found, wanted = signed(found), signed(wanted)
        agree(found, wanted, file.stem)
        count += 1
    assert count > LEAST_SAVED


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
