"""A pruned convolutional network in Python: its nodes, a run on NumPy's images, the verdict, and a run on a tensor of another
library. usage: example_model.py MODEL.onnx|.tflite|.safetensors|.spdnn"""

# %% A model of a file.
import sys

import numpy as np

import spdnn

model = spdnn.load_model(sys.argv[1])
print(model, model.input_shape, "to", model.output_shape)
for node in model.nodes:
    if node.weights > 0:
        print(f"{node.operation:12} {node.name:20} {100 * (1 - node.nonzeros / node.weights):6.2f} % zeros")

# %% Preprocessed images: here pixels from 0 to 1, as float32; float64 would be rounded.
pixels = np.random.default_rng(seed=7).integers(0, 256, (16, *model.input_shape[1:]), dtype=np.uint8)
images = pixels.astype(np.float32) / 255

# %% Infer, with the logits and every node of all images compared with the fp64 reference.
outcome = model.infer(images, trials=3, verify="all")
print(outcome)
print("classes", outcome.predictions, "logits", outcome.logits.shape, outcome.verdict)

# %% The weights as SciPy's matrices: non-zeros of each output channel of the first node that has weights.
matrix = next(matrix for matrix in model.to_scipy() if matrix is not None)
print("of a channel", np.diff(matrix.indptr))

# %% A tensor of another library, if installed. Neither images nor logits are copied.
try:
    import torch

    same = torch.from_dlpack(model.infer(torch.from_numpy(images), expected=outcome.logits).logits)
    print("as a tensor", tuple(same.shape))
except ImportError:
    print("PyTorch is not installed")
