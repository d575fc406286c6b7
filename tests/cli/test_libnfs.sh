#!/usr/bin/env bash
# Engine libnfs against a server in user space (nfs-ganesha) on loopback, in namespaces of the
# test's own, so that no port, no /run and no process of the machine is touched.
skip() {
    echo "skipped: $1"
    exit 77
}
if [ "${1:-}" != inside ]; then
    [ "$(id -u)" = 0 ] || skip "namespaces and a server with handles need root"
    for program in ganesha.nfsd rpcbind ss unshare; do
        command -v $program >/dev/null || skip "no $program (tools/packages lists what tests need)"
    done
    "${NUMALOAD:-$(dirname "$0")/../../build/release/numaload}" version | grep '^engines:.*libnfs' \
        >/dev/null || skip "this build has no engine libnfs"
    unshare -n -m -p -f --mount-proc true || skip "no namespaces here"
    exec unshare -n -m -p -f --kill-child --mount-proc bash "$0" inside
fi
. "$(dirname "$0")/lib.sh"
export_dir=$(mktemp -d /var/tmp/numaload-export.XXXXXX)
trap 'kill -9 "$server" 2>/dev/null; rm -rf "$export_dir"; finish' EXIT

# ---- the server ----

# 10.77.9.1: without an address besides loopback ganesha cannot resolve 127.0.0.1.
ip link set lo up
ip addr add 10.77.9.1/32 dev lo
mount -t tmpfs tmpfs /run
mkdir -p /run/ganesha /run/rpcbind /run/sendsigs.omit.d
[ ! -d /var/lib/nfs ] || mount -t tmpfs tmpfs /var/lib/nfs
mkdir -p /var/lib/nfs/ganesha
cat >"$work/ganesha.conf" <<END
NFS_CORE_PARAM {
    Protocols = 3,4; NFS_Port = 12049; MNT_Port = 12050; Bind_addr = 127.0.0.1;
    Enable_NLM = false; Enable_RQUOTA = false; mount_path_pseudo = false;
}
EXPORT {
    Export_Id = 1; Path = $export_dir; Pseudo = /export; Access_Type = RW;
    Squash = No_Root_Squash; SecType = sys; Protocols = 3,4; Transports = TCP;
    MaxRead = 262144; PrefRead = 262144; FSAL { Name = VFS; }
}
END
rpcbind
ganesha.nfsd -F -f "$work/ganesha.conf" -L "$work/ganesha.log" -p /run/ganesha.pid &
server=$!
v3="nfs://127.0.0.1$export_dir/data?nfsport=12049&mountport=12050"
v4="nfs://127.0.0.1/export/data?version=4&nfsport=12049"
"$numaload" prepare --path "$export_dir/data" --size 16M >/dev/null || exit 1
"$numaload" prepare --path "$export_dir/more" --size 8M >/dev/null || exit 1
load() {
    "$numaload" run --engine libnfs --threads 2 --iodepth 4 --ramp 100ms --window 300ms \
        --record "$work/r.json" "$@"
}
for _ in $(seq 50); do
    load --path "$v3" --ramp 0s --window 10ms >/dev/null 2>&1 && break
    kill -0 $server 2>/dev/null || { tail -n 5 "$work/ganesha.log"; skip "ganesha does not start"; }
    sleep 0.2
done

# ---- reads ----

for url in "$v3" "$v4"; do
    version=3
    [ "$url" = "$v3" ] || version=4
    # 1 MiB blocks are READs of 256 KiB, the most that this server does.
    expect 0 "libnfs" load --path "$url" --verify
    valid_record "$work/r.json"
    holds "$work/r.json" "r['engine']['transport']['nfs_version'] ==
        [{'value': $version, 'threads': 2}]"
    holds "$work/r.json" "r['engine']['transport']['reconnects'] == [{'value': 0, 'threads': 2}]"
    holds "$work/r.json" "w['throughput']['bytes'] == w['throughput']['ios'] * 1048576"
    holds "$work/r.json" "r['verify']['blocks_checked'] >= w['throughput']['ios']"
    holds "$work/r.json" "r['status'] == 'valid' and w['throughput']['ios'] > 0"
    # blocks that fit in no READ evenly, with a shorter one at the end of the file
    expect 0 "libnfs" load --path "$url" --block 3000000 --verify
    # many clients of one process
    expect 0 "libnfs" load --path "$url" --threads 8 --block 4K --rw randread --verify
    # two files of one folder
    expect 0 "libnfs" load --path "$url" --path "${url/data/more}" --verify
    holds "$work/r.json" "sum(f['bytes'] for f in r['files']) == 24 << 20"
