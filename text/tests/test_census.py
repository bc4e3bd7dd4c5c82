"""All names of torchtext 0.18 and of its legacy API are answered under the name `torchtext`.

`torchtext_names.json` lists them by module: 154 of 0.18, 41 of the legacy API. A name that is
refused on purpose stands in `REFUSED` with its reason; there is none.
"""

import json
import subprocess
import sys
from pathlib import Path

NAMES = json.loads((Path(__file__).parent / "torchtext_names.json").read_text())
REFUSED: dict[str, str] = {}

# Paths that programs import from, besides the modules of the names.
PATHS = """
torchtext.data.Field torchtext.data.BucketIterator torchtext.data.TabularDataset
torchtext.datasets.multi30k.URL torchtext.datasets.TranslationDataset torchtext.datasets.IMDB.splits
torchtext.experimental.transforms.basic_english_normalize torchtext.experimental.vectors.GloVe
torchtext.models.roberta.model.RobertaEncoder torchtext.models.t5.bundler.T5Bundle
torchtext.nn.modules.multiheadattention.generate_square_subsequent_mask torchtext.__version__
torchtext.legacy.data.Field torchtext.legacy.vocab.Vocab
""".split()

PROGRAM = """
import importlib, json, sys
import rushlight.compat
rushlight.compat.install(children=False)
missing = []
for path in json.load(sys.stdin):
    module, _, rest = path, "", ""
    parts = path.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:end]))
        except ImportError:
            continue
        try:
            for name in parts[end:]:
                found = getattr(found, name)
        except AttributeError:
            continue
        break
    else:
        missing.append(path)
print(json.dumps(missing))
"""


def absent(paths):
    """The paths that nothing answers, in a process where `torchtext` means this package."""
    shown = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(paths),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(shown.stdout)


def test_the_list_is_whole():
    legacy = {module: names for module, names in NAMES.items() if ".legacy." in module}
    assert sum(map(len, legacy.values())) == 41
    assert sum(map(len, NAMES.values())) == 195


def test_every_name_is_answered():
    paths = [f"{module}.{name}" for module, names in NAMES.items() for name in names]
    assert absent(paths) == sorted(REFUSED)


def test_paths_of_programs():
    assert absent(PATHS) == []
    assert absent(["torchtext.data.no_such_name"]) == ["torchtext.data.no_such_name"]
