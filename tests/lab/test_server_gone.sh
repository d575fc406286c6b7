#!/usr/bin/env bash
# Clients in user space and a server in a guest of its own, which freezes for 5 s, whose NFS service
# is stopped for 5 s, which loses its power and boots again, and which cannot be reached in the end:
# every byte is right while it answers, and what was measured is kept with the reason when it does not.
# Exit status 77 when this machine cannot run the lab.
# shellcheck disable=SC2016 # quoted scripts are for the guest's shell
. "$(dirname "$0")/../cli/lib.sh"
lab=$source_dir/tools/lab
name=gone$$
out=$work/out.d
trap '"$lab" down --name $name >/dev/null 2>&1; finish' EXIT
has() { "$numaload" version | grep "^engines:.*$1" >/dev/null; }
if ! has nfs-rdma || ! has libnfs; then
    echo "skipped: this build has no engine nfs-rdma or libnfs"
    exit 77
fi
"$lab" up --two-guests --no-mount --name $name --out "$out" || exit $?
in_server() { "$lab" run --name $name-server -- "$@"; }
# What the server offers, also after it was booted again.
provide() {
    in_server sh -c "exec '$numaload' serve --size 16M --listen 10.77.0.1" >"$work/serve" 2>&1 &
    in_server "$numaload" prepare --path /mnt/export/data --size 16M >/dev/null || fail "no file"
}
provide
nfs=10.77.0.1/mnt/export/data

# Sourced in the client's guest. load NAME ENGINE PATH OPTION...: a run in the background, its status
# in NAME.rc. loading NAME...: they are under way, however slow the machine is.
cat >"$out/guest" <<EOT
numaload=$numaload
load() {
    local to=\$LAB_OUT/\$1
    ( rc=0
      "\$numaload" run --engine "\$2" --path "\$3" --threads 2 --iodepth 4 --block 128K --ramp 0 --record \$to.json \
          --livecsv \$to.csv "\${@:4}" >\$to.out 2>\$to.err || rc=\$?
      echo \$rc >\$to.rc ) &
}
loading() {
    local run
    for run; do
        until [ "\$(wc -l <\$LAB_OUT/\$run.csv)" -ge 3 ] || [ -e \$LAB_OUT/\$run.rc ]; do sleep 0.2; done 2>/dev/null
    done
}
v3=nfs://$nfs?mountport=20048
v4=nfs://10.77.0.1/data?version=4
rdma=nfs-rdma://$nfs?mountport=20048
EOT
guest() {
    timeout -k 5 100 "$lab" run --name $name -- bash -c '. "$LAB_OUT/guest"; '"$1" >"$work/out" 2>"$work/err" ||
        fail "guest: $1: $(tail -n 5 "$work/out" "$work/err")"
}
status() { check "$1: status $(cat "$out/$1.rc"), not $2: $(tail -n 3 "$out/$1.err")" [ "$(cat "$out/$1.rc")" = "$2" ]; }
said() { check "$1 does not say '$2': $(tail -n 3 "$out/$1.err") $(grep -A 1 '"error"' "$out/$1.json")" grep -Eq -- "$2" <(cat "$out/$1.err" "$out/$1.out" | tr -s ' \n' ' '); }
kept() {
    status "$1" 1
    valid_record "$out/$1.json"
    holds "$out/$1.json" 'w["cut_short"] and w["throughput"]["bytes"] > 0'
}

# ---- every byte over TCP, from the kernel's server ----

# A server of NFSv4 lets nobody open a file in its first 10 s.
guest 'for tries in $(seq 60); do load open libnfs $v4 --once --size 128K; wait; [ "$(cat $LAB_OUT/open.rc)" != 0 ] || break; sleep 0.3; done
    for v in v3 v4; do
        load $v-large libnfs ${!v} --once --verify --block 1M
        load $v-small libnfs ${!v} --once --verify --block 16K --threads 4 --iodepth 16
        wait
    done'
