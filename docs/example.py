"""A network and images made in memory, planned, inferred and verified from Python, and a plot of what came of the images.
Reads like a notebook: each part can be run separately after the previous ones. usage: example.py [PLOT.svg]"""

# %% A random network: for each layer a SciPy matrix of outputs x inputs.
import sys

import numpy as np
import scipy.sparse

import spdnn

NEURONS, LAYERS, IMAGES, BIAS = 256, 24, 2000, -0.3
random = np.random.default_rng(seed=7)
weights = [scipy.sparse.random(NEURONS, NEURONS, density=0.06, format="csr", dtype=np.float32, random_state=random,
                               data_rvs=lambda n: random.normal(0.14, 0.06, n)) for _ in range(LAYERS)]
network = spdnn.Network(weights, bias=BIAS)
print(network)

# %% Images of zeros and ones, some of them dark and some bright.
brightness = random.uniform(0.0, 0.3, size=(IMAGES, 1))
pixels = random.random((IMAGES, NEURONS)) < brightness
images = spdnn.Images.from_dense(pixels)
print(images)

# %% The plan, which omits redundant work, is made once for any number of inferences.
plan = spdnn.plan(network)
print(plan)

# %% Infer, with every image recomputed by the fp64 reference.
outcome = spdnn.infer(plan, images, trials=3, verify="all")
print(outcome)

# %% The same in NumPy and SciPy.
y = pixels.astype(np.float64)
for w in weights:
    z = (w.astype(np.float64) @ y.T).T
    y = np.clip(np.where(z != 0, z + BIAS, 0), 0, 32)
same = np.array_equal(outcome.categories, np.flatnonzero(y.any(axis=1)))
print(f"{len(outcome.categories)} categories,", "the same as NumPy's" if same else "others than NumPy's")

# %% A plot of the images that are alive after each layer.
import matplotlib  # noqa: E402

if len(sys.argv) > 1:
    matplotlib.use("Agg")  # writes files and opens no window
import matplotlib.pyplot as plt  # noqa: E402

plt.plot(np.arange(1, LAYERS + 1), outcome.alive, marker="o")
plt.xlabel("layer")
plt.ylabel("images alive")
plt.ylim(bottom=0)
plt.title(f"{outcome.verdict}: {len(outcome.categories)} of {IMAGES} images are categories")
if len(sys.argv) > 1:
    plt.savefig(sys.argv[1])
else:
    plt.show()
