#!/usr/bin/env bash
# What a byte costs the client: the kernel's mount (engine aio) against engine nfs-rdma, the same
# depth and block, interleaved, in a lab of two guests, so that the server's CPU time is not in it.
# usage: nfs_rdma.sh [ROUNDS [WINDOW [BLOCK]]]     (3 rounds of 10s, 1M)
# Prints a line a run and the ratio of the medians of bytes per second of busy CPU. Emulated CPUs
# and soft-RoCE: the ratio says something, the rate does not. Exit status 77 without a lab.
. "$(dirname "$0")/../cli/lib.sh"
rounds=${1:-3} window=${2:-10s} block=${3:-1M}
lab=$source_dir/tools/lab
name=benchnfs$$
out=$work/out.d
trap '"$lab" down --name $name >/dev/null 2>&1; rm -rf "$work"' EXIT
"$lab" up --two-guests --name $name --out "$out" || exit $?
guest() { "$lab" run --name $name -- "$@"; }
# 10.77.0.1 of "...,addr=10.77.0.1,..."
server=$(guest cat /proc/mounts | sed -n 's/.* \/mnt\/nfs nfs .*[,]addr=\([^, ]*\).*/\1/p')
guest "$numaload" prepare --path /mnt/nfs/data --size 64M >/dev/null || exit 1
for round in $(seq "$rounds"); do
    for engine in aio nfs-rdma; do
        path=/mnt/nfs/data
        [ $engine = aio ] || path=nfs-rdma://$server/mnt/export/data
        guest "$numaload" run --engine $engine --path "$path" --threads 2 --iodepth 16 \
            --block "$block" --ramp 2s --window "$window" --record "$out/$engine.$round.json" \
            >/dev/null 2>"$work/err" || { cat "$work/err"; exit 1; }
    done
done
/usr/bin/python3 - "$out" "$rounds" <<'END'
import json, statistics, sys
seen = {}
for round in range(1, int(sys.argv[2]) + 1):
    for engine in ("aio", "nfs-rdma"):
        w = json.load(open(f"{sys.argv[1]}/{engine}.{round}.json"))["windows"][0]
        cpu, seconds = w["cpu"]["all"], w["window_ns"] / 1e9
        busy = (100 - cpu["idle_percent"] - cpu["iowait_percent"]) / 100 * cpu["cpus"] * seconds
        per_s = w["throughput"]["bytes"] / busy
        seen.setdefault(engine, []).append(per_s)
        print(f"round {round} {engine:9} {w['throughput']['bytes_per_s'] / 1e6:8.2f} MB/s "
              f"{busy:7.2f} CPU s {per_s / 1e6:8.2f} MB per CPU s")
a, b = (statistics.median(seen[e]) for e in ("aio", "nfs-rdma"))
print(f"nfs-rdma / aio, MB per CPU s, medians of {sys.argv[2]}: {b / a:.3f}")
END
