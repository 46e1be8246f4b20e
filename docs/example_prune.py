"""Prunes vgg8, a network of six convolutions and two linear layers, on Fashion-MNIST with PyTorch, and writes it as ONNX
and safetensors. The dense network is the teacher: no labels are used after it. An image takes about 20 ms of one core's
time, so that 16000 take six minutes; that is too few to keep the accuracy at 95 % zeros (94.63 % became 82.32 %).

usage: example_prune.py FOLDER OUT [--start DENSE.safetensors] [--share 0.95] [--images 30000] [--seed 1] [--threads 2]

FOLDER has the four IDX files (.gz), as in Debian's dataset-fashion-mnist: /usr/share/datasets/fashion-mnist. OUT is a
folder for dense.*, pruned.* and result.json. Without --start, the dense network is trained first."""

# %% Options, images and labels.
import argparse
import gzip
import json
import math
import pathlib

import numpy as np
import torch
from torch.nn import functional

import spdnn.prune

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("folder", type=pathlib.Path)
parser.add_argument("out", type=pathlib.Path)
parser.add_argument("--start", type=pathlib.Path, help="the tensors conv1.weight, conv1.bias, ... fc2.bias")
parser.add_argument("--share", type=float, default=0.95, help="of zeros")
parser.add_argument("--images", type=int, default=30000, help="that the pruned network is trained on")
parser.add_argument("--dense-images", type=int, default=120000, help="that the dense network is trained on")
parser.add_argument("--test", type=int, default=10000, help="images that are tested")
parser.add_argument("--rate", type=float, default=4e-4, help="of learning")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--threads", type=int, default=2)
options = parser.parse_args()
torch.manual_seed(options.seed)
torch.set_num_threads(options.threads)
generator = torch.Generator().manual_seed(options.seed)
BATCH, HEAT = 64, 4.0


def numbers(name):
    data = gzip.open(options.folder / f"{name}.gz").read()
    shape = np.frombuffer(data, ">u4", data[3], 4)
    return torch.from_numpy(np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(shape).copy())


def pixels(images):
    return (images[:, None].float() - 73) / 90


train_images, train_labels = numbers("train-images-idx3-ubyte"), numbers("train-labels-idx1-ubyte").long()
test_images, test_labels = (numbers(f"t10k-{name}-ubyte")[:options.test] for name in ("images-idx3", "labels-idx1"))
held_out = min(500, len(train_images) // 10)  # by which candidates are compared
judged = pixels(train_images[-held_out:])
train_images, train_labels = train_images[:-held_out], train_labels[:-held_out]


# %% The network.
class Vgg8(torch.nn.Module):
    def __init__(self):
        super().__init__()
        channels = [1, 64, 64, 128, 128, 256, 256]
        for layer in range(1, 7):
            setattr(self, f"conv{layer}", torch.nn.Conv2d(channels[layer - 1], channels[layer], 3, padding=1))
            torch.nn.init.kaiming_normal_(getattr(self, f"conv{layer}").weight)
        self.fc1, self.fc2 = torch.nn.Linear(2304, 256), torch.nn.Linear(256, 10)

    def forward(self, x):
        for layer in range(1, 7):
            x = functional.relu(getattr(self, f"conv{layer}")(x))
            if layer % 2 == 0:
                x = functional.max_pool2d(x, 2)
        return self.fc2(functional.relu(self.fc1(x.flatten(1))))


def tensors(path):
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    fields = {name: field for name, field in json.loads(data[8:start]).items() if name != "__metadata__"}
    return {name: torch.frombuffer(bytearray(data[start + field["data_offsets"][0]:start + field["data_offsets"][1]]),
                                   dtype=torch.float32).view(field["shape"]) for name, field in fields.items()}


@torch.no_grad()
def outputs(module, images):
    return torch.cat([module(some) for some in images.split(250)])


def accuracy(module):
    found = torch.cat([outputs(module, pixels(some)).argmax(1) for some in test_images.split(1000)])
    return 100 * float((found == test_labels).float().mean())


# %% Training: each batch is drawn anew, and half of its images are mirrored.
def fit(module, steps, lesson, rate, masks=None):
    """lesson(x, labels, module(x)): the loss. The rate rises for a tenth of the steps, then falls to zero."""
    optimizer = torch.optim.Adam(module.parameters(), rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, 10 * (step + 1) / steps) * (1 + math.cos(math.pi * step / steps)) / 2)
    for _ in range(steps):
        drawn = torch.randint(len(train_images), (BATCH,), generator=generator)
        x = pixels(train_images[drawn])
        x = torch.where(torch.rand(BATCH, 1, 1, 1, generator=generator) < 0.5, x.flip(3), x)
        optimizer.zero_grad()
        lesson(x, train_labels[drawn], module(x)).backward()
        optimizer.step()
        schedule.step()
        if masks is not None:
            masks.apply()


teacher = Vgg8()
if options.start:
    teacher.load_state_dict(tensors(options.start))
else:
    fit(teacher, options.dense_images // BATCH, lambda x, labels, found: functional.cross_entropy(found, labels), 1e-3)
dense = accuracy(teacher)
print(f"dense   {dense:6.2f} %", flush=True)


# %% Pruning: the pruned network learns the dense one's softened outputs (G. Hinton et al., 2015).
def distance(found, wanted):
    return functional.kl_div(functional.log_softmax(found / HEAT, 1), functional.softmax(wanted / HEAT, 1),
                             reduction="batchmean") * HEAT ** 2


def train(masks, part):
    fit(masks.module, round(part * options.images / BATCH),
        lambda x, labels, found: distance(found, outputs(teacher, x)), options.rate, masks)
    print(f"{100 * masks.share:5.1f} % zeros, {distance(outputs(masks.module, judged), wanted):.4f} from the dense network", flush=True)


wanted = outputs(teacher, judged)
pruned = Vgg8()
pruned.load_state_dict(teacher.state_dict())
masks = spdnn.prune.prune(pruned, options.share, train, lambda module: distance(outputs(module, judged), wanted), rounds=3)
found = accuracy(pruned)
print(f"pruned  {found:6.2f} %, {100 * masks.share:.2f} % zeros")

# %% Files for spdnn.
options.out.mkdir(parents=True, exist_ok=True)
for name, module in (("dense", teacher), ("pruned", pruned)):
    spdnn.prune.export(module, judged[:1], options.out / f"{name}.onnx")
    (options.out / name).mkdir(exist_ok=True)
    spdnn.prune.export(module, judged[:1], options.out / name / "model.safetensors")
(options.out / "result.json").write_text(json.dumps({"dense": dense, "pruned": found, "share": masks.share, "shares": masks.shares, "seed": options.seed}))
