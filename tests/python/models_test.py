"""Models of files: what they hold, images of any array or tensor, logits, verdicts; threads, progress and Ctrl-C."""

import functools
import gc
import io
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import threading
import unittest
import warnings

import numpy as np
from support import REPOSITORY, enter_folder_of_toy, interrupt, resident_bytes

import spdnn

try:
    import torch
except ImportError:
    torch = None

CNN = REPOSITORY.parent / "shared/data/cnn"
CONFORMANCE = pathlib.Path("/usr/share/libonnx-testdata/data/pytorch-converted/test_Conv2d/model.onnx")
SPDNN = os.environ["SPDNN"]


def run(*words):
    return subprocess.run([SPDNN, *words], check=True, capture_output=True, text=True).stdout


class WithToy(unittest.TestCase):
    """The toy model of tests/support, in an empty folder, and 20 images for it."""

    @classmethod
    def setUpClass(cls):
        enter_folder_of_toy(cls)
        cls.model = spdnn.load_model("model.safetensors")
        cls.images = np.load("images.npy")
        cls.logits = cls.logits_of(cls.images)

    @classmethod
    def logits_of(cls, images, **options):
        """The logits of the engine that adds in the same order whatever the batch and the machine."""
        return cls.model.infer(images, variant="conv_reference", **options).logits

    def assert_same(self, images, message=None):
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # as of numbers that are rounded
            found = self.logits_of(images)
        np.testing.assert_array_equal(found, self.logits_of(np.ascontiguousarray(images, np.float32)), message)


