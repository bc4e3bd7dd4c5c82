"""NumPy's names of arguments (``x=``, ``axis=``) for every built-in function, and PyTorch's
functions that are absent here, each for a reason. Names and signatures are those of
``test_spellings.py``."""

import functools
import itertools
import sys
import warnings
from pathlib import Path

import pytest

import rushlight

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))
import test_spellings as spellings  # noqa: E402
import torch_calls  # noqa: E402

OTHERS = {
    "input": ("x", "a", "x1"), "other": ("x2",), "dim": ("axis",), "keepdim": ("keepdims",),
}  # fmt: skip
# Beginnings of names that are absent, and why.
ABSENT = {
    "batch_norm_": "steps of synchronized normalization, which PyTorch has on GPUs alone",
    "cudnn_": "calls of one library", "miopen_": "calls of one library",
    "mkldnn_": "calls of one library", "fbgemm_": "calls of one library",
    "quantized_": "no quantized tensors", "q_": "no quantized tensors",
    "qscheme": "no quantized tensors", "int_repr": "no quantized tensors",
    "choose_qparams": "no quantized tensors", "empty_quantized": "no quantized tensors",
    "fused_moving_avg_obs_fake_quant": "no quantized tensors",
    "ccol_indices_copy": "views as copies, for the compiler of PyTorch",
    "col_indices_copy": "views as copies, for the compiler of PyTorch",
    "crow_indices_copy": "views as copies, for the compiler of PyTorch",
    "row_indices_copy": "views as copies, for the compiler of PyTorch",
    "indices_copy": "views as copies, for the compiler of PyTorch",
    "values_copy": "views as copies, for the compiler of PyTorch",
    "sym_constrain_range": "for the compiler of PyTorch", "slice_inverse": "for its compiler",
    "init_num_threads": "threads start by themselves", "is_vulkan_available": "no such device",
    "native_norm": "the kernel behind norm", "ipu": "no such device", "mtia": "no such device",
    "xpu": "no such device", "const_data_ptr": "for C++: data_ptr",
    "is_distributed": "of tensors long gone", "storage_type": "of storages long gone",
    "module_load": "for swapping tensors in load_state_dict",
    "resize_as_sparse_": "refused as a function", "to_padded_tensor": "a method of nested tensors",
    "assert_int_or_pair": "a check of PyTorch's own",
}  # fmt: skip


def _is_built_in(name):
    kind = type(torch_calls.named(torch, name)).__name__
    return kind == "builtin_function_or_method" and "." not in name


FUNCTIONS = [n for n in spellings.NAMES if _is_built_in(n) and n not in spellings.LEFT_OUT]
# A number of alternatives where the names decide which: the second is called `other` by accident.
FUNCTIONS = [n for n in FUNCTIONS if torch_calls.known(n) and n != "result_type"]


@functools.cache
def _by_keyword(name):
    """Calls with all arguments by keyword that PyTorch takes."""
    found = []
    for signature in spellings.SIGNATURES[name]:
        for _, alternatives in torch_calls.calls(name, signature, []):
            for pairs in itertools.islice(alternatives, 8):
                keywords = {p.name: v for p, v in pairs}
                if not any(p.spread for p, _ in pairs) and _takes(torch, name, keywords):
                    found.append(keywords)
                    break
    return found


def _takes(library, name, keywords):
    given = torch_calls.copied(keywords)
    given = given if library is torch else torch_calls.ours(given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            torch_calls.named(library, name)(**given)
        except Exception:  # noqa: BLE001 - whatever it refuses
            return False
    return True


def _missing(name):
    """NumPy's names that PyTorch takes for an argument and ours does not."""
    wrong, seen = [], set()
    for keywords in _by_keyword(name):
        for known in OTHERS.keys() & keywords.keys():
            for other in set(OTHERS[known]) - seen:
                given = {other if k == known else k: v for k, v in keywords.items()}
                if _takes(torch, name, given):
                    seen.add(other)
                    if not _takes(rushlight, name, given):
                        wrong.append(f"{name}({other}=) for {known}")
    return wrong


@pytest.mark.parametrize("letter", sorted({n[0] for n in FUNCTIONS}))
def test_numpy_names(letter):
    wrong = [text for n in FUNCTIONS if n[0] == letter for text in _missing(n)]
    assert not wrong, "\n".join(wrong)


def test_the_search_finds_functions_of_plain_python():
    for name in ("zeros_like", "nonzero", "real", "index_put", "relu_", "max"):
        assert _by_keyword(name), name
    with pytest.raises(TypeError, match="unexpected keyword argument 'y'"):
        rushlight.zeros_like(rushlight.ones(2), y=1)
    with pytest.raises(TypeError, match="missing required argument: 'input'"):
        rushlight.zeros_like(dtype=rushlight.int64)


def test_what_is_absent_is_so_for_a_reason():
    absent = [n for n in spellings.SIGNATURES if not torch_calls.known(n)]
    absent = [n for n in absent if not _is_refused(n)]
    judged = [n for n in absent if n.rpartition(".")[2].startswith(tuple(ABSENT))]
    assert absent == judged


def _is_refused(name):
    try:
        return isinstance(torch_calls.named(rushlight, name), rushlight.refusals.Refused)
    except (AttributeError, NotImplementedError):
        return False


def test_reversed_is_a_tensor():
    for values in ([1, 2, 3], [[1, 2], [3, 4]], 5):
        found, wanted = reversed(rushlight.tensor(values)), reversed(torch.tensor(values))
        assert found.tolist() == wanted.tolist()


def test_module_of_functions():
    assert set(rushlight.functional.__all__) == set(torch.functional.__all__)
    assert rushlight.functional.einsum is rushlight.einsum
