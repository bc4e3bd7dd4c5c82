"""What the installed distribution says of itself agrees with the package."""

import importlib.metadata
import importlib.resources

import rushlight_audio

DISTRIBUTION = "rushlight-audio"


def test_version_is_the_one_in_the_package():
    assert rushlight_audio.__version__ == importlib.metadata.version(DISTRIBUTION)


def test_package_is_marked_as_typed():
    files = importlib.resources.files(rushlight_audio)
    assert files.joinpath("py.typed").is_file()
