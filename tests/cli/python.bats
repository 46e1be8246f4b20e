#!/usr/bin/env bats
# The Python package: its tests in tests/python, the example of docs/, and installing it without a network.

repository=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)

setup() {
  package=$(dirname "$(realpath "$SPDNN")")/python
  [ -e "$package/spdnn/_core.so" ] || skip "the Python package is not beside the program"
  [[ $package != */asan*/python ]] || skip "AddressSanitizer has to be in the interpreter, too"
  export PYTHONPATH=$package PYTHONDONTWRITEBYTECODE=1
  PYTHON=${PYTHON:-/usr/bin/python3}
  cd "$BATS_TEST_TMPDIR" || return 1
}

# needs MODULE: skips where one of Debian's Python modules is missing. On CI all are there, or the test fails.
needs() {
  [ -n "${CI:-}" ] || [ -e "/usr/lib/python3/dist-packages/$1" ] || skip "needs $1: make deps"
}

# passes FILE: all of the tests in a file of tests/python.
passes() {
  run "$PYTHON" -W error::ResourceWarning "$repository/tests/python/$1" -v
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "$output" =~ Ran\ [1-9] ]]
}

@test "python: arguments and names of files" {
  passes arguments_test.py
}

@test "python: networks" {
  passes networks_test.py
}

@test "python: images" {
  passes images_test.py
}

@test "python: plans, inferences, progress and Ctrl-C" {
  passes infer_test.py
}

@test "python: models, images of any array or tensor, logits" {
  passes models_test.py
}

@test "python: sessions of models and of networks" {
  passes sessions_test.py
}

@test "python: threads that wait" {
  passes waits_test.py
}

@test "python: result lines" {
  passes results_test.py
}

@test "python -m spdnn is the program, with its exit codes" {
  [ "$("$PYTHON" -m spdnn --version)" = "$("$package/spdnn/spdnn" --version)" ]
  run "$PYTHON" -m spdnn infre
  [ "$status" -eq 2 ]
  [ "$output" = "$("$SPDNN" infre 2>&1)" ]
}

@test "python: the example makes a network of SciPy, verifies it and plots" {
  needs matplotlib
  run "$PYTHON" "$repository/docs/example.py" alive.svg
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "$output" == *"PASSED"*"the same as NumPy's"* ]]
  grep -q "<svg" alive.svg
}

@test "python: the example of a model shows its sparsity, and verifies a run" {
  "$PYTHON" "$repository/tests/support/toy_model.py" .
  run "$PYTHON" "$repository/docs/example_model.py" model.safetensors
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "$output" == *"convolution"*"50.00 % zeros"*"PASSED"* ]]
}

@test "python: pip installs it into a virtual environment without a network, and it has the build's version" {
  # pip alone, from Debian's wheel: venv would install setuptools, too, which takes most of this test's time.
  "$PYTHON" -m venv --without-pip --system-site-packages venv
  "$PYTHON" -m zipfile -e /usr/share/python-wheels/pip-*.whl venv/lib/python3*/site-packages
  unset PYTHONPATH
  out=$(basename "$(dirname "$package")")
  [ "$package" = "$repository/build/$out/python" ] || skip "the program is not in the build folder of these tests"
  options=(--config-settings "BUILD=${out%%-*}" --config-settings "GPU=$([[ $out == *-cuda* ]] && echo 1 || echo 0)")
  PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1 venv/bin/python -m pip install "${options[@]}" "$repository/python" >log 2>&1 || {
    cat log
    return 1
  }
  run venv/bin/python -c 'import spdnn; print(spdnn.__file__, spdnn.__version__, spdnn.plan(spdnn.Network([], 0.0)))'
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "$output" == "$PWD/venv/"* ]]
  [[ "$("$SPDNN" --version)" == *"$(cut -d' ' -f2 <<<"$output")"* ]]
  # Models run with the files beside the package's module, wherever the interpreter is, and from any folder.
  "$PYTHON" "$repository/tests/support/toy_model.py" .
  mkdir empty
  run env -C empty ../venv/bin/python -c '
import numpy, spdnn
model = spdnn.load_model("../model.safetensors")
print(model.infer(numpy.load("../images.npy"), variant="conv_dense", verify="all"))'
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "$output" == *"conv_dense (fp32"*PASSED* ]]
  # So does the command line, which pip puts into the environment.
  [ "$(env -C empty ../venv/bin/spdnn --version)" = "$("$SPDNN" --version)" ]
  [ "$(env -C empty ../venv/bin/python -m spdnn --version)" = "$("$SPDNN" --version)" ]
  run env -C empty ../venv/bin/spdnn infer --model ../model.safetensors --inputs ../images.npy --verify all
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "$output" == *PASSED* ]]
  run env -C empty ../venv/bin/spdnn infer --model ../model.safetensors --inputs ../images.npy --variant conv_dense
  echo "$output"
  [ "$status" -eq 0 ]
  run env -C empty ../venv/bin/spdnn infre
  [ "$status" -eq 2 ]
  [ "$(venv/bin/python -c 'from importlib.metadata import requires; print(*requires("spdnn"))')" = "numpy scipy" ]
  venv/bin/python - <<'END'
import base64, hashlib, importlib.metadata, pathlib, sys
import spdnn
installed = importlib.metadata.distribution("spdnn")
assert installed.version == spdnn.__version__
python = f"cp{sys.version_info.major}{sys.version_info.minor}"
assert "Root-Is-Purelib: false" in installed.read_text("WHEEL") and f"Tag: {python}-{python}-linux_" in installed.read_text("WHEEL")
listed = {str(file): file for file in installed.files if file.hash and "__pycache__" not in str(file)}
folder = pathlib.Path(spdnn.__file__).parent
assert {f"spdnn/{file.name}" for file in folder.iterdir() if file.is_file()} <= listed.keys()
for file in listed.values():
    content = file.locate().read_bytes()
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    assert (file.hash.mode, file.hash.value, file.size) == ("sha256", digest, len(content)), file
END
  venv/bin/python -m pip uninstall -y spdnn >/dev/null
  run venv/bin/python -c 'import spdnn'
  [[ "$output" == *"No module named 'spdnn'"* ]]
}

@test "python: masks, rounds and exports of pruning, without PyTorch" {
  passes prune_masks_test.py
}

@test "python: pruning in PyTorch, and its example with few images" {
  [ -e /usr/lib/python3/dist-packages/torch ] || skip "needs Debian's python3-torch, which nothing installs"
  passes prune_test.py
  "$PYTHON" - <<'END'
import gzip, numpy
random = numpy.random.default_rng(1)
for name, count in (("train", 256), ("t10k", 100)):
    gzip.open(f"{name}-images-idx3-ubyte.gz", "wb").write(numpy.array([2051, count, 28, 28], ">u4").tobytes() + random.bytes(count * 784))
    gzip.open(f"{name}-labels-idx1-ubyte.gz", "wb").write(
        numpy.array([2049, count], ">u4").tobytes() + random.integers(0, 10, count, numpy.uint8).tobytes())
END
  run "$PYTHON" "$repository/docs/example_prune.py" . out --images 256 --dense-images 128 --threads 1
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "$output" == *"95.00 % zeros" ]]
  "$SPDNN" inspect out/pruned.onnx >/dev/null
  "$SPDNN" inspect out/pruned/model.safetensors >/dev/null
}
