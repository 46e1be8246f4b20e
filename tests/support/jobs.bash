# shellcheck shell=bash disable=SC2034
# Loaded by the tests of the cluster jobs that need no Slurm.

load ../support/within

# Runs a command as a user who may not write where permissions say so; root may, unless it has no capabilities.
without_root=()
[ "$(id -u)" -ne 0 ] || without_root=(setpriv --bounding-set=-all --inh-caps=-all)

# Makes a site in a directory with a blank in its name, and goes there.
make_site() {
  unset SPDNN_SITE
  site="$BATS_TEST_TMPDIR/my site"
  mkdir -p "$site/build"
  cd "$site" || return 1
  cp -r "$BATS_TEST_DIRNAME/../../jobs" .
  ln -s "$SPDNN" build/spdnn
}

# make_command NAME: makes a script of standard input that takes the place of a command. `sleep` gets one, too: what waits for
# as long as a site needs does not have to do so here.
make_command() {
  mkdir -p bin
  { echo '#!/usr/bin/env bash' && cat; } >"bin/$1"
  chmod +x "bin/$1"
  [ -e bin/sleep ] || make_command sleep <<<'exec /bin/sleep 0.05'
  [[ $PATH == "$PWD/bin:"* ]] || PATH=$PWD/bin:$PATH
}

# make_launcher NAME: a command that takes the place of a launcher and of the program under it. For its start number N, line N of
# the file `starts` says what it does and its exit code: `done CODE` writes the result, `stop CODE LEFT` writes a checkpoint
# once SIGUSR1 or SIGTERM comes, having made the file `computing`, `deaf CODE LEFT` does so at the second signal, `crash CODE LEFT`
# writes one at once, `both CODE LEFT` the result, too, and `fail CODE` writes nothing. The file `signalled` has the signals, and
# `fence` Slurm's algorithm for fences.
make_launcher() {
  make_command "$1" <<'END'
if [ "$1" = --mpi=list ]; then
  [ ! -e offered ] || cat offered >&2 # as srun does
  exit
fi
echo "${SLURM_PMIX_FENCE-}" >fence
signals=0
for signal in USR1 TERM; do
  # shellcheck disable=SC2064  # the signal is that of the trap
  trap "signals=\$((signals + 1)); echo $signal >>signalled" "$signal"
done
trap '' INT
echo "$PPID $*" >>started
read -r what code left < <(sed -n "$(wc -l <started)p" starts)
while [ $# -gt 0 ]; do
  case $1 in
    --json) result=$2 ;;
    --checkpoint) checkpoint=$2 ;;
  esac
  shift
done
case $what in
  done) echo '{}' >"$result" && rm -f "$checkpoint" ;;
  both) echo '{}' >"$result" ;;&
  stop | deaf)
    : >computing
    until [ "$signals" -ge 2 ] || [ "$what $signals" = 'stop 1' ]; do
      [ -e computing ] || exit # with the directory of a test that failed
      sleep 1
    done
    rm computing
    ;;&
  stop | deaf | crash | both) echo "{\"left\":[$left],\"activations\":null}" >"$checkpoint.new" && mv "$checkpoint.new" "$checkpoint" ;;
esac
exit "$code"
END
}

# Makes an sbatch that writes down its arguments, one a line, and a squeue of an empty queue.
make_sbatch() {
  # shellcheck disable=SC2016  # the script's own
  make_command sbatch <<<'printf "%s\n" "$@" >arguments; echo "77;cluster"'
  make_command squeue <<<'exit 0'
}
