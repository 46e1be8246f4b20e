#!/usr/bin/env bash
# Prints where MNIST's training images are, or nothing where they are not at hand: MNIST=FILE, or else build/data, where
# fetch_mnist.sh puts them, or else the data that is shared beside the repository. usage: [MNIST=FILE] mnist.sh
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
