#!/usr/bin/env bash
# Runs official networks on a GPU and appends a JSON line a run to FILE: what results/ is made of. Networks are generated
# by the runs themselves, images once per size. Time on a device is scarce: choose groups, sizes and variants, bound every
# run and all of them. It may be killed at any time: what is in FILE is whole.
#
# usage: official_gpu.sh [OPTIONS] FILE GROUP...
#   planned      default passes, 12 official configurations, 20 trials
#   unsaturated  the same without the passes saturated and identical
#   dead         --reduce dead, 120 layers, resident, spmm_rows, spmm_merge, cusparse_spmm and cublas_dense, 10 trials
#   spgemm       --reduce dead, the three SpGEMM methods, from 4 layers up to as many as fit the limit
# options: --spdnn PROGRAM (build/spdnn)   --mnist IDX (otherwise synthetic digits, which nothing official verifies)
#   --scratch DIRECTORY (build/bench-gpu; keeps the images)   --neurons LIST   --layers LIST   --variants LIST
#   --limit SECONDS (60; of one run)   --budget SECONDS (1500; no run begins later)   --trials N   --dry-run
# Exit status: 0; 1 where categories were wrong or a run failed; 2 usage.
set -uo pipefail

usage() {
  echo "official_gpu.sh: $1; see the head of the file" >&2
  exit 2
}

spdnn=build/spdnn mnist='' scratch=build/bench-gpu limit=60 budget=1500 wanted_trials='' dry=''
neurons_given='' layers_given='' variants_given=''
while [[ ${1:-} == --* ]]; do
  case $1 in
    --dry-run) dry=yes && shift && continue ;;
    --spdnn | --mnist | --scratch | --neurons | --layers | --variants | --limit | --budget | --trials) ;;
    *) usage "'$1' is no option" ;;
  esac
  [ $# -ge 2 ] || usage "$1 needs a value"
  case $1 in
    --spdnn) spdnn=$2 ;;
    --mnist) mnist=$2 ;;
    --scratch) scratch=$2 ;;
    --neurons) neurons_given=${2//,/ } ;;
    --layers) layers_given=${2//,/ } ;;
    --variants) variants_given=${2//,/ } ;;
    --limit) limit=$2 ;;
    --budget) budget=$2 ;;
    --trials) wanted_trials=$2 ;;
  esac
  shift 2
done
[ $# -ge 2 ] || usage "it needs a FILE and a GROUP"
file=$1
shift
for group in "$@"; do
  [[ $group =~ ^(planned|unsaturated|dead|spgemm)$ ]] || usage "'$group' is none of planned, unsaturated, dead, spgemm"
done
[[ $limit =~ ^[0-9]+$ && $budget =~ ^[0-9]+$ && $wanted_trials =~ ^[0-9]*$ ]] || usage "limits and trials are whole numbers"
[ -z "$mnist" ] || [ -r "$mnist" ] || { echo "official_gpu.sh: $mnist is not a readable file" >&2; exit 3; }
status=0
line=$scratch/line.json
mkdir -p "$scratch" "$(dirname "$file")" || exit 3

# Images of a size, made once. Generation is no part of a run, so that its `total` is that of a program with a file.
images_of() {
  images=$scratch/images-$1${mnist:+-official}.spdnn
  local make=("$spdnn" generate inputs --family digits --neurons "$1" --images 60000 --seed 1 --out "$images")
  if [ -n "$mnist" ]; then
    make=("$spdnn" generate inputs --family official --neurons "$1" --mnist "$mnist" --out "$images")
  fi
  if [ -n "$dry" ]; then
    echo "${make[*]}"
  elif [ ! -e "$images" ]; then
    "${make[@]}" >&2 || { echo "official_gpu.sh: no images of $1 neurons" >&2; exit 3; }
  fi
}

# infer NEURONS LAYERS TRIALS VARIANT PASSES: one run; its line goes to $line. 0: done, 124: over the limit, else: failed.
# What has no official categories (other depths, other images) is compared with the reference on a sample.
infer() {
  local command=("$spdnn" infer --generate official --neurons "$1" --layers "$2" --inputs "$images" --trials "$3"
    --variant "$4" --reduce "$5" --json "$line" --progress never)
  if [ -z "$mnist" ] || [[ ! $2 =~ ^(120|480|1920)$ ]]; then command+=(--verify 64); fi
  if [ -n "$dry" ]; then
    echo "timeout $limit ${command[*]}"
    return 0
  fi
  if [ "$SECONDS" -ge "$budget" ]; then
    echo "budget of $budget s used up: $1 x $2 $4 and later are not run" >&2
    exit "$status"
  fi
  rm -f "$line"
  timeout -k 5 "$limit" "${command[@]}" >"$scratch/run.log" 2>&1
  local code=$?
  case $code in
    0 | 1) [ $code -eq 0 ] || status=1 ;;
    124 | 137) echo "$1 x $2 $4 $5: more than $limit s" && return 124 ;;
    2) echo "$1 x $2 $4 $5: not taken: $(tail -n 1 "$scratch/run.log")" && return 2 ;;
    *) echo "$1 x $2 $4 $5: $(tail -n 1 "$scratch/run.log")" && status=1 && return "$code" ;;
  esac
  [ -s "$line" ] || { echo "$1 x $2 $4 $5: no line: $(tail -n 1 "$scratch/run.log")"; status=1; return 3; }
}

