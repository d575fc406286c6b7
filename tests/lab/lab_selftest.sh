#!/usr/bin/env bash
# A test of the lab itself: what tests that use it rely on. Boots labs of its own.
# usage: lab_selftest.sh [up|run]...   (default: both)
#   up   one lab that stays up for many commands, and what must hold when things end badly
#   run  a lab for one command
# Exit status: 0 passed, 1 failed, 77 this machine cannot run the lab.
# shellcheck disable=SC2016 # most quoted scripts are for the guest's shell
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

test_streams() {
    in_lab sh -c 'echo to stdout; echo to stderr >&2; exit 37'
    check "exit status" 37 "$rc"
    check "stdout" "to stdout" "$got"
    check "stderr" "to stderr" "$err"
    in_lab sh -c 'kill -SEGV $$'
    check "death by signal is 128+N" 139 "$rc"
    check "nothing is added to stderr" "" "$err"
    in_lab no-such-command
    check "a command that does not exist" 127 "$rc"
    in_lab printf '%s|' 'a b' "c'd" 'e"f' "\$g" '*' '' $'tab\tnewline\nend'
    check "arguments arrive unchanged" "a b|c'd|e\"f|\$g|*||"$'tab\tnewline\nend|' "$got"
    head -c 2000000 /dev/urandom >"$work/random"
    "$lab" run --name "$name" -- cat <"$work/random" >"$work/back"
    if cmp -s "$work/random" "$work/back"; then ok "2 MB through stdin and stdout"; else bad "stdin or stdout changed"; fi
    in_lab sh -c 'cat | wc -c' </dev/null
    check "stdin from /dev/null" 0 "$got"
    got=$(cd "$work" && "$lab" run --name "$name" -- pwd)
    check "working directory" "$work" "$got"
    in_lab NUMALOAD_TEST=x sh -c 'echo $LAB $LAB_MOUNT $LAB_EXPORT $NUMALOAD_TEST'
    check "environment" "1 /mnt/nfs /mnt/export x" "$got"
}

test_files() {
    in_lab sh -c 'echo "$LAB_OUT"; echo content >"$LAB_OUT/file"; mkdir "$LAB_OUT/dir"; echo 2 >"$LAB_OUT/dir/f"'
    check "\$LAB_OUT is where the lab says" "$("$lab" out --name "$name")" "$got"
    check "a file comes back" content "$(cat "$got/file")"
    check "a folder comes back" 2 "$(cat "$got/dir/f")"
    "$lab" run --name "$name" --out "$work/chosen" -- sh -c 'echo chosen >"$LAB_OUT/file"'
    check "--out selects the folder" chosen "$(cat "$work/chosen/file")"
    in_lab sh -c "echo x >'$work/guest-only' && rm '$work/random'"
    check "a write elsewhere works in the guest" 0 "$rc"
    if [ ! -e "$work/guest-only" ] && [ -e "$work/random" ]; then
        ok "and does not reach the host"
    else
        bad "a write of the guest reached the host"
    fi
    printf '#!/bin/sh\necho first\n' >"$work/program"
    chmod +x "$work/program"
    in_lab "$work/program"
    printf '#!/bin/sh\necho second, rebuilt\n' >"$work/program.new"
    chmod +x "$work/program.new"
    mv "$work/program.new" "$work/program"
    in_lab "$work/program"
    check "a rebuilt program is seen" "second, rebuilt" "$got"
}

test_machine() {
    in_lab cat /sys/devices/system/node/online
    check "two nodes" 0-1 "$got"
    in_lab sh -c 'cat /sys/devices/system/node/node0/cpulist /sys/devices/system/node/node1/cpulist'
    check "CPUs of the nodes" $'0-1\n2-3' "$got"
    in_lab sh -c 'test ! -L /sys/kernel/slab/nfs_page && cat /sys/kernel/slab/nfs_page/aliases'
    check "nfs_page is a cache of its own" "0 0" "$got $rc"
    in_lab sh -c 'cd /sys/kernel/slab/nfs_page && cat alloc_fastpath free_fastpath free_slowpath sheaf_flush sheaf_capacity | wc -l'
    check "slab statistics are there" 5 "$got"
    in_lab sh -c 'test -s /sys/kernel/btf/vmlinux && ls /sys/class/infiniband'
    check "BTF and the RDMA device" "rxe0" "$got"
}

mounted() {
    in_lab sh -c 'while read -r dev at type opts _; do [ "$at $type" = "/mnt/nfs nfs" ] || [ "$at $type" = "/mnt/nfs nfs4" ] || continue
        for o in vers proto port; do echo ",$opts," | sed -n "s/.*,\($o=[^,]*\),.*/\1/p"; done; done </proc/mounts'
    got=$(printf '%s' "$got" | tr '\n' ' ')
}

read_back() { # TEXT
    in_lab sh -c 'dd if=/dev/urandom of=$LAB_EXPORT/f bs=1M count=2 2>/dev/null
        dd if=$LAB_MOUNT/f bs=1M iflag=direct 2>/dev/null | cmp - $LAB_EXPORT/f'
    check "$1" 0 "$rc"
}

