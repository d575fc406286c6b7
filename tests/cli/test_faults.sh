#!/usr/bin/env bash
# What goes wrong on storage and on the way out: a message, an exit status, no record half written.
. "$(dirname "$0")/lib.sh"
n=$numaload
rec=$work/r.json
short=(--threads 2 --iodepth 2 --ramp 0s --window 1s)
"$n" prepare --path "$work/data" --size 8M >/dev/null || exit 1

# Nobody left: $1 must be the number of processes of a program that was started from here.
none_left() {
    local i
    for i in $(seq 50); do
        [ -d "/proc/$1" ] && [ "$(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null)" != Z ] || return 0
        sleep 0.1
    done
    return 1
}

# EIO: a loop device whose file became shorter than the device.
if [ "$(id -u)" = 0 ] && truncate -s 8M "$work/image" && loop=$(losetup -f --show "$work/image" 2>/dev/null); then
    head -c 8M /dev/urandom >"$work/image"
    truncate -s 5M "$work/image"
    for engine in aio uring sync; do
        "$n" run --path "$loop" --engine $engine --threads 1 --iodepth 1 --ramp 0s --window 60s --json \
            --record "$work/eio.json" >"$rec" 2>"$work/err"
        rc=$?
        check "$engine: status 1 after EIO, not $rc" [ $rc = 1 ]
        valid_record "$rec"
        check "the record was saved too" cmp -s "$rec" "$work/eio.json"
        holds "$rec" 'r["status"] == "failed" and any("read failed at offset 5242880" in x["text"]
            and "Input/output error" in x["text"] for x in r["notes"])'
        check "the device is named" grep -q "$loop: read failed" "$work/err"
    done
    # A device is not written by mistake.
    expect 1 "$loop is a block device; a write destroys what is on it. --allow-overwrite" "$n" run \
        --path "$loop" --rw write "${short[@]}"
    truncate -s 8M "$work/image"
    expect 0 "" "$n" run --path "$loop" --rw write --once --allow-overwrite --threads 2 --iodepth 2
    expect 0 "" "$n" run --path "$loop" --once --verify --threads 2 --iodepth 2
    losetup -d "$loop"
else
    echo "no loop device here: EIO is not tested"
fi

# ENOSPC: a file system that is too small for what is written, for the record, for the results.
mkdir "$work/small"
if mount -t tmpfs -o size=4M numaload-test "$work/small" 2>/dev/null; then
    trap 'umount "$work/small"; finish' EXIT
    for engine in aio uring sync; do
        rm -f "$work"/small/*
        expect 1 "16 MiB are to be written, and [0-9.]+ MiB are free" "$n" run \
            --path "$work/small/f" --size 16M --rw write --once --engine $engine --threads 1 --iodepth 1
        truncate -s 16M "$work/small/f" # holes: it shows in the middle only that there is no room
        "$n" run --path "$work/small/f" --size 16M --rw write --once --engine $engine --threads 1 \
            --allow-overwrite --iodepth 1 --json --record "$work/enospc.json" >"$rec" 2>"$work/err"
        rc=$?
        check "$engine: status 1 after ENOSPC, not $rc" [ $rc = 1 ]
        valid_record "$work/enospc.json"
        holds "$work/enospc.json" 'any("write failed at offset" in x["text"] and "No space left" in x["text"]
            for x in r["notes"])'
        expect 1 "begun and never written to its end|holes" "$n" run --path "$work/small/f" "${short[@]}"
    done
    rm -f "$work"/small/*
    expect 1 "16 MiB are to be written" "$n" prepare --path "$work/small/p" --size 16M
    truncate -s 16M "$work/small/p"
    expect 1 "No space left" "$n" prepare --path "$work/small/p" --size 16M --allow-overwrite
    dd if=/dev/zero of="$work/small/fill" bs=4k 2>/dev/null
    expect 1 "cannot write the record to .*small/r.json.*No space left" "$n" run --path "$work/data" \
        "${short[@]}" --record "$work/small/r.json"
    check "no record half written" [ ! -e "$work/small/r.json" ]
    check "nothing beside it" [ -z "$(find "$work/small" -name 'r.json*')" ]
    expect 1 "cannot write the results to .*all.csv.*No space left" "$n" -r -t 2 "$work/data" \
        --csvfile "$work/small/all.csv"
    # What cannot be saved is still printed.
    "$n" run --path "$work/data" "${short[@]}" --json --record "$work/small/r.json" >"$rec" 2>/dev/null
    valid_record "$rec"
    holds "$rec" 'r["exit_status"] == 1 and len(r["windows"]) == 1'
else
    echo "no tmpfs can be mounted here: ENOSPC is not tested"
fi

# stdout is closed, or full: said on stderr, status 1, and the record is saved all the same.
for how in '>&-' '>/dev/full'; do
    for form in "" --json; do
        rm -f "$work/saved.json"
        bash -c '"$@" '"$how" sh "$n" run --path "$work/data" "${short[@]}" $form \
            --record "$work/saved.json" 2>"$work/err"
        rc=$?
        check "status 1 with stdout $how $form, not $rc" [ $rc = 1 ]
        check "stdout $how $form is named" grep -Eq "error: .*(Bad file descriptor|No space left)" "$work/err"
        valid_record "$work/saved.json"
        holds "$work/saved.json" 'r["status"] == "valid"'
    done
done

# So do all other commands.
for args in topo version --help "run --help" "check --path $work/data" "elbencho -r --dryrun $work/data" \
    "prepare --path $work/again --size 1M" "report $work/saved.json" \
    "elbencho -r -b 1M --lathisto $work/data"; do
    for how in '>&-' '>/dev/full'; do
        bash -c '"$@" '"$how" sh "$n" $args 2>"$work/err"
        rc=$?
        check "$args with stdout $how: status $rc" [ $rc != 0 ]
        check "$args with stdout $how says nothing" grep -Eq "error: cannot write .*(Bad file|No space)" \
            "$work/err"
    done
done

# The process in front: its end is the end of the one that works, in every way.
"$n" run --path "$work/data" --threads 1 --iodepth 1 --ramp 0s --window 60s >/dev/null 2>&1 &
pid=$!
sleep 1
worker=$(tr -d ' ' <"/proc/$pid/task/$pid/children")
check "a worker of its own" [ -n "$worker" ]
kill -KILL $pid
wait $pid 2>/dev/null
check "SIGKILL reaches the worker" none_left "$worker"
"$n" run --path "$work/data" --threads 1 --iodepth 1 --ramp 0s --window 60s >/dev/null 2>&1 &
pid=$!
sleep 1
worker=$(tr -d ' ' <"/proc/$pid/task/$pid/children")
kill -ABRT "$worker"
wait $pid 2>/dev/null
rc=$?
check "a worker that crashes is seen: status 134, not $rc" [ $rc = 134 ]
