"""Training networks of images: `fit` from a folder or data sets, `finetune` from trained weights.

It uses ``lightning_lite``, which the extra ``rushlight-vision[train]`` installs. May import every
other part of the package; begin with `fitting`. ``python -m rushlight_vision.train`` is the same on
the command line.
"""

try:
    import lightning_lite as _trainer  # noqa: F401 - whether it is there
except ImportError:
    raise ImportError(
        "rushlight_vision.training needs lightning_lite: pip install 'rushlight-vision[train]'"
    ) from None

from rushlight_vision.training.exporting import export
from rushlight_vision.training.finetuning import find_learning_rate, finetune
from rushlight_vision.training.fitting import Result, fit
from rushlight_vision.training.settings import Settings

__all__ = ["Result", "Settings", "export", "find_learning_rate", "finetune", "fit"]
