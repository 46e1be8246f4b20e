"""spdnn.prune, whether or not PyTorch is installed: which weights are kept, what rewinding brings back, the rounds of pruning, and export()."""

import os
import tempfile
import unittest
import warnings

import numpy as np

import spdnn
import torch_stand_in as stand_in

torch = stand_in.install()
import spdnn.prune  # noqa: E402


def module_of(*scales):
    """A layer of four filters of 40 weights for each scale; a small one, which stays dense, before them."""
    random = np.random.default_rng(3)
    layers = [stand_in.Linear(random.normal(size=(2, 31)))]
    kinds = (stand_in.Conv1d, stand_in.Conv2d, stand_in.Linear)
    for number, scale in enumerate(scales):
        shape = ((4, 8, 5), (4, 8, 5, 1), (4, 40))[number % 3]
        layers.append(kinds[number % 3](scale * random.normal(size=shape)))
    return stand_in.Module(*layers)


def zeros(module):
    return [int((layer.weight == 0).sum()) for layer in module.layers]


class MasksTest(unittest.TestCase):
    def test_the_smallest_weights_of_all_layers_together_become_zero(self):
        module = module_of(1, 1, 1)
        before = np.concatenate([abs(layer.weight).ravel() for layer in module.layers[1:]])
        masks = spdnn.prune.Masks(module)
        self.assertEqual(list(masks.shares), ["1.weight", "2.weight", "3.weight"])
        masks.select(0.75)
        self.assertEqual(zeros(module)[0], 0)
        self.assertEqual(sum(zeros(module)), 360)
        self.assertEqual(masks.share, 0.75)
        self.assertEqual(masks.shares, {f"{k}.weight": zeros(module)[k] / 160 for k in (1, 2, 3)})
        kept = np.concatenate([layer.weight.ravel() for layer in module.layers[1:]]) != 0
        self.assertGreater(before[kept].min(), before[~kept].max())

    def test_a_filter_of_32_weights_can_be_pruned_and_one_of_31_cannot(self):
        for weights, names in ((31, None), (32, ["0.weight"])):
            module = stand_in.Module(stand_in.Linear(np.ones((3, weights))))
            if names is None:
                with self.assertRaisesRegex(spdnn.UsageError, "no convolution or linear layer with filters of 32"):
                    spdnn.prune.Masks(module)
            else:
                self.assertEqual(list(spdnn.prune.Masks(module).shares), names)

    def test_power_one_takes_scales_of_layers_out(self):
        shares = {}
        for power in (0, 0.5, 1):
            masks = spdnn.prune.Masks(module_of(1, 100))
            masks.select(0.5, power)
            shares[power] = masks.shares["2.weight"]
        self.assertLess(shares[0], 0.05)
        self.assertTrue(shares[0] < shares[0.5] < shares[1])
        self.assertAlmostEqual(shares[1], 0.5, delta=0.1)

    def test_zeros_come_first_and_stay(self):
        module = module_of(1)
        module.layers[1].weight[0] = 0
        masks = spdnn.prune.Masks(module)
        self.assertEqual(masks.share, 0.25)
        for share, can in ((0.2, False), (0.25, True), (0.5, True)):
            self.assertEqual(masks.can_have(share), can)
        masks.select(0.5)
        self.assertEqual(int((module.layers[1].weight[0] == 0).sum()), 40)
        module.layers[1].weight[0] = 100  # by an optimizer
        masks.select(0.5)
        self.assertEqual(int((module.layers[1].weight[0] == 0).sum()), 40)
        module.layers[1].weight[...] = 1
        masks.apply()
        self.assertEqual(zeros(module)[1], 80)

    def test_a_share_is_of_whole_weights_rounded(self):
        module = module_of(1)
        module.layers[1].weight[0] = 0  # 40 of 160
        masks = spdnn.prune.Masks(module)
        for share, can in ((39.4 / 160, False), (39.6 / 160, True)):
            self.assertEqual(masks.can_have(share), can)
        masks.select(99.6 / 160)
        self.assertEqual(zeros(module)[1], 100)

    def test_a_layer_without_a_weight_that_is_not_zero_stays_so(self):
        module = module_of(1, 1)
        module.layers[1].weight[...] = 0
        with np.errstate(all="raise"), warnings.catch_warnings():
            warnings.simplefilter("error")
            masks = spdnn.prune.Masks(module)
            masks.select(0.75, 1)
        self.assertEqual(zeros(module)[1:], [160, 80])
        self.assertEqual(masks.shares, {"1.weight": 1.0, "2.weight": 0.5})

    def test_masks_that_do_not_fit_are_refused(self):
        one = stand_in.tensor(np.ones((4, 8, 5)))
        for masks, words in (({"0.weight": one}, "none of the weights that can be pruned: 1.weight"),
                             ({"1.weight": one[:3]}, "has shape"), ({"1.weight": one.reshape(8, 4, 5)}, "has shape"),
                             ({"1.weight": 2 * one}, "other numbers than 0 and 1"),
                             ({"1.weight": [1]}, "a tensor")):
            with self.assertRaisesRegex((spdnn.UsageError, TypeError), words):
                spdnn.prune.Masks(module_of(1), masks)
        one[1] = 0
        module = module_of(1)
        self.assertEqual(spdnn.prune.Masks(module, {"1.weight": one}).share, 0.25)
        self.assertEqual(zeros(module)[1], 40)

    def test_restoring_brings_masks_back_and_rewinding_keeps_them(self):
        module = module_of(1)
        masks = spdnn.prune.Masks(module)
        dense = masks.snapshot()
        values = np.array(module.layers[1].weight)
        masks.select(0.5)
        half = masks.snapshot()
        module.layers[1].weight[...] *= 3
        masks.rewind(dense)
        self.assertEqual(zeros(module)[1], 80)
        np.testing.assert_array_equal(module.layers[1].weight, np.where(module.layers[1].weight != 0, values, 0))
        masks.restore(dense)
        np.testing.assert_array_equal(module.layers[1].weight, values)
        self.assertEqual(masks.share, 0)
        masks.restore(half)
        masks._masks["1.weight"][...] = True  # as a later select() may
        masks.restore(half)
        self.assertEqual(masks.share, 0.5)


