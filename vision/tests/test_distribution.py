"""What the installed distribution says of itself agrees with the package."""

import importlib.metadata
import importlib.resources

import rushlight_vision

DISTRIBUTION = "rushlight-vision"


def test_version_is_the_one_in_the_package():
    assert rushlight_vision.__version__ == importlib.metadata.version(DISTRIBUTION)


def test_package_is_marked_as_typed():
    files = importlib.resources.files(rushlight_vision)
    assert files.joinpath("py.typed").is_file()
