"""Plans, inferences and their outcomes; Python threads, progress and Ctrl-C meanwhile."""

import functools
import gc
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import threading
import time
import unittest
import warnings

import numpy as np
import scipy.sparse
from support import (MNIST, activations_of, categories_of, interrupt, random_images, random_weights, resident_bytes,
                     small_network)

import spdnn


class Outcomes(unittest.TestCase):
    def setUp(self):
        self.network = small_network()
        self.given = random_images()
        self.images = spdnn.Images.from_dense(self.given)
        self.expected = categories_of(random_weights(), self.given, -0.1)
        self.assertTrue(0 < len(self.expected) < 50)

    def test_every_engine_and_pass_finds_the_categories(self):
        for options in ({"variant": "cpu_openmp"}, {"variant": "cpu_reference"}, {"precision": "fp64"}, {"batch": 7},
                        {"threads": 1}, {"trials": 3}, {"reduce": "none"}, {"reduce": "twins,dead"}, {"compare": True}):
            with self.subTest(options=options):
                outcome = spdnn.infer(self.network, self.images, device="cpu", **options)
                np.testing.assert_array_equal(outcome.categories, self.expected)
                self.assertEqual((outcome.categories.dtype, outcome.alive.shape), (np.int64, (6,)))
                self.assertEqual(outcome.alive[-1], len(self.expected))

    def test_a_plan_is_made_once(self):
        planned = spdnn.plan(self.network)
        for _ in range(2):
            outcome = spdnn.infer(planned, self.images, device="cpu", verify="all")
            np.testing.assert_array_equal(outcome.categories, self.expected)
            self.assertEqual((outcome.verdict, outcome.report["seconds"]["plan"]), ("PASSED", 0))
        description = planned.describe()
        self.assertEqual(description["edges"], self.network.edges)
        self.assertEqual(description["stored_edges"], sum(d["stored_edges"] for d in description["layers"]))
        self.assertEqual(planned.passes, description["passes"])
        self.assertEqual(spdnn.plan(self.network, "none").passes, "none")
        # Of two equal neurons one is computed; sums of small weights never reach the cap.
        weights = scipy.sparse.csr_matrix(np.full((2, 2), 0.01, np.float32))
        twins = spdnn.plan(spdnn.Network([weights, weights], -0.1, cap=32)).describe()
        self.assertEqual([twins[name] for name in ("edges", "stored_edges", "dead_from", "saturated_from")], [8, 4, 0, 2])
        for reduce in ("none", ""):
            with self.assertRaisesRegex(spdnn.UsageError, "^reduce: a plan has its own passes$"):
                spdnn.infer(planned, self.images, reduce=reduce)

    def test_what_was_asked_for_is_done(self):
        outcome = spdnn.infer(self.network, self.images, device="cpu", trials=3, batch=7, threads=2, precision="fp64",
                              verify=10, compare=True, reduce="dead")
        report = outcome.report
        self.assertEqual((report["trials"], report["batch"], report["machine"]["threads"], report["precision"]), (3, 7, 2, "fp64"))
        self.assertEqual((report["passes"], report["compared"]["passes"], report["parts"], outcome.verdict),
                         ("dead", "dead", 1, "UNVERIFIED"))
        self.assertEqual(report["verdict"]["against"], "cpu_reference on 10 of 50 images, a sample")
        alone = spdnn.infer(self.network, self.images, variant="cpu_reference").report
        self.assertEqual((alone["variant"], alone["trials"], alone["batch"], alone["compared"]), ("cpu_reference", 1, 50, None))
        with self.assertRaisesRegex(spdnn.DeviceError, "for a single image, but nothing is left for it"):
            spdnn.infer(self.network, self.images, device="cpu", host_memory=1)

    def test_a_plan_by_a_device_that_the_build_lacks_is_refused(self):
        version = subprocess.run([os.environ["SPDNN"], "--version"], check=True, capture_output=True, text=True).stdout
        if "built without CUDA" not in version:
            self.skipTest("built with CUDA")
        with self.assertRaisesRegex(spdnn.UsageError, "^device: built without CUDA$"):
            spdnn.plan(self.network, device="cuda")
        self.assertEqual(spdnn.plan(self.network, device="cpu").passes, spdnn.plan(self.network).passes)

    def test_objects_say_what_they_are(self):
        planned = spdnn.plan(self.network)
        self.assertEqual(repr(self.network), "<spdnn.Network: 6 layers, 3684 edges>")
        self.assertEqual(repr(self.images), "<spdnn.Images: 50 images of 64 neurons, as bits>")
        self.assertEqual(repr(planned), f"<spdnn.Plan: {planned.passes}, {planned.stored_edges} of 3684 edges>")

    def test_a_plan_describes_each_layer(self):
        """The first layer's neurons 0 and 1 are twins, 2 is another, 3 and 4 are read by none, 5 to 7 are zero for every image."""
        first, second = np.zeros((8, 5), np.float32), np.zeros((3, 8), np.float32)
        first[:5] = [[1, 0, 2, 0, 0], [1, 0, 2, 0, 0], [-1, 0, 0, -2, 0], [0, 3, 0, 0, 4], [1, 1, 1, 5, 0]]
        second[:] = [[1, 1, 3, 0, 0, .5, .5, .5], [0, .5, 0, 0, 0, 0, 0, 0], [2, 0, 0, 0, 0, 0, .125, .0625]]
        network = spdnn.Network([scipy.sparse.csr_matrix(first), scipy.sparse.csr_matrix(second)], [-0.1, [-0.1, -0.2, -0.3]])
        found = spdnn.plan(network).describe()
        self.assertEqual(found["notes"],
                         ["saturated is not applied because of layer 2, where a row at the cap does not provably stay there"])
        for layer, weights, planned in zip(found["layers"], (first, second), (
                {"stored_outputs": 2, "stored_edges": 4, "distinct_terms": 2, "twins": 1, "always_zero": 3, "unread": 2},
                {"stored_outputs": 3, "stored_edges": 5, "distinct_terms": 4 / 3, "twins": 0, "always_zero": 0, "unread": 0})):
            degrees = np.count_nonzero(weights, axis=1)
            self.assertEqual(layer, {
                "inputs": weights.shape[1], "outputs": weights.shape[0], "edges": degrees.sum(), "min_degree": degrees.min(),
                "max_degree": degrees.max(), "mean_degree": degrees.mean(), "density": degrees.sum() / weights.size,
                "distinct_weights": np.unique(weights[weights != 0]).size, **planned})

    def test_the_report_is_the_json_line(self):
        outcome = spdnn.infer(self.network, self.images, device="cpu", trials=2)
        report = outcome.report
        self.assertEqual((report["schema"], report["variant"], report["trials"]), ("spdnn-run-1", "cpu_openmp", 2))
        self.assertEqual(report["problem"]["images"], 50)
        self.assertEqual(report["alive"], outcome.alive.tolist())
        self.assertGreater(report["seconds"]["infer"]["median"], 0)
        self.assertEqual((report["passes"], report["compared"]), (spdnn.plan(self.network).passes, None))
        compared = spdnn.infer(self.network, self.images, device="cpu", compare=True).report["compared"]
        self.assertEqual((compared["passes"], compared["same_categories"]), ("dead", True))
        self.assertIn("verdict          UNVERIFIED", str(outcome))

    def test_activations_are_those_of_numpy_and_are_kept_where_asked_for(self):
        expected = activations_of(random_weights(), self.given, -0.1)
        for options in ({}, {"reduce": "none"}, {"batch": 7, "trials": 2}, {"variant": "cpu_reference"}):
            with self.subTest(options):
                outcome = spdnn.infer(self.network, self.images, device="cpu", activations=True, **options)
                self.assertEqual((outcome.activations.shape, outcome.activations.dtype), ((50, 64), np.float32))
                np.testing.assert_allclose(outcome.activations.toarray(), expected, rtol=1e-5, atol=1e-6)
                self.assertEqual(outcome.activations.nnz, np.count_nonzero(outcome.activations.data))
                np.testing.assert_array_equal(np.flatnonzero(np.diff(outcome.activations.indptr)), outcome.categories)
        planned = spdnn.infer(spdnn.plan(self.network), self.images, device="cpu", activations=True)
        del outcome
        gc.collect()
        np.testing.assert_allclose(planned.activations.toarray(), expected, rtol=1e-5, atol=1e-6)
        self.assertIsNone(spdnn.infer(self.network, self.images, device="cpu").activations)

    def test_verdicts(self):
        def verdict(**options):
            return spdnn.infer(self.network, self.images, device="cpu", **options).verdict

        self.assertEqual(verdict(), "UNVERIFIED")
        self.assertEqual(verdict(verify=10), "UNVERIFIED")
        self.assertEqual(verdict(verify="all"), "PASSED")
        self.assertEqual(verdict(verify=True), "PASSED")
        self.assertEqual(verdict(verify=False), "UNVERIFIED")
        self.assertEqual(verdict(truth=self.expected), "PASSED")
        self.assertEqual(verdict(truth=self.expected[1:]), "FAILED")
        self.assertEqual(verdict(truth=[]), "FAILED")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "truth.tsv"
            path.write_text("".join(f"{i + 1}\n" for i in self.expected), encoding="ascii")
            self.assertEqual(verdict(truth=path), "PASSED")
            with self.assertRaises(spdnn.DataError):
                verdict(truth=str(path) + ".none")
        for truth in ([3, 2], [1, 1], [-1], [2**31], np.array([2**63 + 1], np.uint64)):
            with self.subTest(truth=truth), self.assertRaises(spdnn.DataError):
                verdict(truth=truth)
        self.assertEqual(verdict(truth=[*self.expected, 2**31 - 1]), "FAILED")
        with self.assertRaises(TypeError):
            verdict(truth=[0.5])

    def test_the_report_counts_images_from_1(self):
        outcome = spdnn.infer(self.network, self.images, device="cpu", truth=[])
        self.assertEqual(outcome.report["verdict"]["first_ids"], (self.expected[:10] + 1).tolist())

    def test_images_of_negative_and_large_values(self):
        given = np.random.default_rng(5).normal(0, 100, (40, 64)).astype(np.float32)
        outcome = spdnn.infer(self.network, spdnn.Images.from_dense(given), device="cpu", verify="all")
        self.assertEqual(outcome.verdict, "PASSED")

    def test_no_images(self):
        outcome = spdnn.infer(self.network, spdnn.Images.from_dense(np.ones((0, 64))), device="cpu", verify="all")
        self.assertEqual((outcome.categories.size, outcome.verdict), (0, "UNVERIFIED"))

    def test_what_does_not_fit_together(self):
        with self.assertRaisesRegex(spdnn.DataError, "the images have 5 neurons, but the network has 64 inputs"):
            spdnn.infer(self.network, spdnn.Images.from_dense(np.ones((3, 5))))
        for options in ({"variant": "none"}, {"device": "tpu"}, {"reduce": "everything"}, {"precision": "fp8"},
                        {"trials": 0}, {"batch": 0}, {"threads": 2000}, {"verify": -1}, {"variant": "cpu_openmp",
                                                                                       "device": "cuda"}):
            with self.subTest(options=options), self.assertRaises(spdnn.UsageError) as caught:
                spdnn.infer(self.network, self.images, **options)
            self.assertIsInstance(caught.exception, (spdnn.Error, ValueError))
        for options in ({"trials": 1.5}, {"verify": "some"}, {"progress": 3}, {"truth": "\0"}):
            with self.subTest(options=options), self.assertRaises((TypeError, ValueError)):
                spdnn.infer(self.network, self.images, device="cpu", **options)
        for network, images in ((None, self.images), (self.network, self.given)):
            with self.assertRaises(TypeError):
                spdnn.infer(network, images)
        with self.assertRaises(TypeError):
            spdnn.plan(None)

    def test_nothing_is_left_behind_by_hundreds_of_calls(self):
        def calls(count):
            for _ in range(count):
                network = spdnn.Network(weights, -0.1)
                images = spdnn.Images.from_dense(self.given)
                spdnn.infer(network, images, device="cpu", threads=1, progress=lambda *_: None)
                network.to_scipy()
                with self.assertRaises(spdnn.DataError):
                    spdnn.infer(network, wrong, device="cpu")

        weights, wrong = random_weights(), spdnn.Images.from_dense(np.ones((3, 5)))
        calls(50)
        before = resident_bytes()
        calls(100)
        self.assertLess(resident_bytes() - before, 1e6, "of a network of 30 KB, 100 of which take 3 MB")


