"""safetensors: files written and read, whole and in parts, with shared tensors and every dtype."""

import tempfile
from pathlib import Path

import torch
from common import report
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model


def main():
    torch.manual_seed(0)
    kinds = [
        "float32",
        "float64",
        "float16",
        "bfloat16",
        "int64",
        "int32",
        "int16",
        "int8",
        "uint8",
        "bool",
        "float8_e4m3fn",
        "float8_e5m2",
        "complex64",
    ]
    tensors = {k: (torch.arange(12).reshape(3, 4) / 2).to(getattr(torch, k)) for k in kinds}
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.safetensors")
        save_file(tensors, path, metadata={"made": "here"})
        again = load_file(path)
        found["kinds"] = {
            k: [str(v.dtype).split(".")[-1], v.float() if k != "complex64" else v.real]
            for k, v in sorted(again.items())
        }
        with safe_open(path, framework="pt") as file:
            found["metadata"] = file.metadata()
            found["part"] = file.get_slice("float32")[1:]
            found["shape"] = file.get_slice("int64").get_shape()
        found["bytes"] = sorted(load(save({"x": torch.ones(2)})))
        first = torch.nn.Linear(3, 3)
        net = torch.nn.Sequential(first, torch.nn.ReLU(), first)
        save_model(net, str(path))
        other = torch.nn.Sequential(first, torch.nn.ReLU(), first)
        with torch.no_grad():
            first.weight.zero_()
        found["missing"] = [list(x) for x in load_model(other, str(path))]
        found["model"] = other(torch.ones(1, 3))
    report(**found)


main()
