"""Files of TensorBoard's projector: points, what they are called, their pictures."""

from __future__ import annotations

import math
import os

from rushlight.machine import np
from rushlight.utils.tensorboard.pictures import array_of, in_rows, pixels_of, png


def write_embedding(log_dir, matrix, metadata, pictures, step, tag, header) -> None:
    """Write the files of one set of points and name them in ``projector_config.pbtxt``."""
    points = array_of(matrix)
    if points.ndim != 2:
        raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
    place = f"{0 if step is None else step:05d}/{tag.replace('%', '%25').replace('/', '%2F')}"
    folder = os.path.join(log_dir, place)
    os.makedirs(folder, exist_ok=True)
    lines = ["embeddings {", f'tensor_name: "{tag}:{0 if step is None else step:05d}"',
             f'tensor_path: "{place}/tensors.tsv"']  # fmt: skip
    if metadata is not None:
        if len(metadata) != len(points):
            raise AssertionError("#labels should equal with #data points")
        rows = ["\t".join(map(str, m)) if header else str(m) for m in metadata]
        rows = ["\t".join(header), *rows] if header else rows
        _write(folder, "metadata.tsv", rows)
        lines.append(f'metadata_path: "{place}/metadata.tsv"')
    if pictures is not None:
        found = array_of(pictures)
        if len(found) != len(points):
            raise AssertionError("#images should equal with #data points")
        if found.shape[2] != found.shape[3]:
            raise AssertionError("Image should be square, see tensorflow/tensorboard#670")
        columns = math.ceil(math.sqrt(len(found)))
        pixels = in_rows(np.stack([pixels_of(picture, "CHW") for picture in found]), columns)
        with open(os.path.join(folder, "sprite.png"), "wb") as file:
            file.write(png(pixels))
        lines += ["sprite {", f'image_path: "{place}/sprite.png"',
                  f"single_image_dim: {found.shape[3]}", f"single_image_dim: {found.shape[2]}",
                  "}"]  # fmt: skip
    _write(folder, "tensors.tsv", ["\t".join(map(str, row)) for row in points.tolist()])
    with open(os.path.join(log_dir, "projector_config.pbtxt"), "a", encoding="utf-8") as file:
        file.write("\n".join([*lines, "}", ""]))


def _write(folder, name, lines):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
