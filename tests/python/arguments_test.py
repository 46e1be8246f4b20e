"""Arguments of wrong types and values: each is refused by its name, and no file but the one named is touched."""

import copy
import os
import pickle
import subprocess
import sys
import tempfile
import unittest
import warnings

import numpy as np
from support import REPOSITORY, random_images, random_weights, small_network

import spdnn


class InAnEmptyFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        self.network = small_network()
        self.images = spdnn.Images.from_dense(random_images())


class Arguments(InAnEmptyFolder):
    def refused(self, kind, name, call, *args, **options):
        with self.subTest(name=name, call=call, args=args, options=options), self.assertRaises(kind) as caught:
            call(*args, **options)
        self.assertRegex(str(caught.exception), f"^{name}: expected [^\n]*$")

    def test_wrong_types_and_values_are_refused_by_name(self):
        self.network.save("net.spdnn")
        wrong_types = {"variant": (None, 3, b"auto"), "device": (None,), "reduce": (3,), "precision": (32,),
                       "trials": (None, 1.5, "2"), "batch": ("a", 7.0), "threads": (1.5,), "verify": ([1], "some"),
                       "compare": ("no", None, 1), "activations": (1,), "host_memory": (None, "1G"), "device_memory": (1.5,),
                       "truth": (3, [0.5], [[1, 2], [1]], [None], [1j]), "progress": (3, "yes"), "checkpoint": (3, True),
                       "checkpoint_every": ("15m", [1]), "max_time": ("4h", 1j)}
        for name, values in wrong_types.items():
            for value in values:
                self.refused(TypeError, name, spdnn.infer, self.network, self.images, **{name: value})
        for name, value in (("trials", 0), ("batch", -1), ("threads", 2000), ("host_memory", -1), ("device_memory", 2**64),
                            ("verify", 0), ("truth", [3, 2]), ("truth", [3, 3])):
            self.refused(ValueError, name, spdnn.infer, self.network, self.images, **{name: value})
        with self.assertRaisesRegex(ValueError, r"'a\\0\\udc80b' is "):
            spdnn.infer(self.network, self.images, variant="a\0\udc80b")
        for name, value, bounds in (("trials", 2**31, "1 to 2147483647"), ("batch", 0, "1 to 2147483647"), ("threads", 1025, "1 to 1024"),
                                    ("verify", 2**31, "1 to 2147483647"), ("host_memory", 2**63, "0 to 9223372036854775807"),
                                    ("device_memory", -1, "0 to 9223372036854775807")):
            with self.assertRaisesRegex(spdnn.UsageError, f"^{name}: expected a number from {bounds}, not {value}$"):
                spdnn.infer(self.network, self.images, **{name: value})
        with self.assertRaisesRegex(spdnn.UsageError, "^max_time: the number is too large$"):
            spdnn.infer(self.network, self.images, max_time=10**400)
        for name in ("reduce", "device"):
            self.refused(TypeError, name, spdnn.plan, self.network, **{name: None})
        for name, value in {"bias": "x", "cap": "x", "bias_rule": 3, "neurons": None, "layers": 1.5, "progress": 3,
                            "path": None}.items():
            self.refused(TypeError, name, spdnn.Network.read, **{"path": "net.spdnn", name: value})
        for name, value in {"path": 3, "progress": 3}.items():
            self.refused(TypeError, name, self.network.save, **{"path": "other.spdnn", name: value})
        for name, value in {"neurons": 1.5, "images": "3", "path": None}.items():
            self.refused(TypeError, name, spdnn.Images.read, **{"path": "images.tsv", name: value})
        self.refused(TypeError, "mnist", spdnn.Images.official, None, 1024)
        self.refused(TypeError, "neurons", spdnn.Images.from_bits, np.zeros((2, 8), np.uint8), 1.5)
        self.refused(TypeError, "array", spdnn.Images.from_dense, [[1, 2], [1]])
        self.refused(TypeError, "array", spdnn.Images.from_dense, np.ma.masked_less(np.eye(2), 1))
        self.refused(TypeError, "paths", spdnn.read_results, None)
        self.assertEqual(os.listdir(), ["net.spdnn"])

    def test_wrong_parameters_of_a_network_are_refused_by_name(self):
        weights = random_weights()
        for name, values in {"cap": ("7", 1j, []), "bias_rule": (None, True), "copy": ("no",)}.items():
            for value in values:
                self.refused(TypeError, name, spdnn.Network, weights, 0.0, **{name: value})
        for value in (None, weights[0], 3):
            self.refused(TypeError, "weights", spdnn.Network, value, 0.0)

    def test_errors_are_pythons_own_kinds_too(self):
        for error, kinds in ((spdnn.DataError, (spdnn.Error, ValueError)), (spdnn.UsageError, (spdnn.Error, ValueError)),
                             (spdnn.DeviceError, (spdnn.Error, RuntimeError)), (spdnn.Stopped, (spdnn.Error,)), (spdnn.Error, (Exception,))):
            for kind in kinds:
                self.assertTrue(issubclass(error, kind), (error, kind))

    def test_a_wrong_type_is_named_with_the_right_one(self):
        for name, value, expected in (("variant", 3, "a string"), ("precision", 3, "a string"), ("trials", 1.5, "a whole number"),
                                      ("verify", "some", "a whole number"), ("host_memory", "1G", "a whole number"),
                                      ("compare", "no", "True or False"), ("activations", 1, "True or False"),
                                      ("checkpoint", 3, "a path"), ("max_time", "4h", "a number"), ("checkpoint_every", 1j, "a number"),
                                      ("progress", 3, "a function of \\(work, done, total\\)")):
            with self.assertRaisesRegex(TypeError, f"^{name}: expected {expected}, not {type(value).__name__}$"):
                spdnn.infer(self.network, self.images, **{name: value})
        for value, expected in ((3, "a list with a matrix for each layer"), (random_weights()[0], "a list with a matrix for each layer")):
            with self.assertRaisesRegex(TypeError, f"^weights: expected {expected}, not {type(value).__name__}$"):
                spdnn.Network(value, 0.0)
        with self.assertRaisesRegex(TypeError, "^bias: expected a number, or one or an array for each layer, not str$"):
            spdnn.Network(random_weights(), "x")
        with self.assertRaisesRegex(TypeError, "^array: expected an array without a mask, not MaskedArray$"):
            spdnn.Images.from_dense(np.ma.masked_less(np.eye(2), 1))
        with self.assertRaisesRegex(TypeError, "^array: expected real numbers, not complex128$"):
            spdnn.Images.from_dense([[1j]])
        with self.assertRaisesRegex(TypeError, "^bits: expected uint8 of two dimensions, not int8 of 2$"):
            spdnn.Images.from_bits(np.zeros((2, 8), np.int8))
        with self.assertRaisesRegex(TypeError, "^paths: expected a path or several, not NoneType$"):
            spdnn.read_results(None)

    def test_words_stand_for_what_they_say_and_others_are_refused_with_those_there_are(self):
        for word in ("fp32", "fp64"):
            self.assertEqual(spdnn.infer(self.network, self.images, device="cpu", precision=word).report["precision"], word)
        for word in ("bf16", "fp16", "fp16-sums", "tf32"):
            with self.assertRaisesRegex(spdnn.UsageError, f"^precision: cpu_openmp does not compute in '{word}', but in fp32 or fp64$"):
                spdnn.infer(self.network, self.images, device="cpu", precision=word)
        for name, others, words in (("precision", ("fp", "fp16-", "FP32", ""), "bf16, fp16, fp16-sums, tf32, fp32, fp64"),
                                    ("device", ("gpu", "cpus", "autocpu"), "auto, cpu, cuda")):
            for word in others:
                with self.assertRaisesRegex(spdnn.UsageError, f"^{name}: '{word}' is unknown; expected one of {words}$"):
                    spdnn.infer(self.network, self.images, **{name: word})
        with self.assertRaisesRegex(spdnn.UsageError, "^bias_rule: 'every' is unknown; expected one of non-zeros, everywhere$"):
            spdnn.Network(random_weights(), 0.0, bias_rule="every")

    def test_numbers_and_flags_of_numpy_are_taken(self):
        network = spdnn.Network(random_weights(), np.float32(-0.5), cap=np.int16(4), copy=np.True_)
        self.assertEqual((network.biases, network.cap), ([-0.5] * 6, 4.0))
        outcome = spdnn.infer(network, self.images, device="cpu", trials=np.int8(2), batch=np.array(7), threads=np.uint64(1),
                              verify=np.True_, compare=np.False_, host_memory=np.int64(10**9), device_memory=2**63 - 1)
        report = outcome.report
        self.assertEqual((report["trials"], report["batch"], report["machine"]["threads"], report["compared"], outcome.verdict),
                         (2, 7, 1, None, "PASSED"))

    def test_biases_are_numbers_or_one_for_each_output(self):
        weights = random_weights()
        for bias in (None, 1j, np.complex64(1), "-0.3", np.array(1j)):
            self.refused(TypeError, "bias", spdnn.Network, weights, bias)
        for wrong in (1j, np.full(64, 1j), "-0.3", None, [[1, 2], [1]], np.ma.masked_less(np.zeros(64), 1)):
            self.refused(TypeError, "bias: layer 3", spdnn.Network, weights, [0.0, 0.0, wrong, 0.0, 0.0, 0.0])
        for wrong in ([], np.zeros((64, 1)), np.zeros((1, 64)), np.zeros(63), np.zeros(1)):
            self.refused(ValueError, "bias: layer 3", spdnn.Network, weights, [0.0, 0.0, wrong, 0.0, 0.0, 0.0])
        self.assertEqual(spdnn.Network(weights, np.array(-0.3)).biases, [-0.3] * 6)
        with self.assertRaisesRegex(spdnn.DataError, "^bias: 2 biases for 6 layers$"):
            spdnn.Network(weights, [0.0, 0.0])


