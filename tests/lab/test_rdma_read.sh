#!/usr/bin/env bash
# rdma-read against 'numaload serve' on soft-RoCE and soft-iWARP: every byte checked, and what a run
# says when the responder, its memory or the device goes away.
# Exit status 77 when this machine cannot run the lab.
# shellcheck disable=SC2016 # quoted scripts are for the guest's shell
. "$(dirname "$0")/../cli/lib.sh"
lab=$source_dir/tools/lab
name=rdmaread$$
out=$work/out.d
trap '"$lab" down --name $name >/dev/null 2>&1; finish' EXIT
"$numaload" version | grep -q '^engines:.*rdma-read' || {
    echo "this build has no engine rdma-read"
    exit 77
}
"$lab" up --name $name --no-mount --out "$out" || exit $?
asan=$source_dir/build/asan/numaload

# Sourced in the guest. serve OPTION...: a responder in the background, its pid in $server and its
# messages in $said; load NAME OPTION...: a run, its record in NAME.json, its status in $rc.
cat >"$out/guest" <<'EOT'
numaload=$NUMALOAD
soft=$SOURCE/tools/soft-roce
serve() {
    said=$LAB_OUT/serve.$((++servers))
    "$numaload" serve --size 16M "$@" >$said.out 2>$said &
    server=$!
    for tries in $(seq 150); do
        ! grep -q "listening\|error" $said || return 0
        sleep 0.2
    done
    echo "serve does not listen after 30 s: $(cat $said)" >&2
    exit 1
}
load() {
    to=$1
    shift
    rc=0
    "$numaload" run --engine rdma-read --path ${at:-10.77.0.1} --threads 2 --iodepth 4 --block 256K --ramp 0s \
        --window 2s --verify --record "$LAB_OUT/$to.json" "$@" >$LAB_OUT/$to.out 2>$LAB_OUT/$to.err || rc=$?
    echo "$to $rc"
}
stop() {
    kill -INT $server
    rc=0
    wait $server || rc=$?
    echo "serve $rc"
}
EOT
guest() {
    timeout 200 "$lab" run --name $name -- env NUMALOAD="${program:-$numaload}" SOURCE="$source_dir" bash -c '. "$LAB_OUT/guest"; '"$1" >"$work/out" 2>"$work/err" ||
        fail "guest: $1: $(tail -n 5 "$work/out" "$work/err")"
}
# status NAME N: what the guest said of a run or of serve.
status() { check "$1: $(grep "^$1 " "$work/out"), not $2: $(cat "$out/$1.err" 2>/dev/null)" grep -qx "$1 $2" "$work/out"; }
says() { check "$1 does not say '$2': $(cat "$out/$1.err")" grep -Eq -- "$2" "$out/$1.err"; }
# What ended a window is a note of the record.
notes() { check "$1 does not note '$2': $(grep '"text"' "$out/$1.json")" grep -Eq -- "\"text\".*$2" "$out/$1.json"; }

# Every byte, on both kinds of device. iWARP finds its device by its address: rxe goes first, and its
# place on the interface, which stays, is taken by one of tools/soft-roce.
shapes='load $dev-one --threads 1 --iodepth 1 --block 1M --window 4s
    load $dev-poll --threads 2 --iodepth 16 --block 4K --completion poll
    load $dev-event --threads 4 --iodepth 8 --block 64K --cq node:1
    load $dev-shared --threads 1 --iodepth 16 --block 16K --signal-every 4'
guest 'serve --mem node:1; dev=rxe; '"$shapes"'; stop
    rdma link delete rxe0
    at=$($soft up --type siw --netdev eth0); echo "siw-at $at"
    serve --mem node:0; dev=nl_siw; '"$shapes"'; stop
    $soft down; echo "siw-down $?"; ip -o addr show dev eth0; rdma link add rxe0 type rxe netdev eth0'
status siw-at 10.77.0.1
status siw-down 0
check "soft-roce down took more than its device" grep -q "inet 10.77.0.1/24" "$work/out"
status serve 0
for dev in rxe nl_siw; do
    for shape in one poll event shared; do
        run=$dev-$shape
        status $run 0
        valid_record "$out/$run.json"
        holds "$out/$run.json" 'w["throughput"]["bytes"] > 0 and r["files"][0]["bytes"] == 16 << 20'
        holds "$out/$run.json" 'r["engine"]["transport"]["device"][0]["value"] == "'$dev'0"'
        how=event
        [ $shape != poll ] || how=poll
        holds "$out/$run.json" 'r["engine"]["transport"]["completion"][0]["value"] == "'$how'"'
    done
