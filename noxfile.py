"""Every check of the repository by name; each calls one script of ci/ that also runs by hand.

python3 -m pip install nox
python3 -m nox -s quickstart     trains a network that reads handwriting
python3 -m nox -s tests          all tests of all packages
python3 -m nox --list            the rest
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nox

nox.needs_version = ">=2024.4.15"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_existing_virtualenvs = True
nox.options.sessions = ["tests"]

FOLDERS = ("core", "vision", "text", "audio", "lightning_lite")
TEST_TOOLS = (
    *("pytest>=9", "pytest-xdist>=3.6", "pytest-timeout>=2.3", "rich>=13.7"),
    "hypothesis>=6.100",
)
# Libraries that tests show working with ours; they skip where one is absent.
NEIGHBOURS = (
    *("scipy", "scikit-learn", "array-api-strict", "array-api-compat", "numba"),
    *("lmdb", "h5py", "av", "pillow-heif"),  # what files of some kinds are read with
    *("onnx", "onnxruntime"),
    *("jsonargparse[signatures]", "PyYAML", "matplotlib"),
    *("mpi4py>=4.1", "mpich>=5"),  # several processes
)

# What types are checked with: the stubs of `onnx.export` name types of the `onnx` package.
TYPE_TOOLS = ("mypy>=1.14", "rich>=13.7", "onnx")
# The compiler of CUDA C++ with the headers that kernels include: needs neither GPU nor driver.
NVRTC = ("nvidia-cuda-nvrtc", "nvidia-cuda-runtime", "nvidia-cuda-crt", "nvidia-cuda-cccl")


def install(session: nox.Session, *more: str, folders: tuple[str, ...] = FOLDERS) -> None:
    """Install packages of this repository from their folders, editable, and what else is named;
    nothing where a session before this one has done so: a second run needs no network.

    pip says what it does: the first command of a newcomer must not be silent for a minute.
    """
    editable = [word for folder in folders for word in ("-e", f"./{folder}")]
    mark = Path(session.virtualenv.location) / "installed-by-nox.txt"
    wanted = "\n".join([*more, *(_described(folder) for folder in folders)])
    if mark.exists() and mark.read_text() == wanted:
        session.log("already installed: remove .nox to begin anew")
        return
    mark.unlink(missing_ok=True)
    session.install(*editable, *more, silent=False)
    mark.write_text(wanted)


def _described(folder: str) -> str:
    """What an editable package's installation was made from."""
    files = [Path(folder) / "pyproject.toml", *sorted(Path(folder).glob("src/*/_version.py"))]
    return "\n".join(file.read_text() for file in files)


def within_tests(session: nox.Session, *commands: tuple[str, ...]) -> None:
    """Run scripts in the environment of the session `tests`, which is made where it is missing: its
    neighbours and its oracle are more than a gigabyte, and a second one takes as long again."""
    itself = (sys.executable, "-m", "nox", "-f", str(Path(__file__)), "-s", "tests")
    session.run(*itself, "--install-only", external=True)
    folder = session.cache_dir.parent / "tests" / "bin"
    path = os.pathsep.join((str(folder), os.environ["PATH"]))
    for command in commands:
        session.run(str(folder / "python"), *command, env={"PATH": path}, external=True)


def outside(session: nox.Session, *command: str) -> None:
    """Run a script that needs nothing but Python, without an environment of its own."""
    session.run(sys.executable, *command, external=True)


@nox.session
def quickstart(session: nox.Session) -> None:
    """Train a network that reads handwriting and show what it learnt: runs/quickstart/."""
    install(session, "matplotlib>=3.9", folders=("core", "vision", "lightning_lite"))
    session.run(
        "python",
        "docs/examples/quickstart.py",
        *session.posargs,
        interrupt_timeout=60,  # Ctrl-C: until the step ends, kernels compiled in it, and is stored
        terminate_timeout=5,
    )


