#!/usr/bin/env bats
# The cluster jobs of an installed program: its path, the place of results, and the precedence of settings.

setup() {
  load ../support/jobs
  prefix="$BATS_TEST_TMPDIR/my software/spdnn"
  export HOME="$BATS_TEST_TMPDIR/a home"
  unset SPDNN_SITE XDG_CONFIG_HOME
  mkdir -p "${prefix%/*}" "$HOME" "$BATS_TEST_TMPDIR/elsewhere"
  env -u MAKEFLAGS -u MAKELEVEL make -s -C "$BATS_TEST_DIRNAME/../.." GPU=0 "DESTDIR=$BATS_TEST_TMPDIR" PREFIX=/tree install-jobs
  mv "$BATS_TEST_TMPDIR/tree" "$prefix"
  ln -s "$SPDNN" "$prefix/bin/spdnn"
  cd "$BATS_TEST_TMPDIR/elsewhere" || return 1
  make_sbatch
}

# settings FILE ASSIGNMENT...: writes a layer of settings.
settings() {
  mkdir -p "$(dirname "$1")"
  printf '%s\n' "${@:2}" >"$1"
}

has() { grep -qxF -- "$1" arguments; }

@test "an installed submit.sh finds program and jobs, and results go to the user's home" {
  run "$prefix/bin/spdnn-jobs" infer --name first -- --network 'my net.spdnn'
  echo "$output"
  [ "$status" -eq 0 ]
  [ "$output" = "job 77; its log: $HOME/spdnn/cluster/logs/spdnn-infer-77.log" ]
  jobs=$prefix/share/spdnn/jobs
  [ "$(tail -n 6 arguments)" = "$(printf '%s\n' "$jobs/infer.sbatch" "$jobs" '' first --network 'my net.spdnn')" ]
  # The submitted job runs the installed program and depends on its arguments alone; without a name, the result has its number.
  make_launcher srun
  printf 'done 0\n%.0s' 1 2 >starts
  for name in first ''; do
    env -i HOME="$HOME" PATH="$PATH" SLURM_JOB_ID=7 SLURM_JOB_NAME=spdnn-infer SLURM_NTASKS=1 SLURM_JOB_NODELIST=n0 \
      bash "$jobs/infer.sbatch" "$jobs" '' "$name" --network 'my  net.spdnn'
    grep -qF "$prefix/bin/spdnn infer --network my  net.spdnn " started
    [ -s "$HOME/spdnn/cluster/${name:-infer-7}.json" ]
  done
}

@test "a dry run of an installed sweep needs nothing that can be written" {
  run "$prefix/share/spdnn/jobs/submit.sh" sweep --dry-run --configs 1024x120
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "${lines[1]}" == "sbatch --parsable "*"/share/spdnn/jobs/sweep.sbatch"* ]]
  [ ! -e "$HOME/spdnn" ]
}

@test "the site's settings lie over the defaults, and the user's over the site's" {
  settings "$prefix/etc/spdnn/site.sh" SPDNN_PARTITION=gpu SPDNN_ACCOUNT=everybody SPDNN_GPUS=4 'SPDNN_RESULTS="$HOME/scratch disk"'
  "$prefix/bin/spdnn-jobs" infer -- --network n.spdnn
  has --partition=gpu && has --account=everybody && has --gpus-per-task=4 && has --cpus-per-task=4
  has "--output=$HOME/scratch disk/logs/%x-%j.log"
  settings "$HOME/.config/spdnn/site.sh" SPDNN_ACCOUNT=mine SPDNN_RESULTS=mine
  "$prefix/bin/spdnn-jobs" infer -- --network n.spdnn
  has --partition=gpu && has --account=mine && has "--output=$HOME/mine/logs/%x-%j.log"
  has "$HOME/.config/spdnn/site.sh"
  export XDG_CONFIG_HOME=$PWD/config
  settings config/spdnn/site.sh SPDNN_ACCOUNT=other
  "$prefix/bin/spdnn-jobs" infer -- --network n.spdnn
  has --account=other
  settings 'one project.sh' SPDNN_ACCOUNT=project
  SPDNN_SITE='one project.sh' "$prefix/bin/spdnn-jobs" infer -- --network n.spdnn
  has --account=project && has --partition=gpu && has "$PWD/one project.sh"
  # An empty name is none.
  SPDNN_SITE='' "$prefix/bin/spdnn-jobs" infer -- --network n.spdnn
  has --account=everybody
}

@test "a job has the settings that it was submitted with, whatever its environment is" {
  settings 'one project.sh' "SPDNN_RESULTS='$PWD/out puts'"
  settings "$HOME/.config/spdnn/site.sh" SPDNN_RESULTS=mine
  SPDNN_SITE='one project.sh' "$prefix/bin/spdnn-jobs" infer --name first -- --network n.spdnn
  mapfile -t command < <(sed -n '/infer\.sbatch$/,$p' arguments)
  make_launcher srun
  echo 'done 0' >starts
  env -i HOME="$HOME" PATH="$PATH" SLURM_JOB_ID=7 SLURM_JOB_NAME=spdnn-infer SLURM_NTASKS=1 SLURM_JOB_NODELIST=n0 \
    bash "${command[@]}"
  [ -s "$PWD/out puts/first.json" ]
  [ ! -e "$HOME/mine" ]
}

@test "under the prefix /usr the site's settings are in /etc" {
  mv "$prefix" "$BATS_TEST_TMPDIR/usr"
  settings "$BATS_TEST_TMPDIR/etc/spdnn/site.sh" SPDNN_ACCOUNT=packaged
  "$BATS_TEST_TMPDIR/usr/bin/spdnn-jobs" infer -- --network n.spdnn
  has --account=packaged
}

@test "messages name the file that the user edits" {
  rm "$prefix/bin/spdnn"
  run "$prefix/bin/spdnn-jobs" infer -- --network n.spdnn
  echo "$output"
  [ "$status" -eq 3 ]
  [[ "$output" == *"SPDNN_PROGRAM in $HOME/.config/spdnn/site.sh names it" ]]
  SPDNN_SITE=none.sh run "$prefix/bin/spdnn-jobs" infer -- --network n.spdnn
  echo "$output"
  [ "$status" -eq 3 ]
  [ "$output" = "jobs/submit.sh: SPDNN_SITE: $PWD/none.sh cannot be read" ]
}

@test "in a repository jobs/site.sh alone has the settings, unless SPDNN_SITE names others" {
  make_site
  make_sbatch
  settings "$HOME/.config/spdnn/site.sh" SPDNN_ACCOUNT=mine
  jobs/submit.sh infer -- --network n.spdnn
  run grep account arguments
  [ "$status" -eq 1 ]
  SPDNN_SITE="$HOME/.config/spdnn/site.sh" jobs/submit.sh infer -- --network n.spdnn
  has --account=mine
  # A clone whose folder has the name of an installed one is a clone.
  mkdir -p share
  : >Makefile
  mkdir share/spdnn && mv jobs build Makefile share/spdnn
  run share/spdnn/jobs/submit.sh infer -- --network n.spdnn
  echo "$output"
  [ "$output" = "job 77; its log: $PWD/share/spdnn/build/cluster/logs/spdnn-infer-77.log" ]
}
