"""Networks from SciPy and back, and from and to files."""

import gc
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings
import weakref

import numpy as np
import scipy.sparse
from support import categories_of, random_images, random_weights, small_network

import spdnn


def matrix(data, indices, indptr, shape=(2, 3)):
    """A CSR matrix of arrays that SciPy would refuse."""
    result = scipy.sparse.csr_matrix(shape, dtype=np.float32)
    result.data, result.indices, result.indptr = np.asarray(data), np.asarray(indices), np.asarray(indptr)
    return result


def good(**changed):
    arrays = {"data": np.ones(3, np.float32), "indices": np.array([0, 2, 1], np.int32),
              "indptr": np.array([0, 2, 3], np.int32)}
    return matrix(**{**arrays, **changed})


FITTING = scipy.sparse.csr_matrix(np.ones((3, 1), np.float32))  # a layer before good()


class FromSciPy(unittest.TestCase):
    def test_all_kinds_of_sparse_matrices_make_the_same_network(self):
        weights = random_weights()
        images = spdnn.Images.from_dense(random_images())
        expected = categories_of(weights, random_images(), -0.1)
        self.assertTrue(0 < len(expected) < 50, expected)
        for kind in (scipy.sparse.csr_matrix, scipy.sparse.csr_array, scipy.sparse.csc_matrix, scipy.sparse.coo_array,
                     scipy.sparse.lil_matrix):
            with self.subTest(kind=kind.__name__):
                network = spdnn.Network([kind(w) for w in weights], -0.1)
                np.testing.assert_array_equal(spdnn.infer(network, images, device="cpu").categories, expected)

    def test_rows_are_outputs(self):
        wide = scipy.sparse.csr_array(np.array([[1, 0, 1], [0, 1, 0]], np.float32))
        network = spdnn.Network([wide, wide.T], 0.0)
        self.assertEqual(network.neurons, [3, 2, 3])
        self.assertEqual((len(network), network.edges, network.cap, network.bias_rule), (2, 6, 32.0, "non-zeros"))
        with self.assertRaisesRegex(spdnn.DataError, "^layer 2: "):  # the library counts from 1
            spdnn.Network([wide, wide], 0.0)

    def test_memory_is_shared_both_ways(self):
        weights = random_weights()
        network = spdnn.Network(weights, -0.1)
        for given, got in zip(weights, network.to_scipy()):
            self.assertTrue(np.shares_memory(given.data, got.data))
            self.assertTrue(np.shares_memory(given.indices, got.indices))
            self.assertFalse(got.data.flags.writeable)
            self.assertEqual((given != scipy.sparse.csr_matrix(got)).nnz, 0)

    def test_csc_of_inputs_by_outputs_is_taken_as_it_is(self):
        turned = scipy.sparse.csc_matrix(random_weights()[0].T)
        self.assertTrue(np.shares_memory(spdnn.Network([turned.T], 0.0).to_scipy()[0].data, turned.data))

    def test_a_copy_is_made_where_asked_for(self):
        weight = random_weights(layers=1)[0]
        before = weight.copy()
        network = spdnn.Network([weight], 0.0, copy=True)
        weight.data[:] = 7
        self.assertEqual((scipy.sparse.csr_matrix(network.to_scipy()[0]) != before).nnz, 0)

    def test_arrays_live_as_long_as_they_are_needed_and_no_longer(self):
        weight = random_weights(layers=1)[0]
        alive = weakref.ref(weight.data.base if weight.data.base is not None else weight.data)
        expected = weight.toarray()
        network = spdnn.Network([weight], 0.0)
        del weight
        gc.collect()
        views = network.to_scipy()
        planned = spdnn.plan(network, "none")
        del network
        gc.collect()
        np.testing.assert_array_equal(views[0].toarray(), expected)
        np.testing.assert_array_equal(planned.network.to_scipy()[0].toarray(), expected)
        self.assertIsNotNone(alive())
        del views, planned
        gc.collect()
        self.assertIsNone(alive())

    def test_one_repeated_value_is_stored_once(self):
        ones = scipy.sparse.csr_array(random_images(40, 40).astype(np.float32))
        network = spdnn.Network([ones], 0.0)
        self.assertLess(network.nbytes, 4 * ones.nnz + 8 * 41 + 1)
        np.testing.assert_array_equal(network.to_scipy()[0].toarray(), ones.toarray())

    def test_other_kinds_of_numbers_are_converted(self):
        weights = random_weights()
        expected = spdnn.Network(weights, 0.0)
        for number in (np.float64, np.float16, np.int8, np.bool_, ">f4"):
            with self.subTest(number=number):
                got = spdnn.Network([w.astype(number, copy=False) if number != ">f4" else
                                     matrix(w.data.astype(number), w.indices, w.indptr, w.shape) for w in weights], 0.0)
                if number in (np.float64, ">f4"):
                    for a, b in zip(expected.to_scipy(), got.to_scipy()):
                        np.testing.assert_array_equal(a.toarray(), b.toarray())
                self.assertEqual(got.neurons, expected.neurons)

    def test_wide_indices_strided_and_read_only_arrays_are_taken(self):
        weight = random_weights(layers=1)[0]
        wide = matrix(weight.data, weight.indices.astype(np.int64), weight.indptr.astype(np.int64), weight.shape)
        strided = matrix(np.repeat(weight.data, 2)[::2], np.repeat(weight.indices, 2)[::2], weight.indptr, weight.shape)
        roomy = matrix(np.append(weight.data, [7, 7]).astype(np.float32), np.append(weight.indices, [0, 0]),
                       weight.indptr, weight.shape)
        fixed = weight.copy()
        for array in (fixed.data, fixed.indices, fixed.indptr):
            array.flags.writeable = False
        for name, other in {"wide": wide, "strided": strided, "roomy": roomy, "fixed": fixed}.items():
            with self.subTest(name):
                np.testing.assert_array_equal(spdnn.Network([other], 0.0).to_scipy()[0].toarray(), weight.toarray())

    def test_unsorted_and_repeated_entries_are_put_in_order_and_the_given_ones_stay(self):
        given = good(data=np.array([1, 2, 3], np.float32), indices=np.array([2, 0, 1], np.int32))
        ordered = spdnn.Network([given], 0.0).to_scipy()[0]
        self.assertEqual(ordered.toarray().tolist(), [[2, 0, 1], [0, 3, 0]])
        self.assertEqual(ordered.indices.tolist(), [0, 2, 1])
        np.testing.assert_array_equal(given.indices, [2, 0, 1])
        twice = good(data=np.array([1, 2, 3], np.float32), indices=np.array([1, 1, 1], np.int32))
        self.assertEqual(spdnn.Network([twice], 0.0).edges, 2)
        self.assertEqual(spdnn.Network([twice], 0.0).to_scipy()[0].toarray().tolist(), [[0, 3, 0], [0, 3, 0]])

    def test_what_is_no_matrix_is_refused(self):
        self.assertEqual(spdnn.Network([FITTING, good()], 0.0).neurons, [1, 3, 2])
        bad = {
            "outside": good(indices=np.array([0, 3, 1], np.int32)),
            "negative": good(indices=np.array([0, -1, 1], np.int32)),
            "wide outside": good(indices=np.array([0, 2**32 + 2, 1], np.int64)),
            "wide negative": good(indices=np.array([0, 2, 1 - 2**32], np.int64)),
            "unsigned outside": good(indices=np.array([0, 2, 2**31], np.uint32)),
            "too many columns": scipy.sparse.csr_matrix((2, 2**31), dtype=np.float32),
            "far too many": scipy.sparse.csr_matrix((2, 2**40), dtype=np.float32),
            "descends": good(indptr=np.array([0, 4, 3], np.int32)),
            "far": good(indptr=np.array([0, 10**6, 3], np.int32)),
            "negative offset": good(indptr=np.array([0, -1, 3], np.int32)),
            "wide offset": good(indptr=np.array([0, 2**32 + 2, 3], np.int64)),
            "not from 0": good(indptr=np.array([1, 2, 3], np.int32)),
            "no data": good(data=np.ones(0, np.float32)),
            "fewer data": good(data=np.ones(2, np.float32)),
            "more data": good(indices=np.array([0, 2], np.int32)),
            "too long": good(indptr=np.array([0, 2, 4], np.int32)),
            "too short": good(indptr=np.array([0, 3], np.int32)),
            "without offsets": good(indptr=np.array([], np.int32)),
            "two dimensions": good(indptr=np.array([[0], [2], [3]], np.int32)),
            "not a number": good(data=np.array([1, np.nan, 1], np.float32)),
            "infinite": good(data=np.array([1, np.inf, 1], np.float32)),
            "infinite as float32": good(data=np.array([1, 1e300, 1], np.float64)),
        }
        for name, given in bad.items():
            with self.subTest(name), self.assertRaisesRegex(spdnn.DataError, "^layer 2: (?!has )"):  # as the library counts
                spdnn.Network([FITTING, given], 0.0)
        for given in (good(data=np.ones(3, complex)), np.eye(3), None, "net"):
            with self.subTest(given), self.assertRaisesRegex(TypeError, "^layer 2: "):
                spdnn.Network([FITTING, given], 0.0)

    def test_the_module_takes_no_arrays_of_another_form(self):
        """Those that the package converts: the module would read memory beyond them."""
        indptr, indices, data = np.array([0, 2, 3], np.int32), np.array([0, 2, 1], np.int32), np.ones(3, np.float32)
        spdnn._core.Matrix((2, 3), indptr, indices, data)
        unaligned = np.empty(13, np.uint8)[1:].view(np.float32)
        unaligned[:] = 1
        for wrong in (np.ones(3, np.float64), np.ones(6, np.float32)[::2], np.float32(1), np.array(1, np.float32), unaligned):
            with self.subTest(wrong=wrong), self.assertRaises(TypeError):
                spdnn._core.Matrix((2, 3), indptr, indices, wrong)
        with self.assertRaises(TypeError):
            spdnn._core.Matrix((2, 3), indptr, np.arange(6, dtype=np.int32)[::2], data)

    def test_places_of_entries_are_whole_numbers_inside_the_matrix_in_every_kind_of_matrix(self):
        for kind, names in {"csr": ("indices", "indptr"), "csc": ("indices", "indptr"), "bsr": ("indices", "indptr"),
                            "coo": ("row", "col"), "dia": ("offsets",)}.items():
            for name in names:
                given = good().asformat(kind)
                setattr(given, name, getattr(given, name) + 0.5)
                with self.subTest(kind=kind, name=name), self.assertRaisesRegex(
                        TypeError, f"^layer 2: {name}: expected whole numbers, not float64"):
                    spdnn.Network([FITTING, given], 0.0)
                with self.subTest(kind=kind, name=name), self.assertRaisesRegex(TypeError, f"^matrix: {name}: "):
                    spdnn.Images.from_scipy(given)
        for kind, name, size in (("csr", "indices", 3), ("csc", "indices", 2), ("coo", "row", 2), ("coo", "col", 3)):
            with self.subTest(kind=kind):
                self.assertEqual(spdnn.Network([good().asformat(kind)], 0.0).edges, 3)
            for wrong in (-1, size):
                given = good().asformat(kind)
                getattr(given, name)[1] = wrong
                words = f"{name}: expected a number from 0 to {size - 1} for each entry$" if kind == "coo" else ""
                with self.subTest(kind=kind, name=name), self.assertRaisesRegex(spdnn.DataError, "^layer 2: " + words):
                    spdnn.Network([FITTING, given], 0.0)
                with self.subTest(kind=kind, name=name), self.assertRaisesRegex(spdnn.DataError, "^matrix: " + words):
                    spdnn.Images.from_scipy(given)

    def test_biases_caps_and_rules(self):
        weights = random_weights()
        rows = np.linspace(-0.3, 0.1, 64)
        per_layer = [-0.1, rows, 0.0, rows[::-1], np.float32(-0.25), list(rows)]
        network = spdnn.Network(weights, per_layer, cap=None, bias_rule="everywhere")
        self.assertEqual((network.cap, network.bias_rule, network.biases[0], network.biases[4]),
                         (None, "everywhere", -0.1, -0.25))
        np.testing.assert_array_equal(network.biases[3], rows[::-1])
        images = random_images()
        expected = categories_of(weights, images, [np.asarray(b) for b in per_layer], np.inf, True)
        got = spdnn.infer(network, spdnn.Images.from_dense(images), device="cpu").categories
        np.testing.assert_array_equal(got, expected)
        for bias in ([0.1], [0.1] * 7, np.zeros((6, 3)), float("nan"), [np.full(64, np.inf)] * 6):
            with self.subTest(bias=bias), self.assertRaises(spdnn.DataError):
                spdnn.Network(weights, bias)
        with self.assertRaises(spdnn.DataError):
            spdnn.Network(weights, 0.0, cap=-1)
        with self.assertRaises(spdnn.UsageError):
            spdnn.Network(weights, 0.0, bias_rule="nowhere")

    def test_without_a_bias_there_is_none(self):
        network = spdnn.Network(random_weights(layers=3))
        self.assertEqual((network.biases, network.layers, len(network)), ([0.0] * 3, 3, 3))

    def test_a_network_without_layers_or_edges(self):
        self.assertEqual(len(spdnn.Network([], 0.0)), 0)
        empty = spdnn.Network([scipy.sparse.csr_array((4, 5), dtype=np.float32)], 0.0)
        outcome = spdnn.infer(empty, spdnn.Images.from_dense(np.ones((3, 5))), device="cpu")
        self.assertEqual((outcome.categories.size, outcome.verdict), (0, "UNVERIFIED"))


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_what_is_saved_is_read_again(self):
        network = small_network()
        network.save(self.folder / "net.spdnn")
        network.save(self.folder / "net")
        for got in (spdnn.Network.read(self.folder / "net.spdnn"),
                    spdnn.Network.read(str(self.folder / "net"), bias=-0.1)):
            self.assertEqual(got.biases, network.biases)
            for a, b in zip(got.to_scipy(), network.to_scipy()):
                np.testing.assert_array_equal(a.toarray(), b.toarray())
        for path in ("net.spdnn", "net"):
            first = spdnn.Network.read(self.folder / path, layers=2, neurons=64 if path == "net" else (),
                                       bias=-0.1 if path == "net" else None)
            self.assertEqual((len(first), first.biases), (2, [-0.1] * 2))
        wide = scipy.sparse.csr_array(np.array([[1, 0, 1], [0, 1, 0]], np.float32))
        spdnn.Network([wide, wide.T], 0.0).save(self.folder / "wide")
        self.assertEqual(spdnn.Network.read(self.folder / "wide", neurons=[3, 2, 3], bias=0.0).neurons, [3, 2, 3])
        rows = spdnn.Network(random_weights(), [np.linspace(-0.3, k, 64) for k in range(6)], cap=None, bias_rule="everywhere")
        rows.save(self.folder / "rows.spdnn")
        got = spdnn.Network.read(self.folder / "rows.spdnn")
        self.assertEqual((got.cap, got.bias_rule), (None, "everywhere"))
        np.testing.assert_array_equal(got.biases, rows.biases)

    def test_official_networks_are_those_of_the_program(self):
        subprocess.run([os.environ["SPDNN"], "generate", "network", "--family", "official", "--neurons", "1024", "--layers", "3",
                        "--out", self.folder / "net.spdnn"], check=True, capture_output=True)
        network, expected = spdnn.Network.official(1024, 3), spdnn.Network.read(self.folder / "net.spdnn")
        self.assertEqual((network.neurons, network.biases, network.cap, network.bias_rule, network.edges),
                         ([1024] * 4, [-0.3] * 3, 32.0, "non-zeros", 3 * 1024 * 32))
        self.assertEqual((expected.biases, expected.cap, expected.bias_rule), (network.biases, network.cap, network.bias_rule))
        for a, b in zip(network.to_scipy(), expected.to_scipy(), strict=True):
            self.assertEqual((a != b).nnz, 0)

    def test_parameters_that_files_do_not_bring(self):
        small_network().save(self.folder / "net")
        with self.assertRaisesRegex(spdnn.UsageError, "bias"):
            spdnn.Network.read(self.folder / "net")
        network = spdnn.Network.read(self.folder / "net", bias=-0.5, bias_rule="everywhere", cap=None, neurons=64)
        self.assertEqual((network.biases, network.bias_rule, network.cap), ([-0.5] * 6, "everywhere", None))
        for cap in (0, -1.0, np.inf, np.nan):
            with self.subTest(cap=cap), self.assertRaisesRegex(spdnn.DataError, "^the cap must be positive$"):
                spdnn.Network.read(self.folder / "net", bias=-0.5, bias_rule="everywhere", cap=cap)

    def test_files_that_are_wrong(self):
        (self.folder / "net").mkdir()
        (self.folder / "net/n2-l1.tsv").write_text("1\t1\t1\n1\t3\t1\n", encoding="ascii")
        with self.assertRaisesRegex(spdnn.DataError, r"n2-l1.tsv:2:3: "):
            spdnn.Network.read(self.folder / "net", bias=0.0)
        for path in (self.folder / "none.spdnn", self.folder / "none", ""):
            with self.subTest(path=path), self.assertRaises(spdnn.Error):
                spdnn.Network.read(path)
        with self.assertRaises(spdnn.Error):
            small_network().save(self.folder / "no/such/folder.spdnn")
        with self.assertRaises(spdnn.UsageError):
            spdnn.Network.official(1000, 2)
        with self.assertRaises(spdnn.UsageError):
            spdnn.Network.read(self.folder / "net", layers=0)

    def test_an_empty_layer_file_is_warned_of(self):
        (self.folder / "n2-l1.tsv").write_text("", encoding="ascii")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            spdnn.Network.read(self.folder / "n2-l1.tsv", bias=0.0)
        self.assertIn("is empty", str(caught[0].message))
        (self.folder / "n2-l2.tsv").write_text("", encoding="ascii")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            spdnn.Network.read(self.folder, bias=0.0)
        self.assertEqual([str(one.message) for one in caught],
                         [f"{self.folder}/n2-l{k}.tsv: the file is empty: a layer without edges" for k in (1, 2)])

    def test_files_that_may_be_cut_off_are_refused_or_warned_of(self):
        layer, images = self.folder / "n2-l1.tsv", self.folder / "sparse-images-2.tsv"
        layer.write_text("1\t1\t1\n2\t2\t2.5", encoding="ascii")  # of 2.5e-01
        images.write_text("1\t2\t1", encoding="ascii")
        with self.assertRaisesRegex(spdnn.DataError, r"n2-l1\.tsv:2:8: the file ends within a line"):
            spdnn.Network.read(layer, bias=0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            network = spdnn.Network.read(layer, bias=0, allow_missing_newline=True)
            self.assertEqual(spdnn.Images.read(images).shape, (1, 2))
        self.assertEqual(network.edges, 2)
        self.assertEqual([str(one.message) for one in caught],
                         [f"{file}: the last line has no newline: the file may be cut off" for file in (layer, images)])
        self.assertEqual([one.filename for one in caught], [__file__] * 2)


class Memory(unittest.TestCase):
    def test_a_large_matrix_is_not_copied(self):
        script = pathlib.Path(__file__).with_name("peak_memory.py")
        run = subprocess.run([sys.executable, "-B", script, "100"], check=True, capture_output=True, text=True)
        given, more = map(int, run.stdout.split())
        self.assertGreaterEqual(given, 100e6)
        self.assertLess(more, 0.15 * given, "2 % are the offsets, and some memory is always in use")


if __name__ == "__main__":
    unittest.main()
