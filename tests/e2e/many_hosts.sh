#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# mpirun over hosts that have nothing in common but a network and the output folder, or not even that:
# the file has all ranks, with their hosts and nodes, on one clock. No GPU.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$here/many_hosts_lib.sh"
need_mpi
only_in_dev
in_sandbox "$@"
hosts_up a b c

job=$build/tests/ring_job
meet=(python3 "$here/many_hosts_meet.py")

# is_aligned RANK HOST_NUMBER: the clock's offset is what the time namespace made it, within the bound
is_aligned() {
    local offset bound
    read -r offset bound < <(
        sed -nE "s/.*role=rank rank=$1 .* align=measured .* offset_ns=(\\S+) bound_ns=(\\S+) .*/\\1 \\2/p" \
            "$work/out" | grep . || echo "0 0")
    local miss=$((offset + ($2 - 1) * HOSTS_GAP_S * 1000000000))
    [ "${miss#-}" -le "$bound" ] || complain "rank $1 has the offset $offset +- $bound on host $2"
}

begin "three hosts: each rank has its host, its sidecar and its clock" a:2,b:2,c:2 \
    "$ranktrace" run -o "$work/all" --no-report -- "$job" events 3000
look "$work/all/timeline.rkt"
code_is 0
has '^run ranks=6 trailer=1 damaged=0 gaps=0 sources=12 '
rank=0
for host in a a b b c c; do
    has "role=sidecar .* end=exited code=0 .* node=$rank host=$host "
    has "role=rank rank=$rank kernels=3000 .* named=3000 end=exited code=0 cut=0 .* node=$rank host=$host "
    rank=$((rank + 1))
done
has 'role=rank rank=0 .* align=reference'
has 'role=rank rank=1 .* align=same_host'
for rank in 2 3; do is_aligned "$rank" 2; done
for rank in 4 5; do is_aligned "$rank" 3; done

cat >"$work/two_ranks" <<SH
#!/bin/bash
# Two ranks, as torchrun would start them on each node.
for local in 0 1; do
    RANK=\$((2 * OMPI_COMM_WORLD_RANK + local)) LOCAL_RANK=\$local WORLD_SIZE=6 \\
        $job events 2000 &
    pids+=" \$!"
done
code=0
for pid in \$pids; do wait "\$pid" || code=\$?; done
exit \$code
SH
chmod +x "$work/two_ranks"
begin "three hosts with one sidecar each" a:1,b:1,c:1 \
    "$ranktrace" run -o "$work/per_node" --no-report --per-node -- "$work/two_ranks"
look "$work/per_node/timeline.rkt"
code_is 0
has '^run ranks=0 trailer=1 damaged=0 gaps=0 sources=9 ' # how many there are nobody said
for rank in 0 1 2 3 4 5; do
    node=$((rank / 2))
    has "role=rank rank=$rank kernels=2000 .* node=$node host=${hosts[$node]} "
done
for rank in 2 3; do is_aligned "$rank" 2; done
for rank in 4 5; do is_aligned "$rank" 3; done

all_met() { # MASTER_ADDR of those on b
    local rank=0 host
    code_is 0
    for host in a a b b; do
        count_is 1 "^rank $rank of 4 on $host, local $((rank % 2)) of 2, by " log
        rank=$((rank + 1))
    done
    count_is 2 "^rank . of 4 on b, .* by MASTER_ADDR=$1\$" log
}

begin "ranks meet at rank 0's host" a:2,b:2 "$ranktrace" run -o "$work/met" --no-report -- "${meet[@]}"
all_met a

# A pod knows its own name, others only its address, here its network card's with the default route.
only_oneself() { # HOST
    grep -E "localhost| $1\$" "$work/hosts" >"$work/$1/hosts"
}
only_oneself a
only_oneself b
on a ip route add default via "$HOSTS_NET.254"
begin "where names are not known, ranks meet by address" "$HOSTS_NET.1:2,$HOSTS_NET.2:2" \
    "$ranktrace" run -o "$work/met_pods" --no-report -- "${meet[@]}"
all_met "$HOSTS_NET.1"
# Debian's installer gives a host's name a loopback address there, which is not for others.
printf '127.0.0.1 localhost\n127.0.1.1 a\n' >"$work/a/hosts"
cat "$work/hosts" >"$work/b/hosts"
begin "rank 0's host takes its own name for a loopback address" "$HOSTS_NET.1:2,$HOSTS_NET.2:2" \
    "$ranktrace" run -o "$work/met_debian" --no-report -- "${meet[@]}"
all_met a
cat "$work/hosts" >"$work/a/hosts"

mkdir "$work/disk"
own_disk b "$work/disk"
begin "a host without the output folder" a:1,b:1 \
    "$ranktrace" run -o "$work/disk/out" --no-report -- "$job" events 3000
look "$work/disk/out/timeline.rkt"
code_is 0
count_is 2 'role=rank .* kernels=3000 .* named=3000 end=exited code=0 cut=0'
[ -z "$(on b ls -A "$work/disk")" ] || complain "a folder was made on b"
[ -z "$(on b find "$work/b/tmp" -name 'ranktrace*')" ] || complain "something was left on b"

exit $((failures > 0))
