"""A script with a Fabric in several processes, from the command line:
`python -m lightning_lite.fabric.cli run --devices 2 script.py ARGUMENTS`.

What the command line says reaches the script's `Fabric` by the environment (`LT_ACCELERATOR`,
`LT_STRATEGY`, `LT_DEVICES`, `LT_NUM_NODES`, `LT_PRECISION`).
"""

from __future__ import annotations

import argparse
import os

from lightning_lite.fabric.arguments import ARGUMENTS
from rushlight.distributed import run


def main(args: argparse.Namespace, script_args: list[str] | None = None) -> None:
    """Run `args.script` with `script_args` in as many processes as there are `args.devices`.

    `args` has `script`, `accelerator`, `strategy`, `precision` (None: the script says it),
    `devices` (a number, numbers with commas between them, or "auto" for one), `num_nodes`,
    `node_rank`, `main_address` and `main_port`. SystemExit where the script fails.
    """
    os.environ["LT_CLI_USED"] = "1"
    for name in ARGUMENTS:
        value = getattr(args, name)
        if value is not None:
            os.environ[f"LT_{name.upper()}"] = str(value)
    run.main(
        [
            f"--nproc-per-node={_count(str(args.devices))}",
            f"--nnodes={args.num_nodes}",
            f"--node-rank={args.node_rank}",
            f"--master-addr={args.main_address}",
            f"--master-port={args.main_port}",
            args.script,
            *(script_args or []),
        ]
    )


def _count(devices: str) -> int:
    if devices == "auto":
        return 1
    parts = [part for part in devices.split(",") if part]
    if not all(part.isdigit() for part in parts) or not parts:
        raise ValueError(f"devices={devices!r}; expected a number, numbers with commas, or 'auto'")
    count = len(parts) if "," in devices else int(devices)
    if count < 1:
        raise ValueError(f"devices={devices!r}; expected 1 or more")
    return count


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="fabric", description=__doc__)
    command = parser.add_subparsers(required=True).add_parser("run", help="run a script")
    for name in ("accelerator", "strategy", "precision"):
        command.add_argument(f"--{name}", help=f"Fabric's {name}")
    command.add_argument("--devices", default="1", help="how many, or which, on each machine")
    numbers = {"num-nodes": 1, "node-rank": 0, "main-port": 29400}
    for name, default in numbers.items():
        command.add_argument(f"--{name}", type=int, default=default)
    command.add_argument("--main-address", default="127.0.0.1", help="of the first machine")
    command.add_argument("script")
    command.add_argument("script_args", nargs=argparse.REMAINDER)
    return parser


if __name__ == "__main__":
    options = _parser().parse_args()
    main(options, options.script_args)
