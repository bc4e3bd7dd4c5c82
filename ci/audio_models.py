"""Compare the networks of `rushlight_audio.models` with torchaudio's: names and shapes of states,
first weights from the same seed, results and gradients in evaluation and training, signatures.

torchaudio runs in an environment of its own and writes down what it measures; Rushlight then
measures the same. The tests of the package compare with the files in audio/tests/recorded.

Usage: python ci/audio_models.py record [NAME ...]     where torchaudio is
       python ci/audio_models.py compare [NAME ...]    where rushlight is
       python ci/audio_models.py both [FOLDER]         where rushlight is; records in FOLDER's
                                                       environment, made there if need be
"""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "audio" / "tests"
sys.path.insert(0, str(TESTS / "models"))

import network_measures  # noqa: E402
from network_cases import CASES  # noqa: E402
from oracle_environment import TORCHAUDIO, TORCHAUDIO_FOLDER, oracle  # noqa: E402

RECORDED = TESTS / "recorded"
NETWORKS = RECORDED / "networks.npz"
BUILDERS = RECORDED / "builders.json"
INNER = RECORDED / "inner.json"
PARTS = (
    "audio_decoder.py",
    "audio_draws.py",
    "audio_pipelines.py",
)  # what else is recorded in the same environment
# What the builders that want an argument are given.
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "emformer_rnnt_base": (4097,),
    "hdemucs_high": (["drums", "bass", "other", "vocals"],),
    "hdemucs_low": (["speech", "noise"],),
    "hdemucs_medium": (["speech", "noise"],),
}


def builders(torch: Any, models: Any, names: list[str]) -> dict[str, Any]:
    """Signatures of all names, and digests of the states of networks of published sizes."""
    table: dict[str, Any] = {}
    for name in names:
        if name == "Hypothesis":  # a type of tuples
            continue
        value = getattr(models, name)
        table[name] = {"signature": network_measures.signature(value)}
        if isinstance(value, type) or name.endswith("_model"):
            continue
        with torch.device("meta"):
            state = value(*ARGUMENTS.get(name, ())).state_dict()
        table[name]["state"] = network_measures.fingerprint(state)
    return table


def inner(package: str) -> dict[str, Any]:
    """Signatures of the public names that files define, by file and name."""
    table: dict[str, Any] = {}
    models = importlib.import_module(f"{package}.models")
    for found in pkgutil.walk_packages(models.__path__, f"{package}.models."):
        own = found.name.removeprefix(f"{package}.")
        if "._" in own:
            continue
        members = vars(importlib.import_module(found.name)).items()
        table[own] = {
            name: network_measures.signature(value)
            for name, value in members
            if getattr(value, "__module__", "") == found.name and name[0] != "_" and callable(value)
        }
    return table


def record(names: list[str]) -> int:
    """Measure torchaudio's networks; all of them also write down the builders."""
    import torch
    from torchaudio import models

    table = network_measures.load(str(NETWORKS)) if names else {}
    for name in names or CASES:
        table[name] = network_measures.measure(torch, models, name)
        print(f"recorded {name}", flush=True)
    network_measures.save(str(NETWORKS), table)
    if not names:
        # Draws first weights, which the meta device has none of.
        models.wav2vec2.components._init_transformer_params = lambda module: None
        found = builders(torch, models, sorted(models.__all__))
        BUILDERS.write_text(json.dumps(found, indent=0) + "\n")
        INNER.write_text(json.dumps(inner("torchaudio")) + "\n")
    return 0


def compare(names: list[str]) -> int:
    """Measure the same networks with Rushlight; print what differs."""
    import rushlight
    from rushlight_audio import models

    failed = 0
    table = network_measures.load(str(NETWORKS))
    for name in names or table:
        found = network_measures.measure(rushlight, models, name)
        lines = network_measures.differences(found, table[name])
        failed += bool(lines)
        print(f"{name}: {'; '.join(lines) or 'equal'}", flush=True)
    if not names:
        recorded = json.loads(BUILDERS.read_text())
        found = builders(rushlight, models, list(recorded))
        different = [name for name in recorded if found[name] != recorded[name]]
        failed += len(different)
        print(f"{len(recorded)} builders: {different or 'equal'}")
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=("record", "compare", "both"))
    parser.add_argument("names", nargs="*", help="cases; default: all")
    arguments = parser.parse_args()
    if arguments.step == "record":
        return record(arguments.names)
    if arguments.step == "both":
        folder = Path(arguments.names[0]) if arguments.names else TORCHAUDIO_FOLDER
        python = oracle(folder, TORCHAUDIO)
        subprocess.run([str(python), __file__, "record"], check=True)
        for part in PARTS:
            subprocess.run([str(python), str(Path(__file__).with_name(part))], check=True)
        return compare([])
    return compare(arguments.names)


if __name__ == "__main__":
    raise SystemExit(main())
