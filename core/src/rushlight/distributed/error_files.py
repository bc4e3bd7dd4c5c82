"""What a rank that fails leaves to its launcher: a file with the message and the time."""

from __future__ import annotations

import json
import os
import time
import traceback

VARIABLE = "TORCHELASTIC_ERROR_FILE"


def write(error: BaseException) -> None:
    """Note an error, if the launcher asked for it; the first one alone."""
    path = os.environ.get(VARIABLE)
    if not path or os.path.exists(path):
        return
    shown = error.code if isinstance(error, SystemExit) else error
    entry = {"message": f"{type(error).__name__}: {shown}", "time": time.time()}
    if not isinstance(error, SystemExit):
        entry["traceback"] = "".join(traceback.format_exception(error))
    with open(path + ".part", "w") as file:
        json.dump(entry, file)
    os.replace(path + ".part", path)
