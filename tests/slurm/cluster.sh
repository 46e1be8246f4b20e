#!/usr/bin/env bash
# A real Slurm on this machine, for tests: munge, slurmctld and three virtual nodes n0, n1 and n2 with 8 processors and 2 GPUs
# each, neither of which are there. It lives in one directory with ports of its own, beside any other Slurm; root starts
# it, systemd takes no part. usage: cluster.sh start DIRECTORY | stop DIRECTORY | kill DIRECTORY NODE | heal DIRECTORY NODE
# After the start, SLURM_CONF=DIRECTORY/slurm.conf makes sbatch, srun and the others speak to it. The partitions are test,
# whose jobs are requeued when others need their nodes, and urgent, which preempts them.
set -euo pipefail
# shellcheck source=tests/support/within.bash
. "$(dirname "$0")/../support/within.bash"

die() {
  echo "cluster.sh: $1" >&2
  exit 1
}

# Prints COUNT different TCP ports that nobody listens on, below those that the system gives to whoever asks for any: none of
# these takes a node's port while the node is down.
free_ports() {
  python3 - "$1" <<'END'
import random, socket, sys
with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as given:
    end = max(int(given.read().split()[0]), 20000)
sockets = {}
while len(sockets) < int(sys.argv[1]):
    port = random.randrange(10000, end)
    try:
        sockets.setdefault(port, socket.create_server(("127.0.0.1", port)))
    except OSError:
        pass
print(*sockets)
END
}

# requeued jobs wait for as long as a credential lives: 120 s, unless cred_expire says otherwise.
write_configuration() {
  local dir=$1 host controller_port n0_port n1_port n2_port gpu
  host=$(hostname -s)
  read -r controller_port n0_port n1_port n2_port < <(free_ports 4)
  mkdir -p "$dir"/{gpu,state,log,{spool,tmp}/n{0,1,2}}
  chmod 755 "$dir"
  for gpu in 0 1; do
    [ -e "$dir/gpu/gpu$gpu" ] || mknod "$dir/gpu/gpu$gpu" c 1 3
  done
  echo "Name=gpu File=$dir/gpu/gpu[0-1]" >"$dir/gres.conf"
  cat >"$dir/slurm.conf" <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$controller_port
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/munge.socket,cred_expire=10
CryptoType=crypto/munge
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
TmpFS=$dir/tmp/%n
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd-%n.pid
SlurmctldLogFile=$dir/log/slurmctld
SlurmdLogFile=$dir/log/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0,bf_interval=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
ReturnToService=2
KillWait=60
MessageTimeout=60
BatchStartTimeout=300
MinJobAge=3600
GresTypes=gpu
NodeName=DEFAULT CPUs=8 RealMemory=4000 Gres=gpu:2 State=UNKNOWN
NodeName=n0 NodeHostname=$host NodeAddr=127.0.0.1 Port=$n0_port
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$n1_port
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$n2_port
PartitionName=test Nodes=n[0-2] Default=YES MaxTime=60 PriorityTier=1 PreemptMode=REQUEUE GraceTime=120
PartitionName=urgent Nodes=n[0-2] MaxTime=60 PriorityTier=10 PreemptMode=OFF
END
}

no_jobs() { [ -z "$(timeout 300 squeue --noheader)" ]; }
all_idle() { [ "$(timeout 300 sinfo --noheader --Node --partition test --format %T | sort | uniq -c | xargs)" = "3 idle" ]; }

start_node() {
  (cd "$1/spool/$2" && slurmd -N "$2" -c 2>"$1/log/$2.start") ||
    die "slurmd of $2 did not start: $(tail -n 1 "$1/log/$2.start")"
}

# kill_node DIRECTORY NODE: kills all processes of the node together, the job's script and the keepers of its steps included, as
# a loss of power would. The controller gets a message, as from its monitoring, or it would wait for five minutes.
kill_node() {
  local dir=$1 process on_node
  export SLURM_CONF=$dir/slurm.conf
  kill -9 "$(cat "$dir/slurmd-$2.pid")"
  mapfile -t on_node < <(grep -lz "^SLURMD_NODENAME=$2$" /proc/[0-9]*/environ 2>/dev/null | cut -d / -f 3)
  # The keepers are the parents of what they started.
  for process in "${on_node[@]}"; do
    grep -qszx "SLURM_CONF=$SLURM_CONF" "/proc/$process/environ" || continue
    kill_keeper "$process"
    kill -9 "$process" 2>/dev/null || true
  done
  scontrol update nodename="$2" state=down reason='lost its power'
}

kill_keeper() {
  local parent
  parent=$(ps -o ppid= -p "$1" | xargs) || return 0
  if ps -o args= -p "$parent" | grep -q '^slurmstepd: '; then kill -9 "$parent" 2>/dev/null || true; fi
}

# heal_node DIRECTORY NODE: it has been started again.
heal_node() {
  export SLURM_CONF=$1/slurm.conf
  start_node "$1" "$2"
  scontrol update nodename="$2" state=resume 2>/dev/null || true
  within 300 all_idle || die "$2 did not come up"
}

start() {
  local dir=$1 node
  [ "$(id -u)" -eq 0 ] || die "root is needed to start munge and Slurm"
  mkdir -p "$dir"
  dir=$(cd "$dir" && pwd)
  [ ! -e "$dir/slurm.conf" ] || stop "$dir"
  write_configuration "$dir"
  export SLURM_CONF=$dir/slurm.conf
  head -c 1024 /dev/urandom >"$dir/munge.key"
  chmod 600 "$dir/munge.key"
  # munged wants nobody else to be able to write where its files are, and /tmp is everybody's: hence --force.
  munged --force --key-file="$dir/munge.key" --socket="$dir/munge.socket" --pid-file="$dir/munged.pid" \
    --log-file="$dir/log/munged" --seed-file="$dir/munge.seed" 2>"$dir/log/munged.start" ||
    die "munge did not start: $(tail -n 1 "$dir/log/munged.start")"
  within 300 test -S "$dir/munge.socket" || die "munge has no socket"
  (cd "$dir/state" && slurmctld -c 2>"$dir/log/slurmctld.start") ||
    die "slurmctld did not start: $(tail -n 1 "$dir/log/slurmctld.start")"
  for node in n0 n1 n2; do start_node "$dir" "$node"; done
  within 300 all_idle || {
    tail -n 5 "$dir"/log/* >&2
    die "the nodes did not come up"
  }
}

# Ends the process whose number a file holds, and is sure of it.
end_process() {
  local pid
  pid=$(cat "$1" 2>/dev/null) && [ -n "$pid" ] || return 0
  kill "$pid" 2>/dev/null || return 0
  within 300 eval "! kill -0 $pid" || kill -9 "$pid" 2>/dev/null || true
}

stop() {
  local dir=$1 file
  export SLURM_CONF=$dir/slurm.conf
  # Jobs that are still there outlive slurmd, so they go first, and their steps' keepers after them.
  if [ -e "$dir/slurmctld.pid" ]; then
    timeout 300 scancel --partition=test --partition=urgent 2>/dev/null || true
    within 300 no_jobs || true
  fi
  for file in "$dir"/slurmd-n[0-2].pid "$dir"/slurmctld.pid "$dir"/munged.pid; do
    end_process "$file"
  done
  rm -f "$dir"/*.pid
}

case "$1 $#" in
  'start 2' | 'stop 2') "$1" "$2" ;;
  'kill 3' | 'heal 3') "$1_node" "$2" "$3" ;;
  *) die "usage: cluster.sh start|stop DIRECTORY | kill|heal DIRECTORY NODE" ;;
esac
