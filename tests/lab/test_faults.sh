#!/usr/bin/env bash
# A byte flipped on the server's side, and a server that stops answering with requests in flight.
# Exit status 77 when this machine cannot run the lab.
. "$(dirname "$0")/../cli/lib.sh"
lab=$source_dir/tools/lab
name=faults$$
out=$work/out.d
trap '"$lab" down --name $name >/dev/null 2>&1; finish' EXIT

"$lab" up --name $name --out "$out" || exit $?
in_lab() {
    "$lab" run --name $name -- "$@"
}
in_lab "$numaload" prepare --path /mnt/export/data --size 32M >/dev/null || exit 1

# Every block over NFS/RDMA, right and with one byte flipped on the server.
verify=("$numaload" run --path /mnt/nfs/data --once --verify --threads 4 --iodepth 4)
in_lab "${verify[@]}" --record "$out/right.json" >"$work/table" 2>"$work/err"
rc=$?
check "all is right: status 0, not $rc" [ $rc = 0 ]
holds "$out/right.json" 'r["verify"]["blocks_checked"] == 32 and r["verify"]["blocks_wrong"] == 0'
holds "$out/right.json" 'r["files"][0]["filesystem"] == "nfs" and "proto=rdma" in r["files"][0]["mount_options"]'
in_lab sh -c 'printf "\377" | dd of=/mnt/export/data bs=1 seek=12345679 conv=notrunc status=none'
in_lab "${verify[@]}" --record "$out/flipped.json" >"$work/table" 2>"$work/err"
rc=$?
check "a flipped byte: status 1, not $rc" [ $rc = 1 ]
# Byte 7 of the word at 12345672, whose value 12345673 needs three bytes.
holds "$out/flipped.json" 'r["verify"]["blocks_wrong"] == 1 and r["verify"]["first_wrong"]
    == {"path": "/mnt/nfs/data", "offset": 12345679, "expected": 0, "found": 255}'
check "it is said" grep -q "offset 12345679 of /mnt/nfs/data: expected 0x00, found 0xff" \
    <(tr -s ' \n' ' ' <"$work/table")

# The server is stopped in the window. CLOCK_MONOTONIC is what /proc/uptime shows.
for engine in aio uring; do
    in_lab bash -c '
        "$1" run --path /mnt/nfs/data --engine "$2" --threads 4 --iodepth 4 --ramp 1s --window 5s \
            --unbound node:1 --record "$3/$2.json" >"$3/$2.txt" 2>"$3/$2.err" & pid=$!
        sleep 4
        rpc.nfsd 0
        wait $pid
        rc=$?
        read -r up _ </proc/uptime
        echo "rc=$rc exit_s=$up mask=$(cat /sys/devices/virtual/workqueue/cpumask)"' \
        sh "$numaload" $engine "$out" >"$work/end" 2>"$work/err"
    rc=$(sed -n 's/^rc=\([0-9]*\).*/\1/p' "$work/end")
    exit_s=$(sed -n 's/.*exit_s=\([0-9.]*\).*/\1/p' "$work/end")
    check "$engine: status 1, not $rc ($(cat "$work/end" "$work/err" "$out/$engine.err"))" [ "$rc" = 1 ]
    check "$engine: the mask is put back" grep -q "mask=f$" "$work/end"
    valid_record "$out/$engine.json"
    late=$(field "$out/$engine.json" "round(${exit_s:-1e9} - w['t1_ns'] / 1e9, 2)")
    check "$engine: it ended $late s after the window" [ "${late%.*}" -lt 5 ]
    holds "$out/$engine.json" 'r["status"] == "failed" and 4.9e9 < w["window_ns"] < 7e9'
    holds "$out/$engine.json" 'r["outstanding"]["ios"] > 0 and r["outstanding"]["threads"] > 0
        and r["outstanding"]["oldest_age_ns"] > 2e9'
    holds "$out/$engine.json" 'any("did not come back, the oldest for" in x["text"] for x in r["notes"])'
    # With the server back, what was left behind ends by itself.
    in_lab bash -c '
        rpc.nfsd 4 && echo "rdma 20049" >/proc/fs/nfsd/portlist
        for i in $(seq 60); do pgrep -x numaload >/dev/null || exit 0; sleep 1; done
        exit 1'
    check "$engine: nothing is left once the server is back" [ $? = 0 ]
done

# SIGKILL while requests hang: the worker cannot die, the mask is put back all the same.
in_lab bash -c '
    "$1" run --path /mnt/nfs/data --engine aio --threads 2 --iodepth 4 --ramp 1s --window 60s \
        --unbound node:1 >/dev/null 2>&1 & pid=$!
    sleep 4
    echo "before $(cat /sys/devices/virtual/workqueue/cpumask)"
    rpc.nfsd 0
    sleep 2
    kill -KILL $pid
    for i in $(seq 10); do [ "$(cat /sys/devices/virtual/workqueue/cpumask)" != f ] || break; sleep 1; done
    echo "after $(cat /sys/devices/virtual/workqueue/cpumask)"' sh "$numaload" >"$work/end" 2>"$work/err"
check "killed while it hangs: $(tr '\n' ' ' <"$work/end")" \
    [ "$(tr '\n' ' ' <"$work/end")" = "before c after f " ]
