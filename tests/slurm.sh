# Sourced by tests that need a Slurm: a real slurmctld and NODES real slurmd on 127.0.0.1, with ports, spool and configuration of their own in
# DIR, four CPUs and two fake GPUs a node (character devices that every Linux has). Skips where they cannot start.
# Debian: apt-get install --no-install-recommends slurmctld slurmd slurm-client
slurm_start() { # DIR NODES [LINE OF slurm.conf]...
    slurm_dir=$1 slurm_nodes=$2
    shift 2
    need slurmctld; need slurmd; need sbatch
    [ -d /sys/fs/cgroup/. ] && [ -n "$(ls /sys/fs/cgroup)" ] || skip 'slurmd needs a mounted /sys/fs/cgroup'
    [ -c /dev/tty0 ] && [ -c /dev/tty1 ] || skip 'no character devices to stand for GPUs'
    mkdir -p "$slurm_dir/state" "$slurm_dir/log"
    slurm_port=$((20000 + $$ % 3000 * 10))
    cat >"$slurm_dir/slurm.conf" <<X
ClusterName=bench
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
SlurmctldPort=$slurm_port
AuthType=auth/none
CredType=cred/none
MpiDefault=none
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
StateSaveLocation=$slurm_dir/state
SlurmctldPidFile=$slurm_dir/slurmctld.pid
SlurmctldLogFile=$slurm_dir/log/slurmctld.log
SlurmdSpoolDir=$slurm_dir/%n
SlurmdPidFile=$slurm_dir/%n.pid
SlurmdLogFile=$slurm_dir/log/%n.log
SlurmdParameters=config_overrides
ReturnToService=2
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=100000,bf_interval=1
KillWait=5
GresTypes=gpu
NodeName=n[1-$slurm_nodes] NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=[$((slurm_port + 1))-$((slurm_port + slurm_nodes))] CPUs=4 Gres=gpu:2
PartitionName=gpu Nodes=n[1-$slurm_nodes] Default=YES MaxTime=60 State=UP
X
    for slurm_line in "$@"; do echo "$slurm_line" >>"$slurm_dir/slurm.conf"; done
    echo 'Name=gpu File=/dev/tty[0-1]' >"$slurm_dir/gres.conf"
    export SLURM_CONF="$slurm_dir/slurm.conf"
    trap slurm_stop EXIT
    slurm_controller
    slurm_i=0
    while [ $slurm_i -lt "$slurm_nodes" ]; do
        slurm_i=$((slurm_i + 1))
        mkdir -p "$slurm_dir/n$slurm_i"
        slurm_node n$slurm_i
    done
    slurm_i=0
    until [ "$(sinfo -h -N -t idle -o %N 2>/dev/null | wc -l)" = "$slurm_nodes" ]; do
        slurm_i=$((slurm_i + 1))
        [ $slurm_i -lt 100 ] || skip "Slurm does not come up here: $(tail -n 1 "$slurm_dir/log/"* 2>/dev/null | tr '\n' ' ')"
        sleep 0.1
    done
}
slurm_controller() { slurmctld -f "$SLURM_CONF" >/dev/null 2>&1 || skip "slurmctld does not start here: $(tail -n 1 "$slurm_dir/log/slurmctld.log" 2>/dev/null)"; }
slurm_node() { slurmd -N "$1" -f "$SLURM_CONF" >/dev/null 2>&1 || skip "slurmd does not start here: $(tail -n 1 "$slurm_dir/log/$1.log" 2>/dev/null)"; }
slurm_stop() {
    scancel --me 2>/dev/null || scancel -u "$(id -un)" 2>/dev/null || :
    sleep 0.3
    for slurm_file in "$slurm_dir"/*.pid; do
        slurm_pid=$(cat "$slurm_file" 2>/dev/null) && kill "$slurm_pid" 2>/dev/null || continue
        for slurm_i in $(seq 50); do kill -0 "$slurm_pid" 2>/dev/null || break; sleep 0.1; done # slurmctld saves its state
        kill -s KILL "$slurm_pid" 2>/dev/null || :
    done
}
