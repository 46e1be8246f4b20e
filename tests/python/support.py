"""Common parts of the tests of the Python package: small networks, an inference in NumPy, and signals."""

import gc
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import numpy as np
import scipy.sparse

import spdnn

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
_found = subprocess.run([REPOSITORY / "data_scripts/mnist.sh"], check=True, capture_output=True, text=True).stdout
MNIST = pathlib.Path(_found.strip() or "/nonexistent")


def enter_folder_of_toy(case):
    """Makes the toy model of tests/support in an empty folder, the working directory until the class's tests end."""
    folder = tempfile.TemporaryDirectory()
    case.addClassCleanup(folder.cleanup)
    case.addClassCleanup(os.chdir, os.getcwd())
    os.chdir(folder.name)
    subprocess.run([sys.executable, REPOSITORY / "tests/support/toy_model.py", "."], check=True)


def random_weights(neurons=64, layers=6, seed=1, density=0.15):
    """Matrices (outputs, inputs) of weights that are fp32 and differ."""
    random = np.random.default_rng(seed)
    return [scipy.sparse.random(neurons, neurons, density, "csr", np.float32, random,
                                lambda n: random.normal(0.12, 0.1, n)) for _ in range(layers)]


def random_images(images=50, neurons=64, seed=2):
    return np.random.default_rng(seed).random((images, neurons)) < 0.2


def small_network(bias=-0.1, **options):
    return spdnn.Network(random_weights(), bias, **options)


def activations_of(weights, images, bias, cap=32.0, everywhere=False):
    """The activations after the last layer, by the challenge's definition, in fp64."""
    y = np.asarray(images, dtype=np.float64)
    for k, w in enumerate(weights):
        z = y @ w.toarray().astype(np.float64).T
        b = bias[k] if isinstance(bias, list) else bias
        z = z + b if everywhere else np.where(z != 0, z + b, 0)
        y = np.clip(z, 0, cap)
    return y


def categories_of(*network_and_images, **options):
    return np.flatnonzero(activations_of(*network_and_images, **options).any(axis=1))


def resident_bytes():
    """Memory of this process after a garbage collection."""
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as status:
        return int(status.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def interrupt(case, call):
    """Runs `call` until Python has handled three signals meanwhile, as for Ctrl-C. There is no progress function, in
    which Python would handle them anyway; a call that handles none notices one only at its end."""
    handled = []

    def handle(number, frame):
        handled.append(number)
        if len(handled) == 3:
            signal.default_int_handler(number, frame)

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    try:
        with case.assertRaises(KeyboardInterrupt):
            call()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    case.assertLess(len(handled), 8, "the call ends soon")
