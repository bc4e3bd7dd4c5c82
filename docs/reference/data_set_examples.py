"""Examples of data sets: each reads a small copy of its published layout, which the packages' tests
know how to make (vision/tests/datasets, text/tests/dataset_files.py, audio/tests/datasets)."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import os
import sys
from pathlib import Path
from unittest import mock

import rushlight
from reference.written_examples import empty_folder

ROOT = Path(__file__).parents[2]
MOST_FILES, MOST_TEXT = 6, 80
_FAKES = ("fakes_arrays", "fakes_lists", "fakes_pairs", "fakes_targets", "fakes_videos")
_VIDEOS = ("HMDB51", "UCF101")  # read a folder of the copy, not the whole
_ABSOLUTE = ("Flickr8k",)  # joins its folder with names that begin with it
_PAGES = {}


def page(path):
    """Register what makes the examples of a page: a function of a name that gives lines, the call,
    or None where it knows no copy."""

    def keep(function):
        _PAGES[path] = function
        return function

    return keep


def example_of(path, name, run):
    """The example of a data set, as `run(lines, call, kinds)` writes it; None for other names."""
    if path not in _PAGES:
        return None
    with empty_folder(), contextlib.ExitStack() as changes:
        Path("data").mkdir()
        program = _PAGES[path](name, changes)
        return None if program is None else run(*program, object)


def layout():
    """Comments that name files of the folder `data`."""
    files = sorted(p.as_posix() for p in Path("data").rglob("*") if p.is_file())
    lines = ["# a small copy of the published files:", *(f"# {n}" for n in files[:MOST_FILES])]
    if len(files) > MOST_FILES:
        lines.append(f"# ... and {len(files) - MOST_FILES} more files")
    return lines


def constructor(kind, first, options):
    """The call that makes a data set."""
    given = ", ".join([repr(first), *(f"{name}={value!r}" for name, value in options.items())])
    return f"{kind}({given})"


@contextlib.contextmanager
def on_path(*folders):
    """Let modules of these folders be imported."""
    before = list(sys.path)
    sys.path[:0] = [str(ROOT / folder) for folder in folders]
    try:
        yield
    finally:
        sys.path[:] = before


@page("rushlight_vision.datasets")
def _vision(name, changes):
    with on_path("vision/tests/datasets", "vision/tests"):
        faking = importlib.import_module("faking")
        for module in _FAKES:
            importlib.import_module(module)
    fake = next((f for n, f in faking.FAKES.items() if n.partition(",")[0] == name), None)
    if (
        fake is None
        or name in _ABSOLUTE
        or (fake.needs and importlib.util.find_spec(fake.needs) is None)
    ):
        return None
    cases = fake(Path("data"))
    options = next(case.arguments for case in cases if case.items)
    integrity = importlib.import_module("rushlight_vision.datasets.integrity")
    is_file = lambda path, md5=None: Path(path).is_file()  # noqa: E731 - of any content
    changes.enter_context(mock.patch.object(integrity, "check_integrity", is_file))
    first = "data/videos" if name in _VIDEOS else "data"
    call = constructor(f"rushlight_vision.datasets.{name}", first, options)
    item = eval(call, {"rushlight_vision": importlib.import_module("rushlight_vision")})[0]
    lines, shown = _shown(item)
    return [*layout(), f"data = {call}", *lines], f"len(data), {shown}"


def _shown(item):
    """Lines that take an item apart, and what is shown of its parts."""
    if not isinstance(item, tuple):
        return ["item = data[0]"], _part("item", item)
    if len(item) == 2:
        names = ("image", "target")
        return ["image, target = data[0]"], ", ".join(map(_part, names, item))
    names = [f"item[{i}]" for i in range(len(item))]
    return ["item = data[0]"], ", ".join(map(_part, names, item))


def _part(name, value):
    """An expression that shows what a part of an item is."""
    if _is_picture(value):
        return f"{name}.size"
    if hasattr(value, "shape"):
        return f"tuple({name}.shape)"
    if isinstance(value, dict) and len(repr(value)) > MOST_TEXT:
        return f"sorted({name})"
    if isinstance(value, (list, tuple)) and any(map(_is_picture, value)):
        return f"[picture.size for picture in {name}]"
    if isinstance(value, (list, tuple)) and any(hasattr(each, "shape") for each in value):
        return f"[getattr(part, 'shape', part) for part in {name}]"
    return name


def _is_picture(value):
    return type(value).__module__.startswith("PIL.")


@page("rushlight_audio.datasets")
def _audio(name, changes):
    file = ROOT / "audio" / "tests" / "datasets" / "folders.py"
    spec = importlib.util.spec_from_file_location("audio_dataset_folders", file)
    folders = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(folders)
    if name not in folders.FOLDERS:
        return None
    options = folders.FOLDERS[name](Path("data"))[0]
    call = constructor(f"rushlight_audio.datasets.{name}", "data", options)
    item = eval(call, {"rushlight_audio": importlib.import_module("rushlight_audio")})[0]
    lines = [*layout(), f"data = {call}"]
    if isinstance(item, tuple) and isinstance(item[0], rushlight.Tensor):
        lines.append("waveform, *rest = data[0]")
        return lines, f"len(data), tuple(waveform.shape), {_part('rest', list(item[1:]))}"
    if isinstance(item, tuple) and len(item) > 2:
        more, shown = _shown(item)
        return [*lines, *more], f"len(data), {shown}"
    return lines, "len(data), data[0]"


@page("rushlight_text.datasets")
def _text(name, changes):
    datasets = importlib.import_module("rushlight_text.datasets")
    if name not in datasets.DATASETS:
        return None
    with on_path("text/tests"):
        files = importlib.import_module("dataset_files")
    mirror = Path("mirror").absolute()
    mirror.mkdir()
    files.write(mirror)
    changes.enter_context(mock.patch.dict(os.environ, {"RUSHLIGHT_MIRRORS": str(mirror)}))
    module = sys.modules[f"rushlight_text.datasets.{name.lower()}"]
    if isinstance(module.MD5, dict):  # the copies have other digests
        changes.enter_context(mock.patch.object(module, "MD5", dict.fromkeys(module.MD5)))
    else:
        changes.enter_context(mock.patch.object(module, "MD5", None))
    split = inspect.signature(getattr(datasets, name)).parameters.get("split")
    options = {} if split is None else {"split": split.default[0]}
    call = constructor(f"rushlight_text.datasets.{name}", "data", options)
    list(eval(call, {"rushlight_text": importlib.import_module("rushlight_text")}))
    return [*layout(), f"data = list({call})"], "len(data), data[0]"
