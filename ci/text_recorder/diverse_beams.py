"""What transformers generates with groups of beams, which its versions from 5 on no longer have.

It is looked for in the folder `transformers4` of the environment
(``pip install --target FOLDER --no-deps transformers==4.49.0 tokenizers==0.21.1
huggingface_hub==0.29.3``).
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path

HOME = Path(sys.prefix) / "transformers4"
OPTIONS = [
    {"num_beams": 4, "num_beam_groups": 2, "diversity_penalty": 0.5},
    {"num_beams": 4, "num_beam_groups": 4, "diversity_penalty": 2.0, "num_return_sequences": 4},
    {"num_beams": 6, "num_beam_groups": 3, "diversity_penalty": 1.0, "num_return_sequences": 5},
    {"num_beams": 4, "num_beam_groups": 2, "diversity_penalty": 1.0, "length_penalty": 2.0},
    {"num_beams": 4, "num_beam_groups": 2, "diversity_penalty": 1.5, "early_stopping": True},
    {
        "num_beams": 4,
        "num_beam_groups": 2,
        "diversity_penalty": 0.7,
        "no_repeat_ngram_size": 2,
        "repetition_penalty": 1.3,
        "num_return_sequences": 3,
    },
]
NAMES = {"gpt2": 0, "t5": 0, "bart": 1, "marian": 1}  # and their padding


def record(folder: Path) -> None:
    """Write ``diverse_beams.json``, in a process of its own: the other transformers is imported."""
    subprocess.run([sys.executable, __file__, str(folder)], check=True)


def _folder(scratch: Path, recorded: Path, name: str) -> Path:
    """A tiny model as a folder."""
    from safetensors.torch import load

    scratch.mkdir()
    tensors = load(gzip.decompress((recorded / "tiny_models.safetensors.gz").read_bytes()))
    weights = bytes(tensors[f"{name}/weights"].tolist())
    (scratch / "model.safetensors").write_bytes(weights)
    config = json.loads((recorded / "tiny_models.json").read_text())[name]
    (scratch / "config.json").write_text(json.dumps(config))
    return scratch


def _runs(folder: Path, name: str) -> list[dict]:
    import torch
    import transformers as hf

    decoder = name == "gpt2"
    kind = hf.AutoModelForCausalLM if decoder else hf.AutoModelForSeq2SeqLM
    model = kind.from_pretrained(folder).eval()
    pad, config = NAMES[name], json.loads((folder / "config.json").read_text())
    rows = [[5, 9, 7, 11, 3], [pad, pad, 4, 8, 6]]
    ids = torch.tensor(rows if decoder else [[5, 9, 7, 11, 2], [4, 8, 6, 10, 2]])
    found = []
    for options in OPTIONS:
        for end in (2, 13):
            settings = {"max_new_tokens": 8, "eos_token_id": end, "pad_token_id": pad}
            settings |= {"decoder_start_token_id": pad, "do_sample": False}
            settings["forced_eos_token_id"] = config.get("forced_eos_token_id")
            made = hf.GenerationConfig(**settings, **options)
            model.generation_config = hf.GenerationConfig()  # not what the class presets
            mask = (ids != pad).long()
            out = model.generate(ids, attention_mask=mask, generation_config=made)
            found.append({"options": options, "end": end, "pad": pad, "ids": out.tolist()})
    return [{"input": ids.tolist()}, *found]


def _write(recorded: Path) -> None:
    sys.path.insert(0, str(HOME))
    with tempfile.TemporaryDirectory() as scratch:
        answers = {
            name: _runs(_folder(Path(scratch) / name, recorded, name), name) for name in NAMES
        }
    (recorded / "diverse_beams.json").write_text(json.dumps(answers))


if __name__ == "__main__":
    _write(Path(sys.argv[1]))
