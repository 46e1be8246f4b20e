"""As much of PyTorch as spdnn.prune uses, on NumPy, where PyTorch is not installed: tensors, layers and modules, no training."""

import contextlib
import sys
import types

import numpy as np


class Tensor(np.ndarray):
    device = "cpu"

    def numel(self):
        return self.size

    def detach(self):
        return self

    def clone(self):
        return self.copy()

    def to(self, _device):
        return self

    def abs(self):
        return abs(self)

    def square(self):
        return np.square(self)

    def sqrt(self):
        return np.sqrt(self)

    def view(self, kind):
        return self.reshape(kind) if isinstance(kind, tuple) else super().view(kind)

    def mul_(self, other):
        self *= other
        return self

    def topk(self, count):
        return types.SimpleNamespace(indices=np.argsort(-np.asarray(self), kind="stable")[:count])

    def split(self, sizes):
        return np.split(self, np.cumsum(sizes)[:-1])


def tensor(numbers):
    return np.array(numbers, dtype=np.float32).view(Tensor)


class Module:
    """A layer, or several in order."""

    def __init__(self, *layers):
        self.training = True
        self.layers = layers

    def named_modules(self):
        yield "", self
        for number, layer in enumerate(self.layers):
            yield str(number), layer

    def train(self, training=True):
        self.training = training

    def eval(self):
        self.train(False)

    def state_dict(self):
        return {f"{name}.weight".lstrip("."): layer.weight for name, layer in self.named_modules() if hasattr(layer, "weight")}

    def load_state_dict(self, values):
        for name, weight in self.state_dict().items():
            weight[...] = values[name]


class Layer(Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = tensor(weight)


Linear, Conv1d, Conv2d = (type(name, (Layer,), {}) for name in ("Linear", "Conv1d", "Conv2d"))


class _NoGrad(contextlib.ContextDecorator):
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


def install():
    """Makes `import torch` find this."""
    torch = types.ModuleType("torch")
    torch.Tensor, torch.bool = Tensor, np.bool_
    torch.no_grad = _NoGrad
    torch.all, torch.cat = np.all, lambda parts: np.concatenate(parts).view(Tensor)
    torch.zeros_like = lambda like, dtype: np.zeros(like.shape, dtype).view(Tensor)
    torch.nn = types.SimpleNamespace(Module=Module, Linear=Linear, Conv1d=Conv1d, Conv2d=Conv2d)
    torch.onnx = types.SimpleNamespace(export=None)
    sys.modules["torch"] = torch
    return torch
