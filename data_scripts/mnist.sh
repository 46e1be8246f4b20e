#!/usr/bin/env bash
# Prints the path of MNIST's training images, or nothing if there are none: MNIST=FILE, else the file that
# fetch_mnist.sh puts into build/data, else ../shared/data beside the repository. usage: [MNIST=FILE] mnist.sh
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
name=train-images-idx3-ubyte.gz
if [ -n "${MNIST:-}" ]; then
  [ -r "$MNIST" ] || { echo "MNIST=$MNIST is not a readable file" >&2 && exit 3; }
  echo "$MNIST"
  exit 0
fi
for file in "$root/build/data/$name" "$root/../shared/data/mnist/$name"; do
  [ ! -r "$file" ] || { realpath "$file" && exit 0; }
done