done
holds "$out/rxe-one.json" 'r["engine"]["transport"]["responder_node"][0]["value"] == 1'
holds "$out/rxe-event.json" 'r["engine"]["transport"]["comp_vector"][0]["threads"] >= 1'
holds "$out/rxe-shared.json" 'r["engine"]["transport"]["signal_every"][0]["value"] == 4'

# A device of one's own on a veth pair.
guest '$soft doctor >$LAB_OUT/doctor.out 2>$LAB_OUT/doctor.err; echo "doctor $?"
    at=$($soft up) && [ -n "$at" ]; echo "up $?"
    $soft up >$LAB_OUT/twice.out 2>$LAB_OUT/twice.err; echo "twice $?"
    $soft up --type siw --netdev nosuch >$LAB_OUT/nosuch.out 2>$LAB_OUT/nosuch.err; echo "nosuch $?"
    serve --listen $at --device nl_rxe0; load veth --threads 1; stop
    $soft down; echo "down $?"; ls /sys/class/infiniband /sys/class/net'
for word in doctor up veth down serve; do status $word 0; done
status twice 1
says twice "nl_rxe0 is there already"
status nosuch 1
says nosuch "there is no interface nosuch"
check "doctor: $(cat "$out/doctor.out")" grep -q "rdma_rxe there" "$out/doctor.out"
holds "$out/veth.json" 'r["engine"]["transport"]["device"][0]["value"] == "nl_rxe0"'
check "soft-roce down leaves something: $(cat "$work/out")" sh -c "! grep -qE 'nl_|nl-' '$work/out'"

# What can be wrong before the load.
guest 'load refused
    load absent --device mlx5_7
    serve --salt 7; load salt; load salted --salt 7 --threads 1; load vector --salt 7 --comp-vector 99
    load moderate --salt 7 --cq-count 16
    ip addr del 10.77.0.1/24 dev eth0; load nogid --salt 7 --device rxe0; ip addr add 10.77.0.1/24 dev eth0
    ulimit -l 1024; setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all \
        "$numaload" run --engine rdma-read --path 10.77.0.1 --salt 7 --threads 2 --iodepth 4 --block 1M \
        --ramp 0s --window 1s >$LAB_OUT/memlock.out 2>$LAB_OUT/memlock.err; echo "memlock $?"
    ip link set eth0 down; load down --salt 7 --device rxe0; ip link set eth0 up; sleep 0.5
    stop; "$numaload" topo --device rxe0 | tee $LAB_OUT/topo; serve --once; load last --threads 1; wait $server; echo "once $?"'
for bad in refused absent salt moderate nogid memlock down; do status $bad 1; done
status salted 0
status last 0
status once 0
says refused "connection refused: nobody listens"
says absent "mlx5_7"
says salt "filled with salt 7, this run expects 1: add --salt 7"
says vector "vector 99: rxe0 has 0\.\."
says moderate "rxe0 cannot moderate"
says nogid "rxe0 port 1 has no .*GID"
says memlock "RLIMIT_MEMLOCK allows 1048576"
says down "rxe0 port 1 is DOWN|no RDMA device leads there"
check "topo shows the GID and vectors: $(cat "$out/topo")" grep -Eq "GID 1: 10.77.0.1, RoCE v2" "$out/topo"

# What can happen in mid-run: the window ends, and the data is kept.
guest 'serve; load gone --window 20s & run=$!; sleep 3; kill -KILL $server; wait $run
    serve --revoke-after 2s; load revoked --window 20s; load late; stop
    serve; load removed --window 20s & run=$!; sleep 4; rdma link delete rxe0; wait $run; kill $server; wait $server
    rdma link add rxe0 type rxe netdev eth0'
for cut in gone revoked removed; do
    status $cut 1
    holds "$out/$cut.json" 'w["cut_short"] and w["throughput"]["bytes"] > 0'
done
notes gone "10.77.0.1:[0-9]+ (closed the connection|does not answer)"
notes revoked "refuses key 0x[0-9a-f]+ .*has revoked its memory"
notes removed "the RDMA device rxe0 was removed"
says late "has revoked its memory"

# The sanitizers, on both ends.
if [ -x "$asan" ] && "$asan" version | grep -q rdma-read; then
    program=$asan guest 'serve; load asan --threads 2; stop'
    status asan 0
    status serve 0
    check "sanitizer: $(cat "$out/asan.err")" [ -z "$(grep -l Sanitizer "$out"/asan.err "$out"/serve.*)" ]
else
    echo "no asan build: not run under the sanitizers"
fi
