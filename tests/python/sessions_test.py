"""Sessions: answers, names, closing, several threads, Ctrl-C, memory over many calls."""

import copy
import gc
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings

import numpy as np
from support import REPOSITORY, interrupt, resident_bytes

import spdnn

SPDNN = os.environ["SPDNN"]


class Sessions(unittest.TestCase):
    """Of the toy model of tests/support, in an empty folder, with 20 images."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.addClassCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        subprocess.run([sys.executable, REPOSITORY / "tests/support/toy_model.py", "."], check=True)
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
            self.assertEqual(session.batch, batch or 64)
            for count in (20, 1, 8, 20):
                logits = session(self.images[:count])
                np.testing.assert_array_equal(logits, self.logits[:count])
                self.assertEqual((logits.dtype, logits.flags.writeable), (np.float32, True))
        same = self.model.compile(batch=5, threads=2)
        np.testing.assert_array_equal(same(self.images), self.model.infer(self.images, batch=5, threads=2).logits)
        np.testing.assert_array_equal(session.run({"input": self.images[:, 0]}), self.logits)

    def test_it_says_what_it_is(self):
        session = self.session(batch=3, threads=2)
        self.assertEqual((session.variant, session.precision, session.batch, session.threads), ("conv_reference", "fp64", 3, 2))
        self.assertEqual((session.input_names, session.input_shape), (["input"], (None, 1, 6, 6)))
        self.assertEqual((session.output_names, session.output_shapes), (["fc"], [(None, 7)]))
        self.assertEqual(repr(session), "<spdnn.Session: conv_reference in fp64, batch 3, threads 2>")
        self.assertIs(copy.deepcopy(session), session)
        with self.assertRaisesRegex(TypeError, "compile the model in each process"):
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
        session.close()
        with self.assertRaisesRegex(spdnn.UsageError, "the session is closed"):
            session(self.images)
        self.assertEqual(session.batch, 64)

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
        wrong, refused = [], []

        def answer(session, often):
            for _ in range(often):
                try:
                    if not np.array_equal(session(self.images), self.logits):
                        wrong.append(session)
                except spdnn.UsageError as error:
                    refused.append(str(error))

        own = [threading.Thread(target=answer, args=(self.session(threads=1), 20)) for _ in range(3)]
        for thread in own:
            thread.start()
        for thread in own:
            thread.join()
        self.assertEqual((wrong, refused), ([], []))
        shared = self.session(threads=1, batch=1)
        threads = [threading.Thread(target=answer, args=(shared, 100)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        self.assertEqual(set(refused) - {"another thread runs this session; each thread needs a session of its own"}, set())

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
