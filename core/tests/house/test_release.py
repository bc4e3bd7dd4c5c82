"""Changelogs: fragments collected before a release, and what a release makes of them."""

import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

CI = Path(__file__).parents[3] / "ci"
HEAD = "# Changelog\n\nAbout it.\n"


@pytest.fixture
def release(monkeypatch):
    if not CI.is_dir():
        pytest.skip("the checks of the repository are not beside these tests")
    monkeypatch.syspath_prepend(str(CI))
    spec = importlib.util.spec_from_file_location("ci_release", CI / "release.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "ci_release", module)
    spec.loader.exec_module(module)
    return module


def package(folder, changelog=HEAD, **fragments):
    (folder / "changelog.d").mkdir(parents=True)
    (folder / "CHANGELOG.md").write_text(changelog)
    (folder / "changelog.d" / "README.md").write_text("How to write one.")
    for name, text in fragments.items():
        slug, _, kind = name.rpartition("_")
        (folder / "changelog.d" / f"{slug}.{kind}.md").write_text(text)
    return SimpleNamespace(path=folder, folder=folder.name)


def test_collecting_loses_nothing_and_can_be_done_again(release, tmp_path):
    core = package(tmp_path / "a", one_fixed="First\nfault.\n", two_added="A name.\n")
    release.collect(core)
    text = (core.path / "CHANGELOG.md").read_text()
    assert text == (
        HEAD + "\n## Unreleased\n\n### Added\n\n- A name.\n\n### Fixed\n\n- First fault.\n"
    )
    assert [p.name for p in (core.path / "changelog.d").iterdir()] == ["README.md"]
    (core.path / "changelog.d" / "three.fixed.md").write_text("Second fault.\n")
    release.collect(core)
    text = (core.path / "CHANGELOG.md").read_text()
    assert text.count("## Unreleased") == 1
    assert "### Fixed\n\n- First fault.\n- Second fault.\n" in text and "- A name.\n" in text


def test_a_release_takes_over_what_was_collected(release, tmp_path):
    before = HEAD + "\n## 0.1.0 (2026-01-01)\n\n### Added\n\n- Everything.\n"
    core = package(tmp_path / "a", before, one_fixed="First fault.\n")
    release.collect(core)
    (core.path / "changelog.d" / "late.performance.md").write_text("Quicker.\n")
    text = release.rewritten(core, "0.2.0 (2026-02-02)", release.fragments(core))
    assert "Unreleased" not in text
    new, old = text.index("## 0.2.0"), text.index("## 0.1.0")
    assert new < text.index("- First fault.") < old < text.index("- Everything.")
    assert new < text.index("### Performance\n\n- Quicker.") < old


def test_a_fragment_may_be_a_list(release, tmp_path):
    core = package(tmp_path / "a", one_fixed="- First\n  fault.\n- Second - and last.\n")
    release.collect(core)
    text = (core.path / "CHANGELOG.md").read_text()
    assert text.endswith("### Fixed\n\n- First fault.\n- Second - and last.\n")


def test_many_changes_of_a_kind_stand_by_area(release, tmp_path, monkeypatch):
    areas = tmp_path / "areas.toml"
    areas.write_text("[a]\n\"Graphs\" = 'fx'\n\"The rest\" = ''\n\"Files\" = 'save'\n")
    monkeypatch.setattr(release, "AREAS", areas)
    texts = ["`save` of graphs of fx.", "fx saves.", "A sum."]
    core = package(tmp_path / "a", **{f"f{i}_fixed": text for i, text in enumerate(texts)})
    monkeypatch.setattr(release, "MANY", 4)
    assert "####" not in release.rewritten(core, "1", release.fragments(core))
    monkeypatch.setattr(release, "MANY", 3)
    release.collect(core)
    (core.path / "changelog.d" / "late.fixed.md").write_text("fx again.")
    text = release.rewritten(core, "1.0.0", release.fragments(core))
    assert text == (
        HEAD
        + "\n## 1.0.0\n\n### Fixed\n\n#### Graphs\n\n- fx saves.\n- fx again.\n\n"
        + "#### The rest\n\n- A sum.\n\n#### Files\n\n- `save` of graphs of fx.\n"
    )


def test_the_areas_of_packages_have_one_without_words(release):
    import tomllib

    for areas in tomllib.loads(release.AREAS.read_text()).values():
        assert list(areas.values()).count("") == 1


def test_names_of_fragments_say_their_kind(release, tmp_path):
    core = package(tmp_path / "a")
    (core.path / "changelog.d" / "nameless.md").write_text("What?")
    with pytest.raises(SystemExit, match="nameless.md: expected"):
        release.collect(core)


@pytest.mark.parametrize("tags", ["", "core-v0.1.0"])
@pytest.mark.parametrize("is_recorded", [False, True])
def test_a_release_is_known_by_its_tag_or_by_its_record(
    release, tmp_path, monkeypatch, tags, is_recorded
):
    record = tmp_path / "releases.toml"
    record.write_text('[core]\n"0.1.0" = "0123abc"\n' if is_recorded else "# nothing yet\n")
    monkeypatch.setattr(release, "RELEASES", record)
    monkeypatch.setattr(release, "git", lambda *arguments: tags)
    core = SimpleNamespace(folder="core", distribution="rushlight", version="0.1.0")
    wanted = "0.2.0" if tags or is_recorded else "0.1.0"
    assert release.next_version(core, "minor") == wanted


def test_a_released_core_that_is_not_in_the_clone_is_named(release, tmp_path, monkeypatch):
    import window

    missing = "0123456789" * 4
    (tmp_path / "releases.toml").write_text(f'[core]\n"0.1.0" = "{missing}"\n')
    monkeypatch.setattr(window, "RELEASES", tmp_path / "releases.toml")
    with pytest.raises(SystemExit, match=f"{missing}, is not in this clone"):
        window.core_source("0.1.0", tmp_path)