class Hints(InAnEmptyFolder):
    def assert_says(self, message, call, *args, **options):
        with self.assertRaisesRegex(TypeError, message):
            call(*args, **options)

    def test_arrays_in_place_of_images_and_networks(self):
        self.assert_says(r"^images: expected Images, not ndarray: Images\.from_dense\(array\), Images\.from_scipy",
                         spdnn.infer, self.network, random_images())
        for call in (lambda given: spdnn.infer(given, self.images), spdnn.plan):
            self.assert_says(r"^network: expected a Network.*, not list: Network\(weights, bias\)", call, random_weights())
        self.assert_says(r"^layer 1: expected a SciPy sparse matrix, not ndarray: scipy\.sparse\.csr_array\(array\)",
                         spdnn.Network, [np.eye(3)])

    def test_pickling_is_refused_with_what_to_do_instead_and_copies_are_the_same(self):
        subprocess.run([sys.executable, REPOSITORY / "tests/support/toy_model.py", "."], check=True)
        for held, instead in ((self.network, "save"), (self.images, "save"), (spdnn.plan(self.network), "plan"),
                              (spdnn.load_model("model.safetensors"), "load_model")):
            for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
                self.assert_says(f"^{type(held).__name__}: expected something that can be pickled: .*{instead}",
                                 pickle.dumps, held, protocol)
            self.assertIs(copy.copy(held), held)
            self.assertIs(copy.deepcopy([held])[0], held)
        outcome = spdnn.infer(self.network, self.images)
        self.assertEqual(pickle.loads(pickle.dumps(outcome)).report, outcome.report)

    def test_a_model_in_place_of_a_network(self):
        subprocess.run([sys.executable, REPOSITORY / "tests/support/toy_model.py", "."], check=True)
        self.assert_says(r"^network: expected .*, not Model: a model runs by model\.infer\(images\)$",
                         spdnn.infer, spdnn.load_model("model.safetensors"), self.images)

    def test_dir_lists_what_is_the_packages_own(self):
        names = [name for name in dir(spdnn) if not name.startswith("__")]
        self.assertEqual(sorted(names), sorted(spdnn.__all__))
        self.assertIn("__version__", dir(spdnn))