class RoundsTest(unittest.TestCase):
    def rounds(self, share, rounds, **options):
        """The zeros and the part of training of each call of train."""
        calls = []
        module = module_of(1, 50)
        masks = spdnn.prune.prune(module, share, lambda masks, part: calls.append((round(masks.share, 3), part)),
                                  lambda module: abs(zeros(module)[1] - zeros(module)[2]), rounds=rounds, **options)
        self.assertAlmostEqual(masks.share, share, places=3)
        self.assertEqual(sum(zeros(module)), round(share * 320))
        return masks, calls

    def test_each_round_keeps_the_same_share_of_what_is_left(self):
        self.assertEqual(self.rounds(0.875, 3)[1], [(0.5, 0.25), (0.75, 0.25), (0.875, 0.5)])
        self.assertEqual(self.rounds(0.75, 1)[1], [(0.75, 1.0)])

    def test_the_candidate_of_the_least_loss_goes_on(self):
        for powers in ((0.0, 1.0), (1.0, 0.0)):
            shares = self.rounds(0.5, 1, powers=powers)[0].shares
            self.assertAlmostEqual(shares["1.weight"], shares["2.weight"], delta=0.1)
        self.assertGreater(self.rounds(0.5, 1, powers=(0.0,))[0].shares["1.weight"], 0.9)

    def test_of_candidates_of_equal_loss_the_first_goes_on(self):
        found = []
        for powers in ((0.0, 1.0), (1.0, 0.0)):
            module = module_of(1, 50)
            found.append(spdnn.prune.prune(module, 0.5, lambda *_: None, lambda _: 7.0, rounds=1, powers=powers).shares["1.weight"])
        self.assertGreater(found[0], 0.9)
        self.assertAlmostEqual(found[1], 0.5, delta=0.1)

    def test_candidates_are_tried_for_a_part_of_training(self):
        self.assertEqual([part for _, part in self.rounds(0.5, 1, powers=(0.0, 1.0), trial=0.125)[1]], [0.125, 0.125, 1.0])

    def test_what_makes_no_sense_is_refused(self):
        def prune(share=0.5, module=None, loss=0.0, **options):
            spdnn.prune.prune(module or module_of(1), share, lambda *_: None, lambda _: loss, **options)
        for options, words in (({"share": 1}, "share: 1"), ({"share": -0.1}, "share"), ({"powers": ()}, "powers"),
                               ({"trial": 1.5}, "trial"), ({"rounds": 0}, "rounds"), ({"loss": float("nan")}, "loss: nan"),
                               ({"loss": float("inf")}, "loss: inf")):
            with self.subTest(words), self.assertRaisesRegex(spdnn.UsageError, words):
                prune(**options)
        half_zero = module_of(1)
        half_zero.layers[1].weight[:2] = 0
        prune(0.5, half_zero)
        with self.assertRaisesRegex(spdnn.UsageError, "0.5000 of the weights are zero already, more than 0.4"):
            prune(0.4, half_zero)


class ExportTest(unittest.TestCase):
    def test_the_module_is_evaluated_and_trains_on_as_before(self):
        for training in (True, False):
            for fails in (True, False):
                module, seen = module_of(1), []

                def export(exported, images, file, **options):
                    seen.append((exported.training, images, options["dynamic_axes"]["input"]))
                    if fails:
                        raise RuntimeError("cannot be traced")
                    raise spdnn.DataError(f"{os.path.basename(file)} was to be read")

                torch.onnx.export = export
                module.train(training)
                with tempfile.TemporaryDirectory() as folder, self.assertRaises((RuntimeError, spdnn.DataError)):
                    spdnn.prune.export(module, "images", os.path.join(folder, "m.onnx"))
                self.assertEqual(seen, [(False, "images", {0: "N"})])
                self.assertEqual(module.training, training)


if __name__ == "__main__":
    unittest.main()
