# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # variables are shared with the sourcing scripts
# Sourced by submit.sh and the jobs, which set `jobs`, this directory, and `me`, the name of the script: reads the settings, and
# finds which elements of a sweep already have results. An element's files are $SPDNN_RESULTS/NAME.json, the line that the
# program writes; NAME.checkpoint; NAME.requeues (see run.sh); and NAME.failed, one line with the reason why there is no result.

# shellcheck source=jobs/try.sh
. "$jobs/try.sh"

# die EXIT_CODE MESSAGE: the codes are those of spdnn: 2 usage, 3 data, 4 machine.
die() {
  printf 'jobs/%s: %s\n' "$me" "$2" >&2
  exit "$1"
}

# Settings are read in this order, later files overriding earlier ones: site.sh; in an installed tree the site's file, which
# `make install` does not touch, under the prefix (in /etc if that is /usr); and the user's, SPDNN_SITE, which may be empty
# and in an installed tree has a default path. Messages name the file `settings`. Runs write outside the prefix.
if [[ $jobs == */share/spdnn/jobs && ! -e $jobs/../Makefile ]]; then
  SPDNN_ROOT=$(cd "$jobs/../../.." && pwd)
  SPDNN_BIN=$SPDNN_ROOT/bin
  SPDNN_FILES=$HOME/spdnn
  relative_to=$HOME
  site_settings=${SPDNN_ROOT%/usr}/etc/spdnn/site.sh
  settings=${SPDNN_SITE:-${XDG_CONFIG_HOME:-$HOME/.config}/spdnn/site.sh}
  if [ -z "${SPDNN_SITE+given}" ] && [ -e "$settings" ]; then SPDNN_SITE=$settings; fi
else
  SPDNN_ROOT=$(cd "$jobs/.." && pwd)
  SPDNN_BIN=$SPDNN_ROOT/build
  SPDNN_FILES=$SPDNN_ROOT/build
  relative_to=$SPDNN_ROOT
  site_settings=''
  settings=jobs/site.sh
fi
SPDNN_SITE=${SPDNN_SITE:+$(realpath -ms "$SPDNN_SITE")}
[[ -z $SPDNN_SITE || -r $SPDNN_SITE ]] || die 3 "SPDNN_SITE: $SPDNN_SITE cannot be read"
# shellcheck source=jobs/site.sh
. "$jobs/site.sh"
for layer in "$site_settings" "$SPDNN_SITE"; do
  # shellcheck disable=SC1090
  if [ -e "$layer" ]; then . "$layer"; fi
done
absolute() {
  case $1 in
    /*) printf '%s\n' "$1" ;;
    *) printf '%s\n' "$relative_to/$1" ;;
  esac
}
SPDNN_PROGRAM=$(absolute "$SPDNN_PROGRAM")
SPDNN_DATA=$(absolute "$SPDNN_DATA")
SPDNN_RESULTS=$(absolute "$SPDNN_RESULTS")
SPDNN_MNIST=${SPDNN_MNIST:+$(absolute "$SPDNN_MNIST")}
elements=$SPDNN_RESULTS/sweep.list

# The images of sweeps, as part of file names.
sweep_images=digits$SPDNN_IMAGES
[ -z "$SPDNN_MNIST" ] || sweep_images=official

# of_model INFER_OPTION...: succeeds if these options run a model, which has no checkpoints.
of_model() {
  local option
  for option; do
    case $option in --model | --model=*) return 0 ;; esac
  done
  return 1
}

# on_cpus INFER_OPTION...: succeeds if these options run a model that is not to run on GPUs.
on_cpus() {
  of_model "$@" && [[ " $* " != *' --device cuda '* && " $* " != *' --device=cuda '* ]]
}

load_modules() {
  [ ${#SPDNN_MODULES[@]} -gt 0 ] || return 0
  command -v module >/dev/null || die 4 "$settings names modules to load, but there is no command 'module' here"
  set +u # some sites' module command uses unset variables
  module load "${SPDNN_MODULES[@]}" || die 4 "module load ${SPDNN_MODULES[*]} failed"
  set -u
}

find_program() {
  [[ -f $SPDNN_PROGRAM && -x $SPDNN_PROGRAM ]] ||
    die 3 "$SPDNN_PROGRAM is no program; make builds it, SPDNN_PROGRAM in $settings names it"
}

# Sets `commit` and `modified` from the program's --version.
ask_program() {
  local version
  find_program
  version=$("$SPDNN_PROGRAM" --version) || die 4 "$SPDNN_PROGRAM --version failed"
  commit=$(sed -nE '1s/.*\(commit ([^,)]+).*/\1/p' <<<"$version")
  modified=false
  if [[ ${version%%$'\n'*} == *", modified)"* ]]; then modified=true; fi
  [ -n "$commit" ] || die 4 "$SPDNN_PROGRAM --version names no commit"
}

# Prints `FILE<TAB>WHY` for each file that is no valid result or has the verdict FAILED.
complaints() { [ $# -eq 0 ] || LC_ALL=C awk -f "$jobs/line.awk" -f "$jobs/complaints.awk" "$@"; }

# held NAME NEURONS LAYERS: succeeds if there is a result of this element by this program's commit. If the program was built
# from modified files, or its commit is unknown, the result must also be newer than the program.
held() {
  local file=$SPDNN_RESULTS/$1.json line
  [[ -r $file && -z $(complaints "$file") ]] || return 1
  line=$(cat "$file")
  [[ $line == *"\"neurons\":$2,\"layers\":$3,"* && $line == *"\"commit\":\"$commit\",\"dirty\":$modified"* ]] || return 1
  [[ $modified == false && $commit != unknown ]] || [ "$file" -nt "$SPDNN_PROGRAM" ]
}

# Prints `LINE JOB STATE`, separated by tabs, for each queued job of these results: LINE is its line of sweep.list, N/A for
# infer jobs. The job's comment, set by submit.sh, holds the directory of results and the offset of array indices.
queued() {
  command -v squeue >/dev/null || return 0
  local jobs_in_queue
  jobs_in_queue=$(try 3 squeue --me --noheader --array --name=spdnn-sweep,spdnn-infer --format='%K %F %T %k') || die 4 "squeue failed"
  results=$SPDNN_RESULTS awk -v OFS='\t' '{
    index_ = $1; job = $2; state = $3
    sub(/^[^ ]+ +[^ ]+ +[^ ]+ +/, "")
    if (!match($0, / \+[0-9]+$/) || substr($0, 1, RSTART - 1) != ENVIRON["results"]) next
    if (index_ == "N/A") print index_, job, state
    else print index_ + substr($0, RSTART + 2), job "_" index_, state
  }' <<<"$jobs_in_queue"
}
