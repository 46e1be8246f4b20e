"""spdnn.prune: masks, candidates, rewinding, files. Needs PyTorch, which nothing installs."""

import importlib.util
import os
import tempfile
import unittest

import numpy as np

import spdnn

TORCH = importlib.util.find_spec("torch") is not None
if TORCH:
    import torch

    import spdnn.prune


def network(seed=1):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Conv2d(4, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
                               torch.nn.Flatten(), torch.nn.Linear(8 * 4 * 4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))


def zeros(module, name):
    return int((module.state_dict()[name] == 0).sum())


@unittest.skipUnless(TORCH, "needs PyTorch")
class MasksTest(unittest.TestCase):
    def test_select_sets_as_many_weights_to_zero_as_asked_and_leaves_small_filters(self):
        module = network()
        masks = spdnn.prune.Masks(module)
        self.assertEqual(set(masks.shares), {"2.weight", "6.weight"})
        before = module[6].weight.detach().clone()
        masks.select(0.7)
        weights = 8 * 36 + 16 * 128
        self.assertEqual(zeros(module, "2.weight") + zeros(module, "6.weight"), round(0.7 * weights))
        self.assertAlmostEqual(masks.share, 0.7, places=3)
        self.assertEqual(zeros(module, "0.weight") + zeros(module, "8.weight"), 0)
        kept, gone = module[6].weight[module[6].weight != 0], before[module[6].weight == 0]
        self.assertGreater(float(kept.abs().min()), float(gone.abs().max()) - 1e-9)

    def test_power_one_gives_layers_of_other_scales_similar_shares(self):
        shares = {}
        for power in (0.0, 1.0):
            module = network()
            with torch.no_grad():
                module[2].weight.mul_(100)
            masks = spdnn.prune.Masks(module)
            masks.select(0.5, power)
            shares[power] = masks.shares
        self.assertLess(shares[0.0]["2.weight"], 0.1)
        self.assertGreater(shares[1.0]["2.weight"], 0.3)

    def test_apply_restore_and_rewind(self):
        module = network()
        masks = spdnn.prune.Masks(module)
        dense = masks.snapshot()
        masks.select(0.6)
        pruned = masks.snapshot()
        with torch.no_grad():
            module[6].weight.add_(1)
        masks.apply()
        self.assertEqual(masks.shares["6.weight"], zeros(module, "6.weight") / module[6].weight.numel())
        masks.rewind(dense)
        self.assertTrue(torch.equal(module[6].weight, dense.values["6.weight"] * pruned.masks["6.weight"]))
        masks.restore(dense)
        self.assertTrue(torch.equal(module[6].weight, dense.values["6.weight"]))
        self.assertEqual(masks.share, 0)

    def test_masks_may_be_given(self):
        module = network()
        masks = spdnn.prune.Masks(module, {"6.weight": torch.arange(16 * 128).view(16, 128) % 2})
        self.assertEqual(masks.shares, {"2.weight": 0, "6.weight": 0.5})
        self.assertEqual(zeros(module, "6.weight"), 16 * 64)

    def test_bad_input(self):
        module = network()
        for share in (-0.1, 1.0, 1.5, float("nan")):
            with self.assertRaisesRegex(spdnn.UsageError, "share: .*, expected from 0 to below 1"):
                spdnn.prune.Masks(module).select(share)
        for given, problem in (({"6.weight": torch.ones(16, 127)}, r"has shape \(16, 127\), its weight \(16, 128\)"),
                               ({"0.weight": torch.ones(4, 1, 3, 3)}, "'0.weight' is none of the weights that can be pruned: 2.weight, 6.weight"),
                               ({"6.weight": torch.full((16, 128), 0.5)}, "other numbers than 0 and 1")):
            with self.assertRaisesRegex(spdnn.UsageError, problem):
                spdnn.prune.Masks(module, given)
        self.assertEqual(zeros(module, "6.weight"), 0)
        with self.assertRaisesRegex(spdnn.UsageError, "no convolution or linear layer"):
            spdnn.prune.Masks(torch.nn.ReLU())
        with self.assertRaisesRegex(TypeError, "module: expected a torch.nn.Module, not int"):
            spdnn.prune.Masks(7)


