#!/usr/bin/env bash
# Outputs of onnxruntime for seeded images, in the form that tests keep (tests/support/ocr_classifier.json):
#
#   tests/peers/onnxruntime_outputs.sh MODEL SHAPE SEED >FILE.json
#
# Needs jq, node and onnxruntime: make deps.
set -euo pipefail
if [ $# -ne 3 ]; then
  echo "usage: $0 MODEL SHAPE SEED >FILE.json" >&2
  exit 2
fi
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${SPDNN:-$root/build/spdnn}" generate tensors --shape "$2" --seed "$3" --out "$folder/images.npy" >/dev/null
export NODE_PATH=${NODE_PATH:+$NODE_PATH:}$root/build/onnxruntime
printf 'load\t%s\t%s\noutputs\n' "$1" "$folder/images.npy" | node "$root/src/bench/onnxruntime.js" 1 |
  jq -n --arg model "$(basename "$1")" --arg sha256 "$(sha256sum <"$1" | cut -d ' ' -f 1)" --arg shape "$2" --argjson seed "$3" \
    'input as $started | input | input | .outputs[0] |
     {model: $model, sha256: $sha256, made_by: "onnxruntime-node \($started.version)",
      images: {made_by: "spdnn generate tensors", shape: $shape, seed: $seed}, shape: .shape, values: .values}'
