"""Release one package: check, collect the changelog, bump the version, commit, record and tag.

The tag is `<folder>-v<version>`; publishing builds from the tag only. Nothing is pushed.

Fragments can be collected before: into the changelog's section of what is not released yet, which
the next release takes over.

Usage: python ci/release.py PACKAGE major|minor|patch [--check] [--no-tests]
       python ci/release.py PACKAGE collect
"""

from __future__ import annotations

import datetime
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from packages import CORE, ROOT, SATELLITES, Package, package_named

KINDS = ("added", "changed", "fixed", "removed", "performance")
FRAGMENT = re.compile(rf"^[a-z0-9][a-z0-9_-]*\.({'|'.join(KINDS)})\.md$")
UNRELEASED = re.compile(r"^## Unreleased\n(.*?)(?=^## |\Z)", re.M | re.S)
RELEASES = ROOT / "ci" / "releases.toml"
AREAS = ROOT / "ci" / "changelog_areas.toml"
MANY = 20  # changes of one kind, from which on a changelog has them by area


def git(*arguments: str) -> str:
    """Output of a git command."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()


def bumped(version: str, level: str) -> str:
    """The version after a release of that level."""
    major, minor, patch = (int(part) for part in version.split("."))
    steps = {
        "major": (major + 1, 0, 0),
        "minor": (major, minor + 1, 0),
        "patch": (major, minor, patch + 1),
    }
    return ".".join(str(part) for part in steps[level])


def next_version(package: Package, level: str) -> str:
    """The version to release: the tree's own if it was never released, else the bumped one."""
    is_out = is_released(package, package.version)
    return bumped(package.version, level) if is_out else package.version


def is_released(package: Package, version: str) -> bool:
    """Whether a version was released: by its tag, or by the record where a clone has no tags."""
    recorded = tomllib.loads(RELEASES.read_text()).get(package.folder, {})
    return version in recorded or bool(git("tag", "--list", f"{package.folder}-v{version}"))


def fragments(package: Package) -> dict[str, list[Path]]:
    """Changelog fragments by kind."""
    found: dict[str, list[Path]] = {kind: [] for kind in KINDS}
    for path in sorted((package.path / "changelog.d").glob("*.md")):
        if path.name == "README.md":
            continue
        match = FRAGMENT.match(path.name)
        if match is None:
            raise SystemExit(f"{path.name}: expected <slug>.<{'|'.join(KINDS)}>.md")
        found[match[1]].append(path)
    return found


def lines_of(found: dict[str, list[Path]]) -> dict[str, list[str]]:
    """What fragments say, by kind: one line each, or one for each item of a list."""
    return {kind: [line for p in paths for line in items_of(p)] for kind, paths in found.items()}


def items_of(path: Path) -> list[str]:
    """What a fragment says: its text, or the items of the list that it is."""
    items = re.split(r"^- ", path.read_text(), flags=re.M)
    return [" ".join(item.split()) for item in items if item.strip()]


def taken_out(changelog: str) -> tuple[str, dict[str, list[str]]]:
    """The changelog without its section of what is not released, and that section's lines."""
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    match = UNRELEASED.search(changelog)
    if match is None:
        return changelog, found
    for heading, body in re.findall(r"^### (\w+)\n(.*?)(?=^### |\Z)", match[1], re.M | re.S):
        found[heading.lower()] = re.findall(r"^- (.*)", body, re.M)
    return changelog[: match.start()] + changelog[match.end() :], found


def area_of(line: str, areas: dict[str, str]) -> str:
    """The area whose words come first in a line; the one without words where none does."""
    found = {area: re.search(words, line) for area, words in areas.items() if words}
    starts = {area: match.start() for area, match in found.items() if match}
    return min(starts, key=starts.get, default=next(a for a, words in areas.items() if not words))


def by_area(lines: list[str], areas: dict[str, str]) -> list[str]:
    """The list of changes of one kind, under the headings of their areas where they are many."""
    if not areas or len(lines) < MANY:
        return [*[f"- {line}" for line in lines], ""]
    text: list[str] = []
    for area in areas:
        if own := [f"- {line}" for line in lines if area_of(line, areas) == area]:
            text += [f"#### {area}", "", *own, ""]
    return text


def changelog_entry(title: str, lines: dict[str, list[str]], areas: dict[str, str]) -> str:
    """A section of the changelog."""
    text = [f"## {title}", ""]
    for kind, each in lines.items():
        if each:
            text += [f"### {kind.capitalize()}", "", *by_area(each, areas)]
    return "\n".join(text)


def insert_entry(changelog: str, entry: str) -> str:
    """The changelog with a section put before the newest one."""
    position = changelog.find("\n## ")
    if position < 0:
        return changelog.rstrip() + "\n\n" + entry
    return changelog[: position + 1] + entry + "\n" + changelog[position + 1 :]


