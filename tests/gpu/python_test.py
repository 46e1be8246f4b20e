"""The Python package on a GPU, compared with itself on the CPU; skips, with the reason, where there is no device.

With MNIST=train-images-idx3-ubyte.gz the images are the official ones, otherwise random ones from dark to bright.
usage: PYTHONPATH=BUILD/python:tests/python [MNIST=FILE] python_test.py
"""

import functools
import os
import threading
import unittest

import numpy as np
from support import interrupt, random_images, random_weights, small_network

import spdnn


def setUpModule():
    try:
        spdnn.infer(small_network(), spdnn.Images.from_dense(random_images()), device="cuda")
    except (spdnn.UsageError, spdnn.DeviceError) as error:
        raise unittest.SkipTest(str(error)) from None


def challenge_images():
    if os.environ.get("MNIST"):
        return spdnn.Images.official(os.environ["MNIST"], 1024)
    random = np.random.default_rng(seed=1)
    return spdnn.Images.from_dense(random.random((60000, 1024), np.float32) < random.random((60000, 1), np.float32) / 2)


class OfficialNetwork(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.network = spdnn.Network.official(1024, 120)
        cls.images = challenge_images()
        cls.expected = spdnn.infer(cls.network, cls.images, device="cpu")

    def same(self, outcome):
        print(f"{outcome.report['variant']} on {outcome.report['machine']['device']}: "
              f"{len(outcome.categories)} categories, {outcome.verdict}, infer {outcome.report['seconds']['infer']}")
        np.testing.assert_array_equal(outcome.categories, self.expected.categories)
        self.assertIsNotNone(outcome.report["machine"]["device"])
        self.assertEqual(outcome.verdict, self.expected.verdict)

    def test_auto_takes_the_device_and_finds_the_categories(self):
        self.assertTrue(0 < len(self.expected.categories) < 60000, len(self.expected.categories))
        outcome = spdnn.infer(self.network, self.images, variant="auto")
        self.same(outcome)
        np.testing.assert_array_equal(outcome.alive, self.expected.alive)
        if os.environ.get("MNIST"):
            self.assertEqual(outcome.verdict, "PASSED")

    def test_bit_identical_engines_passes_batches_and_plans(self):
        for options in ({"variant": "cascade"}, {"variant": "resident"}, {"variant": "spmm_rows"}, {"trials": 3},
                        {"reduce": "dead"}, {"batch": 7001}, {"compare": True}):
            with self.subTest(options):
                self.same(spdnn.infer(self.network, self.images, device="cuda", **options))
        planned, expected = spdnn.plan(self.network, device="cuda"), spdnn.plan(self.network, device="cpu")
        self.assertEqual(planned.describe()["layers"], expected.describe()["layers"])
        for _ in range(20):
            outcome = spdnn.infer(planned, self.images, device="cuda")
            np.testing.assert_array_equal(outcome.categories, self.expected.categories)

    def test_python_threads_may_infer_at_once(self):
        found = [None] * 3
        threads = [threading.Thread(target=lambda i=i: found.__setitem__(i, spdnn.infer(
            self.network, self.images, device="cuda").categories)) for i in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for categories in found:
            np.testing.assert_array_equal(categories, self.expected.categories)

    def test_signals_end_a_run_and_the_next_is_a_usual_one(self):
        interrupt(self, functools.partial(spdnn.infer, self.network, self.images, device="cuda", trials=10**6))
        self.same(spdnn.infer(self.network, self.images, device="cuda"))

    def test_what_progress_raises_comes_back(self):
        def fail(work, done, total):
            raise LookupError(work)

        with self.assertRaises(LookupError):
            spdnn.infer(self.network, self.images, device="cuda", progress=fail)
        with self.assertRaises(spdnn.DeviceError):
            spdnn.infer(self.network, self.images, variant="resident", device_memory=1)


class NetworksOfScipy(unittest.TestCase):
    def test_biases_caps_rules_and_values_of_any_kind(self):
        images = spdnn.Images.from_dense(random_images(500) * np.random.default_rng(3).normal(1, 1, (500, 64)))
        for options in ({}, {"cap": None}, {"bias_rule": "everywhere"}):
            for bias in (-0.1, [np.linspace(-0.3, 0.1, 64)] * 6):
                network = spdnn.Network(random_weights(), bias, **options)
                for variant in ("auto", "resident", "spmm_rows", "spmm_merge", "cusparse_spmm", "cublas_dense"):
                    with self.subTest(options=options, bias=bias, variant=variant):
                        outcome = spdnn.infer(network, images, device="cuda", variant=variant, verify="all")
                        self.assertEqual(outcome.verdict, "PASSED")


if __name__ == "__main__":
    unittest.main(verbosity=2)