class Checkpoints(unittest.TestCase):
    """A run of some tenths of a second on one thread, in parts."""

    @classmethod
    def setUpClass(cls):
        weights = random_weights(512, 60, density=0.2)
        cls.network = spdnn.Network(weights, 0.0, cap=1.0)
        cls.images = spdnn.Images.from_dense(random_images(1500, 512))

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.options = {"device": "cpu", "threads": 1, "reduce": "none", "checkpoint": self.folder / "run"}

    def infer(self, network=None, **options):
        return spdnn.infer(network or self.network, self.images, **(self.options | options))

    def test_a_run_whose_time_is_up_is_continued_to_the_same_categories(self):
        expected = spdnn.infer(self.network, self.images, device="cpu").categories
        for _ in range(2):
            with self.assertRaisesRegex(spdnn.Stopped, "^stopped .*; the same command continues the run from .*run$"):
                self.infer(max_time=0.03)
            self.assertTrue((self.folder / "run").exists())
        self.assertTrue(issubclass(spdnn.Stopped, spdnn.Error))
        earlier = json.loads((self.folder / "run").read_text())["seconds"]["total"]
        moments = []
        outcome = self.infer(progress=lambda *_: moments.append(time.perf_counter()))
        np.testing.assert_array_equal(outcome.categories, expected)
        report = outcome.report
        self.assertEqual((report["parts"], report["checkpoints"]["lost_parts"]), (3, 0))
        self.assertGreater(report["seconds"]["total"], earlier + moments[-1] - moments[0], "those of all parts")
        self.assertEqual(os.listdir(self.folder), [], "a run that is done has no checkpoint")

    def test_a_plan_is_continued_by_the_same_plan_only(self):
        plan = spdnn.plan(self.network, "none")
        del self.options["reduce"]
        with self.assertRaises(spdnn.Stopped):
            self.infer(plan, max_time=0)
        with self.assertRaisesRegex(spdnn.DataError, "was made with the passes"):
            self.infer(spdnn.plan(self.network, "dead"))
        self.assertEqual(self.infer(plan, verify=5).report["parts"], 2)

    def test_checkpoints_are_written_while_the_run_goes_on_and_outlive_an_interrupted_one(self):
        def enough(work, done, total):
            if work == "infer" and done > total // 2 and (self.folder / "run").exists():
                raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            self.infer(checkpoint_every=0.01, batch=100, progress=enough)
        costs = self.infer(checkpoint_every=None).report["checkpoints"]
        self.assertEqual((costs["lost_parts"], costs["every"]), (1, None))
        self.assertEqual(self.infer().report["checkpoints"]["every"], 900)

    def test_a_checkpoint_that_cannot_be_written_is_refused_before_the_run_or_a_warning(self):
        with self.assertRaisesRegex(spdnn.DataError, "none/run: cannot write: No such file"):
            self.infer(checkpoint=self.folder / "none" / "run", progress=lambda *_: self.fail("the run has begun"))

        def in_the_way(*_):  # its activations are written under this name first
            (self.folder / "run.next.spdnn").mkdir(exist_ok=True)

        with self.assertWarnsRegex(UserWarning, "run.next.spdnn: cannot write: Is a directory; the run goes on") as caught:
            self.infer(checkpoint_every=0.01, progress=in_the_way)
        self.assertEqual(caught.filename, __file__)
        with warnings.catch_warnings(), self.assertRaisesRegex(UserWarning, "the run goes on"):
            warnings.simplefilter("error")
            self.infer(checkpoint_every=0.01, progress=in_the_way)

    def test_options_of_checkpoints_go_with_a_checkpoint(self):
        without = {"device": "cpu", "threads": 1}
        for options, message in (({"max_time": 1}, "^max_time: needs a checkpoint"),
                                 ({"checkpoint_every": 1}, "^checkpoint_every: needs a checkpoint"),
                                 (self.options | {"max_time": -1}, "^max_time: -1, expected at least 0 seconds"),
                                 (self.options | {"max_time": float("nan")}, "^max_time: nan, expected"),
                                 (self.options | {"checkpoint_every": 0}, "^checkpoint_every: 0, expected seconds above 0"),
                                 (self.options | {"trials": 2}, "^checkpoint: .* one trial"),
                                 (self.options | {"activations": True}, "^activations: ")):
            with self.subTest(options), self.assertRaisesRegex(spdnn.UsageError, message):
                spdnn.infer(self.network, self.images, **(without | options))
        self.assertEqual(os.listdir(self.folder), [])


