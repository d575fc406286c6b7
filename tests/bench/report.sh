#!/usr/bin/env bash
# numaload report over RECORDS (10,000) records of 50 kB: at most 5 s and 500 MiB for each format.
#   tests/bench/report.sh [RECORDS]
# Prints one line a format: elapsed and CPU seconds, MiB. The limit on time counts CPU seconds when
# other load keeps the machine's CPUs busy: elapsed time then says nothing about the program.
set -u
source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
numaload=${NUMALOAD:-$source_dir/build/release/numaload}
records=${1:-10000}
work=$(mktemp -d "${TMPDIR:-/tmp}/numaload-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT

/usr/bin/python3 - "$source_dir/tests/data/published/t3-b-none.json" "$work" "$records" <<'PY'
import copy, json, random, sys

base, folder, records = json.load(open(sys.argv[1])), sys.argv[2], int(sys.argv[3])
random.seed(1)
w = base["windows"][0]
# the size of a record of a machine with 96 CPUs: threads, interrupts, counters by node
by_node = {"0": 1000000, "1": 2000000}
w["threads"]["bytes"] = [285625000] * 160
w["irq"] = {"available": True, "total": 9999, "by_node": by_node, "rows": [
    {"irq": str(i), "text": "mlx5_comp%d@pci:0000:17:00.0" % i, "total": 123456, "by_node": by_node}
    for i in range(160)]}
w["placement"] = [{"lever": "cpus", "asked": "node:0", "threads": [
    {"tid": i, "cpus": "0-23,48-71", "ran": "0-23"} for i in range(160)]}]
for counter in w["slab"]["counters"].values():
    counter["by_node"] = by_node
cells = [(c, q) for c in ("unpinned", "node:0", "node:1") for q in ("balanced", "node:1")]
for run in range(records):
    block, place = divmod(run, len(cells))
    cpus, cq = cells[place]
    base["profile"].update({"cpus": cpus, "cq": cq})
    base["host"]["boot_id"] = "boot %d" % (block * 3 * len(cells) // (records + 1))
    base["started_at"] = "2026-09-%02dT%02d:%02d:%02dZ" % (
        1 + run // 2880, run // 120 % 24, run // 2 % 60, run % 2 * 30)
    w["throughput"]["bytes_per_s"] = 1e9 * (45 - (cq == "node:1") + random.gauss(0, 0.3))
    base["matrix"] = {"series": "0123456789abcdef", "cell": {"cpus": cpus, "cq": cq},
                      "run": run + 1, "attempt": 1, "repeat": block + 1, "block": block + 1,
                      "order": place + 1, "warmup": False, "boot": 1, "mount": 1}
    with open("%s/run-%05d.json" % (folder, run + 1), "w") as f:
        json.dump(base, f, indent=2)
json.dump({"schema": "numaload-plan", "schema_version": 1, "series": "0123456789abcdef",
           "axes": [{"key": "cpus", "values": []}, {"key": "cq", "values": []}],
           "cells": [{"cpus": c, "cq": q} for c, q in cells],
           "baseline": {"cpus": "unpinned", "cq": "balanced"}, "order": "blocks", "seed": 1,
           "precision": None, "expect": [{"name": "cross", "line": 1, "statement":
               "median(bytes_per_s, cq=balanced) / median(bytes_per_s, cq=node:1) >= 1.01"}]},
          open(folder + "/plan.json", "w"))
PY
size=$(stat -c %s "$work/run-00001.json")
echo "$records records of $size bytes"
failed=0
for format in text json csv markdown html; do
    /usr/bin/time -o "$work/time" -f "%e %U %S %M" "$numaload" report --format $format "$work" \
        >/dev/null || failed=1
    read -r elapsed user system kib <"$work/time"
    awk -v f=$format -v e="$elapsed" -v u="$user" -v s="$system" -v k="$kib" 'BEGIN {
        cpu = u + s
        printf "%-8s  %6.2f s elapsed  %6.2f s of CPU  %6.1f MiB\n", f, e, cpu, k / 1024
        exit !((e < cpu ? e : cpu) <= 5 && k / 1024 <= 500)
    }' || failed=1
done
[ $failed = 0 ] || echo "FAILED: more than 5 s or 500 MiB"
exit $failed
