"""Pruning while a PyTorch module is trained: masks, a pool of candidates, rewinding, and files for spdnn.

    masks = spdnn.prune.prune(module, 0.95, train, loss)   # train(masks, part): some steps, masks.apply() after each
    spdnn.prune.export(module, images[:1], "pruned.onnx")

`spdnn prune` needs no training, but keeps the accuracy only up to fewer zeros. Needs PyTorch.
"""

from __future__ import annotations

import math
import pathlib
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch

from . import _arguments
from ._types import Path
from .errors import UsageError
from .models import load_model

__all__ = ["Masks", "Snapshot", "export", "prune"]

_FEW_WEIGHTS = 32  # of a filter: layers with fewer stay dense, as in `spdnn prune`
_LAYERS = (torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Linear)


@dataclass(frozen=True)
class Snapshot:
    """Parameters, buffers and masks of a module at one time."""

    values: dict[str, torch.Tensor]
    masks: dict[str, torch.Tensor]


class Masks:
    """Which weights of a module may differ from zero: one boolean tensor for each convolution and linear layer whose
    filters have 32 weights or more.

    masks: to start with, by the parameter's name ("conv1.weight"), ones and zeros of the weight's shape; layers without
        one, and all without `masks`, start with the weights that are not zero.

    Gradients and optimizers know nothing of masks: call apply() after each optimizer.step().
    UsageError if no layer can be pruned or masks do not fit.
    """

    def __init__(self, module: torch.nn.Module, masks: Mapping[str, torch.Tensor] | None = None) -> None:
        if not isinstance(module, torch.nn.Module):
            raise _arguments.wrong_type("module", "a torch.nn.Module", module)
        self.module = module
        self._weights = {f"{name}.weight".lstrip("."): layer.weight for name, layer in module.named_modules()
                         if isinstance(layer, _LAYERS) and layer.weight[0].numel() >= _FEW_WEIGHTS}
        if not self._weights:
            raise UsageError(f"module: no convolution or linear layer with filters of {_FEW_WEIGHTS} weights or more")
        self._masks = {name: weight.detach() != 0 for name, weight in self._weights.items()}
        for name, mask in (masks or {}).items():
            self._masks[name] = self._checked(name, mask)
        self.apply()

    def _checked(self, name: str, given: torch.Tensor) -> torch.Tensor:
        weight = self._weights.get(name)
        if weight is None:
            raise UsageError(f"masks: '{name}' is none of the weights that can be pruned: {', '.join(self._weights)}")
        if not isinstance(given, torch.Tensor):
            raise _arguments.wrong_type(f"masks: '{name}'", "a tensor", given)
        if given.shape != weight.shape:
            raise UsageError(f"masks: '{name}' has shape {tuple(given.shape)}, its weight {tuple(weight.shape)}")
        if not torch.all((given == 0) | (given == 1)):
            raise UsageError(f"masks: '{name}' has other numbers than 0 and 1")
        return given.to(weight.device) != 0

    @property
    def share(self) -> float:
        """Of zeros, of all weights that have masks."""
        return self._zeros / self._total

    @property
    def _zeros(self) -> int:
        return self._total - sum(int(mask.sum()) for mask in self._masks.values())

    @property
    def _total(self) -> int:
        return sum(mask.numel() for mask in self._masks.values())

    @property
    def shares(self) -> dict[str, float]:
        """Of zeros, by layer."""
        return {name: 1 - int(mask.sum()) / mask.numel() for name, mask in self._masks.items()}

    def can_have(self, share: float) -> bool:
        """Whether no more weights are zero already than select(share) leaves."""
        return self._zeros <= round(share * self._total)

    @torch.no_grad()
    def select(self, share: float, power: float = 0.0) -> None:
        """Keeps the weights of the highest scores of all layers together, and sets the others to zero, so that
        round(share x weights) are zero; those that were zero before come first. The score of a weight is its absolute
        value divided by (root mean square of its layer's non-zeros) ** power: with 0 layers of small weights lose more,
        with 1 all lose similar shares."""
        wanted, power = _share(share), _arguments.number("power", power)
        scores = []
        for name, weight in self._weights.items():
            mask = self._masks[name]
            scale = float(weight[mask].square().mean().sqrt()) if bool(mask.any()) else 1.0
            scores.append((weight.abs() * mask / (scale or 1.0) ** power).flatten())
        together = torch.cat(scores)
        kept = torch.zeros_like(together, dtype=torch.bool)
        kept[together.topk(together.numel() - round(wanted * together.numel())).indices] = True
        for (name, weight), part in zip(self._weights.items(), kept.split([score.numel() for score in scores])):
            self._masks[name] = part.view(weight.shape)
        self.apply()

    @torch.no_grad()
    def apply(self) -> None:
        """Sets the weights without a one in their mask to zero."""
        for name, weight in self._weights.items():
            weight.mul_(self._masks[name])

    def snapshot(self) -> Snapshot:
        return Snapshot({name: value.detach().clone() for name, value in self.module.state_dict().items()},
                        {name: mask.clone() for name, mask in self._masks.items()})

    def restore(self, snapshot: Snapshot) -> None:
        """The module and its masks as they were."""
        self.module.load_state_dict(snapshot.values)
        self._masks = {name: mask.clone() for name, mask in snapshot.masks.items()}

    def rewind(self, snapshot: Snapshot) -> None:
        """The values as they were, with the masks as they are now."""
        self.module.load_state_dict(snapshot.values)
        self.apply()


