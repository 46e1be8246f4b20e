#!/usr/bin/env bash
# Submits cluster jobs and lists results; see usage below. The settings are those of site.sh and of the files that common.sh
# reads after it.
set -euo pipefail
me=submit.sh
jobs=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
# shellcheck source=jobs/common.sh
. "$jobs/common.sh"
# shellcheck source=jobs/table.sh
. "$jobs/table.sh"

usage() {
  cat <<END
usage: $0 infer [OPTIONS] -- INFER_OPTION...   runs one problem or model on all nodes of a job
       $0 sweep [OPTIONS] [-- INFER_OPTION...] runs configurations x variants, one array element each
       $0 table [--wait]                       lists results, failures and missing elements
options:
  --nodes N            nodes of a job (1)
  --tasks-per-node K   ranks on each node (1)
  --time LIMIT         time limit of a job (SPDNN_TIME_LIMIT)
  --name NAME          infer: name of the result; default infer-JOB
  --configs LIST       sweep: NEURONSxLAYERS,...; default the 12 official ones
  --variants LIST      sweep: engines, see spdnn variants; default auto
  --at-once K          sweep: number of elements that may run at a time
  --dry-run            prints the sbatch command and submits nothing
  --wait               table: waits until none of these jobs is queued or running
INFER_OPTION is any option of spdnn infer except --json and --checkpoint, which the job adds; with --model it adds --json
alone, as models have no checkpoints. An element of a sweep with a result of the same commit and configuration
is skipped; one with a checkpoint continues from it.
Results, checkpoints and logs are in $SPDNN_RESULTS. Settings: $settings
Exit codes: 0 success; 1 the table lists failures or missing elements; 2 usage; 3 data; 4 Slurm refused.
END
}

# Reads the options of infer and sweep; arguments after -- go to infer_options.
nodes=1 tasks=1 name='' configs='' variants=auto at_once='' dry='' infer_options=()
read_options() {
  local command=$1
  shift
  while [ $# -gt 0 ]; do
    case $1 in
      --) infer_options=("${@:2}") && break ;;
      --dry-run) dry=yes && shift && continue ;;
      --nodes | --tasks-per-node | --time) ;;
      --name) [ "$command" = infer ] || die 2 "$1 belongs to infer; see --help" ;;
      --configs | --variants | --at-once) [ "$command" = sweep ] || die 2 "$1 belongs to sweep; see --help" ;;
      *) die 2 "'$1' is no option of $command; options of spdnn infer follow --; see --help" ;;
    esac
    [ $# -ge 2 ] || die 2 "$1 needs a value"
    case $1 in
      --nodes) nodes=$2 ;;
      --tasks-per-node) tasks=$2 ;;
      --time) SPDNN_TIME_LIMIT=$2 ;;
      --name) name=$2 ;;
      --configs) configs=$2 ;;
      --variants) variants=$2 ;;
      --at-once) at_once=$2 ;;
    esac
    shift 2
  done
  [[ $nodes =~ ^[1-9][0-9]*$ && $tasks =~ ^[1-9][0-9]*$ ]] || die 2 "--nodes and --tasks-per-node are whole numbers above 0"
  [[ $at_once =~ ^([1-9][0-9]*)?$ ]] || die 2 "--at-once is a whole number above 0"
  # A result whose name begins with a dot would be hidden from the table.
  [[ $name =~ ^([A-Za-z0-9_][A-Za-z0-9._-]*)?$ ]] ||
    die 2 "--name $name: expected letters, digits, '.', '_' and '-', of which '.' and '-' are not the first"
  [[ ! $name =~ ^[0-9]+x[0-9]+- ]] || die 2 "--name $name: elements of sweeps have names that begin so; expected another"
  local option
  for option in "${infer_options[@]}"; do
    case $option in
      --model | --model=*) [ "$command" = infer ] || die 2 "${option%%=*} belongs to infer; a sweep is one of official networks" ;;
      --json | --json=* | --checkpoint | --checkpoint=*) die 2 "${option%%=*} is the job's own; the result is in $SPDNN_RESULTS" ;;
    esac
  done
}

