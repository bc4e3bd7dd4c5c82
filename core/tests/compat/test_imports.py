"""PyTorch's names after `install`: which modules they are, what is missing, what comes back."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from running import HAS_TORCH, run


def succeed(program, cwd=None):
    """Run a program behind `install`; what it prints."""
    done = run("-c", "from rushlight import compat\ncompat.install()\n" + program, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_names_are_rushlights():
    succeed("""
import importlib, rushlight, types
import torch, torch.nn as nn, torch.nn.functional as F, torch.optim.lr_scheduler
import torch.backends.cudnn as cudnn
from torch import Tensor, optim
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import default_collate
from torch.nn.modules.conv import _ConvNd
from torch.nn.modules.utils import _pair
from torch.nn.utils.spectral_norm import spectral_norm
from torch.nn.parameter import Parameter
from torch import *
assert isinstance(torch, types.ModuleType) and torch.__name__ == "torch"
assert Tensor is rushlight.Tensor and torch.Tensor is Tensor
assert nn.Linear is rushlight.nn.Linear and nn is torch.nn
assert F.relu is rushlight.nn.functional.relu and nn.functional is F
assert optim.lr_scheduler.StepLR is rushlight.optim.lr_scheduler.StepLR
assert issubclass(nn.Conv2d, _ConvNd) and _pair(2) == (2, 2)
assert torch.nn.utils.spectral_norm is spectral_norm and callable(spectral_norm)
assert default_collate([1, 2]).tolist() == [1, 2] and Parameter is nn.Parameter
assert importlib.import_module("torch.linalg") is torch.linalg
assert zeros(2).tolist() == [0, 0]
assert "Linear" in dir(nn) and "kernels" not in dir(torch) and "tensor" in dir(torch)
torch.backends.cudnn.benchmark = True
assert cudnn.benchmark is True
""")


def test_versions():
    succeed("""
import importlib.metadata, importlib.util, torch, torch.version
assert importlib.metadata.version("torch") == torch.__version__ == "2.13.0+rushlight"
assert torch.__version__ >= "2.9" and torch.__version__ > (1, 13) and torch.__version__ < "2.14"
assert not torch.__version__ < "2.13" and torch.__version__.split(".")[0] == "2"
assert torch.version.__version__ == torch.__version__ and torch.version.cuda is None
assert importlib.util.find_spec("torch") is not None
assert importlib.util.find_spec("torch.nosuch") is None
import rushlight
assert rushlight.__version__ != torch.__version__
""")


@pytest.mark.parametrize(
    ("line", "error", "named"),
    [
        ("import torch.nosuch", ImportError, "torch.nosuch"),
        ("from torch.nosuch.deeper import thing", ImportError, "torch.nosuch"),
        ("from torch.nn import Nosuch", ImportError, "torch.nn.Nosuch"),
        ("from torch.nn.functional import nosuch", ImportError, "torch.nn.functional.nosuch"),
        ("torch.nn.Nosuch", AttributeError, "torch.nn.Nosuch"),
        ("torch.kernels", AttributeError, "torch.kernels"),
        ("torch.compiler.nosuch", AttributeError, "torch.compiler.nosuch"),
        ("torch.package.PackageExporter(1)", NotImplementedError, "package.PackageExporter"),
    ],
)
def test_missing_names_are_named(line, error, named):
    succeed(f"""
import torch
try:
    {line}
except NotImplementedError as error:
    assert isinstance(error, {error.__name__}) and {named!r} in str(error), repr(error)
else:
    raise SystemExit("nothing was raised")
assert not hasattr(torch.nn, "Nosuch") and getattr(torch, "nosuch", 5) == 5
""")


def test_packages_that_are_not_installed_are_named():
    # Whether the sister packages are here depends on the environment: hide one.
    succeed("""
import importlib.util, sys
class Nowhere:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "rushlight_vision":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Nowhere)
assert importlib.util.find_spec("torchvision") is None
try:
    import torchvision.transforms
except ImportError as error:
    assert "rushlight-vision" in str(error) and "not installed" in str(error)
else:
    raise SystemExit("nothing was raised")