class Files(WithToy):
    def test_the_nodes_are_those_of_the_program(self):
        run("inspect", "model.safetensors", "--json", "inspect.json")
        shown = json.loads(pathlib.Path("inspect.json").read_text(encoding="utf-8"))

        def extents(shape):
            return tuple(None if extent == "N" else extent for extent in shape)

        self.assertEqual([(node.name, node.operation, node.shape, node.weights, node.nonzeros)
                          for node in self.model.nodes],
                         [(node["name"], node["operation"], extents(node["output"]), node["weights"], node["nonzeros"])
                          for node in shown["nodes"]])
        self.assertEqual((self.model.name, self.model.path), ("toy", "model.safetensors"))
        self.assertEqual((self.model.input_shape, self.model.output_shape), ((None, 1, 6, 6), (None, 7)))
        self.assertEqual((self.model.input_names, self.model.output_names, len(self.model)), (["input"], ["fc"], 6))
        with self.assertRaises(AttributeError):
            self.model.nodes[0].name = "another"
        self.assertEqual(repr(self.model), f"<spdnn.Model: 6 nodes, {shown['nonzeros']} of 288 weights are not zero>")

    def test_weights_are_those_of_the_file(self):
        data = pathlib.Path("model.safetensors").read_bytes()
        begin = 8 + struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8:begin])
        matrices = self.model.to_scipy()
        self.assertEqual([matrix is None for matrix in matrices], [False, True, True, True, True, False])
        for name, matrix, shape in (("conv.weight", matrices[0], (4, 9)), ("fc.weight", matrices[5], (7, 36))):
            first, last = header[name]["data_offsets"]
            stored = np.frombuffer(data[begin + first:begin + last], "<f4").reshape(shape)
            np.testing.assert_array_equal(matrix.toarray(), stored)
            self.assertEqual(matrix.nnz, np.count_nonzero(stored))

    def test_scipy_and_torch_get_the_fp32_numbers_of_all_forms(self):
        run("prune", "model.safetensors", "groups.onnx", "--pattern", "2:4")
        for form, source in (("fp16", "model.safetensors"), ("int8", "model.safetensors"),
                             ("codebook4", "model.safetensors"), ("2:4", "groups.onnx")):
            with self.subTest(form=form):
                run("convert", source, "form.spdnn", "--to", form)
                run("convert", "form.spdnn", "numbers.onnx")
                matrices = [matrix for matrix in spdnn.load_model("form.spdnn").to_scipy() if matrix is not None]
                expected = [matrix for matrix in spdnn.load_model("numbers.onnx").to_scipy() if matrix is not None]
                for matrix, numbers in zip(matrices, expected, strict=True):
                    self.assertEqual((matrix.dtype, matrix.nnz), (np.float32, numbers.nnz))
                    np.testing.assert_array_equal(matrix.toarray(), numbers.toarray())
                    if torch is None:
                        continue
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")  # "Sparse CSR tensor support is in beta state"
                        tensor = torch.sparse_csr_tensor(*(torch.tensor(part) for part in (
                            matrix.indptr, matrix.indices, matrix.data)), matrix.shape)
                    np.testing.assert_array_equal(tensor.to_dense().numpy(), numbers.toarray())

    def test_a_saved_model_is_the_same(self):
        for name in ("saved.onnx", "saved.spdnn", "saved/model.safetensors"):
            with self.subTest(name=name):
                os.makedirs("saved", exist_ok=True)
                self.model.save(name)
                saved = spdnn.load_model(name)
                self.assertEqual([node.nonzeros for node in saved.nodes], [node.nonzeros for node in self.model.nodes])
                np.testing.assert_array_equal(saved.infer(self.images, variant="conv_reference").logits, self.logits)
        with self.assertRaisesRegex(spdnn.DataError, "^saved.tflite: expected a name that ends in .onnx"):
            self.model.save("saved.tflite")
        self.assertFalse(os.path.exists("saved.tflite"))

    def test_logits_predictions_and_report_are_those_of_the_program(self):
        run("infer", "--model", "model.safetensors", "--inputs", "images.npy", "--device", "cpu", "--logits", "logits.npy",
            "--predictions", "predictions.npy", "--json", "run.json", "--verify", "all", "--threads", "1")
        outcome = self.model.infer(self.images, device="cpu", verify="all", threads=1)
        np.testing.assert_array_equal(outcome.logits, np.load("logits.npy"))
        np.testing.assert_array_equal(outcome.predictions, np.load("predictions.npy"))
        self.assertEqual((outcome.logits.dtype, outcome.predictions.dtype), (np.float32, np.int64))
        program = json.loads(pathlib.Path("run.json").read_text(encoding="utf-8"))
        self.assertEqual(outcome.report.keys(), program.keys())
        for field in program.keys() - {"seconds", "images_per_second", "flops", "machine"}:
            self.assertEqual(outcome.report[field], program[field], field)
        self.assertEqual((outcome.verdict, outcome.report["schema"]), ("PASSED", "spdnn-model-1"))
        self.assertIn("verdict          PASSED", str(outcome))

    def test_a_model_of_several_outputs_gives_all_by_name(self):
        architecture = json.loads(pathlib.Path("architecture.json").read_text(encoding="utf-8"))
        del architecture["output"]
        os.makedirs("two", exist_ok=True)
        pathlib.Path("two/architecture.json").write_text(json.dumps({**architecture, "outputs": ["pool", "fc"]}), encoding="utf-8")
        shutil.copy("model.safetensors", "two")
        model = spdnn.load_model("two/model.safetensors")
        self.assertEqual((model.path, model.name), ("two/model.safetensors", "toy"))
        self.assertEqual((model.output_names, model.output_shape), (["pool", "fc"], (None, 4, 3, 3)))
        found = model.infer(self.images, variant="conv_reference", verify="all")
        self.assertEqual((list(found.outputs), found.verdict), (["pool", "fc"], "PASSED"))
        self.assertEqual(found.outputs["pool"].shape, (20, 4, 3, 3))
        np.testing.assert_array_equal(found.outputs["fc"], self.logits)
        self.assertIs(found.logits, found.outputs["pool"])
        with model.compile(variant="conv_reference") as session:
            self.assertEqual((session.output_names, session.output_shapes), (["pool", "fc"], [(None, 4, 3, 3), (None, 7)]))
            answer = session(self.images)
            self.assertIsInstance(answer, tuple)
            for output, other in zip(answer, found.outputs.values(), strict=True):
                np.testing.assert_array_equal(output, other)
        self.assertEqual(model.infer(self.images, expected=found.outputs).verdict, "PASSED")
        wrong = {**found.outputs, "fc": found.outputs["fc"] + 1}
        self.assertEqual(model.infer(self.images, expected=wrong).verdict, "FAILED")
        with self.assertRaisesRegex(spdnn.DataError, "^expected: no array 'pool'; the outputs are pool, fc"):
            model.infer(self.images, expected=found.logits)
        one = model.infer(self.images, output="fc", expected=self.logits)
        self.assertEqual((list(one.outputs), one.verdict, one.predictions.shape), (["fc"], "PASSED", (20,)))
        both = model.infer(self.images, output=["fc", "pool"])
        self.assertEqual(list(both.outputs), ["fc", "pool"])

    def test_the_engine_beside_the_module_is_found(self):
        self.assertEqual(self.model.infer(self.images, variant="conv_dense", verify="all").verdict, "PASSED")
        plugin = pathlib.Path(spdnn.__file__).resolve().with_name("spdnn_onednn.so")
        opened = {line.split()[-1] for line in pathlib.Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()}
        self.assertEqual(str(plugin) in opened, plugin.exists())

    def test_logits_are_the_callers_and_outlive_model_and_images(self):
        model, images = spdnn.load_model("model.safetensors"), self.images.copy()
        outcome = model.infer(images, variant="conv_reference")
        del model, images
        gc.collect()
        np.testing.assert_array_equal(outcome.logits, self.logits)
        outcome.logits[:] = 0

    @unittest.skipUnless(CONFORMANCE.exists(), "needs the Debian package libonnx-testdata")
    def test_an_onnx_file(self):
        model = spdnn.load_model(CONFORMANCE)
        self.assertEqual([node.operation for node in model.nodes], ["convolution"])
        outcome = model.infer(np.random.default_rng(1).random((2, 3, 7, 5), np.float32), verify=True)
        self.assertEqual((outcome.verdict, outcome.logits.shape, outcome.predictions), ("PASSED", (2, 4, 5, 4), None))

    @unittest.skipUnless(CNN.exists(), "needs ../shared/data/cnn")
    def test_an_onnx_and_a_tensorflow_lite_file_of_use(self):
        sparse = spdnn.load_model(CNN / "face_detection_full_range_sparse.tflite")
        self.assertLess(sum(node.nonzeros for node in sparse.nodes), 0.4 * sum(node.weights for node in sparse.nodes))
        images = np.random.default_rng(1).random((1, *sparse.input_shape[1:]), np.float32)
        outcome = sparse.infer(images, verify="all")
        self.assertEqual((outcome.verdict, outcome.logits.shape[1:]), ("PASSED", sparse.output_shape[1:]))
        self.assertEqual(len(sparse.output_names), 2)
        path = CNN / "ch_ppocr_mobile_v2.0_cls_infer.onnx"
        with self.assertRaisesRegex(spdnn.DataError, "have no fixed length; give the shape of the input"):
            spdnn.load_model(path)
        classifier = spdnn.load_model(path, shape=(None, 3, 48, 192))
        self.assertEqual(classifier.input_shape, (None, 3, 48, 192))
        outcome = classifier.infer(np.random.default_rng(2).random((3, 3, 48, 192), np.float32), verify="all")
        self.assertEqual((outcome.verdict, outcome.predictions.shape), ("PASSED", (3,)))

    def test_what_is_no_model_is_refused_as_the_program_does(self):
        pathlib.Path("cut.safetensors").write_bytes(pathlib.Path("model.safetensors").read_bytes()[:300])
        pathlib.Path("text.onnx").write_text("text", encoding="ascii")
        pathlib.Path("text.tflite").write_text("text", encoding="ascii")
        for path in ("cut.safetensors", "text.onnx", "text.tflite", "absent.onnx", "images.npy", "a\nb\xff.onnx"):
            program = subprocess.run([SPDNN, "infer", "--model", path, "--inputs", "images.npy"], capture_output=True)
            with self.subTest(path), self.assertRaises(spdnn.DataError) as caught:
                spdnn.load_model(path)
            said = program.stderr.decode().strip().removeprefix("spdnn: ")
            self.assertEqual((program.returncode, str(caught.exception).replace("\n", r"\x0a")), (3, said))
        with self.assertRaisesRegex(spdnn.UsageError, "convolution"):
            spdnn.load_model("model.safetensors", shape=(None, 2, 6, 6))
        with self.assertRaisesRegex(TypeError, "load_model"):
            spdnn.Model()

    def test_a_fixed_batch_is_the_shape_that_is_asked_for(self):
        model = spdnn.load_model("model.safetensors", shape=(10, 1, 6, 6))
        self.assertEqual(model.input_shape, (10, 1, 6, 6))
        outcome = model.infer(self.images)
        self.assertEqual((outcome.report["batch"], outcome.logits.shape), (10, (20, 7)))
        with self.assertRaisesRegex(spdnn.UsageError, "10 images at a time"):
            model.infer(self.images[:15])