# Prints a command with shell quoting.
show() {
  local word words=()
  for word in "$@"; do
    [[ $word =~ ^[A-Za-z0-9_@%+=:,./-]+$ ]] || word=$(printf '%q' "$word")
    words+=("$word")
  done
  echo "${words[*]}"
}

make_results() {
  local said
  said=$(LC_ALL=C mkdir -p "$SPDNN_RESULTS/logs" 2>&1) || die 3 "SPDNN_RESULTS in $settings: ${said#mkdir: }"
  [[ -w $SPDNN_RESULTS && -w $SPDNN_RESULTS/logs ]] ||
    die 3 "SPDNN_RESULTS in $settings: $SPDNN_RESULTS and logs in it must be writable, and are not"
}

# submit KIND OFFSET LOG_NAME SBATCH_OPTION... -- ARGUMENT...: submits KIND.sbatch and sets `job`. Array index + OFFSET is
# the line of sweep.list. The job's comment holds the directory of results and OFFSET, for queued().
submit() {
  local kind=$1 offset=$2 log_name=$3 command
  shift 3
  command=(sbatch --parsable --requeue --open-mode=append --job-name="spdnn-$kind" --comment="$SPDNN_RESULTS +$offset"
    --output="${SPDNN_RESULTS//%/%%}/logs/%x-$log_name.log" --nodes="$nodes" --ntasks-per-node="$tasks"
    --cpus-per-task="$SPDNN_CPUS_PER_TASK" --time="$SPDNN_TIME_LIMIT" --signal="B:USR1@$SPDNN_SECONDS_TO_STOP")
  [ -z "$SPDNN_PARTITION" ] || command+=(--partition="$SPDNN_PARTITION")
  [ -z "$SPDNN_ACCOUNT" ] || command+=(--account="$SPDNN_ACCOUNT")
  [ -z "$SPDNN_QOS" ] || command+=(--qos="$SPDNN_QOS")
  [ "$SPDNN_GPUS" = 0 ] || command+=("${SPDNN_GPU_REQUEST:---gpus-per-task=$SPDNN_GPUS}")
  command+=("${SPDNN_SBATCH_OPTIONS[@]}")
  while [ "$1" != -- ]; do command+=("$1") && shift; done
  shift
  command+=("$jobs/$kind.sbatch" "$jobs" "$SPDNN_SITE" "$@")
  if [ -n "$dry" ]; then
    job=JOB
    show "${command[@]}"
    return
  fi
  command -v sbatch >/dev/null || die 4 "there is no command sbatch here: is this a login node of a Slurm cluster?"
  make_results
  job=$("${command[@]}") || die 4 "sbatch refused; see $settings"
  job=${job%%;*}
  echo "job $job; its log: $SPDNN_RESULTS/logs/spdnn-$kind-${log_name//%[jA]/$job}.log"
}

