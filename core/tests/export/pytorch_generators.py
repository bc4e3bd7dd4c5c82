"""What PyTorch does with archives of programs that draw, in a process of its own: ``write`` or
``read`` a folder."""

import sys
import warnings
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))

from drawing_models import DRAWN, STATES, model_of  # noqa: E402


def _drawn(program):
    call, x = program.module(), torch.tensor([0.2, 0.5, 0.7])
    return [call(x).tolist() for _ in range(2)]


def write(folder):
    """Save programs of all kinds, and what they draw."""
    for name in DRAWN:
        for state in STATES:
            program = torch.export.export(
                model_of(torch, name, state), (torch.tensor([0.2, 0.5, 0.7]),)
            )
            torch.export.save(program, folder / f"{name}-{state}.pt2")
            torch.save(_drawn(program), folder / f"{name}-{state}.pt")


def read(folder):
    """Load every archive; save what its program draws, and the archive as PyTorch writes it."""
    for file in sorted(folder.glob("*.pt2")):
        torch.save(_drawn(torch.export.load(file)), file.with_suffix(".pt"))
        torch.export.save(torch.export.load(file), file.with_suffix(".again"))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    {"write": write, "read": read}[sys.argv[1]](Path(sys.argv[2]))
