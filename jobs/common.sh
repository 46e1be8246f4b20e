# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # variables are set here and there
# Sourced by submit.sh and by the jobs, which set `jobs`, this directory, and `me`, their own name: reads the settings, and
# knows which elements a sweep has and which of them results already hold. An element's files are $SPDNN_RESULTS/NAME.json,
# the line that the program writes; NAME.checkpoint; NAME.requeues (see run.sh); and NAME.failed, one line that says why
# there is no result.

# shellcheck source=jobs/try.sh
. "$jobs/try.sh"

# die EXIT_CODE MESSAGE: the codes are those of spdnn, 2 usage, 3 data, 4 what the machine does not give.
die() {
  printf 'jobs/%s: %s\n' "$me" "$2" >&2
  exit "$1"
}

# Settings come in layers, each over those before it: site.sh; of an installed tree the site's, which `make install` leaves
# alone, under the prefix, or in /etc where that is /usr; and the user's, SPDNN_SITE, which may be empty and of an installed
# tree has a usual place. `settings` is the file that messages name. What a run writes is not under the prefix.
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

# The images of sweeps, as the names of their files and of results have them.
sweep_images=digits$SPDNN_IMAGES
[ -z "$SPDNN_MNIST" ] || sweep_images=official

# of_model INFER_OPTION...: whether these run a model, which has no checkpoint, and no engine on a GPU.
of_model() {
  local option
  for option; do
    case $option in --model | --model=*) return 0 ;; esac
  done
  return 1
}

load_modules() {
  [ ${#SPDNN_MODULES[@]} -gt 0 ] || return 0
  command -v module >/dev/null || die 4 "$settings names modules to load, but there is no command 'module' here"
  set +u # which not every site's module command can stand
  module load "${SPDNN_MODULES[@]}" || die 4 "module load ${SPDNN_MODULES[*]} failed"
  set -u
}

find_program() {
  [[ -f $SPDNN_PROGRAM && -x $SPDNN_PROGRAM ]] ||
    die 3 "$SPDNN_PROGRAM is no program; make builds it, SPDNN_PROGRAM in $settings names it"
}

# Sets `commit` and `modified`, the program's own word on what it was built from.
ask_program() {
  local version
  find_program
  version=$("$SPDNN_PROGRAM" --version) || die 4 "$SPDNN_PROGRAM --version failed"
  commit=$(sed -nE '1s/.*\(commit ([^,)]+).*/\1/p' <<<"$version")
  modified=false
  if [[ ${version%%$'\n'*} == *", modified)"* ]]; then modified=true; fi
  [ -n "$commit" ] || die 4 "$SPDNN_PROGRAM --version names no commit"
}

# Prints `FILE<TAB>WHY` for each file that is no result, or one whose verdict is FAILED.
complaints() { [ $# -eq 0 ] || LC_ALL=C awk -f "$jobs/line.awk" -f "$jobs/complaints.awk" "$@"; }

# held NAME NEURONS LAYERS: whether the results hold this element as this program computes it. Where the commit does not
# say what the program was built from, the result must be younger than the program.
held() {
  local file=$SPDNN_RESULTS/$1.json line
  [[ -r $file && -z $(complaints "$file") ]] || return 1
  line=$(cat "$file")
  [[ $line == *"\"neurons\":$2,\"layers\":$3,"* && $line == *"\"commit\":\"$commit\",\"dirty\":$modified"* ]] || return 1
  [[ $modified == false && $commit != unknown ]] || [ "$file" -nt "$SPDNN_PROGRAM" ]
}

# Prints the jobs of these results that are in the queue, `LINE JOB STATE` each, between tabs: the line of sweep.list, N/A for
# infer jobs. The comment of a job, see submit.sh, has the results and what is to be added to array indices.
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
