"""Sessions: answers, names, closing, several threads, Ctrl-C, memory over many calls."""

import copy
import ctypes
import gc
import os
import pathlib
import pickle
import signal
import subprocess
import threading
import unittest
import warnings

import numpy as np
from support import (enter_folder_of_toy, interrupt, random_images, random_weights, resident_bytes,
                     small_network)

import spdnn

SPDNN = os.environ["SPDNN"]


def answers_of_threads(threads, calls):
    """Runs calls(thread) in each thread at the same time; returns the messages of the UsageErrors."""
    refused = []

    def call(number):
        for once in calls(number):
            try:
                once()
            except spdnn.UsageError as error:
                refused.append(str(error))

    started = [threading.Thread(target=call, args=(number,)) for number in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    return refused


class NetworkSessions(unittest.TestCase):
    """Sessions of the network of support.py, with 50 images."""

    def setUp(self):
        self.plan = spdnn.plan(small_network(-0.05))
        self.images = spdnn.Images.from_dense(random_images())
        self.categories = spdnn.infer(self.plan, self.images, device="cpu").categories
        self.assertGreater(len(self.categories), 3)

    def session(self, **options):
        return self.plan.compile(device="cpu", **options)

    def test_answers_are_those_of_infer_for_any_number_and_kind_of_images(self):
        dense = np.float32(random_images(200, seed=5)) * np.random.default_rng(5).random((200, 64), np.float32)
        for options in ({}, {"batch": 1}, {"batch": 7, "threads": 2}, {"variant": "cpu_reference"}):
            session, whole = self.session(**options), self.session(activations=True, **options)
            for count in (50, 1, 200, 33):
                for images in (spdnn.Images.from_dense(random_images(count)), spdnn.Images.from_dense(dense[:count])):
                    expected = spdnn.infer(self.plan, images, device="cpu", activations=True, **options)
                    np.testing.assert_array_equal(session(images), expected.categories)
                    categories, activations = whole.run(images)
                    np.testing.assert_array_equal(categories, expected.categories)
                    self.assertEqual(categories.dtype, np.int64)
                    np.testing.assert_array_equal(activations.toarray(), expected.activations.toarray())

    def test_it_says_what_it_is(self):
        session = self.session(batch=3, threads=2)
        self.assertEqual((session.variant, session.precision, session.batch, session.threads), ("cpu_openmp", "fp32", 3, 2))
        self.assertEqual(repr(session), "<spdnn.NetworkSession: cpu_openmp in fp32, batch 3, threads 2>")
        first = self.session()
        self.assertIsNone(first.batch)
        first(self.images)
        self.assertEqual(first.batch, 50)
        with self.assertRaisesRegex(TypeError, "compile in each process"):
            pickle.dumps(session)
        with self.assertRaisesRegex(TypeError, "use spdnn.plan"):
            spdnn.NetworkSession(None)

    def test_wrong_images_and_settings_are_refused_and_the_session_goes_on(self):
        session = self.session()
        for error, wrong, message in (
                (spdnn.DataError, spdnn.Images.from_dense(random_images(neurons=63)), "63 neurons, but the network has 64"),
                (TypeError, random_images(), "^images: expected Images, not ndarray: Images.from_dense")):
            with self.subTest(message), self.assertRaisesRegex(error, message):
                session(wrong)
        np.testing.assert_array_equal(session(self.images), self.categories)
        for error, options in ((spdnn.UsageError, {"variant": "none"}), (spdnn.UsageError, {"batch": 0}),
                               (spdnn.UsageError, {"precision": "fp16"}), (TypeError, {"activations": 1}),
                               (spdnn.UsageError, {"device_memory": -1}), (spdnn.UsageError, {"threads": 0}),
                               (spdnn.DeviceError, {"host_memory": 1, "batch": None})):
            with self.subTest(options), self.assertRaises(error):
                self.session(**options)(self.images)

    def test_a_closed_session_refuses_to_run(self):
        with self.session() as session:
            np.testing.assert_array_equal(session(self.images), self.categories)
        with self.assertRaisesRegex(spdnn.UsageError, "the session is closed"):
            session(self.images)
        session.close()  # once more, which does nothing
        self.assertEqual((session.variant, session.precision, session.batch), ("cpu_openmp", "fp32", 50))

    def test_each_thread_has_its_session_and_two_threads_with_one_are_told(self):
        answers = []
        own = [self.session(threads=1) for _ in range(3)]
        self.assertEqual(answers_of_threads(3, lambda number: [
            lambda: answers.append(own[number](self.images))] * 50), [])
        shared = self.session(threads=1)
        refused = answers_of_threads(3, lambda _: [lambda: answers.append(shared(self.images))] * 100)
        self.assertEqual(set(refused) - {"another thread runs this session; each thread needs a session of its own"}, set())
        self.assertEqual(len(answers) + len(refused), 450)
        for answer in answers:
            np.testing.assert_array_equal(answer, self.categories)

    def test_sums_that_exceed_the_precision_are_warned_of(self):
        session = spdnn.plan(spdnn.Network([1e30 * abs(matrix) for matrix in random_weights()])).compile(device="cpu")
        with self.assertWarnsRegex(RuntimeWarning, "^sums of [0-9]+ images exceeded fp32$") as caught:
            session(spdnn.Images.from_dense(np.float32(3e8) * random_images()))
        self.assertEqual(caught.filename, __file__)

    def test_control_c_ends_a_run_and_the_session_goes_on(self):
        network = spdnn.Network([random_weights(1024, 1, density=0.05)[0]] * 400)
        session = spdnn.plan(network, "none").compile(device="cpu")
        images = spdnn.Images.from_dense(random_images(20000, 1024))
        interrupt(self, lambda: session(images))
        few = spdnn.Images.from_dense(random_images(10, 1024))
        np.testing.assert_array_equal(session(few), spdnn.infer(network, few, device="cpu").categories)

    def test_a_thousand_calls_take_no_more_memory(self):
        session = self.session(threads=1, activations=True)
        for _ in range(100):
            session(self.images)
        before = resident_bytes()
        for _ in range(1000):
            session(self.images)
        self.assertLess(resident_bytes() - before, 1 << 20)


class Sessions(unittest.TestCase):
    """Sessions of the toy model of tests/support, in an empty folder, with 20 images."""

    @classmethod
    def setUpClass(cls):
        enter_folder_of_toy(cls)
        subprocess.run([SPDNN, "generate", "model", "--family", "vgg8", "--sparsity", "0.9", "--out", "vgg8.onnx"],
                       check=True, capture_output=True)
        cls.model = spdnn.load_model("model.safetensors")
        cls.images = np.load("images.npy")
        cls.logits = cls.model.infer(cls.images, variant="conv_reference").logits
        cls.addClassCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))

    def session(self, **options):
        return self.model.compile(variant="conv_reference", **options)

    def test_answers_are_those_of_infer_for_any_number_of_images(self):
        for batch in (None, 1, 7, 20):
            session = self.session(batch=batch)
            self.assertEqual(session.batch, batch or 1024)
            for count in (20, 1, 8, 20):
                logits = session(self.images[:count])
                np.testing.assert_array_equal(logits, self.logits[:count])
                self.assertEqual((logits.dtype, logits.flags.writeable), (np.float32, True))
        same = self.model.compile(batch=5, threads=2)
        np.testing.assert_array_equal(same(self.images), self.model.infer(self.images, batch=5, threads=2).logits)
        np.testing.assert_array_equal(session.run({"input": self.images[:, 0]}), self.logits)
        as_given = self.model.infer(self.images, variant="conv_reference", rewrite="none").logits
        self.assertTrue((as_given != self.logits).any())
        np.testing.assert_array_equal(self.session(rewrite="none")(self.images), as_given)

    def test_it_says_what_it_is(self):
        session = self.session(batch=3, threads=2)
        self.assertEqual((session.variant, session.precision, session.batch, session.threads), ("conv_reference", "fp64", 3, 2))
        self.assertEqual((session.input_names, session.input_shape), (["input"], (None, 1, 6, 6)))
        self.assertEqual((session.output_names, session.output_shapes), (["fc"], [(None, 7)]))
        self.assertEqual(repr(session), "<spdnn.Session: conv_reference in fp64, batch 3, threads 2>")
        self.assertIs(copy.deepcopy(session), session)
        with self.assertRaisesRegex(TypeError, "compile in each process"):
            pickle.dumps(session)
        with self.assertRaisesRegex(TypeError, "compile"):
            spdnn.Session(None, [], [])

    def test_wrong_images_and_settings_are_refused_and_the_session_goes_on(self):
        session = self.session(batch=4)
        for error, wrong, message in (
                (spdnn.DataError, np.full((1, 6, 6), np.nan, np.float32), "^images: number 1 is nan"),
                (spdnn.DataError, self.images[:0], "^images: holds no images"),
                (spdnn.DataError, self.images[..., :5], "^images: images of 1 x 6 x 5, expected 1 x 6 x 6"),
                (spdnn.UsageError, {"image": self.images}, "the model's input is 'input', not 'image'"),
                (TypeError, "cat.png", "^images: expected an array of pixels"), (TypeError, None, "^images: ")):
            with self.subTest(message), self.assertRaisesRegex(error, message):
                session(wrong)
        np.testing.assert_array_equal(session(self.images), self.logits)
        for error, options in ((spdnn.UsageError, {"variant": "none"}), (spdnn.UsageError, {"batch": 0}),
                               (spdnn.UsageError, {"precision": "fp16"}), (spdnn.DeviceError, {"host_memory": 1}),
                               (TypeError, {"threads": 1.5}), (spdnn.UsageError, {"rewrite": "some"})):
            with self.subTest(options), self.assertRaises(error):
                self.model.compile(**options)

    def test_a_closed_session_refuses_to_run(self):
        with self.session() as session:
            np.testing.assert_array_equal(session(self.images), self.logits)
        with self.assertRaisesRegex(spdnn.UsageError, "the session is closed"):
            session(self.images)
        session.close()
        self.assertEqual((session.variant, session.precision, session.batch), ("conv_reference", "fp64", 1024))

    def test_answers_outlive_session_model_and_images(self):
        model, images = spdnn.load_model("model.safetensors"), self.images.copy()
        session = model.compile(variant="conv_reference")
        del model
        logits = session(images)
        images[:] = 0
        session(images)
        del session
        gc.collect()
        np.testing.assert_array_equal(logits, self.logits)

    def test_each_thread_has_its_session_and_two_threads_with_one_are_told(self):
        answers = []
        own = [self.session(threads=1) for _ in range(3)]
        self.assertEqual(answers_of_threads(3, lambda number: [
            lambda: answers.append(own[number](self.images))] * 20), [])
        shared = self.session(threads=1, batch=1)
        refused = answers_of_threads(3, lambda _: [lambda: answers.append(shared(self.images))] * 100)
        self.assertEqual(set(refused) - {"another thread runs this session; each thread needs a session of its own"}, set())
        self.assertEqual(len(answers) + len(refused), 360)
        for answer in answers:
            np.testing.assert_array_equal(answer, self.logits)

    def test_numbers_that_exceed_the_precision_are_warned_of(self):
        session = self.model.compile(variant="conv_dense", batch=4)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            session(self.images)
            self.assertEqual(caught, [])
            session(np.full((6, 1, 6, 6), 3e38, np.float32))
        self.assertEqual([(one.category, one.filename) for one in caught], [(RuntimeWarning, __file__)])
        self.assertRegex(str(caught[0].message), "^numbers may have exceeded fp32 from node 1 ")

    def test_control_c_ends_a_run_and_the_session_goes_on(self):
        model = spdnn.load_model("vgg8.onnx")
        images = np.random.default_rng(3).random((4, *model.input_shape[1:]), np.float32)
        session = model.compile(batch=4)
        expected = session(images)
        many = np.concatenate([images] * 2000)
        interrupt(self, lambda: session(many))
        np.testing.assert_array_equal(session(images), expected)

    def test_handlers_of_signals_get_a_stack_of_their_own(self):
        """oneDNN's code keeps numbers where a handler on the thread's own stack would overwrite them."""
        if not (pathlib.Path(spdnn.__file__).parent / "spdnn_onednn.so").exists():
            self.skipTest("built without oneDNN")

        class SignalStack(ctypes.Structure):
            _fields_ = [("place", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]

        def flags():
            stack = SignalStack()
            self.assertEqual(ctypes.CDLL(None).sigaltstack(None, ctypes.byref(stack)), 0)
            return stack.flags

        def run():
            before.append(flags())
            self.model.compile(variant="conv_dense", threads=1)(self.images)
            after.append(flags())

        disabled = 2
        before, after = [], []
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        self.assertEqual((before, after), ([disabled], [0]))

    def test_a_thousand_calls_take_no_more_memory(self):
        session = self.model.compile(batch=1, threads=1)
        for _ in range(100):
            session(self.images[:1])
        before = resident_bytes()
        for _ in range(1000):
            session(self.images[:1])
        self.assertLess(resident_bytes() - before, 1 << 20)


if __name__ == "__main__":
    unittest.main()