submit_infer() {
  read_options infer "$@"
  [ ${#infer_options[@]} -gt 0 ] || die 2 "infer needs the problem after --; see --help"
  find_program
  if on_cpus "${infer_options[@]}"; then SPDNN_GPUS=0; fi
  submit infer 0 %j -- "$name" "${infer_options[@]}"
}

# Prints the requested elements as lines of sweep.list. Names include ranks, images and options that are not the defaults.
asked_for() {
  local config variant suffix='' sum all_configs all_variants
  [ "$nodes x $tasks" = "1 x 1" ] || suffix=-${nodes}x$tasks
  [ "$sweep_images" = digits60000 ] || suffix+=-$sweep_images
  if [ ${#infer_options[@]} -gt 0 ]; then
    sum=$(printf '%s\0' "${infer_options[@]}" | cksum)
    suffix+=-$(printf '%08x' "${sum%% *}")
  fi
  IFS=, read -ra all_configs <<<"$configs"
  IFS=, read -ra all_variants <<<"$variants"
  for config in "${all_configs[@]}"; do
    [[ $config =~ ^[1-9][0-9]*x[1-9][0-9]*$ ]] || die 2 "--configs: '$config' is not of the form 1024x120"
    for variant in "${all_variants[@]}"; do
      [[ $variant =~ ^[a-z0-9_]+$ ]] || die 2 "--variants: '$variant' is no name of an engine"
      printf '%s\t%s\t%s\t%s\n' "$config-$variant$suffix" "${config%x*}" "${config#*x}" "$variant"
    done
  done
}

# Adds elements to sweep.list, and sets `line_of`, the line of each element. Lines are never changed, so a line number keeps
# its element.
list_elements() {
  local list element line=0
  if [ -z "$dry" ]; then
    make_results
    exec 9>"$elements.lock"
    flock 9 || echo "jobs/$me: no locks on this file system; do not submit two sweeps at one moment" >&2
  fi
  list=$(cat "$elements" 2>/dev/null || true)
  list=$(awk 'NF && !seen[$0]++' <<<"$list"$'\n'"$1")
  if [ -z "$dry" ]; then
    { echo "$list" >"$elements.new" && mv "$elements.new" "$elements"; } || die 3 "$elements could not be written"
  fi
  while read -r element; do line_of[$element]=$((line += 1)); done <<<"$list"
}

# submit_elements LINE...: submits these lines of sweep.list, one array for each MaxArraySize - 1 lines. With --at-once, an
# array begins when the one before it has ended.
submit_elements() {
  local line offset size after=()
  declare -A indices=()
  size=$(scontrol show config 2>/dev/null | sed -nE 's/^MaxArraySize *= *([0-9]+).*/\1/p') || true
  size=$((${size:-1001} - 1)) # the largest index; 1001 is Slurm's own default
  [ "$size" -gt 0 ] || die 4 "this Slurm takes no job arrays: its MaxArraySize is $((size + 1))"
  for line; do
    offset=$(((line - 1) / size * size))
    indices[$offset]+=,$((line - offset))
  done
  for offset in $(printf '%s\n' "${!indices[@]}" | sort -n); do
    submit sweep "$offset" %A_%a --array="${indices[$offset]#,}${at_once:+%$at_once}" "${after[@]}" -- \
      "$offset" "${infer_options[@]}"
    [ -z "$at_once" ] || after=(--dependency="afterany:$job")
  done
}

submit_sweep() {
  local element line element_name neurons layers states asked there=0 busy=0 missing=()
  declare -A line_of=() is_queued=()
  read_options sweep "$@"
  [ -n "$configs" ] || configs=$(printf '%s,' {1024,4096,16384,65536}x{120,480,1920})
  asked=$(asked_for)
  load_modules
  ask_program
  list_elements "$asked"
  states=$(queued)
  while IFS=$'\t' read -r line _; do is_queued[${line:-N/A}]=yes; done <<<"$states"
  while read -r element; do
    line=${line_of[$element]}
    IFS=$'\t' read -r element_name neurons layers _ <<<"$element"
    if held "$element_name" "$neurons" "$layers"; then
      there=$((there + 1))
    elif [ -n "${is_queued[$line]:-}" ]; then
      busy=$((busy + 1))
    else
      missing+=("$line")
    fi
  done <<<"$asked"
  echo "$(wc -l <<<"$asked") elements: $there in the results, $busy in the queue" >&2
  [ ${#missing[@]} -eq 0 ] || submit_elements "${missing[@]}"
}

case ${1:-} in
  infer) submit_infer "${@:2}" ;;
  sweep) submit_sweep "${@:2}" ;;
  table) print_table "${@:2}" ;;
  --help | -h) usage ;;
  *) usage >&2 && exit 2 ;;
esac
