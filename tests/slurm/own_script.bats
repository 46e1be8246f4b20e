#!/usr/bin/env bats
# shellcheck disable=SC2154  # support.bash sets them
# The example of a job script of one's own, without submit.sh.

setup() {
  load support
  make_site
  make_problem
  results=$site
  find_types
  cp jobs/examples/slurm.sh .
  sed -i -e "s|^spdnn=.*|spdnn='$site/build/spdnn'|; s|^jobs=.*|jobs='$site/jobs'|" -e "s|^problem=.*|problem=(${problem[*]} --threads 1)|" -e "s|--mpi=pmix|--mpi=${types[0]}|" \
    -e 's|^\(#SBATCH --ntasks-per-node\)=.*|\1=1|' -e 's|^\(#SBATCH --cpus-per-task\)=.*|\1=1|' slurm.sh
  job=$(sbatch --parsable slurm.sh)
  until_it_computes "$job"
}

teardown() {
  cat "$site"/*.log
  timeout 600 scancel --partition=test --partition=urgent
}

@test "a job script of one's own that gets the signal to stop continues in the same job" {
  scancel --batch --signal=USR1 "$job"
  until_requeued "$job"
  within_limit test -s first.json
  jq -e '.verdict.status == "PASSED" and .parts == 2' first.json
  within_limit is_in "$job" COMPLETED
  [ "$(ls first.*)" = first.json ]
}

@test "a job script of one's own that somebody cancels stays cancelled, with its checkpoint" {
  scancel "$job"
  within_limit grep -q '^jobs: ended from outside; ' spdnn-*.log
  within_limit is_in "$job" CANCELLED
  [ -s first.checkpoint ]
  [ "$(restarts_of "$job")" -eq 0 ]
  [ -z "$(squeue --noheader)" ]
}
