"""The lowest versions that the packages allow of what they depend on.

Usage: python ci/minimum.py constraints FILE    write `name==lowest` for every dependency
       python ci/minimum.py installed           check that exactly those are installed
"""

from __future__ import annotations

import importlib.metadata
import re
import sys
from pathlib import Path

from packages import PACKAGES

REQUIREMENT = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)(\[[^]]*\])?(?P<bounds>[^;]*)")
LOWEST = re.compile(r">=\s*(?P<version>[0-9][0-9A-Za-z.]*)")


def lowest_versions() -> dict[str, str]:
    """Distribution name -> lowest version allowed, over all packages' plain dependencies."""
    own = {package.distribution for package in PACKAGES}
    lowest: dict[str, str] = {}
    for package in PACKAGES:
        for text in package.requirements():
            found = REQUIREMENT.match(text)
            if found["name"] in own:
                continue
            bound = LOWEST.search(found["bounds"])
            if bound is None:
                raise SystemExit(
                    f"{package.folder}/pyproject.toml: {text!r} states no lowest version"
                )
            lowest[found["name"]] = bound["version"]
    return lowest


def same(given: str, expected: str) -> bool:
    """Whether two release numbers agree but for trailing zeros."""
    strip = re.compile(r"(\.0)+$")
    return strip.sub("", given) == strip.sub("", expected)


def check_installed() -> int:
    """Print what is installed beside what is allowed; 1 if they differ."""
    wrong = 0
    for name, expected in sorted(lowest_versions().items()):
        given = importlib.metadata.version(name)
        mark = "" if same(given, expected) else "  <-- not the lowest"
        wrong += bool(mark)
        print(f"{name:20} {given}{mark}")
    return 1 if wrong else 0


def main() -> int:
    match sys.argv[1:]:
        case ["constraints", file]:
            lines = [f"{name}=={version}\n" for name, version in sorted(lowest_versions().items())]
            Path(file).write_text("".join(lines))
            return 0
        case ["installed"]:
            return check_installed()
    raise SystemExit(__doc__)


if __name__ == "__main__":
    raise SystemExit(main())