class Official(unittest.TestCase):
    @unittest.skipUnless(MNIST.exists(), "needs MNIST's training images")
    def test_categories_are_those_of_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "categories.tsv"
            subprocess.run([os.environ["SPDNN"], "infer", "--generate", "official", "--neurons", "1024", "--layers",
                            "120", "--mnist", MNIST, "--device", "cpu", "--categories", path], check=True,
                           capture_output=True)
            program = np.loadtxt(path, dtype=np.int64) - 1
        images = spdnn.Images.official(MNIST, 1024)
        self.assertEqual((images.shape, images.nbytes), ((60000, 1024), 60000 * 128))
        network = spdnn.Network.official(1024, 120)
        for given in (network, spdnn.Network(network.to_scipy(), -0.3), spdnn.plan(network)):
            outcome = spdnn.infer(given, images, device="cpu")
            np.testing.assert_array_equal(outcome.categories, program)
            self.assertEqual(outcome.report["verdict"]["against"], "the official category list's digest")
            self.assertEqual(outcome.verdict, "PASSED")


class Meanwhile(unittest.TestCase):
    """A run of some tenths of a second, or of seconds where it has to be ended."""

    @classmethod
    def setUpClass(cls):
        cls.network = spdnn.Network(random_weights(512, 60, density=0.2), 0.0, cap=1.0)
        cls.given = random_images(1500, 512)
        # A shell starts what is to run in the background with this signal ignored.
        cls.addClassCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        cls.images = spdnn.Images.from_dense(cls.given)

    def infer(self, threads=1, **options):
        return spdnn.infer(self.network, self.images, device="cpu", reduce="none", threads=threads, **options)

    def test_other_python_threads_run(self):
        counted, over = 0, threading.Event()

        def count():
            nonlocal counted
            while not over.wait(0.001):
                counted += 1

        thread = threading.Thread(target=count)
        thread.start()
        before = counted
        seconds = self.infer().report["seconds"]["infer"]["sum"]
        after = counted
        over.set()
        thread.join()
        self.assertGreater(after - before, 10, f"in {seconds} s")

    def test_two_threads_may_infer_at_once(self):
        expected = self.infer().categories
        found = [None] * 3
        threads = [threading.Thread(target=lambda i=i: found.__setitem__(i, self.infer(threads=2).categories))
                   for i in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for categories in found:
            np.testing.assert_array_equal(categories, expected)

    def test_progress_is_told_and_what_it_raises_comes_back(self):
        updates = []
        self.infer(batch=500, progress=lambda *update: updates.append(update))
        runs = [(done, total) for work, done, total in updates if work == "infer"]
        self.assertEqual(runs, [(0, 180), (60, 180), (120, 180), (180, 180)])

        class Enough(Exception):
            pass

        def fail(work, done, total):
            raise Enough(work)

        with self.assertRaisesRegex(Enough, "infer"):
            self.infer(progress=fail)
        with self.assertRaises(Enough):
            spdnn.Network.official(1024, 120, progress=fail)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "net.spdnn"
            with self.assertRaises(Enough):
                self.network.save(path, progress=fail)
            self.assertEqual(os.listdir(folder), [])
            self.network.save(path)
            with self.assertRaises(Enough):
                spdnn.Network.read(path, progress=fail)

    def test_signals_end_a_run_between_trials_and_within_a_layer(self):
        # What would take half a minute on one thread. That verifying ends as well is tested in C++.
        many = spdnn.Images.from_bits(np.tile(np.packbits(self.given, axis=1, bitorder="little"), (120, 1)))
        for images, options in ((self.images, {"trials": 120}), (many, {}), (self.images, {"variant": "cpu_reference"})):
            with self.subTest(options):
                interrupt(self, functools.partial(spdnn.infer, self.network, images, device="cpu", reduce="none",
                                                  threads=1, **options))
        self.assertEqual(self.infer().verdict, "UNVERIFIED", "the next run is a usual one")

    def test_signals_end_making_a_network(self):
        interrupt(self, functools.partial(spdnn.Network.official, 16384, 1920))

    def test_ctrl_c_is_a_signal_like_others(self):
        ctrl_c = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
        ctrl_c.start()
        with self.assertRaises(KeyboardInterrupt):
            self.infer(trials=120)
        ctrl_c.join()

    def test_a_signal_is_not_lost_that_comes_where_nothing_looks_for_it(self):
        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, signal.default_int_handler))
        with self.assertRaises(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, 0.002)
            spdnn.Network.official(1024, 120)
            time.sleep(0.1)  # on a busy machine, the signal may come later


if __name__ == "__main__":
    unittest.main()