test_nfs() {
    mounted
    check "NFSv3 over RDMA is mounted" "vers=3 proto=rdma port=20049" "$got"
    read_back "direct reads of 1 MiB give the export's data"
    # count=2: a read at the end of the file allocates too, although it returns nothing.
    in_lab sh -c 'c=/sys/kernel/slab/nfs_page; set -- $(cat $c/alloc_fastpath $c/alloc_slowpath | sed "s/ .*//"); a=$(($1 + $2))
        dd if=$LAB_MOUNT/f of=/dev/null bs=1M count=2 iflag=direct 2>/dev/null
        set -- $(cat $c/alloc_fastpath $c/alloc_slowpath | sed "s/ .*//"); echo $(($1 + $2 - a))'
    check "a direct read of 2 MiB allocates 512 nfs_pages" 512 "$got"
    "$lab" remount --name "$name" --vers 4.2 --proto tcp 2>/dev/null
    mounted
    check "remount with NFSv4.2 over TCP" "vers=4.2 proto=tcp" "${got% port=*}"
    read_back "and it reads"
    "$lab" remount --name "$name" --vers 4.1 --proto rdma 2>/dev/null
    mounted
    check "remount with NFSv4.1 over RDMA" "vers=4.1 proto=rdma port=20049" "$got"
    read_back "and it reads"
    "$lab" unmount --name "$name"
    "$lab" remount --name "$name" 2>/dev/null
}

test_signals() {
    local pid
    # bash starts background jobs with SIGINT ignored, so SIGTERM here and SIGINT by timeout below.
    "$lab" run --name "$name" -- sh -c 'echo ready; while :; do sleep 0.1; done' >"$work/signal" &
    pid=$!
    until grep -q ready "$work/signal"; do sleep 0.1; done
    kill -TERM $pid
    rc=0
    wait $pid || rc=$?
    check "SIGTERM is passed on" 143 "$rc"
    rc=0
    timeout -s INT -k 20 6 "$lab" run --name "$name" -- \
        sh -c 'trap "echo caught; exit 7" INT; while :; do sleep 0.1; done' >"$work/signal" || rc=$?
    check "SIGINT is passed on and the command has the last word" caught "$(cat "$work/signal")"
    "$lab" run --name "$name" -- sleep 4321 &
    pid=$!
    until "$lab" run --name "$name" -- pgrep -f 'sleep 4321$' >/dev/null; do sleep 0.2; done
    kill -KILL $pid
    wait $pid 2>/dev/null || true
    rc=1
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        if ! "$lab" run --name "$name" -- pgrep -f 'sleep 4321$' >/dev/null; then
            rc=0
            break
        fi
        sleep 0.5
    done
    check "a command whose caller was killed ends" 0 "$rc"
}

test_ends() {
    check "status of a lab that is up" 0 "$("$lab" status --name "$name" >/dev/null 2>&1 && echo 0 || echo $?)"
    check "up of a lab that is up" 0 "$("$lab" up --name "$name" >/dev/null 2>&1 && echo 0 || echo $?)"
    check "up with other options" 1 "$("$lab" up --name "$name" --nodes 1 >/dev/null 2>&1 && echo 0 || echo $?)"
    check "an unknown option" 2 "$("$lab" up --nonsense >/dev/null 2>&1 && echo 0 || echo $?)"
    check "an impossible value" 2 "$("$lab" up --nodes 0 >/dev/null 2>&1 && echo 0 || echo $?)"
    in_lab sh -c 'echo c >/proc/sysrq-trigger; sleep 60'
    check "a guest that dies under a command" 125 "$rc"
    case $err in *"died under the command"*panic*) ok "and the message says so" ;; *) bad "the message about it" "$err" ;; esac
    in_lab true
    check "a command for a lab that died" 125 "$rc"
    check "status of a lab that died" 1 "$("$lab" status --name "$name" >/dev/null 2>&1 && echo 0 || echo $?)"
    "$lab" down --name "$name"
    if pgrep -f "numaload-$name" >/dev/null; then bad "down leaves QEMU behind"; else ok "down leaves no process"; fi
    in_cache=$(find "${NUMALOAD_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/numaload}/lab" -maxdepth 1 -name "$name*")
    check "and no files" "" "$in_cache"
}

test_run() {
    local pid
    rc=0
    got=$("$lab" run --name "$name-once" --nodes 1 --link siw --out "$work/once" -- \
        sh -c 'cat /sys/devices/system/node/online; ls /sys/class/infiniband; echo kept >"$LAB_OUT/f"; exit 5' 2>"$work/err") || rc=$?
    check "run without a lab: exit status" 5 "$rc"
    check "run without a lab: options" $'0\nsiw0' "$got"
    check "run without a lab: files" kept "$(cat "$work/once/f" 2>/dev/null)"
    "$lab" run --name "$name-killed" --no-mount -- sh -c 'echo started; sleep 1000' >"$work/started" 2>/dev/null &
    pid=$!
    until grep -q started "$work/started"; do
        kill -0 $pid 2>/dev/null || break
        sleep 0.2
    done
    kill -KILL $pid
    wait $pid 2>/dev/null || true
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        pgrep -f "numaload-$name-killed" >/dev/null || break
        sleep 0.5
    done
    if pgrep -f "numaload-$name-killed" >/dev/null; then
        bad "QEMU outlives a caller that was killed"
    else
        ok "QEMU ends with a caller that was killed"
    fi
}

[ $# -gt 0 ] || set -- up run
for part in "$@"; do
    case $part in
    up)
        "$lab" up --name "$name"
        test_streams
        test_files
        test_machine
        test_nfs
        test_signals
        test_ends
        ;;
    run) test_run ;;
    *)
        echo "lab_selftest.sh: unknown part '$part' (up, run)" >&2
        exit 2
        ;;
    esac
done
exit $failed
