#!/usr/bin/env bash
# Engine nfs-rdma against the kernel's nfsd on soft-RoCE: every byte is right whatever the depth,
# block, threads and connections, and what goes wrong is said. One boot.
# Exit status 77 when this machine cannot run the lab.
# shellcheck disable=SC2016 # quoted scripts are for the guest's shell
. "$(dirname "$0")/../cli/lib.sh"
lab=$source_dir/tools/lab
name=nfsrdma$$
out=$work/out.d
trap '"$lab" down --name $name >/dev/null 2>&1; finish' EXIT
"$numaload" version | grep '^engines:.*nfs-rdma' >/dev/null || {
    echo "skipped: this build has no engine nfs-rdma"
    exit 77
}

"$lab" up --name $name --out "$out" || exit $?
server=nfs-rdma://10.77.0.1
url=$server/mnt/export/data
guest() { "$lab" run --name $name -- "$@"; }
# attempt KEY...: a run in the lab: $rc, $work/table and $work/err
attempt() {
    rc=0
    guest "$numaload" run --engine nfs-rdma --threads 1 --iodepth 4 --ramp 0 --record "$out/r.json" "$@" \
        >"$work/table" 2>"$work/err" || rc=$?
}
said() {
    # Tables are wrapped at 72 columns.
    check "not said: $1 ($(tail -n 5 "$work/err" "$work/table"))" grep -q -- "$1" \
        <(cat "$work/err" "$work/table" | tr -s ' \n' ' ')
}

# ---- every byte ----

# Written by READ chunks of the engine's own, and read back by the kernel's client too.
guest "$numaload" prepare --path $url --size 8200K --iodepth 3 --threads 2 >"$work/table" \
    2>"$work/err" || exit 1
said "threads has no effect here"
check "the kernel sees other data" guest sh -c "$numaload"' run --path /mnt/nfs/data --once --verify \
    --threads 1 --iodepth 4 --direct no >/dev/null && cat /mnt/nfs/data.numaload'
guest sh -c 'echo mine >/mnt/export/other'
rc=0
guest "$numaload" prepare --path $server/mnt/export/other --size 1M >"$work/table" \
    2>"$work/err" || rc=$?
check "a file of somebody else: status $rc" [ $rc = 1 ]
said "was not written by numaload"

# threads iodepth block nconnect size
while read -r threads iodepth block nconnect size; do
    what="$threads threads x $iodepth x $block, $nconnect connections"
    rm -f "$out/r.json"
    attempt --path $url --once --verify --threads "$threads" --iodepth "$iodepth" \
        --block "$block" --nconnect "$nconnect" --size "$size"
    check "$what: status $rc $(cat "$work/err")" [ $rc = 0 ]
    valid_record "$out/r.json"
    holds "$out/r.json" 'r["verify"]["blocks_wrong"] == 0 and r["verify"]["blocks_checked"] > 0'
    holds "$out/r.json" 'r["engine"]["transport"]["nconnect"][0]["value"] == '"$nconnect"
    holds "$out/r.json" 'sum(v["threads"] for v in r["engine"]["transport"]["comp_vector"]) == '"$threads"
    # READs are as large as the block, or as the server allows; credits come from the server.
    holds "$out/r.json" '(lambda t: t["read_bytes"][0]["value"] == min(
        t["rtmax_bytes"][0]["value"], r["profile"]["block_bytes"]))(r["engine"]["transport"])'
    holds "$out/r.json" 'r["engine"]["transport"]["device_facts"][0]["value"]["ports"][0]["state"] == "ACTIVE"'
    holds "$out/r.json" 'all(v["value"] >= 1 for v in r["engine"]["transport"]["credits_granted_min"])'
done <<'END'
1 1 4K 1 256K
2 16 64K 2 0
1 64 1M 1 0
8 16 128K 4 0
END

# The check checks: with another salt every block is wrong.
attempt --path $url --once --verify --salt 2 --size 1M
check "wrong data: status $rc" [ $rc = 1 ]
said "wrong byte"

# ---- what can be wrong before ----

