#!/usr/bin/env bash
# Windows, latency and the sum of the threads, with every engine; each record fits the schema.
. "$(dirname "$0")/lib.sh"
"$numaload" prepare --path "$work/data" --size 64M >/dev/null || exit 1

for engine in aio uring sync; do
    depth=4
    [ $engine = sync ] && depth=1
    "$numaload" run --path "$work/data" --engine $engine --threads 3 --iodepth $depth --block 64K \
        --ramp 100ms --window 1s --windows 3 --json >"$work/r.json" 2>"$work/err"
    check "$engine: status 0, not $?" [ $? = 0 ]
    valid_record "$work/r.json"
    holds "$work/r.json" 'r["status"] == "valid" and len(r["windows"]) == 3'
    # Back to back: each window begins where the last one ended.
    holds "$work/r.json" 'all(a["t1_ns"] == b["t0_ns"]
        for a, b in zip(r["windows"], r["windows"][1:]))'
    holds "$work/r.json" 'all(x["throughput"]["bytes"] == x["throughput"]["ios"] * 65536
        == sum(x["threads"]["bytes"]) for x in r["windows"])'
    holds "$work/r.json" 'all(x["latency"]["count"] == x["throughput"]["ios"]
        == sum(o["ios"] for o in x["latency"]["octaves"]) for x in r["windows"])'
    holds "$work/r.json" 'all(x["latency"]["min_ns"] <= x["latency"]["p50_ns"]
        <= x["latency"]["p90_ns"] <= x["latency"]["p99_ns"] <= x["latency"]["p99_9_ns"]
        <= x["latency"]["max_ns"] for x in r["windows"])'
    # Nothing in flight at either end of the whole run: what was submitted came back.
    holds "$work/r.json" '(lambda t: t["ios"] == t["submitted_ios"])(r["whole_run"]["throughput"])'
    holds "$work/r.json" 'r["whole_run"]["throughput"]["ios"]
        >= sum(x["throughput"]["ios"] for x in r["windows"])'
    # uring submits in the call that waits: its time is not that of a submit.
    holds "$work/r.json" "all((x['submission']['submit_ns'] is None) == ('$engine' == 'uring')
        for x in r['windows'])"
    # Little's law: outstanding I/Os = I/Os a second x mean latency. (aio completes inline here.)
    [ $engine = uring ] &&
        holds "$work/r.json" '(lambda x: 0.8 < x["throughput"]["ios_per_s"]
            * x["latency"]["mean_ns"] / 1e9 / (3 * 4) < 1.2)(r["windows"][1])'
done

# The published load: 160 threads x iodepth 64 x 1 MiB. To the sanitizers the threads matter, not the
# 10 GiB of buffers.
published=("$source_dir/profiles/published.ini" --path "$work/big") depth=64
sanitized && published+=(--iodepth 4 --ramp 1s --window 3s) depth=4
"$numaload" prepare --path "$work/big" --size 512M >/dev/null
"$numaload" run "${published[@]}" --json >"$work/r.json" 2>"$work/err"
rc=$?
# On a busy machine a thread may get no turn in a window; the run must say so then, and only then.
valid_record "$work/r.json"
holds "$work/r.json" 'r["buffers"]["bytes"] == 160 * '$depth' << 20'
holds "$work/r.json" 'w["threads"]["count"] == 160 and r["exit_status"] == (3 if w["threads"]["without_io"] else 0)'
# More threads than CPUs: the one that samples goes first, where it may.
if chrt -f 1 true 2>/dev/null && [ "$(nproc)" -le 160 ]; then
    holds "$work/r.json" 'w["sampling"]["real_time"] is True'
fi
check "160 x $depth: status $rc" [ $rc = "$(field "$work/r.json" 'r["exit_status"]')" ]

# Binding is strict and observed, where this machine has a node 0 with memory.
if [ -d /sys/devices/system/node/node0 ]; then
    "$numaload" run --path "$work/data" --threads 2 --iodepth 2 --ramp 0s --window 1s \
        --cpus node:0 --mem node:0 --json >"$work/r.json" 2>"$work/err"
    holds "$work/r.json" '{p["lever"]: p["reached"] for p in w["placement"]}["cpus"] is True'
    holds "$work/r.json" '{p["lever"]: p["reached"] for p in w["placement"]}["mem"] is True'
fi