def prune(module: torch.nn.Module, share: float, train: Callable[[Masks, float], None],
          loss: Callable[[torch.nn.Module], float], *, rounds: int = 4, powers: Sequence[float] = (0.0, 0.5, 1.0),
          trial: float = 0.0) -> Masks:
    """Prunes a trained module to `share` zeros in rounds, each of which keeps the same share of the weights left (after
    M. Pietron & D. Zurek, arXiv 2011.06295, algorithm 1: masks, a pool of candidates, rewinding).

    A round has a candidate for each of `powers` (Masks.select). All start from the same weights: after each, the module
    is rewound. A candidate is trained for the part `trial` of all training and judged by loss(module), which is best
    taken on images that are not trained on; the round goes on with the best one.

    train(masks, part): trains masks.module for this part of all training, from 0 to 1, with masks.apply() after each
        step of the optimizer. The parts of the rounds add up to 1; the last round has half of it.
    """
    wanted, count = _share(share), _arguments.count("rounds", rounds)
    if not powers:
        raise UsageError("powers: expected at least one")
    if not 0 <= _arguments.number("trial", trial) <= 1:
        raise UsageError(f"trial: {trial}, expected 0 to 1")
    masks = Masks(module)
    if not masks.can_have(wanted):
        raise UsageError(f"share: {masks.share:.4f} of the weights are zero already, more than {wanted}")
    for number in range(1, count + 1):
        of_round = 1 - (1 - masks.share) * ((1 - wanted) / (1 - masks.share)) ** (1 / (count - number + 1))
        _go_on_with_best(masks, of_round, powers, lambda: train(masks, trial) if trial > 0 else None, loss)
        train(masks, 0.5 / (count - 1) if number < count else 1.0 if count == 1 else 0.5)
    return masks


def _go_on_with_best(masks: Masks, share: float, powers: Sequence[float], try_it: Callable[[], None],
                     loss: Callable[[torch.nn.Module], float]) -> None:
    before, best = masks.snapshot(), (math.inf, masks.snapshot())
    for power in powers:
        masks.restore(before)
        masks.select(share, power)
        try_it()
        found = float(loss(masks.module))
        if not math.isfinite(found):
            raise UsageError(f"loss: {found} with {share:.4f} zeros, expected a finite number")
        if found < best[0]:
            best = found, masks.snapshot()
    masks.restore(best[1])


def export(module: torch.nn.Module, images: torch.Tensor, path: Path) -> None:
    """Writes the module as .onnx, .spdnn, or .safetensors with architecture.json beside it, for any number of images.

    images: one or more, as the module takes them.

    DataError for other names, or where spdnn lacks an operation of the module.
    """
    training = module.training
    module.eval()
    try:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of values that tracing keeps as constants
            file = pathlib.Path(folder) / "module.onnx"
            torch.onnx.export(module, images, file, opset_version=13, input_names=["input"], output_names=["output"],
                              dynamic_axes={"input": {0: "N"}, "output": {0: "N"}})
            load_model(file).save(path)
    finally:
        module.train(training)


def _share(given: float) -> float:
    share = _arguments.number("share", given)
    if not 0 <= share < 1:
        raise UsageError(f"share: {share}, expected from 0 to below 1")
    return share