""")


def test_what_a_program_sets_is_set_in_rushlight():
    succeed("""
import unittest.mock, rushlight, torch
import torch.nn.functional as F
real = F.gelu
with unittest.mock.patch("torch.nn.functional.gelu", lambda x, approximate="none": x + 1):
    assert torch.nn.GELU()(torch.ones(1)).item() == 2
    assert rushlight.nn.functional.gelu is F.gelu is not real
assert F.gelu is real and rushlight.nn.functional.gelu is real
assert callable(torch.nn.functional.__dict__["relu"]) and "Linear" in vars(torch.nn)
cudnn = torch.backends.cudnn
cudnn.enabled = True
with cudnn.flags(enabled=False):
    assert cudnn.enabled is False and rushlight.backends.cudnn.enabled is False
assert cudnn.enabled is True
torch.my_flag = 3
assert torch.my_flag == 3
del torch.my_flag
assert not hasattr(torch, "my_flag")
""")


def test_pickles_load_under_either_name(tmp_path):
    path = tmp_path / "layer.pkl"
    succeed(f"""
import pickle, torch
torch.manual_seed(0)
pickle.dump((torch.nn.Linear(2, 1), torch.float16, torch.Size([2])), open({str(path)!r}, "wb"))
text = open({str(path)!r}, "rb").read()
assert b"rushlight.nn" in text and b"torch.nn" not in text
# A pickle that names PyTorch's modules finds the classes here.
assert pickle.loads(b"ctorch.nn.modules.linear\\nLinear\\n.") is torch.nn.Linear
""")
    done = run(
        "-c",
        f"import pickle, sys; layer, dtype, size = pickle.load(open({str(path)!r}, 'rb'))\n"
        "assert type(layer).__name__ == 'Linear' and 'torch' not in sys.modules\n"
        "assert str(dtype) == 'rushlight.float16' and str(size) == 'rushlight.Size([2])'",
    )
    assert done.returncode == 0, done.stderr


def test_texts_spell_names_as_pytorch_does_until_uninstall():
    succeed("""
import os, sys, torch, rushlight
x = torch.ones(2)
assert f"{x.dtype} {x.type()} {x.shape}" == "torch.float32 torch.FloatTensor torch.Size([2])"
assert str(torch.channels_last) == "torch.channels_last"
compat.uninstall()
assert "torch" not in sys.modules and "torch.nn" not in sys.modules
assert not compat.is_installed() and "RUSHLIGHT_COMPAT" not in os.environ
assert str(x.dtype) == "rushlight.float32" and str(x.shape) == "rushlight.Size([2])"
compat.install()
compat.install()
import torch
assert torch.Tensor is rushlight.Tensor
""")


def test_refuses_where_another_torch_is_imported(tmp_path):
    (tmp_path / "torch.py").write_text("real = True")
    done = run(
        "-c",
        "import torch\nfrom rushlight import compat\n"
        "try:\n    compat.install()\n"
        "except RuntimeError as error:\n"
        "    assert 'torch is already imported' in str(error), error\n"
        "else:\n    raise SystemExit('nothing was raised')\n"
        "assert torch.real and not compat.is_installed()",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not HAS_TORCH, reason="PyTorch is not installed")
def test_pytorch_is_found_again_after_uninstall():
    succeed("""
import importlib.metadata, torch
compat.uninstall()
assert not importlib.metadata.version("torch").endswith("rushlight")
import torch
assert not torch.__version__.endswith("rushlight")
""")


def test_import_rushlight_imports_nothing_of_it():
    done = run("-c", "import rushlight, sys; assert 'rushlight.compat' not in sys.modules")
    assert done.returncode == 0, done.stderr


def test_import_rushlight_leaves_what_is_slow_to_import():
    slow = {"numpy.random", "pathlib", "json", "llvmlite", "rushlight.utils._pytree"}
    program = "import sys; before = set(sys.modules); import numpy, rushlight; "
    done = run("-c", program + f"print(sorted({slow} & (sys.modules.keys() - before)))")
    assert done.stdout.strip() == "[]", done.stderr


def test_the_default_generator_is_made_late_from_its_seed():
    program = """
