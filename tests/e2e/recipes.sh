#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The recipes of launch/recipes: those for mpirun run as they are, the others can at least be read.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need_mpi
only_in_dev

recipes=$root/launch/recipes
for file in "$recipes"/*; do
    grep -qF "(recipes/$(basename "$file"))" "$root/launch/README.md" ||
        fail "launch/README.md does not know $(basename "$file")"
done
for file in "$recipes"/*.sh "$recipes"/*.sbatch; do bash -n "$file"; done

for name in $(compgen -e | grep -E '^(OMPI_|PMIX_|PMI_|SLURM_|RANKTRACE_|RANK$|WORLD_SIZE$)' || true); do
    unset "$name"
done
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PATH=$build/bin:$PATH
job=$build/tests/ring_job
ranks() { "$build/tests/store_summary" "$1/timeline.rkt" | grep -c "role=rank .* kernels=300 "; }

HOSTS=localhost:2 OUT=$work/ranks "$recipes/mpirun.sh" "$job" events 300 >"$work/log" 2>&1 ||
    fail "mpirun.sh: $(cat "$work/log")"
[ "$(ranks "$work/ranks")" = 2 ] || fail "mpirun.sh: not two ranks: $(cat "$work/log")"

# torchrun itself: many_hosts_jobs.sh
mkdir "$work/bin"
cat >"$work/bin/torchrun" <<SH
#!/bin/sh
[ "\$*" = "--nnodes=1 --nproc_per_node=2 --rdzv_backend=c10d --rdzv_endpoint=localhost:29500 train.py" ] ||
    { echo "torchrun \$*"; exit 1; }
RANK=0 $job events 300 && RANK=1 $job events 300
SH
chmod +x "$work/bin/torchrun"
HOSTS=localhost GPUS=2 OUT=$work/node PATH=$work/bin:$PATH "$recipes/torchrun.sh" train.py \
    >"$work/log" 2>&1 || fail "torchrun.sh: $(cat "$work/log")"
[ "$(ranks "$work/node")" = 2 ] || fail "torchrun.sh: not two ranks: $(cat "$work/log")"

# Started as by MPICH's Hydra: the MPI here does not know its processes from each other.
PMI_RANK=1 PMI_SIZE=2 "$build/bin/ranktrace" run -o "$work/hydra" -- echo "the job ran" \
    >"$work/log" 2>&1 || fail "with another MPI's mpiexec the job failed: $(cat "$work/log")"
grep -q 'started 2 processes, but MPI finds only this one' "$work/log" ||
    fail "another MPI's mpiexec is not said: $(cat "$work/log")"
grep -q '^the job ran' "$work/log" || fail "the job did not run: $(cat "$work/log")"
[ ! -e "$work/hydra/timeline.rkt" ] || fail "one of two ranks made a timeline"

if /usr/bin/python3 -c 'import yaml' 2>/dev/null; then
    /usr/bin/python3 - "$recipes/mpijob.yaml" <<'PY'
import sys, yaml
job = yaml.safe_load(open(sys.argv[1]))
assert job["apiVersion"] == "kubeflow.org/v2beta1" and job["kind"] == "MPIJob", job
specs = job["spec"]["mpiReplicaSpecs"]
command = specs["Launcher"]["template"]["spec"]["containers"][0]["command"]
ranks = specs["Worker"]["replicas"] * job["spec"]["slotsPerWorker"]
assert command[command.index("-np") + 1] == str(ranks), command
assert command[command.index("ranktrace"):][:2] == ["ranktrace", "run"], command
for spec in specs.values():
    pod = spec["template"]["spec"]
    volumes = {volume["name"] for volume in pod.get("volumes", [])}
    for mount in pod["containers"][0].get("volumeMounts", []):
        assert mount["name"] in volumes, mount
PY
else
    echo "skipped: no python3-yaml, so mpijob.yaml was not read"
fi