done
load --path "$v3" >/dev/null
holds "$work/r.json" "r['engine']['transport']['server_read_max_bytes'][0]['value'] == 262144"
holds "$work/r.json" "r['engine']['transport']['requests_per_io'][0]['value'] == 4"

# One byte that is not what was written is found, and said.
printf '\377' | dd of="$export_dir/more" bs=1 seek=5000000 conv=notrunc status=none
expect 1 "first wrong byte is at offset 5000000" load --path "${v3/data/more}" --verify --window 1s
expect 2 "only reads" load --path "$v3" --rw write

# ---- what cannot be read ----

expect 1 "/nix.*(ACCES|NOENT).*showmount -e" load --path "${v3/$export_dir/\/nix}"
expect 1 "/nix.*NOENT.*showmount -e" load --path "${v4/export/nix}"
for url in "$v3" "$v4"; do
    expect 1 "no such file" load --path "${url/data/nothing}"
    expect 1 "--size: 1 GiB asked for, but .* has only 16 MiB" load --path "$url" --size 1G
    chmod 600 "$export_dir/data"
    expect 1 "no permission to read it.*uid=" load --path "$url&uid=65534&gid=65534"
    chmod 644 "$export_dir/data"
    truncate -s 4M "$export_dir/holes"
    expect 1 "has 4 MiB but only 0 B" load --path "${url/data/holes}"
    expect 0 "libnfs" load --path "${url/data/holes}" --allow-sparse
done
expect 1 "cannot mount" load --path "${v3/12050/12051}"
expect 2 "nfs://SERVER/FOLDER/FILE" load --path "$export_dir/data"
expect 2 "different servers or arguments" load --path "$v3" --path "${v3/127.0.0.1/127.0.0.2}"

# ---- servers that go away ----

connections() { ss -tH state established dport = 12049 | wc -l; }

# Comes back a second after both threads of a load are connected.
until_loading() {
    until [ "$(connections)" -ge 2 ]; do sleep 0.05; done
    sleep 1
}

# What a load that gave up leaves behind must not be taken for the next one.
until_quiet() {
    local tries
    for tries in $(seq 600); do
        [ "$(connections)" != 0 ] || return 0
        sleep 0.05
    done
    fail "connections to the server stay for 30 s"
}

# Stopped for 5 s: the window waits with it, and nothing is lost.
(until_loading && kill -STOP $server && sleep 5 && kill -CONT $server) &
expect 0 "libnfs" load --path "$v3" --window 9s
wait $!
holds "$work/r.json" "w['latency']['max_ns'] > 4e9"
holds "$work/r.json" "r['engine']['transport']['reconnects'] == [{'value': 0, 'threads': 2}]"

# The same with a deadline: failed, and the window so far is kept.
(until_loading && kill -STOP $server && sleep 4 && kill -CONT $server) &
expect 1 "did not answer a READ of 1048576 bytes at offset [0-9]+ for [0-9.]+ s .key deadline" \
    load --path "$v4" --window 9s --deadline 1s
wait $!
valid_record "$work/r.json"
holds "$work/r.json" "w['throughput']['ios'] > 0 and w['cut_short']"
until_quiet

# A connection that is cut and made anew: measured, but invalid. Between replies: libnfs 4 keeps
# the part of a reply that it had, and what comes after that is not understood. And each one once:
# a filter without ports would meet those that libnfs makes meanwhile as well.
cut_connections() {
    local port
    for port in $(ss -tH state established dport = 12049 | awk '{sub(/.*:/, "", $3); print $3}'); do
        ss -K -t4 dst 127.0.0.1 dport = 12049 sport = "$port"
    done
}
(until_loading && kill -STOP $server && sleep 0.5 && cut_connections >"$work/cut" 2>/dev/null
    kill -CONT $server) &
load --path "$v3" --block 4K --window 3s >"$work/text"
rc=$?
wait $!
if grep -q ESTAB "$work/cut"; then
    check "status 3 after a reconnect, not $rc" [ $rc = 3 ]
    check "the reconnects are said" grep -q "made anew 2 times" "$work/text"
    holds "$work/r.json" "r['engine']['transport']['reconnects'] == [{'value': 1, 'threads': 2}]"
else
    echo "this kernel cannot cut connections (CONFIG_INET_DIAG_DESTROY): not tested"
fi

# Truncated in mid-run.
until_quiet
(until_loading && truncate -s 2M "$export_dir/more") &
expect 1 "the file was truncated" load --path "${v3/data/more}" --window 4s
wait $!

until_quiet
# Killed: the window ends, what was measured is kept.
(until_loading && kill -9 $server) &
expect 1 "did not come back" load --path "$v3" --window 2s
valid_record "$work/r.json"
holds "$work/r.json" "w['throughput']['ios'] > 0 and r['outstanding']['ios'] == 8"
exit 0
