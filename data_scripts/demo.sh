#!/usr/bin/env bash
# The demo: makes the official 1024 x 120 network and images, infers and verifies. The images are the 60000 official
# ones if MNIST is available (mnist.sh), otherwise 10000 synthetic digits. usage: [MNIST=FILE] demo.sh SPDNN OUT
set -euo pipefail
spdnn=$1
out=$2
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"

mnist=$("$here/mnist.sh")

run() {
  printf '\n$ spdnn %s\n' "$*"
  "$spdnn" "$@"
}

run generate network --family official --neurons 1024 --layers 120 --out "$out/network.spdnn"
if [ -n "$mnist" ]; then
  echo "images: the official ones, made from $mnist"
  run generate inputs --family official --neurons 1024 --mnist "$mnist" --out "$out/images.spdnn"
  verify=()
else
  echo "images: synthetic digits (MNIST was not found; data_scripts/fetch_mnist.sh fetches it)"
  run generate inputs --family digits --neurons 1024 --images 10000 --out "$out/images.spdnn"
  verify=(--verify all)
fi
run infer --network "$out/network.spdnn" --inputs "$out/images.spdnn" --trials 5 --compare "${verify[@]}" \
  --categories "$out/categories.tsv" --json "$out/report.json"
printf '\nWritten to %s: the network, the images, categories.tsv and report.json.\n' "$out"
