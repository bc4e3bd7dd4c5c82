"""Processes that a program starts, and the packages beside `torch`: they are Rushlight's too."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from running import run_rushlight

PROCESSES = """
import multiprocessing, pickle, subprocess, sys
from concurrent.futures import ProcessPoolExecutor
import torch
import torch.multiprocessing as mp

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)

def work(rank, model, queue):
    with torch.no_grad():
        model.layer.bias[0] = 5.0  # shared memory: the parent sees it
    queue.put((rank, isinstance(model, torch.nn.Module), torch.__version__))

def square(x):
    return x * x

if __name__ == "__main__":
    for method in ("spawn", "forkserver", "fork"):
        context = mp.get_context(method)
        queue, model = context.Queue(), Net().share_memory()
        process = context.Process(target=work, args=(3, model, queue))
        process.start()
        print(method, queue.get(), end=" ")
        process.join()
        print(process.exitcode, model.layer.bias.item())
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        print(list(pool.map(square, [torch.ones(1), torch.full((1,), 3.0)])))
    code = "import torch; print(torch.__version__)"
    print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout)
    print(type(pickle.loads(pickle.dumps(Net()))) is Net)
"""

PACKAGES = {
    "torchvision": (
        "rushlight_vision",
        "from torchvision import transforms, datasets, models\n"
        "from torchvision.models import resnet18\n"
        "from torchvision.transforms import functional\n"
        "print(isinstance(resnet18(num_classes=2), torch.nn.Module))\n",
    ),
    "torchaudio": (
        "rushlight_audio",
        "import torchaudio.transforms as T\nprint(callable(T.MelSpectrogram), T.Spectrogram)\n",
    ),
    "torchtext": ("rushlight_text", "import torchtext\nprint(torchtext.__name__)\n"),
    "pytorch_lightning": (
        "lightning_lite",
        "import pytorch_lightning as pl\nimport lightning as L\n"
        "from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint\n"
        "from lightning.pytorch import LightningModule, Trainer, seed_everything\n"
        "print(pl.LightningModule is L.LightningModule is LightningModule)\n",
    ),
}


def test_processes_see_rushlight(tmp_path):
    (tmp_path / "program.py").write_text(PROCESSES)
    printed = run_rushlight(tmp_path / "program.py", cwd=tmp_path)
    told = "(3, True, '2.13.0+rushlight') 0 5.0"
    assert printed.splitlines() == [
        f"spawn {told}", f"forkserver {told}", f"fork {told}", "[tensor([1.]), tensor([9.])]",
        "2.13.0+rushlight", "", "True",
    ]  # fmt: skip


@pytest.mark.parametrize("name", PACKAGES)
def test_packages_beside_torch(name, tmp_path):
    package, program = PACKAGES[name]
    pytest.importorskip(package)
    (tmp_path / "program.py").write_text(
        f"import importlib.metadata, torch\n{program}"
        f"import {name}\n"
        f"print(importlib.metadata.version({name!r}) == {name}.__version__)\n"
        "try:\n"
        f"    from {name} import Nosuch\n"
        "except ImportError as error:\n"
        f"    print(isinstance(error, NotImplementedError), '{name}.Nosuch' in str(error))\n"
    )
    printed = run_rushlight(tmp_path / "program.py").splitlines()
    assert printed[1:] == ["True", "True True"] and printed[0] not in ("False", "")