import rushlight as torch
torch.manual_seed(3)
late = torch.rand(4)
torch.manual_seed(3)
assert torch.equal(torch.rand(4), late)
generator = torch.Generator().manual_seed(3)
assert torch.equal(generator.get_state(), torch.Generator().manual_seed(3).get_state())
assert torch.equal(torch.rand(4, generator=generator), late)
"""
    done = run("-c", program)
    assert done.returncode == 0, done.stderr


def _private_modules():
    """Modules of Rushlight with a private part in their name, those of its own layers aside."""
    home = Path(importlib.util.find_spec("rushlight").origin).parent
    for file in sorted(home.rglob("*.py")):
        parts = file.relative_to(home).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if any(part.startswith("_") for part in parts) and parts[0] not in ("kernels", "compiler"):
            yield ".".join(parts)


@pytest.mark.skipif(not HAS_TORCH, reason="needs PyTorch")
def test_private_modules_of_both_are_answered_for():
    home = Path(importlib.util.find_spec("torch").origin).parent
    names = [
        name
        for name in _private_modules()
        if any(home.joinpath(*name.split(".")).with_suffix(end).exists() for end in (".py", ""))
    ]
    assert {"utils._python_dispatch", "fx._symbolic_trace", "utils._pytree"} <= {*names}
    found = succeed(f"""
import importlib.util, json
print(json.dumps({{n: importlib.util.find_spec("torch." + n) is not None for n in {names}}}))
""")
    assert json.loads(found) == dict.fromkeys(names, True)


def test_private_modules_hold_what_programs_import():
    succeed("""
import rushlight
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._mode_utils import no_dispatch
from torch.fx._symbolic_trace import is_fx_tracing
from torch.masked._ops import softmax
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from rushlight.utils._python_dispatch import TorchDispatchMode as ours
assert TorchDispatchMode is ours and not is_fx_tracing()
assert softmax is rushlight.masked.softmax
""")


def test_types_are_named_as_programs_compare_them(tmp_path):
    (tmp_path / "scripted.py").write_text("""
import torch

class Halved(torch.nn.Module):
    factor: float

    def __init__(self):
        super().__init__()
        self.factor = 0.5

    def forward(self, x: torch.Tensor):
        return x * self.factor
""")
    succeed(
        """
import pickle, rushlight, sys, torch
from rushlight import compat
x, p, m = torch.ones(2), torch.nn.Parameter(torch.ones(2)), torch.nn.Linear(2, 2)
assert str(type(x)) == "<class 'torch.Tensor'>"
assert str(type(p)) == "<class 'torch.nn.parameter.Parameter'>"
assert str(torch.nn.Module) == "<class 'torch.nn.modules.module.Module'>"
assert any(part.__module__.startswith("torch") for part in type(m).__mro__)
assert torch.typename(x) == torch.typename(p) == "torch.FloatTensor"
found = pickle.loads(pickle.dumps([x, p, m, torch.Tensor, torch.nn.Parameter, torch.nn.Module]))
assert found[0].tolist() == [1, 1] and type(found[1]) is torch.nn.Parameter
assert torch.equal(found[2](x), m(x))
assert found[3:] == [rushlight.Tensor, rushlight.nn.Parameter, rushlight.nn.Module]
kept = pickle.dumps([x, p, m])
sys.path.insert(0, ".")
from scripted import Halved
assert torch.jit.script(Halved())(x).tolist() == [0.5, 0.5]
assert "Halved" in str(torch.fx.symbolic_trace(Halved()).__class__)
torch.save([x, p, m.state_dict()], "kept.pt")
compat.uninstall()
assert str(type(x)) == "<class 'rushlight.tensor.tensor.Tensor'>"
assert torch.nn.Module.__module__ == "rushlight.nn.module"
found = pickle.loads(kept)
assert found[1].tolist() == [1, 1] and rushlight.equal(found[2](x), m(x))
assert pickle.dumps([x, p, m]) == kept
assert type(rushlight.load("kept.pt")[1]) is rushlight.nn.Parameter
""",
        cwd=tmp_path,
    )