@nox.session
def gallery(session: nox.Session) -> None:
    """Run the examples and tutorials of all packages; `-- NAME` for one, `-- --page` to write the
    gallery and the pages of tutorials anew."""
    install(session, "matplotlib>=3.9", "scikit-learn>=1.5", "scikit-image>=0.26", "django>=5.2,<6")
    session.run("python", "ci/examples.py", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """All tests of all packages; `-- core -k name` chooses a package and passes on the rest."""
    install(session, *TEST_TOOLS, *NEIGHBOURS)
    session.run_install("python", "ci/oracle.py")
    session.run("python", "ci/testing.py", *session.posargs)


@nox.session
def prebuild(session: nox.Session) -> None:
    """Compile the kernels of usual programs for the processors that packs are shipped for, before
    a release: core/src/rushlight/prebuilt/; `-- --check`: how many of them packs hold."""
    install(session, "matplotlib>=3.9", folders=("core", "vision", "lightning_lite"))
    session.run("python", "ci/prebuild.py", *session.posargs)


@nox.session
def ops(session: nox.Session) -> None:
    """The generated tests of the op table: `-- quick` (as in the tests) or `-- full`."""
    install(session, *TEST_TOOLS, folders=("core",))
    session.run("python", "ci/oracle.py")
    session.run("python", "ci/ops.py", *session.posargs)


@nox.session
def parity(session: nox.Session) -> None:
    """Every test that compares with PyTorch, with PyTorch there: `-- quick` or `-- full`."""
    install(session, *TEST_TOOLS)
    session.run("python", "ci/parity.py", *session.posargs)


@nox.session
def tables(session: nox.Session) -> None:
    """PyTorch's tables of layers and optimizers, and the names that public programs use."""
    install(session, folders=("core",))
    session.run("python", "ci/oracle.py", "--required")
    session.run("python", "ci/pytorch/modules.py", *session.posargs)
    session.run("python", "ci/pytorch/optimizers.py", *session.posargs)
    session.run("python", "ci/api_usage.py", "ci/api_names.tsv", "--missing")


@nox.session
def seeds(session: nox.Session) -> None:
    """The same seed, the same numbers? Writes docs/pages/seeds.md."""
    install(session, folders=("core",))
    session.run("python", "ci/oracle.py", "--required")
    session.run("python", "ci/pytorch/seeds.py", "--page", "docs/pages/seeds.md", *session.posargs)


@nox.session
def programs(session: nox.Session) -> None:
    """The corpus of programs under PyTorch and under Rushlight; writes docs/pages/programs.md."""
    install(session, folders=("core",))
    session.run("python", "ci/oracle.py", "--required")
    session.run("python", "ci/programs.py", *session.posargs)


@nox.session(name="first-runs")
def first_runs(session: nox.Session) -> None:
    """The same programs with nothing in the cache of kernels, beside PyTorch's."""
    install(session, folders=("core",))
    session.run("python", "ci/oracle.py", "--required")
    session.run("python", "ci/first_runs.py", *session.posargs)


@nox.session
def family(session: nox.Session) -> None:
    """Operators, transforms, data sets and networks of rushlight_vision against torchvision, which
    gets an environment of its own in .nox/torchvision (some gigabytes); published weights."""
    install(session, *NEIGHBOURS, folders=("core", "vision"))
    session.run("python", "ci/vision_family.py", "both", *session.posargs)
    session.run("python", "ci/vision_transforms.py", "both", *session.posargs)
    session.run("python", "ci/vision_datasets.py", "both", *session.posargs)
    session.run("python", "ci/vision_utils.py", "both", *session.posargs)
    session.run("python", "ci/vision_models.py", "both", *session.posargs)
    session.run("python", "ci/vision_photos.py")


@nox.session
def lightning(session: nox.Session) -> None:
    """Checkpoints exchanged with Lightning in both directions; Lightning and PyTorch get an
    environment of their own in .nox/lightning-theirs."""
    install(session, folders=("core", "lightning_lite"))
    theirs = Path(session.virtualenv.location).parent / "lightning-theirs"
    python = theirs / "bin" / "python"
    if not python.exists():
        outside(session, "-m", "venv", str(theirs))
        wanted = ("torch==2.13.0+cpu", "lightning==2.6.6")
        session.run(str(python), "-m", "pip", "install", "--quiet", *wanted, external=True)
    session.run("python", "ci/lightning_checkpoints.py", "--theirs", str(python), *session.posargs)


@nox.session
def five_lines(session: nox.Session) -> None:
    """lightning_lite's programs of five lines on real data of five kinds, fetched by pip and apt:
    each reaches its stated quality in two minutes."""
    install(session, "pandas", "palmerpenguins")
    session.run("python", "ci/five_lines.py", *session.posargs)


@nox.session
def text_family(session: nox.Session) -> None:
    """Tokenizers, models, generation, metrics and data sets of rushlight_text against transformers,
    sentencepiece, sacrebleu, torchtext and others, which get an environment of their own in
    .nox/text_oracle (some gigabytes) and are recorded anew."""
    install(session, *TEST_TOOLS, folders=("core", "text"))
    session.run("python", "ci/text_family.py", *session.posargs)


@nox.session
def ecosystem(session: nox.Session) -> None:
    """Libraries written for PyTorch, unpatched, with PyTorch's figures: names, or all of them."""
    install(session, "setuptools", "scikit-learn", "gymnasium", "matplotlib")
    session.run("rushlight", "torch", "install")
    names = session.posargs or ["--all"]
    found = session.run("python", "ci/ecosystem.py", "packages", *names, silent=True)
    session.install(*found.split())
    session.run("python", "ci/ecosystem.py", "check", *names)


@nox.session
def audio_family(session: nox.Session) -> None:
    """Functions, networks, data sets and metrics of rushlight_audio against torchaudio
    and others, which get environments of their own in .nox (some gigabytes) and are recorded."""
    install(session, *TEST_TOOLS, "av", folders=("core", "audio"))
    session.run("python", "ci/audio_functional.py", "both", *session.posargs)
    session.run("python", "ci/audio_family.py", *session.posargs)
    session.run("python", "ci/audio_models.py", "both", *session.posargs)
    session.run("python", "ci/audio_packaged.py", "check")
    session.run("python", "ci/audio_programs.py")
    session.run("python", "ci/testing.py", "audio")


@nox.session
def audio_recipes(session: nox.Session) -> None:
    """The zoo's speakers, languages and recogniser trained by Rushlight and by PyTorch, by the same
    scripts; `-- DATA` names a folder of Debian's prompts. Hours; `--share 4` a quarter of them."""
    install(session, folders=("core", "audio"))
    session.run("python", "ci/audio_recipes.py", "both", *session.posargs)


@nox.session
def onnx_files(session: nox.Session) -> None:
    """Real ONNX models of other packages, downloaded: the numbers of ONNX Runtime."""
    install(session, "onnx", "onnxruntime", folders=("core",))
    session.run("python", "ci/onnx_files.py", *session.posargs)


@nox.session
def errors(session: nox.Session) -> None:
    """Errors of elementwise functions over all float32 inputs; writes docs/pages/errors.md."""
    install(session, folders=("core",))
    session.run("python", "ci/errors.py", *session.posargs)


@nox.session
def transforms(session: nox.Session) -> None:
    """PyTorch's op table under vmap, forward mode and their compositions: at least 600 agree."""
    install(session, folders=("core",))
    session.run("python", "ci/oracle.py", "--required")
    session.run("python", "ci/pytorch/func.py", "--least", "600", *session.posargs)


@nox.session
def fuzz(session: nox.Session) -> None:
    """100,000 damaged and hostile files, 20,000 each of TorchScript, `.pt2` and ONNX, and some
    9,000 bombs are loaded, 200 savers, 100 downloads and 100 trainings killed; `-- --cases N` for
    fewer files, without graphs, downloads and trainings."""
    install(session, "onnx", folders=("core", "lightning_lite"))
    session.run("python", "ci/fuzz.py", *session.posargs)
    if not session.posargs:
        session.run("python", "ci/fuzz_kills.py")
        session.run("python", "ci/fuzz_archives.py")
        session.run("python", "ci/fuzz_graphs.py")


@nox.session
def captures(session: nox.Session) -> None:
    """Networks and programs' models by fx, export, ONNX, trace and script; writes the docs' page
    "Models and ways of capture". `-- --only audio` for one package."""
    install(session, "onnx", "onnxruntime", folders=("core", "vision", "text", "audio"))
    session.run("python", "ci/captures.py", *session.posargs)


@nox.session
def fuzz_audio(session: nox.Session) -> None:
    """50,000 damaged sound files and ten hours of sound; `-- --cases N` for fewer."""
    install(session, "av", folders=("core", "audio"))
    session.run("python", "ci/fuzz_audio.py", *session.posargs)


@nox.session
def fuzz_images(session: nox.Session) -> None:
    """50,000 damaged image files; `-- --cases N` for fewer."""
    install(session, folders=("core", "vision"))
    session.run("python", "ci/fuzz_images.py", *session.posargs)


@nox.session
def kills(session: nox.Session) -> None:
    """Trainings killed 100 times at random moments, with every kind of loader, end the same."""
    install(session, "pytest>=8", folders=("core", "lightning_lite"))
    test = "lightning_lite/tests/test_kills.py"
    session.run(
        "python", "-m", "pytest", test, "-q", *session.posargs, env={"RUSHLIGHT_KILLS": "20"}
    )


@nox.session
def clusters(session: nox.Session) -> None:
    """Jobs on a Ray cluster, and over a network that is cut between two network namespaces, which
    needs root."""
    tools = ("pytest>=8", "hypothesis>=6.100", "mpi4py>=4.1", "mpich>=5", "ray>=2.60")
    install(session, *tools, folders=("core",))
    tests = [f"core/tests/distributed/test_{name}.py" for name in ("ray", "cut_networks")]
    variables = {"RUSHLIGHT_CLUSTERS": "1"}
    session.run("python", "-m", "pytest", *tests, "-q", *session.posargs, env=variables)


@nox.session(venv_backend="none")
def processors(session: nox.Session) -> None:
    """The usual kernels emitted for AArch64, and the tests of kernels for every processor that they
    know, what this machine lacks emulated; `-- NAME ...` for some of them, `-- --full` for all
    their tests."""
    within_tests(session, ("ci/neon_check.py",), ("ci/processors.py", *session.posargs))


@nox.session(venv_backend="none")
def open_mpi(session: nox.Session) -> None:
    """Tests of several processes under Open MPI, in the environment of `tests`, where MPICH's is
    used; `-- --full` for all that `mpiexec` can start."""
    within_tests(session, ("ci/open_mpi.py", *session.posargs))


@nox.session
def minimum(session: nox.Session) -> None:
    """The tests with the lowest versions that the packages allow of what they depend on."""
    session.run("python", "ci/minimum.py", "constraints", f"{session.create_tmp()}/lowest.txt")
    install(session, *TEST_TOOLS, "-c", f"{session.create_tmp()}/lowest.txt")
    session.run("python", "ci/minimum.py", "installed")
    session.run("python", "ci/testing.py", *session.posargs)


@nox.session
def window(session: nox.Session) -> None:
    """The satellites' tests with the lowest core that they allow, built from its release commit."""
    session.install("build", "hatchling")
    session.run("python", "ci/window.py", session.create_tmp(), *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Format, rules and types; `-- fix` repairs what can be repaired."""
    install(session, "ruff>=0.14", *TYPE_TOOLS)
    session.run("python", "ci/lint.py", *session.posargs)
    session.run("python", "ci/typecheck.py")
    session.run("python", "ci/internals.py")
    session.run("python", "ci/deferred.py", "--check")


@nox.session
def typecheck(session: nox.Session) -> None:
    """Types of the public signatures."""
    install(session, *TYPE_TOOLS)
    session.run("python", "ci/typecheck.py", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site and run every example of the docs."""
    install(
        session,
        *("matplotlib>=3.9", "rich>=13.7", "mkdocs-material>=9.5,<10", "lunr>=0.7"),
        *("onnx", "onnxruntime", "av", "jsonargparse[signatures]"),
        *("scipy", "h5py", "lmdb", "sentencepiece"),  # what files of some examples are made with
    )
    session.run("python", "ci/docs.py", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Compare with PyTorch in alternating processes; writes bench/results/."""
    install(session, "matplotlib>=3.9")
    session.run("python", "ci/oracle.py", "--required")
    session.run("python", "ci/bench.py", *session.posargs)


@nox.session
def cuda(session: nox.Session) -> None:
    """CUDA without a GPU: tests on the emulator (needs g++), NVRTC on every kernel, PyTorch's op
    table on the emulator; `-- kernels`, `-- tests`, `-- table`, `-- check` for one of them."""
    install(session, *TEST_TOOLS, *NVRTC, folders=("core",))
    session.run("python", "ci/cuda.py", *session.posargs)


@nox.session
def package(session: nox.Session) -> None:
    """Build every wheel, install each alone in a clean environment and compute something."""
    session.install("build", "hatchling", "virtualenv", "twine>=6")
    session.run("python", "ci/package.py", *session.posargs)


@nox.session(venv_backend="none")
def structure(session: nox.Session) -> None:
    """Layers, sizes, file names, documented public names; figures no worse than the record's."""
    outside(session, "ci/structure.py", *session.posargs)
    outside(session, "ci/house.py", "--check")
    outside(session, "ci/examples.py", "--check")


@nox.session(venv_backend="none")
def release(session: nox.Session) -> None:
    """Release one package: `-- PACKAGE major|minor|patch`; checks, changelog, version, tag."""
    outside(session, "ci/release.py", *session.posargs)
