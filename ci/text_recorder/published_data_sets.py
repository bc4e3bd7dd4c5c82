"""What torchtext's 31 data sets give for small files of their forms."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

from torchtext_models import torchtext as stubbed

ROOT = Path(__file__).parents[2]


def record(folder: Path) -> None:
    """Write ``datasets.json``."""
    sys.path.insert(0, str(ROOT / "text/tests"))
    import dataset_files

    stubbed()
    import torchdata.datapipes.iter.util.cacheholder as cache
    import torchtext.datasets
    from torchtext.datasets import cnndm

    cache._hash_check = lambda *_: True  # the files are ours, not the published ones
    cnndm._get_split_list = lambda source, split: [
        dataset_files.story_name(f"http://{source}/{split}")
    ]
    found = {}
    for name in torchtext.datasets.DATASETS:
        with tempfile.TemporaryDirectory() as scratch:
            target = Path(scratch, "datasets", name)
            target.mkdir(parents=True)
            dataset_files.write(target)
            if name == "CNNDM":  # it looks for one folder of each split alone
                shutil.rmtree(target / "cnn", ignore_errors=True)
            found[name] = dataset_files.answers(torchtext.datasets, name, Path(scratch))
    (folder / "datasets.json").write_text(json.dumps(found, indent=0))
