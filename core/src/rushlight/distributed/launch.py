"""``python -m torch.distributed.launch``, the former command: :mod:`rushlight.distributed.run`.

The script gets ``--local-rank=N`` in front of its arguments, unless ``--use-env`` is given.
"""

from __future__ import annotations

import sys

from rushlight.distributed import run


def main(args=None) -> None:
    """Run a job as the former command did."""
    given = list(sys.argv[1:] if args is None else args)
    words = [word for word in given if word not in ("--use-env", "--use_env")]
    if words == given:
        raise SystemExit(
            "rushlight: distributed.launch without --use-env gives scripts --local-rank; use "
            "distributed.run (or --use-env) and read the variable LOCAL_RANK"
        )
    run.main(words)


if __name__ == "__main__":
    main()
