"""torchaudio's helpers: files of its tutorials, what the libraries behind can do."""

from rushlight_audio.utils import ffmpeg_utils, sox_utils
from rushlight_audio.utils.download import download_asset

__all__ = ["download_asset", "ffmpeg_utils", "sox_utils"]
