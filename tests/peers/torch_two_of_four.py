#!/usr/bin/env python3
"""Times products with 2:4 sparse weights by cuSPARSELt, through torch, beside dense ones and convolutions by cuDNN.

    torch_two_of_four.py [--batch N] [--seconds S] [--json FILE]

Layers are those of VGG-16, the 1x1 layers of ResNet-50, and linear layers. A product takes images as rows of
pixels, with the channels (of a 3x3 layer: 9 times the channels, unfolded) side by side, in fp16 with sums in fp32; it
writes images with their channels innermost. Unfolding is timed apart, as writing that many bytes, the least that it
can take. Times are medians of runs by the device's clock. cuSPARSELt's algorithm is its first, because
its search fails with torch 2.11 (an internal error, on an H100 and an H200), cuDNN's the fastest by torch's search.
Layers with few pixels come first, because an error of the device ends the process.
"""

import argparse
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch.sparse import SparseSemiStructuredTensorCUSPARSELT

VGG16 = [(64, 224, 64), (64, 112, 128), (128, 112, 128), (128, 56, 256), (256, 56, 256), (256, 28, 512),
         (512, 28, 512), (512, 14, 512)]
RESNET50 = [(64, 56, 64), (64, 56, 256), (256, 56, 64), (128, 28, 512), (512, 28, 128), (256, 14, 1024),
            (1024, 14, 256), (512, 7, 2048), (2048, 7, 512)]
LINEAR = [(25088, 4096), (4096, 4096), (8192, 8192)]


def layers():
    """Name, channels, kernel, side of the image (0: a linear layer), filters."""
    for channels, side, filters in VGG16:
        yield f"vgg16 {channels}x{side}x{side} 3x3 -> {filters}", channels, 3, side, filters
    for channels, side, filters in RESNET50:
        yield f"resnet50 {channels}x{side}x{side} 1x1 -> {filters}", channels, 1, side, filters
    for inputs, outputs in LINEAR:
        yield f"linear {inputs} -> {outputs}", inputs, 1, 0, outputs


def milliseconds(work, seconds):
    """The median of runs that take that many seconds together, five at least."""
    work()
    torch.cuda.synchronize()
    times = []
    end = time.monotonic() + seconds
    while len(times) < 5 or (time.monotonic() < end and len(times) < 200):
        begin, done = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        work()
        done.record()
        done.synchronize()
        times.append(begin.elapsed_time(done))
    return statistics.median(times)


def two_of_four(rows, columns):
    """Random weights of which two of each four neighbours are zero."""
    weights = torch.randn(rows, columns // 4, 4, device="cuda")
    zeros = torch.rand_like(weights).argsort(dim=2) < 2
    return weights.masked_fill(zeros, 0).reshape(rows, columns).half()


def measured(channels, kernel, side, filters, batch, seconds):
    pixels = batch * max(side * side, 1)
    columns = channels * kernel * kernel
    weights = two_of_four(filters, columns)
    rows = torch.randn(pixels, columns, device="cuda", dtype=torch.float16)
    compressed = SparseSemiStructuredTensorCUSPARSELT.from_dense(weights)

    def sparse():
        return F.linear(rows, compressed)

    exact = rows[:64].double() @ weights.double().t()
    found = sparse().reshape(-1, filters)[:64].double()
    times = {
        "deviation": ((found - exact).abs().max() / exact.abs().max()).item(),
        "two_of_four_ms": milliseconds(sparse, seconds),
        "dense_fp16_ms": milliseconds(lambda: rows @ weights.t(), seconds),
    }
    if kernel > 1:
        source = torch.empty(rows.numel(), device="cuda", dtype=torch.float16)
        times["unfold_ms"] = milliseconds(source.zero_, seconds)
    if side > 0:
        del rows
        for name, dtype in (("fp16", torch.float16), ("tf32", torch.float32)):
            x = torch.randn(batch, channels, side, side, device="cuda", dtype=dtype)
            x = x.to(memory_format=torch.channels_last)
            w = torch.randn(filters, channels, kernel, kernel, device="cuda", dtype=dtype)
            w = w.to(memory_format=torch.channels_last)
            times[f"cudnn_{name}_ms"] = milliseconds(lambda x=x, w=w: F.conv2d(x, w, padding=kernel // 2), seconds)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=0.1, help="of runs of each side of a layer")
    parser.add_argument("--json", help="a line for each layer")
    arguments = parser.parse_args()
    if not torch.backends.cusparselt.is_available():
        sys.exit("torch has no cuSPARSELt here")
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = True
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, cuSPARSELt {torch.backends.cusparselt.version()}, "
          f"cuDNN {torch.backends.cudnn.version()}, batch {arguments.batch}, ms")
    print(f"{'layer':<36} {'2:4':>8} {'unfold':>8} {'dense':>8} {'cuDNN':>8} {'TF32':>8} {'times':>6}  deviation")
    lines = []
    for name, channels, kernel, side, filters in sorted(layers(), key=lambda layer: layer[3]):
        try:
            times = measured(channels, kernel, side, filters, arguments.batch, arguments.seconds)
        except RuntimeError as error:
            print(f"{name:<36} {str(error).splitlines()[0]}")
            break
        torch.cuda.empty_cache()
        best = min(times[side] for side in ("cudnn_fp16_ms", "dense_fp16_ms") if side in times)
        columns = [times.get(f"{one}_ms") for one in ("two_of_four", "unfold", "dense_fp16", "cudnn_fp16", "cudnn_tf32")]
        print(f"{name:<36} " + " ".join("       -" if ms is None else f"{ms:8.4f}" for ms in columns) +
              f" {best / times['two_of_four_ms']:6.2f}  {times['deviation']:.1e}", flush=True)
        lines.append({"layer": name, "batch": arguments.batch, **times})
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)


if __name__ == "__main__":
    main()
