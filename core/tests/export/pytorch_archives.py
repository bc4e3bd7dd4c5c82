"""What PyTorch does with archives, in a process of its own: ``write`` or ``read`` a folder."""

import sys
import warnings
from pathlib import Path

import torch
import torch.export

sys.path.insert(0, str(Path(__file__).parents[1] / "nn"))

from test_modules_agree import TABLE, build, inputs_for  # noqa: E402


def _result(program):
    args, kwargs = program.example_inputs
    torch.manual_seed(5)
    with torch.no_grad():
        return program.module()(*args, **kwargs)


def write(folder):
    """Export every layer that can be, and save programs and results."""
    for i, (name, args, kwargs, specs) in enumerate(TABLE):
        layer = build(torch, name, args, kwargs).eval()
        inputs = tuple(x.detach() for x in inputs_for(torch, specs))
        with torch.no_grad():
            layer(*inputs)
        try:
            program = torch.export.export(layer, inputs)
        except Exception:  # noqa: S112 - what PyTorch refuses
            continue
        torch.export.save(program, folder / f"{i}-{name}.pt2")
        torch.save(_result(program), folder / f"{i}-{name}.pt")


def read(folder):
    """Load every archive, and save its result."""
    for file in sorted(folder.glob("*.pt2")):
        torch.save(_result(torch.export.load(file)), file.with_suffix(".pt"))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    {"write": write, "read": read}[sys.argv[1]](Path(sys.argv[2]))
