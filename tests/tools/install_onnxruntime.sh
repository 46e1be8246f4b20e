#!/usr/bin/env bash
# Installs onnxruntime for node into a folder by npm, without running what the packages would run. Where that is not
# possible, it says why and leaves nothing; tests that need onnxruntime then skip, except on CI, where they fail.
# usage: install_onnxruntime.sh FOLDER NAME@VERSION...
set -euo pipefail
folder=$1
shift
rm -rf "$folder"
if ! command -v node npm >/dev/null || ! npm --version >/dev/null; then
  echo "note: no onnxruntime for the tests, as node or npm is missing: make deps" >&2
  exit 0
fi
part=$(mktemp -d "${folder%/*}/onnxruntime.XXXXXX")
trap 'rm -rf "$part"' EXIT
if ! npm pack --loglevel=error --ignore-scripts --fetch-retries=1 --fetch-retry-mintimeout=1000 --pack-destination "$part" "$@" >"$part/log" 2>&1; then
  echo "note: no onnxruntime for the tests, as npm cannot fetch $*: $(grep -m 1 -i "^npm err" "$part/log")" >&2
  exit 0
fi
mkdir "$part/made"
for archive in "$part"/*.tgz; do
  name=$(basename "$archive")
  name=${name%-*}
  mkdir "$part/made/$name"
  # Not the libraries for other systems.
  tar xzf "$archive" -C "$part/made/$name" --strip-components=1 --exclude='*/darwin' --exclude='*/win32'
done
mv "$part/made" "$folder"
