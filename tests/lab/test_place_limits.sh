#!/usr/bin/env bash
# What cpusets, isolated CPUs and nodes without memory leave of a placement, on a real kernel.
# shellcheck disable=SC2016 # quoted scripts are for the guest's shell
. "$(dirname "${BASH_SOURCE[0]}")/place_common.sh"

# Node 2 has CPUs and no memory, CPUs 4-5; node 1 is isolated, CPUs 2-3.
boot --nodes 3 --cpus-per-node 2 --memoryless 2 --distance 0-1=20,0-2=30,1-2=15 --no-mount \
    --cmdline "isolcpus=2-3"

in_lab "$numaload" place exec --cpus node:2 -- grep Cpus_allowed_list /proc/self/status
check "CPUs of a node without memory" "Cpus_allowed_list:"$'\t'"4-5" "$got"
in_lab "$numaload" place exec --cpus node:2 --mem local -- true
check "its memory is refused" 1 "$rc"
contains "nodes with memory, nearest first" "node 2 has no memory; nodes with memory, nearest first: 1 (distance 15), 0 (distance 30)"

in_lab "$numaload" place exec --cpus node:1 -- grep Cpus_allowed_list /proc/self/status
check "isolated CPUs: one thread has one CPU" "Cpus_allowed_list:"$'\t'"2" "$got"

in_lab "$numaload" place exec --mem node:1 -- sh -c 'grep -m1 heap /proc/self/numa_maps || cat /proc/self/numa_maps'
contains "memory is bound strictly" "bind:1"

# CPUs of node 0 and memory of node 1: each half is judged by itself.
in_lab sh -c 'mount | grep -q "cgroup2 on" || exit 77
    cd /sys/fs/cgroup && echo +cpuset >cgroup.subtree_control && mkdir -p small && cd small &&
    echo 0-1,4 >cpuset.cpus && echo 1 >cpuset.mems || exit 77
    echo $$ >cgroup.procs || exit 77
    for words in "--cpus node:0" "--cpus node:1" "--cpus cpus:0-2" "--cpus node:0 --mem local" \
        "--mem node:1" "--cpus node:2"; do
        "$0" place exec $words -- grep Cpus_allowed_list /proc/self/status 2>&1 | grep -E "Cpus|error"
    done
    "$0" place exec --cpus cpus:0-2 --allow-partial -- grep Cpus_allowed_list /proc/self/status 2>/dev/null' "$numaload"
if [ "$rc" -eq 77 ]; then
    echo "skipped: no cpuset controller in the lab's kernel"
else
    line() { sed -n "$1p" <<<"$got"; }
    check "cpuset: the allowed node" "Cpus_allowed_list:"$'\t'"0-1" "$(line 1)"
    contains "cpuset: a node outside" "the CPUs of node 1 (2-3) are outside the cpuset of this process, which allows 0-1,4"
    contains "cpuset: a list partly outside" "CPU 2 is outside the cpuset of this process; --allow-partial takes the rest, 0-1"
    contains "cpuset: memory outside" "the memory of node 0 is outside the cpuset of this process (Mems_allowed); nodes with memory, nearest first: 1 (distance 20)"
    check "cpuset: the allowed memory" "Cpus_allowed_list:"$'\t'"0-1,4" "$(line 5)"
    check "cpuset: the usable part of a node" "Cpus_allowed_list:"$'\t'"4" "$(line 6)"
    check "cpuset: trimmed on request" "Cpus_allowed_list:"$'\t'"0-1" "$(line 7)"
fi
exit $failed