median() { sed -nE 's/.*"infer":\{[^}]*"median":([0-9.e+-]+).*/\1/p' "$line"; }

# Appends the line of the last run and shows it.
keep() {
  [ -z "$dry" ] || return 0
  cat "$line" >>"$file"
  echo "$1 x $2 $4 $5: $(median) s, $3 trials, $(grep -E '^verdict' "$scratch/run.log" | cut -c18-60)"
}

# once NEURONS LAYERS TRIALS VARIANT PASSES
once() {
  infer "$@" && keep "$@"
}

# The same for runs that may be long: one trial tells how many more fit into a third of the limit.
adaptive() {
  infer "$1" "$2" 1 "$4" "$5" || return
  [ -z "$dry" ] || return 0
  local trials
  trials=$(awk -v s="$(median)" -v most="$3" -v limit="$limit" \
    'BEGIN { n = s > 5 ? 1 : int(limit / 3 / s); print n < 1 ? 1 : (n > most ? most : n) }')
  if [ "$trials" -eq 1 ]; then
    keep "$1" "$2" 1 "$4" "$5"
  else
    once "$1" "$2" "$trials" "$4" "$5"
  fi
}

# Deeper and deeper, as long as the time that the last layers took says that the next depth will fit the limit: later
# layers have fewer images alive, or as many. The line of every depth is kept.
climb() {
  local neurons=$1 variant=$2 layers more=1 before=0 before_s=0 seconds=0 expected
  local depths='4 12 120 480 1920'
  [ "$neurons" -lt 65536 ] || depths='4 12 120'
  for layers in ${layers_given:-$depths}; do
    if [ -z "$dry" ] && [ "$before" -gt 0 ]; then
      expected=$(awk -v s="$seconds" -v p="$before_s" -v l="$before" -v m="$more" -v n="$layers" \
        'BEGIN { printf "%.0f", s + (s > p ? s - p : 0) / m * (n - l) }')
      if [ $((expected * 5 / 4)) -gt "$limit" ]; then
        echo "$neurons x $layers $variant dead: not run, it would take about $expected s a trial"
        return
      fi
      before_s=$seconds
    fi
    adaptive "$neurons" "$layers" "${wanted_trials:-10}" "$variant" dead || return
    [ -n "$dry" ] || seconds=$(median)
    more=$((layers - before))
    before=$layers
  done
}

run_group() {
  local neurons layers variant run passes=all
  [ "$1" = planned ] || passes=twins,unused,dead
  for neurons in ${neurons_given:-1024 4096 16384 65536}; do
    images_of "$neurons"
    case $1 in
      planned | unsaturated)
        for layers in ${layers_given:-120 480 1920}; do
          for variant in ${variants_given:-auto}; do
            once "$neurons" "$layers" "${wanted_trials:-20}" "$variant" "$passes"
          done
        done
        ;;
      dead)
        for variant in ${variants_given:-resident spmm_rows spmm_merge cusparse_spmm cublas_dense}; do
          # A dense layer of 65536 neurons has 5e14 operations for all images: minutes for the network.
          [ "$neurons $variant" != "65536 cublas_dense" ] || [ -n "$variants_given" ] || continue
          run=once
          [ "$variant" != cublas_dense ] || run=adaptive
          for layers in ${layers_given:-120}; do
            $run "$neurons" "$layers" "${wanted_trials:-10}" "$variant" dead
          done
        done
        ;;
      spgemm)
        for variant in ${variants_given:-filtered buffered unbuffered}; do
          climb "$neurons" "cusparse_spgemm_${variant#cusparse_spgemm_}"
        done
        ;;
    esac
  done
}

for group in "$@"; do
  run_group "$group"
done
exit "$status"
