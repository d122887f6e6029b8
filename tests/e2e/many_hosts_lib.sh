# SPDX-License-Identifier: Apache-2.0
# Hosts on one machine, for scripts that have sourced lib.sh. Each has a network card with an address,
# a name, a clock (a time namespace), a boot id, /dev/shm, /etc/hosts, processes and a temporary folder
# of its own; the file system is shared, as by NFS. A cable leads from each to one switch.
#
#   in_sandbox "$@"         goes on in a sandbox, or skips; all ends with the script, however that ends
#   hosts_up NAME...        makes hosts; mpirun runs on the first
#   on HOST COMMAND...      runs it there
#   begin CASE LIST ARGS... mpirun -H LIST ARGS on the first host, its daemons on the others: what it
#                           says in $work/log, its exit code in $code
#   look PATH               what is in a timeline: a line a source in $work/out (store_summary)
#   code_is, has, count_is  complain about the case, unless; the script ends with: exit $((failures > 0))
#   unplug HOST, plug HOST  takes the cable out of the switch, and puts it back
#   own_disk HOST DIR       there DIR is a disk of its own
#   $work/HOST              its tmp, and its hosts: what is /etc/hosts there

HOSTS_NET=10.77.0
HOSTS_GAP_S=1000 # from the clock of one host to that of the next
flags=()
failures=0
case=
shown=

unshare_sandbox=(unshare --mount --pid --net --ipc --uts --fork --mount-proc --kill-child)

can_make_hosts() {
    "${unshare_sandbox[@]}" unshare --time --monotonic 1000 --fork sh -ec '
        mount -t tmpfs none "$0"
        echo id >"$0/id"
        mount --bind "$0/id" /proc/sys/kernel/random/boot_id
        ip link add switch type bridge
        ip link add one type veth peer name two
        hostname there' "$work" >/dev/null 2>"$work/why"
}

# The sandbox is a PID namespace: the kernel kills all of it with its process 1, and then drops its
# network cards and mounts, $work among them, of which others see only an empty folder.
in_sandbox() {
    local code=0 sandbox
    if [ -n "${MANY_HOSTS_SANDBOX:-}" ]; then
        trap 'exit 143' TERM # process 1 ignores what it does not ask for
        ip link add switch type bridge
        ip link set switch up
        return
    fi
    [ "$(id -u)" -eq 0 ] || skip "making hosts takes root (CAP_SYS_ADMIN and CAP_NET_ADMIN)"
    can_make_hosts || skip "no hosts can be made here: $(cat "$work/why")"
    rm "$work/why"
    MANY_HOSTS_SANDBOX=1 TMPDIR=$work setpriv --pdeathsig KILL "${unshare_sandbox[@]}" \
        sh -c 'mount -t tmpfs none "$TMPDIR" && exec bash "$@"' sh "$0" "$@" &
    sandbox=$!
    trap 'kill -KILL "$sandbox" 2>/dev/null; exit 143' TERM INT HUP
    wait "$sandbox" || code=$?
    exit "$code"
}

# Process 1 of a host: set up, then take what daemons leave behind.
HOST_INIT='
mount --bind "$1/hosts" /etc/hosts
mount --bind "$1/boot_id" /proc/sys/kernel/random/boot_id
mount -t tmpfs none /dev/shm
hostname "$2"
ip link set lo up
: >"$1/up"
while :; do sleep 1000; done'

host_up() { # NAME NUMBER
    local dir=$work/$1 ahead_s=$((($2 - 1) * HOSTS_GAP_S)) pid
    local processes=(--pid --mount-proc)
    # mpirun starts the daemons of the others by entering their processes, which only their ancestors
    # may: those of the first are the sandbox's.
    [ "$2" -gt 1 ] || processes=()
    unshare --mount --net --ipc --uts --time --monotonic "$ahead_s" --boottime "$ahead_s" \
        "${processes[@]}" --fork --kill-child sh -ec "$HOST_INIT" sh "$dir" "$1" &
    until [ -e "$dir/up" ]; do
        kill -0 $! || fail "host $1 did not come up"
        sleep 0.01
    done
    pid=$(pgrep -P $!)
    echo "--target $pid --mount --net --ipc --uts --time ${processes[0]:-}" >"$dir/nsenter"
    ip link add "port-$1" type veth peer name eth0 netns "$pid"
    ip link set "port-$1" master switch up
    on "$1" ip addr add "$HOSTS_NET.$2/24" dev eth0
    on "$1" ip link set eth0 up
}

hosts_up() {
    local name number=0
    hosts=("$@")
    # In ssh's place: by name or by address, and without the caller's environment.
    cat >"$work/enter" <<'SH'
#!/bin/bash
dir=$(dirname "$0")/$1
shift
exec nsenter $(cat "$dir/nsenter") -- env -i HOME=/root PATH="$PATH" TMPDIR="$dir/tmp" sh -c "$*"
SH
    chmod +x "$work/enter"
    echo "127.0.0.1 localhost" >"$work/hosts"
    for name in "$@"; do
        number=$((number + 1))
        mkdir -p "$work/$name/tmp"
        ln -s "$name" "$work/$HOSTS_NET.$number"
        echo "$HOSTS_NET.$number $name" >>"$work/hosts"
        printf '%08x-0000-4000-8000-000000000000\n' "$number" >"$work/$name/boot_id"
    done
    number=0
    for name in "$@"; do
        number=$((number + 1))
        cp "$work/hosts" "$work/$name/hosts"
        host_up "$name" "$number"
    done
}

on() {
    local host=$1
    shift
    "$work/enter" "$host" "exec $(printf '%q ' "$@")"
}

# A hang is exit code 124. More for mpirun in `flags`.
begin() {
    case=$1
    local list=$2
    shift 2
    code=0
    timeout -k 5 "${limit_s:-240}" "$work/enter" "${hosts[0]}" "exec $(printf '%q ' mpirun --allow-run-as-root \
        --mca plm_rsh_agent "$work/enter" "${flags[@]}" -H "$list" "$@")" \
        >"$work/log" 2>&1 </dev/null || code=$?
}

look() { "$build/tests/store_summary" "$1" >"$work/out" 2>>"$work/log" || complain "no timeline $1"; }

complain() {
    echo "FAILED: $case: $1"
    [ "$case" = "$shown" ] || sed 's/^/    /' "$work/log" "$work/out"
    shown=$case
    failures=$((failures + 1))
}

code_is() { [ "$code" = "$1" ] || complain "exit code is $code, not $1"; }
has() { grep -qE -- "$1" "$work/out" || complain "no line '$1'"; }
count_is() {
    local n
    n=$(grep -cE -- "$2" "$work/${3:-out}" || true)
    [ "$n" = "$1" ] || complain "$n lines '$2', not $1"
}

unplug() { ip link set "port-$1" nomaster; }
plug() { ip link set "port-$1" master switch; }

own_disk() {
    mkdir -p "$2"
    on "$1" mount -t tmpfs none "$2"
}
