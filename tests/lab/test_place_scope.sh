#!/usr/bin/env bash
# The device behind an NFS/RDMA mount is found, and what cq and wq-scope move is put back to the byte,
# at the end of a run and after SIGKILL. Exit status 77 when this machine cannot run the lab.
. "$(dirname "$0")/../cli/lib.sh"
lab=$source_dir/tools/lab
name=scope$$
trap '"$lab" down --name $name >/dev/null 2>&1; finish' EXIT
"$lab" up --name $name --out "$work/out.d" || exit $?

cat >"$work/script" <<'G'
state() { cat /sys/devices/virtual/workqueue/*/affinity_scope /sys/devices/virtual/workqueue/cpumask \
    /sys/devices/virtual/workqueue/*/cpumask; }
load="$1 run $2/profiles/lab.ini --path /mnt/nfs/data --cq node:1 --wq-scope numa --iodepth 2"
"$1" prepare --path /mnt/export/data --size 64M >/dev/null
state >/tmp/before
$load --window 4s --ramp 3s --record "$LAB_OUT/r.json" >/dev/null
echo "status $?"
state | cmp /tmp/before - && echo put back
$load --window 60s >/dev/null &
pid=$!
sleep 8
cat /sys/devices/virtual/workqueue/ib-comp-unb-wq/affinity_scope
kill -9 $pid
wait $pid
sleep 3
state | cmp /tmp/before - && echo put back after SIGKILL
G
"$lab" run --name $name -- sh -s "$numaload" "$source_dir" <"$work/script" >"$work/said" 2>"$work/err"
check "the guest said $(cat "$work/said" "$work/err")" [ "$(tr '\n' ';' <"$work/said")" = \
    "status 0;put back;numa;put back after SIGKILL;" ]
check "the device of the mount is named" grep -q "device rxe0: server" "$work/err"
valid_record "$work/out.d/r.json"
holds "$work/out.d/r.json" '{p["lever"]: p["reached"] for p in w["placement"]}["unbound"] is True'
