"""Images from NumPy and SciPy and back, and from and to files."""

import gc
import pathlib
import tempfile
import unittest
import warnings
import weakref

import numpy as np
import scipy.sparse
from support import random_images

import spdnn


def pixels(images):
    return images.to_scipy().toarray()


class FromNumPy(unittest.TestCase):
    def test_zeros_and_ones_of_any_kind_become_bits(self):
        for neurons in (1, 31, 64, 65, 130):
            for kind in (bool, np.uint8, np.int64, np.float32, np.float64):
                with self.subTest(neurons=neurons, kind=kind):
                    given = random_images(7, neurons).astype(kind)
                    images = spdnn.Images.from_dense(given)
                    self.assertEqual((images.shape, len(images)), ((7, neurons), 7))
                    self.assertEqual(images.nbytes, 7 * ((neurons + 63) // 64) * 8)
                    np.testing.assert_array_equal(pixels(images), given.astype(np.float32))

        self.assertIn("bits", repr(spdnn.Images.from_dense(np.eye(3, 4000))), "also where rows would be smaller")

    def test_other_numbers_become_rows_of_them(self):
        given = random_images() * np.random.default_rng(1).random((50, 64)) * 2 - 0.5
        for array in (given, np.asfortranarray(given), given[::-1, ::2], given.tolist()):
            np.testing.assert_array_equal(pixels(spdnn.Images.from_dense(array)), np.asarray(array, np.float32))
        for numbers in ([[0, 0.5, 1]], [[0, 1, 2]], [[0, 1, -1]], [[1, 1, 1.5]]):
            images = spdnn.Images.from_dense(numbers)
            np.testing.assert_array_equal(pixels(images), numbers)
            self.assertIn("CSR", repr(images))

    def test_what_are_no_images_is_refused(self):
        for given in ([[1, float("nan")]], [[1, float("inf")]], [[1, 1e300]], [1, 2], np.ones((2, 2, 2)), 1):
            with self.subTest(given=given), self.assertRaises(spdnn.DataError):
                spdnn.Images.from_dense(given)
        for given in ([["a"]], [[1j]], np.array([[None]])):
            with self.subTest(given=given), self.assertRaises(TypeError):
                spdnn.Images.from_dense(given)
        with self.assertRaises(TypeError):
            spdnn.Images()
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # the error says it all
            for given in ([[1, 1e300]], [[1, -1e39]]):
                with self.assertRaises(spdnn.DataError):
                    spdnn.Images.from_dense(given)
        with self.assertRaisesRegex(spdnn.DataError, "^array: expected images x neurons, not 3 dimensions$"):
            spdnn.Images.from_dense(np.ones((2, 2, 2)))

    def test_no_images_and_no_neurons(self):
        self.assertEqual(spdnn.Images.from_dense(np.ones((0, 5))).shape, (0, 5))
        self.assertEqual(spdnn.Images.from_dense(np.ones((5, 0))).shape, (5, 0))


class FromBits(unittest.TestCase):
    def test_whole_words_are_taken_without_a_copy(self):
        given = random_images(9, 128)
        bits = np.packbits(given, axis=1, bitorder="little")
        images = spdnn.Images.from_bits(bits)
        np.testing.assert_array_equal(pixels(images), given)
        bits[:] = 0
        self.assertEqual(pixels(images).sum(), 0, "as the memory is the same")
        alive = weakref.ref(bits)
        del bits, images
        gc.collect()
        self.assertIsNone(alive())

    def test_other_widths_and_forms_are_copied(self):
        for neurons in (1, 8, 63, 65, 120):
            given = random_images(9, neurons)
            bits = np.packbits(given, axis=1, bitorder="little")
            wider = np.pad(bits, ((0, 0), (0, 9)))
            odd = np.empty(bits.size + 1, np.uint8)[1:].reshape(bits.shape)
            odd[:] = bits
            fixed = bits.copy()
            fixed.flags.writeable = False
            for array in (bits, wider, np.asfortranarray(bits), np.repeat(bits, 2, axis=0)[::2], odd, fixed):
                np.testing.assert_array_equal(pixels(spdnn.Images.from_bits(array, neurons)), given)

    def test_wrong_ones_are_refused(self):
        bits = np.full((2, 8), 255, np.uint8)
        first_beyond = np.eye(1, 16, 8, dtype=np.uint8)
        for array, neurons in ((bits, 63), (bits, 7), (bits, 65), (bits, 0), (first_beyond, 64)):
            with self.subTest(neurons=neurons), self.assertRaises((spdnn.DataError, spdnn.UsageError)):
                spdnn.Images.from_bits(array, neurons)
        for array in (bits.astype(np.int8), bits[0], bits.astype(bool)):
            with self.assertRaises(TypeError):
                spdnn.Images.from_bits(array)


class FromSciPy(unittest.TestCase):
    def setUp(self):
        self.given = scipy.sparse.csr_array(random_images() * np.random.default_rng(1).random((50, 64)),
                                            dtype=np.float32)

    def test_rows_are_shared(self):
        images = spdnn.Images.from_scipy(self.given)
        self.assertTrue(np.shares_memory(images.to_scipy().data, self.given.data))
        self.assertTrue(np.shares_memory(images.to_scipy().indices, self.given.indices))
        copied = spdnn.Images.from_scipy(self.given, copy=True)
        self.assertFalse(np.shares_memory(copied.to_scipy().data, self.given.data))

    def test_ones_become_bits_where_they_are_smaller(self):
        ones = scipy.sparse.csr_matrix(random_images(), dtype=np.float64)
        self.assertIn("bits", repr(spdnn.Images.from_scipy(ones)))
        few = scipy.sparse.csr_matrix(np.eye(3, 4000))
        self.assertIn("CSR", repr(spdnn.Images.from_scipy(few)))
        np.testing.assert_array_equal(pixels(spdnn.Images.from_scipy(few)), few.toarray())

    def test_stored_zeros_and_repeated_entries(self):
        self.given.data[::3] = 0
        before = self.given.copy()
        images = spdnn.Images.from_scipy(self.given)
        for part in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(self.given, part), getattr(before, part), "the caller's own")
        np.testing.assert_array_equal(pixels(images), self.given.toarray())
        self.assertEqual(images.to_scipy().nnz, np.count_nonzero(self.given.data))
        twice = scipy.sparse.coo_array(([1, 1, 2], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
        np.testing.assert_array_equal(pixels(spdnn.Images.from_scipy(twice)), [[0, 2], [2, 0]])
        again = scipy.sparse.csr_matrix((np.ones(3, np.float32), np.array([1, 1, 0]), np.array([0, 2, 3])))
        np.testing.assert_array_equal(pixels(spdnn.Images.from_scipy(again)), [[0, 2], [1, 0]])
        np.testing.assert_array_equal(again.indices, [1, 1, 0], "the caller's own")
        again.has_canonical_format = again.has_sorted_indices = True  # as SciPy remembers it of arrays that were changed since
        np.testing.assert_array_equal(pixels(spdnn.Images.from_scipy(again)), [[0, 2], [1, 0]])
        unsorted = scipy.sparse.csr_matrix((np.array([3, 4, 5], np.float32), np.array([1, 0, 0]), np.array([0, 2, 3])))
        unsorted.has_sorted_indices = True
        np.testing.assert_array_equal(pixels(spdnn.Images.from_scipy(unsorted)), [[4, 3], [5, 0]])

    def test_wrong_ones_are_refused(self):
        self.given.indices[3] = 64
        with self.assertRaises(spdnn.DataError):
            spdnn.Images.from_scipy(self.given)
        self.given.indptr[1] = 10**6  # before SciPy looks for stored zeros there
        self.given.data[0] = 0
        with self.assertRaises(spdnn.DataError):
            spdnn.Images.from_scipy(self.given)
        with self.assertRaises(TypeError):
            spdnn.Images.from_scipy(np.eye(2))


class Files(unittest.TestCase):
    def test_what_is_saved_is_read_again(self):
        given = random_images()
        with tempfile.TemporaryDirectory() as folder:
            for name in ("images.spdnn", "sparse-images-64.tsv", "images.mtx", "sparse-images-64.tsv.gz"):
                path = pathlib.Path(folder) / name
                spdnn.Images.from_dense(given).save(path)
                np.testing.assert_array_equal(pixels(spdnn.Images.read(path, neurons=64, images=50)), given)
            with self.assertRaises(spdnn.DataError):
                spdnn.Images.read(pathlib.Path(folder) / "images.spdnn", neurons=65)
            # Images at the end without an entry are there as far as the number says.
            few = scipy.sparse.csr_array(([3.0, 4.0], ([0, 2], [1, 0])), shape=(6, 5), dtype=np.float32)
            path = pathlib.Path(folder) / "sparse-images-5.tsv"
            spdnn.Images.from_scipy(few).save(path)
            for options, shape in (({}, (3, 5)), ({"images": 6}, (6, 5)), ({"images": 4, "neurons": 5}, (4, 5))):
                images = spdnn.Images.read(path, **options)
                self.assertEqual(images.shape, shape)
                self.assertEqual(images.to_scipy()[[0, 2], [1, 0]].tolist(), [3, 4])
            with self.assertRaises(spdnn.DataError):
                spdnn.Images.read(pathlib.Path(folder) / "none.tsv")
            with self.assertRaises(spdnn.DataError):
                spdnn.Images.official(pathlib.Path(folder) / "images.mtx", 1024)


if __name__ == "__main__":
    unittest.main()