for v in 3 4; do
    for run in v$v-large v$v-small; do
        status $run 0
        valid_record "$out/$run.json"
        holds "$out/$run.json" 'r["verify"]["blocks_wrong"] == 0 and r["whole_run"]["throughput"]["bytes"] == 16 << 20'
        holds "$out/$run.json" 'r["engine"]["transport"]["nfs_version"][0]["value"] == '$v
    done
done

# ---- frozen for 5 s ----

server=$("$lab" status --name $name-server | sed -n "s/^$name-server: .*pid \([0-9]*\),.*/\1/p")
# The mark says that the client's guest has its runs under way.
on_mark() {
    local tries
    rm -f "$out/mark"
    for tries in $(seq 500); do
        [ ! -e "$out/mark" ] || break
        sleep 0.2
    done
    "$@"
}
freeze() {
    kill -STOP "$server" && sleep 5 && kill -CONT "$server"
}
on_mark freeze &
guest 'for v in v3 v4; do load $v-frozen libnfs ${!v} --verify --window 16s; done
    loading v3-frozen v4-frozen; touch $LAB_OUT/mark; wait'
wait $!
for v in 3 4; do
    status v$v-frozen 0
    holds "$out/v$v-frozen.json" 'w["latency"]["max_ns"] > 4e9 and w["throughput"]["bytes"] > 0'
    holds "$out/v$v-frozen.json" 'r["verify"]["blocks_wrong"] == 0 and all(
        v["value"] == 0 for v in r["engine"]["transport"]["reconnects"])'
done

# ---- no NFS service for 5 s ----

restart() {
    in_server sh -c 'echo 0 >/proc/fs/nfsd/threads; sleep 5; rpc.nfsd 4; echo "rdma 20049" >/proc/fs/nfsd/portlist
        echo Y 2>/dev/null >/proc/fs/nfsd/v4_end_grace'
}
on_mark restart &
guest 'for v in v3 v4; do load $v-stopped libnfs ${!v} --verify --window 26s; done
    loading v3-stopped v4-stopped; touch $LAB_OUT/mark; wait'
wait $!
status v3-stopped 3
said v3-stopped "made anew"
holds "$out/v3-stopped.json" 'w["throughput"]["bytes"] > 0 and not w["cut_short"]'
# The state of NFSv4 went with the connection.
kept v4-stopped
said v4-stopped "the connection to 10.77.0.1 is lost"
for v in 3 4; do holds "$out/v$v-stopped.json" 'r["verify"]["blocks_wrong"] == 0'; done

# ---- no power: nothing says goodbye, and who boots again knows of no connection ----

boot_id() { in_server cat /proc/sys/kernel/random/boot_id; }
before=$(boot_id)
expect 2 "holds their link: reset '$name-server'" "$lab" reset --name $name
on_mark "$lab" reset --name $name-server >"$work/reset" 2>&1 &
guest 'load nfs-reset nfs-rdma $rdma --window 90s --deadline 80s
    load read-reset rdma-read 10.77.0.1 --window 90s
    loading nfs-reset read-reset; touch $LAB_OUT/mark; wait'
wait $! || fail "reset: $(cat "$work/reset")"
check "the server did not boot again" [ "$before" != "$(boot_id)" ]
kept nfs-reset
kept read-reset
said nfs-reset NFS3ERR_STALE
said read-reset "does not answer"
provide
guest 'load nfs-back nfs-rdma $rdma --once --verify
    load read-back rdma-read 10.77.0.1 --once --verify
    wait'
for run in nfs-back read-back; do
    status $run 0
    holds "$out/$run.json" 'r["verify"]["blocks_wrong"] == 0 and r["whole_run"]["throughput"]["bytes"] == 16 << 20'
done

# ---- cut off; the last, as soft-RoCE connects no more once it could not say goodbye ----

guest 'load nfs nfs-rdma $rdma --window 30s --deadline 8s
    load read rdma-read 10.77.0.1 --window 30s --deadline 8s
    loading nfs read; ip link set eth0 down; wait'
kept nfs
kept read
said nfs "port 1 of rxe0 went down .*no new connection in"
said read "port 1 of rxe0 went down"