class Foreign:
    """A tensor of another library, with the memory of an array, on one of DLPack's devices."""

    def __init__(self, array, device=(1, 0), error=None):
        self.array, self.device, self.error = array, device, error

    def __dlpack__(self, **options):
        if self.error:
            raise self.error
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device


class Images(WithToy):
    def test_numbers_of_any_type_are_taken_where_none_changes(self):
        whole = np.arange(2 * 36).reshape(2, 1, 6, 6)
        for dtype in (np.uint8, np.int8, np.uint16, np.int16, np.int32, np.int64, np.uint32, np.uint64, np.float16,
                      np.float64, np.longdouble, ">f4", ">f8", ">i2"):
            self.assert_same(whole.astype(dtype), dtype)
        self.assert_same(whole % 3 == 0)
        self.assert_same((whole % 3).tolist())
        self.assert_same(np.full((1, 6, 6), 2**24))
        self.assert_same(np.full((1, 6, 6), -2**24))
        self.assert_same(np.asfortranarray(self.images))
        self.assert_same(self.images[::-2])
        self.assert_same(np.ascontiguousarray(self.images.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2))
        self.assert_same(np.frombuffer(b"\0" + self.images.tobytes(), np.uint8)[1:].view("<f4").reshape(20, 1, 6, 6))

    def test_numbers_that_float32_does_not_have_are_rounded_with_one_warning(self):
        for number, dtype in ((0.1, np.float64), (1e-50, np.float64), (-0.3, np.longdouble), (2**24 + 1, np.int32),
                              (2**53 + 1, np.int64), (2**63 - 1, np.int64), (-2**24 - 1, np.int64), (2**32 - 1, np.uint32),
                              (2**64 - 1, np.uint64)):
            images = np.zeros((3, 6, 6), dtype)
            images[2, 1, 5] = number
            with self.subTest(number), warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                found = self.logits_of(images)
                self.assertEqual([str(one.message) for one in caught], [
                    f"images: {images.dtype} is rounded to float32; .astype(numpy.float32) does so without this warning"])
                np.testing.assert_array_equal(found, self.logits_of(images.astype(np.float32)))
                self.assertEqual(len(caught), 1)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            for _ in range(3):
                self.model.infer(np.full((1, 6, 6), 0.1), expected=self.logits[:1].astype(np.float64) * 1.1)
        self.assertEqual([(str(one.message).partition(":")[0], one.filename) for one in caught],
                         [("images", __file__), ("expected", __file__)])

    def test_numbers_beyond_float32_are_refused(self):
        for number in (1e300, -3.5e38):
            images = np.zeros((3, 6, 6))
            images[2, 1, 5] = number
            with self.assertRaises(spdnn.DataError) as caught:
                self.model.infer(images)
            self.assertEqual(str(caught.exception),
                             f"images: {number} at [2, 1, 5] is beyond the numbers of float32")

    def test_what_callers_of_other_libraries_write_is_taken_or_answered(self):
        for found in (self.model(self.images, variant="conv_reference"),
                      self.model.infer({"input": self.images}, variant="conv_reference")):
            np.testing.assert_array_equal(found.logits, self.logits)
        for wrong, names in (({"image": self.images}, "'image'"), ({}, "none"),
                             ({"input": self.images, "more": 1}, "'input', 'more'")):
            with self.assertRaises(spdnn.UsageError) as caught:
                self.model.infer(wrong)
            self.assertEqual(str(caught.exception), f"images: the model's input is 'input', not {names}")
        for wrong in ("cat.png", b"\x89PNG", bytearray(b"\x89PNG"), memoryview(b"\x89PNG"), pathlib.Path("images.npy")):
            with self.assertRaisesRegex(TypeError, r"^images: expected an array of pixels, not .*: .*PIL.*numpy\.load"):
                self.model.infer(wrong)
        for content in (pathlib.Path("model.safetensors").read_bytes(), b"a" * 5000, io.BytesIO(b"model")):
            with self.assertRaisesRegex(TypeError, "^path: expected the name of a file, not [A-Za-z]*: what it holds"):
                spdnn.load_model(content)

    def test_what_is_no_number_is_refused(self):
        for number in (np.nan, np.inf):
            for dtype in (np.float32, np.float64):
                with self.assertRaisesRegex(spdnn.DataError, "^images: number 1 is (nan|inf)"):
                    self.model.infer(np.full((1, 6, 6), number, dtype))
        for wrong in (np.zeros((1, 6, 6), complex), np.full((1, 6, 6), "a"), None, "images.npy", [[1, 2], [1]],
                      np.ma.masked_less(self.images, 0.5), np.zeros((1, 6, 6), object)):
            with self.subTest(wrong), self.assertRaisesRegex(TypeError, "^images: expected "):
                self.model.infer(wrong)

    def test_axes_of_length_one_may_be_left_out(self):
        np.testing.assert_array_equal(self.logits_of(self.images[:, 0]), self.logits)
        np.testing.assert_array_equal(self.logits_of(self.images[..., np.newaxis]), self.logits)
        for images, message in ((self.images[..., :5], "images of 1 x 6 x 5, expected 1 x 6 x 6, as the model takes them"),
                                (self.images[0, 0], "images of 6, expected 1 x 6 x 6, as the model takes them; the axis of images, "
                                 "of length 1 for one image, is missing in front"),
                                (self.images[:0], "holds no images"), (1.0, "a single number, expected an array")):
            with self.subTest(message), self.assertRaises(spdnn.DataError) as caught:
                self.model.infer(images)
            self.assertEqual(str(caught.exception), "images: " + message)

    def test_contiguous_float32_is_not_copied_and_all_else_is(self):
        for images, copied in ((self.images.copy(), False), (Foreign(self.images.copy()), False),
                               (self.images.astype(np.float64), True)):
            memory = getattr(images, "array", images)

            def darken(work, done, total, memory=memory):
                memory[10:] = 0

            logits = self.logits_of(images, batch=1, progress=darken)
            np.testing.assert_array_equal(logits[0], self.logits[0])
            self.assertEqual(np.array_equal(logits[19], self.logits[19]), copied)

    def test_tensors_of_other_libraries_are_taken_by_dlpack(self):
        for given in (self.images, self.images.astype(np.float64), self.images[::2]):
            np.testing.assert_array_equal(self.logits_of(Foreign(given)), self.logits_of(given))
        outcome = self.model.infer(Foreign(self.images, (3, 0)), labels=Foreign(np.zeros(20, np.int64), (11, 0)),
                                   expected=Foreign(self.logits))
        self.assertEqual(outcome.verdict, "PASSED")
        np.testing.assert_array_equal(np.from_dlpack(outcome.logits), outcome.logits)

    def test_tensors_that_are_not_in_the_hosts_memory_are_refused(self):
        for device, where in ((2, "a CUDA device"), (10, "a ROCm device"), (13, "a CUDA device"), (8, "DLPack's device 8")):
            with self.assertRaises(TypeError) as caught:
                self.model.infer(Foreign(self.images, (device, 0)))
            self.assertEqual(str(caught.exception), "images: expected a tensor in the host's memory, not on "
                             f"{where}: copy it to the CPU first")
        for error, words in ((BufferError("it requires grad\nand more"), "it requires grad"), (RuntimeError("it has no memory"), "it has no memory"),
                             (RuntimeError(), "RuntimeError")):
            with self.assertRaises(TypeError) as caught:
                self.model.infer(Foreign(self.images, error=error))
            self.assertEqual(str(caught.exception), f"images: the tensor cannot be shared by DLPack: {words}")
        with self.assertRaisesRegex(TypeError, "^images: the tensor cannot be shared by DLPack: [^\n]+$"):
            self.model.infer(Foreign(None))

    @unittest.skipUnless(torch, "needs PyTorch")
    def test_tensors_of_pytorch(self):
        np.testing.assert_array_equal(self.logits_of(torch.from_numpy(self.images)), self.logits)
        self.assertEqual(torch.from_dlpack(self.model.infer(self.images).logits).shape, (20, 7))
        with self.assertRaisesRegex(TypeError, "^images: the tensor cannot be shared by DLPack: "):
            self.model.infer(torch.from_numpy(self.images).requires_grad_())
        if torch.cuda.is_available():
            with self.assertRaisesRegex(TypeError, "not on a CUDA device"):
                self.model.infer(torch.from_numpy(self.images).cuda())


