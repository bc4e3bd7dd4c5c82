"""One rank of a job that runs cases and writes down what came out: ``job.py FRAMEWORK FILE ...``.

Run as a program of its own, under PyTorch or Rushlight: the cases are the same text.
"""

from __future__ import annotations

import datetime
import importlib
import importlib.util
import math
import os
import pickle
import sys
import warnings


def plain(value):
    """A value without tensors: what two frameworks can compare."""
    if hasattr(value, "detach"):
        name = str(value.dtype).rpartition(".")[2]
        shown = value.detach()
        if name in ("bfloat16", "float16"):
            shown = shown.float()
        elif name == "complex32":
            shown = shown.to(value.real.float().dtype.to_complex())
        elif name in ("uint16", "uint32", "uint64"):
            shown = shown.long()
        return ("tensor", name, tuple(value.shape), shown.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return value
    return type(value).__name__


def outcome(case, torch, dist):
    """What a case gives, or the error it ends by."""
    try:
        return ("value", plain(case(torch, dist, dist.get_rank(), dist.get_world_size())))
    except Exception as error:
        kinds = [kind.__name__ for kind in type(error).__mro__]
        return ("error", kinds, str(error))


def same(mine, other, rounding=2e-5):
    """Whether nested outcomes are equal, numbers up to rounding."""
    if isinstance(mine, float) and isinstance(other, float):
        return math.isclose(mine, other, rel_tol=rounding, abs_tol=rounding / 10)
    if isinstance(mine, dict):
        return mine.keys() == other.keys() and all(same(mine[k], other[k], rounding) for k in mine)
    if isinstance(mine, (list, tuple)):
        pairs = zip(mine, other, strict=False)
        return len(mine) == len(other) and all(same(a, b, rounding) for a, b in pairs)
    return mine == other


def load(path):
    """The module of a file of cases."""
    spec = importlib.util.spec_from_file_location("cases_of_" + os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def main():
    """All cases of a file on this rank."""
    framework, path, results = sys.argv[1:4]
    warnings.simplefilter("ignore")
    torch = importlib.import_module(framework)
    dist = importlib.import_module(framework + ".distributed")
    module = load(path)
    backend = os.environ.get("JOB_BACKEND", "gloo")
    dist.init_process_group(backend, timeout=datetime.timedelta(seconds=120))
    if backend == "nccl":  # the same text, on GPUs
        torch.cuda.set_device(dist.get_rank())
        torch.set_default_device("cuda")
    found = {}
    size = dist.get_world_size()
    left_out = getattr(module, "NOT_ON_GPUS", ()) if backend == "nccl" else ()
    if framework == "torch":
        left_out = {*left_out, *getattr(module, "OURS", ())}
    for name, case in module.CASES.items():
        if not module.fits(name, size) or name in left_out:
            continue
        found[name] = outcome(case, torch, dist)
        dist.barrier()
    with open(f"{results}.{dist.get_rank()}", "wb") as file:
        pickle.dump(found, file)
    if framework == "torch":  # whose threads sometimes abort the process at its end
        dist.barrier()
        os._exit(0)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
