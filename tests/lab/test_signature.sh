#!/usr/bin/env bash
# The published counter signature over NFS/RDMA on soft-RoCE: who frees where follows from the
# placement, and the counters agree with the bytes that were read.
# Exit status 77 when this machine cannot run the lab.
. "$(dirname "$0")/../cli/lib.sh"
lab=$source_dir/tools/lab
name=signature$$
out=$work/out.d
trap '"$lab" down --name $name >/dev/null 2>&1; finish' EXIT

"$lab" up --name $name --out "$out" || exit $?
"$lab" run --name $name -- "$numaload" prepare --path /mnt/export/data --size 128M || exit 1

# measure NAME KEY...: a run in the lab; the record is $out/NAME.json.
measure() {
    local to=$1
    shift
    "$lab" run --name $name -- "$numaload" run "$source_dir/profiles/lab.ini" \
        --path /mnt/nfs/data --ramp 3s --record "$out/$to.json" "$@" >"$work/table" 2>"$work/err"
    local rc=$?
    check "$to: status $rc $(cat "$work/err")" [ $rc = 0 ]
    check "$to: the table is wider than 72 columns" [ "$(awk '{ print length }' "$work/table" |
        sort -n | tail -n 1)" -le 72 ]
    valid_record "$out/$to.json"
    # The placement was reached, in words of the machine.
    holds "$out/$to.json" 'all(p["reached"] is not False for p in w["placement"])'
    holds "$out/$to.json" '{p["lever"]: p["reached"] for p in w["placement"]}["cpus"] is True'
    # NFS makes one nfs_page a page read: exactly, when nothing is in flight at either end, and
    # within 0.5 % in a window.
    holds "$out/$to.json" 'r["whole_run"]["derived"]["alloc_per_page"] == 1.0'
    holds "$out/$to.json" 'abs(w["derived"]["alloc_per_page"] - 1) <= 0.005'
    # A failed put into the barn flushes one sheaf of 60.
    holds "$out/$to.json" 'w["slab"]["sheaf_capacity"] == 60'
    holds "$out/$to.json" '(lambda c: abs(c["sheaf_flush"]["total"] / 60
        - c["barn_put_fail"]["total"]) <= 0.01 * c["barn_put_fail"]["total"])(
        r["whole_run"]["slab"]["counters"])'
    # Completions ran where the mask says: the frees, by the rule, and the workers behind them.
    holds "$out/$to.json" 'w["completions"]["rule"] == "frees" and w["completions"]["reached"]
        and w["completions"]["share_where_asked"] >= 0.95'
    holds "$out/$to.json" '(lambda q, n: sum(x["by_node"][n] for x in q)
        >= 0.9 * sum(x["cpu_ns"] for x in q) > 0)([x for k, x in w["kworker"]["queues"].items()
        if k in ("rxe_wq", "rpciod", "nfsiod")], str(w["completions"]["nodes_asked"][0]))'
    # Per-node counts are complete: they add up to the total.
    holds "$out/$to.json" 'all(sum(c["by_node"].values()) == c["total"]
        for c in w["slab"]["counters"].values())'
}

node0=(--cpus node:0 --mem node:0)
frees='w["derived"]["remote_free_share"]'
for engine in aio uring; do
    measure $engine-00 --engine $engine "${node0[@]}" --unbound node:0
    holds "$out/$engine-00.json" "$frees < 0.01"
    # 64 MiB in flight are freed at the end and do not fit into a barn of 10 sheaves.
    holds "$out/$engine-00.json" \
        'r["whole_run"]["slab"]["counters"]["barn_put_fail"]["total"] > 100'
done
for engine in aio uring; do
    measure $engine-01 --engine $engine "${node0[@]}" --unbound node:1
    holds "$out/$engine-01.json" "$frees > 0.95"
    holds "$out/$engine-01.json" \
        '(lambda c: c["free_slowpath"]["by_node"]["0"] < 0.05 * c["free_slowpath"]["total"])(
        w["slab"]["counters"])'
    # NFSv3 opened read-only submits inline. A read that would have to wait for a lock is still handed
    # to an io-wq worker, so a few may be; libaio never does that.
    [ $engine = aio ] && holds "$out/$engine-01.json" 'w["iowq"]["workers_seen"] == 0'
    holds "$out/$engine-01.json" 'w["iowq"]["cpu_ms"] < 0.05 * w["window_ns"] / 1e6'
done

# The mask of the unbound work queues is put back.
mask=$("$lab" run --name $name -- cat /sys/devices/virtual/workqueue/cpumask)
check "the mask is $mask, not f" [ "$mask" = f ]

# An NFSv4.2 open does not submit inline: io_uring hands the reads to io-wq workers.
"$lab" remount --name $name --vers 4.2 || fail "remount with NFSv4.2"
measure uring-v42 --engine uring "${node0[@]}" --unbound node:0
holds "$out/uring-v42.json" 'w["iowq"]["workers_seen"] > 0 and w["iowq"]["cpu_ms"] > 0'
# The workers' CPUs are ours: their affinity is set too.
holds "$out/uring-v42.json" 'w["iowq"]["by_node"]["1"] == 0'

# The comparison that the demo prints.
"$numaload" report "$out/aio-00.json" "$out/aio-01.json" >"$work/table" || fail "report"
check "the comparison names the placements" grep -q "node0 / node1" "$work/table"
check "the comparison is wider than 72 columns" [ "$(awk '{ print length }' "$work/table" |
    sort -n | tail -n 1)" -le 72 ]

# Interrupted twice while the last I/Os drain: it ends at once, saves nothing and puts the mask back.
"$lab" remount --name $name --vers 3 || fail "remount with NFSv3"
"$lab" run --name $name -- sh -c '
    "$1" run "$2/profiles/lab.ini" --path /mnt/nfs/data --ramp 1s --window 60s --unbound node:1 \
        --record /tmp/twice.json & pid=$!
    sleep 8; cat /sys/devices/virtual/workqueue/cpumask
    kill -INT $pid; sleep 0.5; kill -INT $pid; wait $pid
    echo "status $?"; cat /sys/devices/virtual/workqueue/cpumask; ls /tmp/twice.json' \
    sh "$numaload" "$source_dir" >"$work/twice" 2>"$work/err"
check "interrupted twice: $(tr '\n' ' ' <"$work/twice") $(cat "$work/err")" \
    [ "$(tr '\n' ' ' <"$work/twice")" = "c status 1 f " ]
check "it says so" grep -q "interrupted twice: nothing was saved" "$work/err"