class Verdicts(WithToy):
    def verdict(self, **options):
        return self.model.infer(self.images, **options).verdict

    def test_verdicts(self):
        classes = self.logits.argmax(axis=1)
        np.save("labels.npy", classes)
        np.save("logits.npy", self.logits)
        wrong = self.logits.copy()
        wrong[3, 2] += 1
        for options, expected in (
                ({}, "UNVERIFIED"), ({"verify": False}, "UNVERIFIED"), ({"verify": True}, "PASSED"),
                ({"verify": "all", "variant": "conv_reference"}, "PASSED"), ({"verify": 3, "batch": 7}, "UNVERIFIED"), ({"verify": 20, "batch": 7}, "PASSED"),
                ({"verify": True, "rewrite": "none"}, "PASSED"), ({"labels": classes}, "UNVERIFIED"), ({"labels": classes > 3}, "UNVERIFIED"),
                ({"labels": classes, "min_accuracy": 1}, "PASSED"),
                ({"labels": "labels.npy", "min_accuracy": 1.0}, "PASSED"),
                ({"labels": classes[:, np.newaxis].astype(np.uint8), "min_accuracy": np.float32(0.5)}, "PASSED"),
                ({"labels": ((classes + 1) % 7).tolist(), "min_accuracy": 0.5}, "FAILED"),
                ({"expected": self.logits}, "PASSED"), ({"expected": pathlib.Path("logits.npy")}, "PASSED"),
                ({"expected": self.logits.astype(np.float64)}, "PASSED"), ({"expected": self.logits[:3]}, "UNVERIFIED"), ({"expected": wrong}, "FAILED")):
            with self.subTest(options):
                self.assertEqual(self.verdict(**options), expected)
        outcome = self.model.infer(self.images, expected=wrong)
        self.assertEqual(outcome.report["expected"]["first_ids"], [4], "counted from 1")
        self.assertEqual(self.model.infer(self.images, expected=self.logits[:3]).report["expected"]["images"], 3)

    def test_what_was_asked_for_is_done(self):
        outcome = self.model.infer(self.images, trials=3, warm_up=1, batch=8, threads=1, rewrite="none", profile=True)
        report = outcome.report
        self.assertEqual((report["trials"], report["warm_up"], report["batch"], report["machine"]["threads"]), (3, 1, 8, 1))
        self.assertEqual((report["model"]["nodes_run"], len(report["profile"])), (6, 6))
        self.assertEqual(self.model.infer(self.images).report["model"]["nodes_run"], 5)
        self.assertEqual(self.model.infer(self.images, precision="fp64").report["variant"], "conv_reference")

    def test_arguments_that_do_not_fit_are_refused_by_name(self):
        wrong = {
            TypeError: {"labels": (3.5, [0.5] * 20, [[1, 2]] * 20, [None]), "expected": ({}, {1: self.logits}, self.logits * 1j),
                        "output": (1, [None]),
                        "min_accuracy": ("1", [1]), "verify": ([1], "some", 1.5), "variant": (None, 3), "device": (None,),
                        "precision": (32,), "batch": ("a", 7.0), "threads": (1.5,), "trials": (None, 1.5),
                        "warm_up": (None,), "rewrite": (True, None, 1), "profile": (1,), "host_memory": ("1G",),
                        "progress": (3,)},
            spdnn.UsageError: {"output": ("none", "", ["fc", "fc"]), "min_accuracy": (0.5, 0), "verify": (0, -1), "device": ("tpu",), "precision": ("fp8", "fp16"),
                               "batch": (0,), "threads": (0, 2000), "trials": (0,), "warm_up": (-1,),
                               "host_memory": (-1,), "labels": ("", "a\0"), "expected": ("\0",)},
            spdnn.DataError: {"labels": ([0], [], [7] * 20, [-1] * 20),
                              "expected": (self.logits[:, :6], np.zeros((0, 7)), np.full((20, 7), 1e300), 1.0)},
        }
        for kind, arguments in wrong.items():
            for name, values in arguments.items():
                for value in values:
                    with self.subTest(name=name, value=value), self.assertRaises(kind) as caught:
                        self.verdict(**{name: value})
                    self.assertRegex(str(caught.exception), f"^{name}: [^\n]+$")
        for name, value, expected in (("output", 1, "a name or a list of names"), ("expected", {}, "an array, or {name of an output: array}"),
                                      ("rewrite", 1, "a string"), ("profile", 1, "True or False"), ("min_accuracy", "1", "a number")):
            with self.assertRaises(TypeError) as caught:
                self.verdict(**{name: value})
            self.assertEqual(str(caught.exception), f"{name}: expected {expected}, not {type(value).__name__}")
        with self.assertRaisesRegex(spdnn.DataError, "number 20 is label 9223372036854775807, expected 0 to 6"):
            self.verdict(labels=np.array([0] * 19 + [2**64 - 1], np.uint64))
        with self.assertRaisesRegex(spdnn.UsageError, "'none' is not a variant for models"):
            self.verdict(variant="none")
        with self.assertRaisesRegex(spdnn.DataError, "^none.npy: "):
            self.verdict(labels="none.npy")
        with self.assertRaisesRegex(spdnn.DeviceError, "^host_memory: "):
            self.verdict(host_memory=1)
        for shape in ("N,1,6,6", b"\1\1\6\6", 3, (1.5, 1, 6, 6), (None, None, 6, 6)):
            with self.subTest(shape), self.assertRaisesRegex(TypeError, "^shape: expected "):
                spdnn.load_model("model.safetensors", shape=shape)
        with self.assertRaisesRegex(spdnn.UsageError, "^shape: expected a number from 1"):
            spdnn.load_model("model.safetensors", shape=(None, 0, 6, 6))
        for path in ("", "a\0", "\ud800.onnx"):
            with self.assertRaisesRegex(spdnn.UsageError, "^path: no file can be called "):
                spdnn.load_model(path)


