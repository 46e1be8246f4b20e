"""Writes a small pruned CNN as DIRECTORY/model.safetensors and architecture.json, and images for it as images.npy: a 3x3
convolution of which half the weights are zero, batch norm, ReLU, a pool and a linear node of 7 classes, on images of
1 x 6 x 6.

usage: toy_model.py DIRECTORY [IMAGES]
"""

import json
import pathlib
import random
import struct
import sys


def write_npy(path, shape, values, kind="<f4"):
    header = repr({"descr": kind, "fortran_order": False, "shape": tuple(shape)}).encode()
    header += b" " * (-(10 + len(header) + 1) % 64) + b"\n"
    code = {"<f4": "f", "<i8": "q"}[kind]
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + struct.pack(f"<{len(values)}{code}", *values))


def main(directory, images):
    rng = random.Random(17)

    def weights(count, density=1.0):
        return [rng.uniform(-1, 1) if rng.random() < density else 0.0 for _ in range(count)]

    tensors = {
        "conv.weight": ([4, 1, 3, 3], weights(36, 0.5)), "conv.bias": ([4], weights(4)),
        "bn.weight": ([4], weights(4)), "bn.bias": ([4], weights(4)),
        "bn.running_mean": ([4], weights(4)), "bn.running_var": ([4], [rng.uniform(0.5, 2) for _ in range(4)]),
        "fc.weight": ([7, 36], weights(252, 0.2)), "fc.bias": ([7], weights(7)),
    }
    header, numbers = {}, b""
    for name, (shape, values) in tensors.items():
        data = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(numbers), len(numbers) + len(data)]}
        numbers += data
    text = json.dumps(header).encode()
    (directory / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + numbers)
    nodes = [
        {"op": "conv", "name": "conv", "inputs": ["input"], "cin": 1, "cout": 4, "kernel": 3, "pad": 1},
        {"op": "bn", "name": "bn", "inputs": ["conv"], "channels": 4},
        {"op": "relu", "name": "relu", "inputs": ["bn"]},
        {"op": "maxpool", "name": "pool", "inputs": ["relu"], "kernel": 2},
        {"op": "flatten", "name": "flat", "inputs": ["pool"]},
        {"op": "linear", "name": "fc", "inputs": ["flat"], "cin": 36, "cout": 7},
    ]
    architecture = {"name": "toy", "input_shape": ["N", 1, 6, 6], "output": "fc", "nodes": nodes}
    (directory / "architecture.json").write_text(json.dumps(architecture), encoding="utf-8")
    write_npy(directory / "images.npy", (images, 1, 6, 6), [rng.random() for _ in range(images * 36)])


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20)