class NumPy(unittest.TestCase):
    @unittest.skipIf(spdnn._core.takes_numpy_2, "this build takes NumPy 2")
    def test_numpy_2_is_refused_by_a_build_that_would_misread_its_arrays(self):
        script = "import numpy; numpy.__version__ = '2.0.1'; import spdnn"
        run = subprocess.run([sys.executable, "-B", "-c", script], capture_output=True, text=True)
        self.assertNotEqual(run.returncode, 0)
        self.assertRegex(run.stderr, "ImportError: spdnn was built with a pybind11 that does not know NumPy 2")


class Paths(InAnEmptyFolder):
    def test_a_name_that_the_system_would_cut_is_refused(self):
        self.network.save("net.spdnn")
        self.images.save("images.tsv")
        calls = {
            "path": (spdnn.Network.read, self.network.save, spdnn.Images.read, self.images.save),
            "mnist": (lambda path: spdnn.Images.official(path, 1024),),
            "truth": (lambda path: spdnn.infer(self.network, self.images, truth=path, device="cpu"),),
            "paths": (spdnn.read_results,),
        }
        for name, of_name in calls.items():
            for call in of_name:
                for path in ("net.spdnn\0", "images.tsv\0.tsv", "new.spdnn\0.spdnn", b"net.spdnn\0", "", "\ud800.tsv"):
                    with self.subTest(path=path, call=call), self.assertRaisesRegex(
                            ValueError, f"^{name}: no file can be called "):
                        call(path)
        with self.assertRaisesRegex(spdnn.UsageError, "^path: "):
            spdnn.Network.read("", neurons=1024, layers=2)  # which would be the official network
        self.assertEqual(sorted(os.listdir()), ["images.tsv", "net.spdnn"])

    def test_names_of_any_other_bytes_are_read_and_written(self):
        name = b"\xff\n.spdnn"
        self.network.save(name)
        self.assertEqual(os.listdir(b"."), [name])
        for path in (name, os.fsdecode(name)):
            self.assertEqual(spdnn.Network.read(path).edges, self.network.edges)
        with self.assertRaisesRegex(spdnn.DataError, r"^\\xfe.spdnn: cannot read: No such file"):
            spdnn.Network.read(b"\xfe.spdnn")
        os.mkdir(b"\xfa")
        with open(b"\xfa/n2-l1.tsv", "wb"), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            spdnn.Network.read(b"\xfa", bias=0.0)
        self.assertIn(r"\xfa/n2-l1.tsv: the file is empty", str(caught[0].message))
        with open(b"\xff.tsv", "wb"):
            pass
        self.assertEqual(spdnn.infer(self.network, self.images, truth=b"\xff.tsv", device="cpu").verdict, "FAILED")


if __name__ == "__main__":
    unittest.main()
