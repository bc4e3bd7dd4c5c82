"""Lightning's names, by its paths: those that public programs use, and all that it documents.

`recorded/census.json` holds both lists: the names that programs import, with the number of
programs, and the public names of every module.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from lightning_lite import refusals
from rushlight.compat import availability

CENSUS = json.loads((Path(__file__).with_name("recorded") / "census.json").read_text())
# Names that programs use and that are no names of Lightning's: typing errors, attributes of old
# versions that Lightning itself no longer has.
NO_NAMES = {
    "pytorch_lightning.Int64",
    "pytorch_lightning.col",
    "pytorch_lightning.data_loader",
    "pytorch_lightning.cli_lightning_logo",
    "pytorch_lightning.utilities.rank_zero_only.rank",
}
# All other names of the census that are not there; the list only gets shorter.
MISSING = set((Path(__file__).with_name("recorded") / "missing_names.txt").read_text().split())


def state_of(name: str) -> str:
    """Whether a name is present, refused or missing."""
    if name.rpartition(".")[2] in refusals.REFUSED:
        return "refused"
    return availability.judge(name).state


# The command line's module needs jsonargparse to be imported at all.
HAS_CLI = importlib.util.find_spec("jsonargparse") is not None


def can_be_asked(name: str) -> bool:
    return HAS_CLI or ".cli." not in name


def all_names() -> list[str]:
    found = [f"{module}.{name}" for module, names in CENSUS["names"].items() for name in names]
    return list(filter(can_be_asked, found))


@pytest.mark.parametrize("name", sorted(filter(can_be_asked, set(CENSUS["used"]) - NO_NAMES)))
def test_name_that_programs_use(name):
    assert (state_of(name) == "missing") == (name in MISSING)


def test_documented_names():
    found = {name: state_of(name) for name in all_names()}
    missing = {name for name, state in found.items() if state == "missing"}
    assert missing - MISSING == set(), "names that were there are gone"
    gone = filter(can_be_asked, MISSING - missing - set(CENSUS["used"]))
    assert list(gone) == [], "remove them from missing_names.txt"


def test_share_of_names():
    """All names that programs use, and 94 of 100 documented ones, are there or refused by name."""
    assert not MISSING & set(CENSUS["used"])
    assert len(MISSING) < 0.06 * len(all_names())


@pytest.mark.parametrize("name", sorted(refusals.REFUSED))
def test_refused_name_says_what_to_use(name):
    kind = getattr(refusals, name)
    assert kind is getattr(refusals, name)
    with pytest.raises(NotImplementedError, match=name):
        kind()


def test_few_names_are_refused():
    """Of Lightning's names and of Fabric's, each counted once however many paths lead to it."""
    refused = {
        (".fabric." in name or name.startswith("lightning_fabric"), name.rpartition(".")[2])
        for name in all_names()
        if state_of(name) == "refused"
    }
    assert len(refused) == 20 and len(refusals.REFUSED) == 12
    assert not [name for name in CENSUS["used"] if state_of(name) == "refused"]


def run(program: str, folder: Path) -> str:
    (folder / "program.py").write_text(program)
    command = [sys.executable, "-m", "rushlight", "run", "program.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_paths_mean_the_same_classes(tmp_path):
    printed = run(
        "import lightning, lightning.pytorch as pl, pytorch_lightning, lightning_fabric\n"
        "from lightning.fabric import Fabric\n"
        "from pytorch_lightning.core.module import LightningModule\n"
        "from lightning.pytorch.utilities.rank_zero import rank_zero_only\n"
        "from pytorch_lightning.utilities import rank_zero_only as other\n"
        "from pytorch_lightning.trainer.states import RunningStage\n"
        "from lightning.pytorch.strategies import DeepSpeedStrategy\n"
        "print(pl.LightningModule is LightningModule is pytorch_lightning.LightningModule)\n"
        "print(rank_zero_only is other, Fabric is lightning_fabric.Fabric)\n"
        "try:\n"
        "    DeepSpeedStrategy()\n"
        "except NotImplementedError as error:\n"
        "    print('auto' in str(error))\n",
        tmp_path,
    )
    assert printed.split() == ["True", "True", "True", "True"]


def test_installed_lightning_is_not_shadowed(tmp_path):
    (tmp_path / "lightning").mkdir()
    (tmp_path / "lightning" / "__init__.py").write_text("import torch\nREAL = torch.__version__\n")
    (tmp_path / "pytorch_lightning").mkdir()  # a mere folder, without a package in it
    printed = run(
        "import lightning, pytorch_lightning\n"
        "print(lightning.REAL, hasattr(pytorch_lightning, 'Trainer'))\n",
        tmp_path,
    )
    assert printed.split() == ["2.13.0+rushlight", "True"]


def test_what_several_processes_need_waits_for_them():
    program = "import sys, lightning_lite; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = run.stdout.split()
    assert "lightning_lite.trainer" in loaded
    assert not [name for name in loaded if name.startswith("rushlight.distributed")]
    assert "lightning_lite.strategies.fsdp" not in loaded


def test_modules_need_no_import_of_their_own():
    """`import lightning_lite as L` is enough for what programs reach through it."""
    names = [
        "utilities.seed.isolate_rng", "utilities.model_summary.ModelSummary", "tuner.Tuner",
        "strategies.ddp.DDPStrategy", "core.LightningModule", "cli.LightningCLI",
        "utilities.types.STEP_OUTPUT", "callbacks.finetuning.BaseFinetuning",
        "plugins.precision.MixedPrecision", "profilers.simple.SimpleProfiler",
        "loggers.wandb.WandbLogger", "demos.boring_classes.BoringModel", "easy.Learner",
    ]  # fmt: skip
    program = f"""
import lightning_lite as L
for path in {names!r}:
    found = L
    for part in path.split("."):
        found = getattr(found, part)
for missing in ("utilities.nothing", "nothing"):
    found = L
    try:
        for part in missing.split("."):
            found = getattr(found, part)
    except AttributeError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "module 'lightning_lite.utilities' has no attribute 'nothing'",
        "module 'lightning_lite' has no attribute 'nothing'",
    ]
