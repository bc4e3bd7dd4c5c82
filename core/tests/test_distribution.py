"""What the installed distribution says of itself agrees with the package."""

import importlib.metadata
import importlib.resources

import rushlight

DISTRIBUTION = "rushlight"


def test_version_is_the_one_in_the_package():
    assert rushlight.__version__ == importlib.metadata.version(DISTRIBUTION)


def test_package_is_marked_as_typed():
    files = importlib.resources.files(rushlight)
    assert files.joinpath("py.typed").is_file()