def rewritten(package: Package, title: str, found: dict[str, list[Path]]) -> str:
    """The changelog with all that is not released in one section of that title."""
    changelog, lines = taken_out((package.path / "CHANGELOG.md").read_text())
    for kind, each in lines_of(found).items():
        lines[kind] += each
    areas = tomllib.loads(AREAS.read_text()).get(package.folder, {})
    return insert_entry(changelog, changelog_entry(title, lines, areas))


def collect(package: Package) -> None:
    """Put the fragments into the section of what is not released."""
    found = fragments(package)
    (package.path / "CHANGELOG.md").write_text(rewritten(package, "Unreleased", found))
    for paths in found.values():
        for path in paths:
            path.unlink()


def check_window(version: str) -> None:
    """A new core lies inside the window that every satellite states."""
    for package in SATELLITES:
        text = next(t for t in package.requirements() if re.match(r"rushlight\b(?!-)", t))
        low = re.search(r">=\s*([0-9.]+)", text)[1]
        high = re.search(r"<\s*([0-9.]+)", text)[1]
        numbers = [tuple(int(p) for p in each.split(".")) for each in (low, version, high)]
        if not numbers[0] <= numbers[1] < numbers[2]:
            where = f"{package.folder}/pyproject.toml"
            raise SystemExit(
                f"{where}: {text} leaves out the core that is to be released, {version}"
            )


def check_state(package: Package, version: str, entry: str) -> None:
    """The tree is clean, the version is new, and there is something to say."""
    if git("status", "--porcelain", "--untracked-files=no"):
        raise SystemExit("the working tree has changes: commit them first")
    if is_released(package, version):
        raise SystemExit(f"{package.distribution} {version} is released already")
    if "\n- " not in entry:
        raise SystemExit(f"{package.folder}/changelog.d holds no fragment: nothing to release")
    if package is CORE:
        check_window(version)


def check_health(package: Package) -> None:
    """Structure and tests pass."""
    for command in (["ci/structure.py"], ["-m", "nox", "-s", "tests", "--", package.folder]):
        if subprocess.run([sys.executable, *command], cwd=ROOT).returncode:
            raise SystemExit(f"{' '.join(command)} failed: nothing was released")


def record_commit(package: Package, version: str, commit: str) -> None:
    """Write the released commit into ci/releases.toml."""
    text = RELEASES.read_text().rstrip("\n") + "\n"
    heading = f"[{package.folder}]"
    line = f'"{version}" = "{commit}"\n'
    if heading in text:
        text = text.replace(f"{heading}\n", f"{heading}\n{line}")
    else:
        text += f"\n{heading}\n{line}"
    RELEASES.write_text(text)


def write_release(package: Package, version: str, found: dict[str, list[Path]]) -> None:
    """Bump, collect, commit, tag; then record the commit in a second one."""
    changelog = package.path / "CHANGELOG.md"
    title = f"{version} ({datetime.date.today().isoformat()})"
    changelog.write_text(rewritten(package, title, found))
    text = package.version_file.read_text()
    package.version_file.write_text(text.replace(f'"{package.version}"', f'"{version}"'))
    for paths in found.values():
        for path in paths:
            git("rm", "--quiet", str(path.relative_to(ROOT)))
    git("add", str(changelog), str(package.version_file))
    name = f"{package.distribution} {version}"
    git("commit", "--quiet", "-m", f"Release {name}")
    commit = git("rev-parse", "HEAD")
    git("tag", "--annotate", f"{package.folder}-v{version}", "-m", name)
    record_commit(package, version, commit)
    git("add", str(RELEASES))
    git("commit", "--quiet", "-m", f"ci: record the commit of {name}")


def main() -> int:
    options = [word for word in sys.argv[1:] if word.startswith("--")]
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    if len(words) != 2 or set(options) - {"--check", "--no-tests"}:
        raise SystemExit(__doc__)
    package = package_named(words[0])
    if words[1] == "collect":
        collect(package)
        return 0
    if words[1] not in ("major", "minor", "patch"):
        raise SystemExit(f"level {words[1]!r}: expected major, minor, patch or collect")
    version = next_version(package, words[1])
    found = fragments(package)
    print(f"{package.distribution} {package.version} -> {version}")
    entry = UNRELEASED.search(rewritten(package, "Unreleased", found))[0]
    print(entry)
    check_state(package, version, entry)
    if "--no-tests" not in options:
        check_health(package)
    if "--check" in options:
        print("ready; nothing was written (--check)")
        return 0
    write_release(package, version, found)
    print(f"released {package.folder}-v{version}; push the branch and the tag to publish it")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
