#!/usr/bin/env bash
# Fetches MNIST's 60000 training images (LeCun, Cortes, Burges), the source of the official inputs. Tries the mirrors in
# turn, resumes partial downloads, and renames the file into place only when its checksum is right.
set -euo pipefail

mirrors=(
  https://ossci-datasets.s3.amazonaws.com/mnist/train-images-idx3-ubyte.gz
  https://storage.googleapis.com/cvdf-datasets/mnist/train-images-idx3-ubyte.gz
  http://yann.lecun.com/exdb/mnist/train-images-idx3-ubyte.gz
)
# The digest of the unpacked file, because mirrors compress it differently (its MD5 is 6bbc9ace898e44ae57da46a324031adb).
sha256=ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db
out=$(cd "$(dirname "$0")/.." && pwd)/build/data/train-images-idx3-ubyte.gz # where mnist.sh looks

# shellcheck source=data_scripts/download.sh
. "$(dirname "$0")/download.sh"

usage() {
  cat <<END
usage: fetch_mnist.sh [--out FILE] [--mirror URL]... [--sha256 HEX]
  --out FILE     the output (default $out,
                 where the demo, tests and benchmarks look for it)
  --mirror URL   a mirror to use instead of the built-in ones; may be repeated
  --sha256 HEX   the expected digest of the unpacked file
Exit codes: 0 the file is complete and correct, 2 usage, 3 no mirror had it.
END
}

own_mirrors=()
while [ $# -gt 0 ]; do
  case $1 in
    --help) usage && exit 0 ;;
    --*) [ $# -ge 2 ] || die "$1: no such option, or its value is missing; see --help" 2 ;;
  esac
  case $1 in
    --out) out=$2 ;;
    --mirror) own_mirrors+=("$2") ;;
    --sha256) sha256=$2 ;;
    *) die "'$1' is no option; see --help" 2 ;;
  esac
  shift 2
done
if [ ${#own_mirrors[@]} -gt 0 ]; then mirrors=("${own_mirrors[@]}"); fi
need_tools curl gzip sha256sum cksum

is_right() { [ "$(gzip -dc -- "$1" 2>/dev/null | sha256sum | cut -d' ' -f1)" = "$sha256" ]; }

if [ -f "$out" ] && is_right "$out"; then
  say "$out is complete and correct"
  exit 0
fi
mkdir -p "$(dirname "$out")"
for mirror in "${mirrors[@]}"; do
  # One partial file per mirror, because mirrors compress the file differently.
  part=$out.$(printf '%s' "$mirror" | cksum | cut -d' ' -f1).part
  say "fetching $mirror"
  if { [ -s "$part" ] && is_right "$part"; } || download "$mirror" "$part"; then
    if is_right "$part"; then
      mv -f "$part" "$out"
      rm -f "$out".*.part
      say "$out is complete and correct"
      exit 0
    fi
    say "the file from $mirror has the wrong checksum; removed"
    rm -f "$part"
  else
    say "$mirror could not be fetched"
  fi
done
die "no mirror had the file; try again, which resumes partial downloads, or name another by --mirror URL"
