#!/usr/bin/env bash
# Fetches official Sparse DNN Challenge files: inputs, layers and categories of one size and depth. Resumes partial
# downloads, and renames a file into place only when its structure and counts are right. `spdnn generate` makes the same
# inputs and layers in seconds, without a download.
set -euo pipefail

base=https://graphchallenge.s3.amazonaws.com/synthetic/sparsechallenge_2019
out=.
images=60000
degree=32
weight=0.0625
# neurons: non-zeros of the inputs, number of categories (at every depth)
declare -A nonzeros=([1024]=6374505 [4096]=25019051 [16384]=98858913 [65536]=392191985)
declare -A categories=([1024]=1812 [4096]=1801 [16384]=1918 [65536]=1994)

# shellcheck source=data_scripts/download.sh
. "$(dirname "$0")/download.sh"

usage() {
  cat <<END
usage: fetch_official.sh --neurons N --layers L [--out DIR] [--base URL] [--only inputs|network|categories]
  --neurons N   1024, 4096, 16384 or 65536
  --layers L    120, 480 or 1920
  --out DIR     gets sparse-images-N.tsv.gz, neuronN/nN-lK.tsv and neuronN-lL-categories.tsv (default: here)
  --base URL    holds mnist/ and dnn/ (default $base)
Exit codes: 0 all files are complete and correct, 2 usage, 3 a file could not be fetched or is wrong.
END
}

neurons='' layers='' only=''
while [ $# -gt 0 ]; do
  case $1 in
    --help) usage && exit 0 ;;
    --*) [ $# -ge 2 ] || die "$1: no such option, or its value is missing; see --help" 2 ;;
  esac
  case $1 in
    --neurons) neurons=$2 ;;
    --layers) layers=$2 ;;
    --out) out=$2 ;;
    --base) base=$2 ;;
    --only) only=$2 ;;
    *) die "'$1' is no option; see --help" 2 ;;
  esac
  shift 2
done
[ -n "${nonzeros[${neurons:-none}]:-}" ] || die "--neurons: expected 1024, 4096, 16384 or 65536" 2
[[ $layers =~ ^(120|480|1920)$ ]] || die "--layers: expected 120, 480 or 1920" 2
[[ $only =~ ^(|inputs|network|categories)$ ]] || die "--only: expected inputs, network or categories" 2
need_tools curl gzip tar awk find xargs

# The awk programs fail at the first bad line, which they report, or at the end if the count is wrong.
check_inputs() {
  gzip -dc -- "$1" | LC_ALL=C awk -v images=$images -v neurons="$neurons" -v count="${nonzeros[$neurons]}" '
    /^[1-9][0-9]*\t[1-9][0-9]*\t1$/ && $1 <= images && $2 <= neurons { next } # of up to 390 million lines, almost all
    NF != 3 || $1 != int($1) || $1 < 1 || $1 > images || $2 != int($2) || $2 < 1 || $2 > neurons || $3 != 1 {
      print "line " NR ": \"" $0 "\", expected image, neuron, 1"; bad = 1; exit 1 }
    END { if (!bad && NR != count) { print NR " non-zeros, expected " count; exit 1 } }' >&2
}

check_categories() {
  LC_ALL=C awk -v images=$images -v count="${categories[$neurons]}" '
    NF != 1 || $1 != int($1) || $1 <= last || $1 > images {
      print "line " NR ": \"" $0 "\", expected an image above " last + 0; bad = 1; exit 1 }
    { last = $1 }
    END { if (!bad && NR != count) { print NR " categories, expected " count; exit 1 } }' "$1" >&2
}

# Checks all layers of a directory, one per processor at a time. Exit code 255 makes xargs stop at the first wrong
# layer.
check_layers() {
  local layer
  # shellcheck disable=SC2016  # the dollars are awk's
  for ((layer = 1; layer <= layers; ++layer)); do printf '%s\0' "$1/n$neurons-l$layer.tsv"; done |
    LC_ALL=C xargs -0 -P "$(nproc)" -n 1 awk -v neurons="$neurons" -v degree=$degree -v weight=$weight '
      NF != 3 || $1 != int($1) || $1 < 1 || $1 > neurons || $2 != int($2) || $2 < 1 || $2 > neurons || $3 != weight {
        print FILENAME ":" FNR ": \"" $0 "\", expected input, output, " weight; bad = 1; exit 255 }
      ++inputs[$2] > degree { print FILENAME ":" FNR ": more than " degree " inputs"; bad = 1; exit 255 }
      END { if (!bad && NR != neurons * degree) {
              print FILENAME ": " NR " edges, expected " neurons * degree; exit 255 } }' >&2
}

# fetch_file URL FILE CHECK
fetch_file() {
  local url=$1 file=$2 check=$3
  if [ -f "$file" ] && "$check" "$file" 2>/dev/null; then
    say "$file is complete and correct"
    return
  fi
  say "fetching $url"
  if ! { [ -s "$file.part" ] && "$check" "$file.part" 2>/dev/null; }; then
    download "$url" "$file.part" || die "$url could not be fetched; run again to resume"
  fi
  if ! "$check" "$file.part"; then
    rm -f "$file.part"
    die "the file from $url is not the official one; removed"
  fi
  mv -f "$file.part" "$file"
  say "$file is complete and correct"
}

# The archive holds 1920 layers. Unpacks and checks the requested ones and moves them into place together.
fetch_network() {
  local url=$base/dnn/neuron$neurons.tar.gz target=$out/neuron$neurons
  local archive=$target.tar.gz.part unpacked=$target.unpacked layer
  if [ -d "$target" ] && check_layers "$target" 2>/dev/null; then
    say "$target: $layers layers are complete and correct"
    return
  fi
  say "fetching $url"
  if ! { [ -s "$archive" ] && gzip -t "$archive" 2>/dev/null; }; then
    download "$url" "$archive" || die "$url could not be fetched; run again to resume"
  fi
  rm -rf "$unpacked"
  mkdir "$unpacked"
  if ! { for ((layer = 1; layer <= layers; ++layer)); do echo "n$neurons-l$layer.tsv"; done |
    tar -xzf "$archive" -C "$unpacked" --no-anchored --files-from=- &&
    mkdir "$unpacked/layers" && find "$unpacked" -name "n$neurons-l*.tsv" -exec mv -t "$unpacked/layers" {} + &&
    check_layers "$unpacked/layers"; }; then
    rm -rf "$unpacked" "$archive"
    die "the archive from $url does not hold the official network; removed"
  fi
  rm -rf "$target"
  mv "$unpacked/layers" "$target"
  rm -rf "$unpacked" "$archive"
  say "$target: $layers layers are complete and correct"
}

mkdir -p "$out"
if [[ $only =~ ^(|inputs)$ ]]; then
  fetch_file "$base/mnist/sparse-images-$neurons.tsv.gz" "$out/sparse-images-$neurons.tsv.gz" check_inputs
fi
if [[ $only =~ ^(|categories)$ ]]; then
  fetch_file "$base/dnn/neuron$neurons-l$layers-categories.tsv" "$out/neuron$neurons-l$layers-categories.tsv" \
    check_categories
fi
if [[ $only =~ ^(|network)$ ]]; then fetch_network; fi
