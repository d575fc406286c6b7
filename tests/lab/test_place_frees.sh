#!/usr/bin/env bash
# Placement decides on which node pages are freed (nfs_page, NFSv3 over soft-RoCE, direct reads by
# threads on node 0): with the work queues when client and server are one guest, with nothing but the
# network interrupt when they are two. What a run moves for it is put back.
# usage: test_place_frees.sh [one|two]...   (default: both)
# shellcheck disable=SC2016 # quoted scripts are for the guest's shell
. "$(dirname "${BASH_SOURCE[0]}")/place_common.sh"

# Reads for $seconds and prints free_fastpath and free_slowpath of that time.
# A free on another node than the object's is always a slow one.
load='cache=/sys/kernel/slab/nfs_page
total() { sed "s/ .*//" $cache/$1; }
set -- $(total free_fastpath) $(total free_slowpath)
end=$(($(cut -d. -f1 /proc/uptime) + $0))
while [ $(cut -d. -f1 /proc/uptime) -lt $end ]; do
    for i in 1 2 3 4; do dd if=/mnt/nfs/data of=/dev/null bs=1M count=16 skip=$((i * 16)) iflag=direct 2>/dev/null & done
    wait
done
echo $(($(total free_fastpath) - $1)) $(($(total free_slowpath) - $2))'

# remote_percent WORDS...: place exec with these words; the share of slow frees in $percent
remote_percent() {
    in_lab "$numaload" place exec --cpus node:0 "$@" -- sh -c "$load" "$seconds"
    percent=0
    if [ "$rc" -ne 0 ]; then
        bad "place exec --cpus node:0 $*: exit status $rc" "$err"
        return
    fi
    read -r fast slow <<<"$got"
    percent=$((100 * slow / (fast + slow)))
    echo "        $*: $fast fast and $slow slow frees, $percent % slow"
}
at_least() { if [ "$percent" -ge "$2" ]; then ok "$1"; else bad "$1" "$percent %, at least $2 % must be"; fi; }
at_most() { if [ "$percent" -le "$2" ]; then ok "$1"; else bad "$1" "$percent %, at most $2 % may be"; fi; }

fill='dd if=/dev/urandom of=$LAB_MOUNT/data bs=1M count=96 2>/dev/null && echo 3 >/proc/sys/vm/drop_caches'

# What cq and wq-scope of a run move, on the device behind the mount, is put back to the byte, at its
# end and after SIGKILL.
scope() {
    cat >"$work/script" <<'G'
state() { cat /sys/devices/virtual/workqueue/*/affinity_scope /sys/devices/virtual/workqueue/cpumask \
    /sys/devices/virtual/workqueue/*/cpumask; }
load="$1 run $2/profiles/lab.ini --path /mnt/nfs/scope --cq node:1 --wq-scope numa --iodepth 2"
"$1" prepare --path /mnt/export/scope --size 64M >/dev/null
state >/tmp/before
$load --window 3s --ramp 1s --record "$LAB_OUT/scope.json" >/dev/null
echo "status $?"
state | cmp /tmp/before - && echo put back
$load --window 60s >/dev/null &
pid=$!
for i in $(seq 100); do
    ! grep -q numa /sys/devices/virtual/workqueue/ib-comp-unb-wq/affinity_scope || break
    sleep 0.2
done
sleep 3
cat /sys/devices/virtual/workqueue/ib-comp-unb-wq/affinity_scope
kill -9 $pid
wait $pid
for i in $(seq 20); do
    ! state | cmp -s /tmp/before - || { echo put back after SIGKILL; break; }
    sleep 0.2
done
G
    in_lab sh -s "$numaload" "$root" <"$work/script"
    check "a run puts back what cq and wq-scope moved" \
        "status 0;put back;numa;put back after SIGKILL;" "$(tr '\n' ';' <<<"$got")"
    contains "the device behind the mount is found" "device rxe0: server"
    python3 "$root/tests/schema_check.py" "$out/scope.json" || bad "the record fits the schema"
    check "its work queues are reached" True "$(python3 -c 'import json, sys
w = json.load(open(sys.argv[1]))["windows"][0]
print({p["lever"]: p["reached"] for p in w["placement"]}["unbound"])' "$out/scope.json")"
}

one() {
    # With masks it is one node or the other at once; interrupts make it a tendency, which takes longer.
    local seconds=5
    boot
    in_lab sh -c "$fill"
    remote_percent --cq node:0 --device rxe0
    at_most "one guest, work queues on the node of the threads: frees are local" 10
    remote_percent --cq node:1 --device rxe0
    at_least "one guest, work queues on the other node: frees are remote" 90
    scope
    "$lab" down --name "$name" >&2
}

two() {
    local seconds=10
    boot --two-guests
    in_lab sh -c "$fill"
    remote_percent --cq node:0 --device eth0
    at_most "two guests, interrupt on the node of the threads: most frees are local" 35
    remote_percent --cq node:1 --device eth0
    at_least "two guests, interrupt on the other node: most frees are remote" 70
    # A run does the same, and records it: interrupts judged, frees shown beside them.
    in_lab "$numaload" run "$root/profiles/lab.ini" --path /mnt/nfs/data --ramp 3s --window 8s --iodepth 4 --cpus node:0 \
        --mem node:0 --cq node:1 --device eth0 --record "$out/run.json"
    check "run with cq on interrupts: exit status" 0 "$rc"
    record() { python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); w = r["windows"][0]
print(eval(sys.argv[2]))' "$out/run.json" "$1"; }
    check "run: interrupts where asked" True \
        "$(record '{p["lever"]: p["reached"] for p in w["placement"]}["cq"]')"
    check "run: the rule is on interrupts" interrupts "$(record 'w["completions"]["rule"]')"
    check "run: most frees followed them" True "$(record 'w["completions"]["share_where_asked"] >= 0.7')"
    check "run: so did the workers" True \
        "$(record '(lambda q: sum(x["by_node"]["1"] for x in q) >= 0.7 * sum(x["cpu_ns"] for x in q) > 0)(
            [x for k, x in w["kworker"]["queues"].items() if k != "other"])')"
    python3 "$root/tests/schema_check.py" "$out/run.json" || bad "the record fits the schema"
    record '(w["completions"], w["kworker"])'
    "$lab" down --name "$name" >&2
}

for part in "${@:-one}" $([ $# -gt 0 ] || echo two); do
    case $part in
    one | two) "$part" ;;
    *)
        echo "usage: $0 [one|two]..." >&2
        exit 2
        ;;
    esac
done
exit $failed