class Meanwhile(WithToy):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        os.mkdir("vgg8")
        run("generate", "model", "--family", "vgg8", "--sparsity", "0.9", "--out", "vgg8/model.safetensors")
        cls.large = spdnn.load_model("vgg8/model.safetensors")
        cls.given = np.random.default_rng(3).random((400, 28, 28), np.float32)
        cls.addClassCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))

    def test_models_run_in_several_threads_at_a_time(self):
        expected = [self.model.infer(self.images).logits, self.large.infer(self.given[:30]).logits]
        found = [[], [], []]

        def infer(i):
            for _ in range(5):
                found[i].append(self.model.infer(self.images).logits if i == 0 else
                                self.large.infer(self.given[:30]).logits)

        threads = [threading.Thread(target=infer, args=(i,)) for i in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for i, logits in enumerate(found):
            self.assertEqual(len(logits), 5)
            for one in logits:
                np.testing.assert_array_equal(one, expected[min(i, 1)])

    def test_progress_is_told_and_what_it_raises_comes_back(self):
        updates = []
        self.model.infer(self.images, batch=10, verify=20, progress=lambda *update: updates.append(update))
        self.assertEqual([update for update in updates if update[0] == "infer"][-1], ("infer", 10, 10))
        self.assertEqual({work for work, _, _ in updates}, {"infer", "verify", "verify nodes"})

        class Enough(Exception):
            pass

        def fail(work, done, total):
            raise Enough(work)

        with self.assertRaisesRegex(Enough, "infer"):
            self.model.infer(self.images, progress=fail)

    def test_signals_end_a_run_and_its_verification(self):
        # What would take half a minute on one thread.
        for images, options in ((self.given[:10], {"trials": 100000}), (self.given, {"variant": "conv_reference", "batch": 8}),
                                (self.given, {"verify": "all"})):
            with self.subTest(options):
                interrupt(self, functools.partial(self.large.infer, images, threads=1, **options))
        np.testing.assert_array_equal(self.logits_of(self.images), self.logits, "the next run is a usual one")

    def test_nothing_is_left_behind_by_hundreds_of_calls(self):
        def calls(count):
            for _ in range(count):
                model = spdnn.load_model("model.safetensors")
                model.infer(images, threads=1, expected=logits[:4], progress=lambda *_: None)
                model.infer(Foreign(images), threads=1)
                model.to_scipy()
                with self.assertRaises(spdnn.DataError):
                    model.infer(images[:, :5])

        images = np.tile(self.images[:, 0], (20, 1, 1))
        logits = self.model.infer(images).logits
        calls(50)
        before = resident_bytes()
        calls(100)
        self.assertLess(resident_bytes() - before, 1e6, "of images of 58 KB and logits of 11 KB, 100 times")


if __name__ == "__main__":
    unittest.main()