attempt --path $server/mnt/export/none
check "no such file: status $rc" [ $rc = 1 ]
said "/mnt/export/none: NFS3ERR_NOENT"
attempt --path $server/usr/share/data
check "not exported: status $rc" [ $rc = 1 ]
said "no folder of /usr/share/data can be mounted"
attempt --path $server/mnt/export
check "a directory: status $rc" [ $rc = 1 ]
said "is a directory, not a file"
attempt --path $server:20050/mnt/export/data
check "nobody listens: status $rc" [ $rc = 1 ]
said "10.77.0.1:20050: connection refused: no NFS server"
attempt --path $url --comp-vector 99
check "no such vector: status $rc" [ $rc = 2 ]
said "99"
rc=0
guest bash -c 'ulimit -l 1024; setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all \
    "$@"' sh "$numaload" run --engine nfs-rdma --path $url --threads 2 --iodepth 4 >"$work/table" 2>"$work/err" || rc=$?
check "memory that may not be locked: status $rc" [ $rc = 1 ]
said "RLIMIT_MEMLOCK is 1048576"

# ---- what can go wrong meanwhile ----

start='rpc.nfsd 4; echo "rdma 20049" >/proc/fs/nfsd/portlist'
# once_loading COMMAND: runs it in the guest in the middle of the load, however slow the machine is
once_loading() {
    local tries
    for tries in $(seq 300); do
        [ "$(wc -l 2>/dev/null <"$out/live.csv" || echo 0)" -lt 3 ] || break
        sleep 0.2
    done
    guest sh -c "$1"
}
# during COMMAND KEY...: COMMAND runs in the middle of the load
during() {
    local command=$1
    shift
    rm -f "$out/r.json" "$out/live.csv"
    once_loading "$command" &
    attempt --livecsv "$out/live.csv" --path $url --threads 2 --iodepth 16 --block 64K --window 40s --deadline 5s "$@"
    wait $!
    # The window ended early, and what was measured is kept.
    check "$command: status $rc" [ $rc = 1 ]
    holds "$out/r.json" 'sum(x["throughput"]["bytes"] for x in r["windows"]) > 0'
    holds "$out/r.json" 'w["cut_short"]'
}
during 'rm /mnt/export/data'
said NFS3ERR_STALE
guest "$numaload" prepare --path /mnt/export/data --size 8200K || exit 1
during 'echo 0 >/proc/fs/nfsd/threads'
said "10.77.0.1:20049"
said "no new connection in"
guest sh -c "$start" || fail "nfsd again"
attempt --path $url --once --verify
check "after the server's restart: status $rc $(cat "$work/err")" [ $rc = 0 ]

# A server that comes back: the run goes on and every byte is right, but it is invalid.
rm -f "$out/live.csv"
once_loading "echo 0 >/proc/fs/nfsd/threads; sleep 1; $start" &
attempt --livecsv "$out/live.csv" --path $url --threads 2 --iodepth 16 --block 64K --window 20s --deadline 40s --verify \
    --nconnect 2 --completion poll
wait $!
check "restarted meanwhile: status $rc $(cat "$work/err")" [ $rc = 3 ]
said "connections were lost and made anew"
valid_record "$out/r.json"
holds "$out/r.json" 'sum(v["value"] * v["threads"] for v in r["engine"]["transport"]["reconnects"]) >= 4'
holds "$out/r.json" 'r["verify"]["blocks_wrong"] == 0 and r["windows"][0]["window_ns"] > 19.9e9'
holds "$out/r.json" 'r["engine"]["transport"]["completion"] == [{"value": "poll", "threads": 2}]'

# Under the sanitizers.
asan=$source_dir/build/asan/numaload
if [ -x "$asan" ] && "$asan" version | grep '^engines:.*nfs-rdma' >/dev/null; then
    numaload=$asan attempt --path $url --once --verify --threads 2 --iodepth 8 --block 64K --nconnect 2 --size 2M
    check "under the sanitizers: status $rc $(cat "$work/err")" [ $rc = 0 ]
    check "sanitizer: $(cat "$work/err")" sh -c "! grep -q Sanitizer '$work/err'"
else
    echo "no asan build: not run under the sanitizers"
fi

# The device goes, under client and server; the kernel's mount would hold it for a while.
"$lab" unmount --name $name
during 'rdma link delete rxe0'
# Whose end is first to notice is chance; the server's says goodbye.
said "the RDMA device rxe0 was removed\|closed the connection; no new connection in .*: No such device (RDMA devices here: none"
