#!/usr/bin/env python3
"""Checks the #include lines of include/ and src/ against the rooms below, and prints violations.

A room may include itself and the rooms that it lists, with all rooms that these may include. A room is listed after those
that it may include, so there are no cycles. usage: include_graph.py [ROOT]
"""

import pathlib
import re
import sys

# Room: the rooms that it may include. A room has the name of its folder; parts of a folder that are rooms of their own follow below.
ROOMS = {
    "spdnn": [],
    "core/text": ["spdnn"],
    "core/system": ["core/text"],
    "core/threads": ["core/system"],
    "core/types": ["core/threads"],
    "core": ["core/types"],
    "data/official: constants": ["spdnn"],
    "report": ["core", "data/official: constants"],
    "plan/passes": ["core"],
    "plan": ["plan/passes"],
    "report/network": ["report", "plan"],
    "model/operations": ["core"],
    "model/graph": ["model/operations"],
    "model/oracle": ["model/graph"],
    "model/rewrites": ["model/oracle"],
    "report/model": ["report/network", "model/graph"],
    "io/files": ["core"],
    "io/networks/text": ["io/files"],
    "io/packed": ["io/networks/text", "plan/passes"],
    "io/networks/directory": ["io/packed"],
    "io/networks": ["io/networks/directory"],
    "io/arrays": ["io/networks/text"],
    "io/models": ["io/arrays", "io/packed", "model/graph"],
    "io/models/architecture": ["io/models"],
    "io/models/packed": ["io/models/architecture"],
    "io/models/safetensors": ["io/models/architecture"],
    "io/models/onnx": ["io/models"],
    "io/models/tflite": ["io/models"],
    "io/models: any form": ["io/models/packed", "io/models/safetensors", "io/models/onnx", "io/models/tflite"],
    "data": ["io/arrays", "io/packed", "model/graph"],
    "data/official": ["data", "data/official: constants"],
    "prune": ["model/rewrites"],
    "engines: common": ["plan"],
    "engines/reference": ["engines: common", "model/oracle"],
    "program": ["engines: common", "model/graph"],
    "engines/cpu/lanes": ["program"],
    "engines/cpu": ["program", "engines/cpu/lanes"],
    "engines/cpu/onednn": ["engines/cpu"],
    "engines/cpu/plain": ["program", "engines/cpu/lanes"],
    "engines/cpu/sparse_linear": ["program"],
    "engines/cpu/depthwise": ["engines/cpu"],
    "engines/cpu/sparse_conv": ["engines/cpu"],
    "engines/cpu/sparse_int8": ["engines/cpu/sparse_conv"],
    "engines/cuda/runtime": ["engines: common"],
    "engines/cuda/layers": ["engines/cuda/runtime"],
    "engines/cuda/retire": ["engines/cuda/layers"],
    "engines/cuda/spmm": ["engines/cuda/retire"],
    "engines/cuda/spgemm": ["engines/cuda/retire"],
    "engines/cuda/dense": ["engines/cuda/retire"],
    "engines/cuda/resident": ["engines/cuda/retire"],
    "engines/cuda/cascade": ["engines/cuda/retire"],
    "engines/cuda/conv_direct": ["engines/cuda/layers", "program"],
    "engines/cuda/conv_dense": ["engines/cuda/runtime", "program"],
    "engines/cuda/conv_2to4": ["engines/cuda/runtime", "program"],
    "engines/cuda/conv_lowered": ["engines/cuda/runtime", "program"],
    "engines/cuda/conv_generated": ["engines/cuda/conv_direct"],
    "engines/cuda/conv_pixels": ["engines/cuda/conv_direct"],
    "engines/cuda/conv_uniform": ["engines/cuda/conv_direct"],
    "engines/cuda/conv_ecr": ["engines/cuda/conv_direct"],
    "engines/cuda": ["engines/cuda/layers"],
    "engines": ["engines/cpu", "engines/cuda", "engines/reference"],
    "cluster": ["core"],
    "inference/device": ["engines", "report"],
    "inference/run": ["inference/device", "cluster", "io/networks", "data/official"],
    "inference/checkpoint": ["inference/run"],
    "inference/ranks": ["inference/checkpoint"],
    "inference/network": ["inference/ranks"],
    "inference/model": ["inference/ranks", "model/rewrites", "report/model", "io/models: any form"],
    "inference/prune": ["inference/model", "prune"],
    "inference": ["inference/network", "inference/prune"],
    "bench": ["inference"],
    "cli": ["bench"],
    "main": ["cli"],
}
# Files that do not belong to their folder's room: those that all of its parts use, or that use all of its parts.
PARTS = {
    "data/official: constants": ["data/official/constants"],
    "io/models: any form": ["io/models/model_file"],
    "engines: common": ["engines/backend", "engines/engine", "engines/image_states", "engines/model_engine",
                        "engines/overflow", "engines/streamed", "engines/support",
                        "engines/variant_lines"],
    "main": ["main.cpp"],
}
# Headers of others that one room alone may include: beginnings of their names.
OTHERS = {
    "engines/cuda": ["cuda", "cub/", "cublas", "cusparse"],
    "engines/cpu/onednn": ["oneapi/", "dnnl"],
    "cli": ["boost/"],
    "cluster": ["mpi.h"],
    "io/models/onnx": ["google/protobuf/", "onnx.pb.h"],
    "io/models/tflite": ["flatbuffers/", "tflite_generated.h"],
}


def room_of(path):
    """The room of a file, named from include/ or src/."""
    for room, beginnings in PARTS.items():
        if any(re.match(re.escape(beginning) + r"(\.|$)", path) for beginning in beginnings):
            return room
    for folder in map(str, pathlib.PurePath(path).parents):
        if folder in ROOMS:
            return folder
    return None


def known_to(room):
    known = {room}
    for other in ROOMS[room]:
        known |= known_to(other)
    return known


def faults_of(name, text):
    room = room_of(name)
    if room is None:
        yield f"{name} is in no room"
        return
    known = known_to(room)
    for number, line in enumerate(text.splitlines(), 1):
        include = re.match(r'\s*#\s*include\s*(["<])([^">]+)', line)
        if not include:
            continue
        target = include[2]
        if include[1] == "<":
            for owner, beginnings in OTHERS.items():
                if target.startswith(tuple(beginnings)) and not (room + "/").startswith(owner + "/"):
                    yield f"{name}:{number}: <{target}> is for {owner} alone"
        elif "/" in target and room_of(target) not in known:  # what is generated has no folder
            yield f"{name}:{number}: {room} does not know {room_of(target)}: {target}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2])
    listed = list(ROOMS)
    for room, others in ROOMS.items():
        for other in others:
            assert listed.index(other) < listed.index(room), f"{room} is listed before {other}, which it knows"
    faults, files = [], 0
    for base in ("include", "src"):
        for path in sorted((root / base).rglob("*")):
            if path.suffix in (".hpp", ".cpp", ".cu", ".cuh", ".def"):
                files += 1
                name = str(path.relative_to(root / base))
                faults += faults_of(name, path.read_text(encoding="utf-8"))
    print(*faults, sep="\n", end="\n" if faults else "")
    print(f"{files} files, {len(ROOMS)} rooms, {len(faults)} includes that do not fit")
    return 1 if faults or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
