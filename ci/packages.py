"""The five packages: folder, distribution and import name, and what their pyproject.toml says."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Package:
    """One distribution of the repository."""

    folder: str
    distribution: str
    module: str

    @property
    def path(self) -> Path:
        return ROOT / self.folder

    @property
    def source(self) -> Path:
        return self.path / "src" / self.module

    @property
    def version_file(self) -> Path:
        return self.source / "_version.py"

    @property
    def version(self) -> str:
        found = re.search(r'^__version__ = "([^"]+)"$', self.version_file.read_text(), re.MULTILINE)
        if found is None:
            raise SystemExit(f'{self.version_file}: no line `__version__ = "..."`')
        return found[1]

    @property
    def project(self) -> dict:
        """The [project] table of pyproject.toml."""
        return tomllib.loads((self.path / "pyproject.toml").read_text())["project"]

    def requirements(self, extras: bool = False) -> list[str]:
        """What the distribution depends on, with its extras if asked for."""
        found = list(self.project["dependencies"])
        if extras:
            for group in self.project.get("optional-dependencies", {}).values():
                found.extend(group)
        return found


PACKAGES = (
    Package("core", "rushlight", "rushlight"),
    Package("vision", "rushlight-vision", "rushlight_vision"),
    Package("text", "rushlight-text", "rushlight_text"),
    Package("audio", "rushlight-audio", "rushlight_audio"),
    Package("lightning_lite", "rushlight-lightning-lite", "lightning_lite"),
)
CORE = PACKAGES[0]
SATELLITES = PACKAGES[1:]


def package_named(name: str) -> Package:
    """The package with this folder, distribution or import name."""
    for package in PACKAGES:
        if name in (package.folder, package.distribution, package.module):
            return package
    known = ", ".join(package.folder for package in PACKAGES)
    raise SystemExit(f"no package is called {name!r}; there are: {known}")