@unittest.skipUnless(TORCH, "needs PyTorch")
class PruneTest(unittest.TestCase):
    def test_rounds_go_on_with_the_best_candidate_and_training_keeps_zeros(self):
        module, parts, losses, seen = network(), [], [], []
        x = torch.rand(32, 1, 8, 8)

        def train(masks, part):
            parts.append(part)
            optimizer = torch.optim.Adam(masks.module.parameters(), 1e-2)
            for _ in range(3):
                optimizer.zero_grad()
                masks.module(x).square().mean().backward()
                optimizer.step()
                masks.apply()

        def loss(of):
            losses.append((len(losses) - 4) ** 2)  # least for the middle one of the last round
            seen.append(spdnn.prune.Masks(of).shares)
            return losses[-1]

        masks = spdnn.prune.prune(module, 0.9, train, loss, rounds=2)
        self.assertEqual(parts, [0.5, 0.5])
        self.assertAlmostEqual(masks.share, 0.9, places=3)
        self.assertEqual(zeros(module, "2.weight") + zeros(module, "6.weight"), round(0.9 * (8 * 36 + 16 * 128)))
        self.assertEqual(len(losses), 6)
        self.assertEqual(masks.shares, seen[4])
        self.assertNotEqual(seen[4], seen[5])

    def test_candidates_start_from_the_same_weights(self):
        module, seen = network(), []

        def train(masks, part):
            seen.append(float(masks.module[0].weight.sum()))
            with torch.no_grad():
                masks.module[0].weight.add_(1)

        spdnn.prune.prune(module, 0.5, train, lambda _: 0.0, rounds=1, trial=0.1)
        self.assertEqual(seen[0], seen[1])
        self.assertEqual(seen[1], seen[2])
        self.assertGreater(seen[3], seen[0])  # the round goes on with the candidate's training

    def test_bad_input(self):
        def call(share=0.5, loss=lambda _: 0.0, **options):
            spdnn.prune.prune(network(), share, lambda masks, part: None, loss, **options)

        for problem, options in (("share: 1.0", {"share": 1.0}), ("rounds: ", {"rounds": 0}), ("powers: ", {"powers": ()}), ("trial: 2", {"trial": 2}),
                                 ("loss: nan with 0.1591 zeros", {"loss": lambda _: float("nan")})):
            with self.assertRaisesRegex(spdnn.UsageError, problem):
                call(**options)
        pruned = network()
        spdnn.prune.Masks(pruned).select(0.8)
        with self.assertRaisesRegex(spdnn.UsageError, "0.8.* of the weights are zero already"):
            spdnn.prune.prune(pruned, 0.5, lambda masks, part: None, lambda _: 0.0)


@unittest.skipUnless(TORCH, "needs PyTorch")
class ExportTest(unittest.TestCase):
    def test_files_compute_what_the_module_does_with_its_zeros(self):
        module = network()
        spdnn.prune.Masks(module).select(0.8)
        images = torch.rand(5, 1, 8, 8)
        module.eval()
        expected = module(images).detach().numpy()
        module.train()
        with tempfile.TemporaryDirectory() as folder:
            for name in ("model.onnx", "model.safetensors", "model.spdnn"):
                path = os.path.join(folder, name)
                spdnn.prune.export(module, images[:1], path)
                self.assertTrue(module.training)
                model = spdnn.load_model(path)
                np.testing.assert_allclose(model.infer(images.numpy()).logits, expected, atol=1e-5)
                nonzeros = {node.weights: node.nonzeros for node in model.nodes}
                self.assertEqual(nonzeros[8 * 36], 8 * 36 - zeros(module, "2.weight"))
            with self.assertRaisesRegex(spdnn.DataError, "model.pt"):
                spdnn.prune.export(module, images[:1], os.path.join(folder, "model.pt"))
            self.assertFalse(os.path.exists(os.path.join(folder, "model.pt")))


if __name__ == "__main__":
    unittest.main()
