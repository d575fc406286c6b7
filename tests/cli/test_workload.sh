#!/usr/bin/env bash
# Workloads: what is read and written, how much, how fast, and what a write refuses to destroy.
. "$(dirname "$0")/lib.sh"
n=$numaload
rec=$work/r.json

# load ARGS...: runs, keeps the record in $rec and the status in $rc.
load() {
    "$n" run --ramp 0s --json "$@" >"$rec" 2>"$work/err"
    rc=$?
    valid_record "$rec"
}
once() {
    "$n" run --once --json "$@" >"$rec" 2>"$work/err"
    rc=$?
    valid_record "$rec"
}
whole='r["windows"][0]["throughput"]'

# Everything once, with every engine: each byte of both files, in order and shuffled.
"$n" prepare --path "$work/a" --size 8M >/dev/null
"$n" prepare --path "$work/b" --size 2560K >/dev/null
for engine in aio uring sync; do
    for rw in read randread; do
        once --path "$work/a" --path "$work/b" --engine $engine --rw $rw --threads 3 --iodepth 1 \
            --verify
        check "$engine $rw: status 0, not $rc" [ $rc = 0 ]
        holds "$rec" "$whole['bytes'] == 10*2**20 + 2**19 and $whole['ios'] == 11"
        holds "$rec" 'r["verify"]["blocks_checked"] == 11 and r["verify"]["blocks_wrong"] == 0'
        holds "$rec" 'w["amount"]["complete"] and w["amount"]["threads_done"] == 3'
        holds "$rec" 'w["amount"]["last_done"]["bytes"] == 10*2**20 + 2**19
            and w["amount"]["last_done"]["ns"] == w["window_ns"]
            == max(w["amount"]["thread_done_ns"])'
        holds "$rec" 'w["amount"]["first_done"]["ns"] == min(w["amount"]["thread_done_ns"])
            and 0 < w["amount"]["first_done"]["bytes"] <= w["amount"]["last_done"]["bytes"]'
    done
done
# Without sleeping; engines that cannot, say so.
for engine in aio uring; do
    once --path "$work/a" --engine $engine --rw randread --threads 2 --iodepth 4 --verify \
        --completion poll
    check "$engine polls: status 0, not $rc: $(cat "$work/err")" [ $rc = 0 ]
    holds "$rec" "$whole['ios'] == 8" 'r["verify"]["blocks_wrong"] == 0'
    holds "$rec" '(w["submission"]["unreaped_ns"] is None) == (r["profile"]["engine"] == "uring")'
done
load --path "$work/a" --engine sync --iodepth 1 --completion poll
check "sync polls: status 2, not $rc" [ $rc = 2 ]
check "sync polls: $(cat "$work/err")" grep -q "engine sync cannot wait by polling" "$work/err"
# By amount: 5 MiB and 1 KiB are 6 I/Os, of 3 threads.
load --path "$work/a" --amount 5121K --threads 3 --iodepth 2
holds "$rec" "$whole['ios'] == 6 and $whole['bytes'] == 6*2**20"
# More threads than blocks: nobody reads twice, and the run is valid.
once --path "$work/a" --threads 20 --iodepth 1
check "once with idle threads: status 0, not $rc" [ $rc = 0 ]
holds "$rec" "$whole['ios'] == 8"
holds "$rec" 'w["threads"]["without_io"] == 12 and w["amount"]["first_done"]["bytes"] >= 2**20'
# Threads with files of their own; one descriptor for all.
"$n" prepare --path "$work/f0" --size 1M >/dev/null
"$n" prepare --path "$work/f1" --size 2M >/dev/null
"$n" prepare --path "$work/f2" --size 3M >/dev/null
once --path "$work/f[0-2]" --own-files --threads 2 --block 512K --iodepth 2
holds "$rec" 'w["threads"]["bytes"] == [3 * 2**20, 3 * 2**20]'
holds "$rec" '[f["bytes"] >> 20 for f in r["files"]] == [1, 2, 3]'
once --path "$work/f[0-2]" --fd-sharing --threads 2 --block 512K --iodepth 2 --engine uring
holds "$rec" "$whole['bytes'] == 6 * 2**20"

# Writing: a directory of new files, then the same data is there to be read.
mkdir "$work/d"
expect 2 "file.0 is new: --size says how long" "$n" run --path "$work/d" --files 3 --rw write
for engine in aio uring sync; do
    rm -f "$work"/d/*
    for direct in yes no; do
        once --path "$work/d" --files 3 --size 1536K --rw write --threads 2 --iodepth 1 \
            --engine $engine --block 1M --direct=$direct
        check "$engine write: status 0, not $rc" [ $rc = 0 ]
        holds "$rec" "$whole['write_bytes'] == $whole['bytes'] == 3 * 1536 * 1024"
        check "file.2 has its size" [ "$(stat -c %s "$work/d/file.2")" = 1572864 ]
        once --path "$work/d" --files 3 --threads 2 --iodepth 1 --verify
        check "$engine: what was written is right" [ $rc = 0 ]
        holds "$rec" 'r["verify"]["blocks_checked"] == 6'
    done
done
once --path "$work/new" --size 4M --rw randwrite --block 4K --threads 2 --iodepth 8 --salt 5
holds "$rec" "$whole['write_ios'] == 1024"
once --path "$work/new" --threads 2 --iodepth 8 --verify --salt 5
check "a shuffled write reaches every block: status 0, not $rc" [ $rc = 0 ]
expect 2 "new was written with salt 5; verify with --salt 5" "$n" run --path "$work/new" --verify
# A mix of reads and writes. 400 of 1024 at 40 %, standard deviation 16.
load --path "$work/new" --salt 5 --rw randwrite --mix-read-percent 40 --block 4K --threads 2 \
    --iodepth 4 --amount 4M --verify
check "mix: status 0, not $rc" [ $rc = 0 ]
holds "$rec" "$whole['ios'] == 1024 and 500 < $whole['write_ios'] < 730"
holds "$rec" "r['verify']['blocks_checked'] == 1024 - $whole['write_ios']"

# What is not numaload's is not destroyed.
cp "$work/a" "$work/precious"
expect 1 "precious is there already and was not written by numaload.*--allow-overwrite" "$n" run \
    --path "$work/precious" --rw write --window 1s
check "it was left alone" cmp -s "$work/a" "$work/precious"
once --path "$work/precious" --rw write --allow-overwrite --salt 3 --threads 2 --iodepth 2
check "--allow-overwrite: status 0, not $rc" [ $rc = 0 ]
# Nor is a file written twice at once, whatever its names; to read it so is somebody's wish.
ln -s a "$work/soft"
ln "$work/a" "$work/hard"
for name in a soft hard; do
    expect 2 "/a and $work/$name are the same file.*give it once" "$n" run --path "$work/b" --path "$work/a" \
        --path "$work/$name" --rw write --window 1s --allow-overwrite
    once --path "$work/a" --path "$work/$name" --threads 2 --iodepth 1
    check "$name read beside a: status 0, not $rc" [ $rc = 0 ]
done
expect 2 "twin and $work/twin are the same file" "$n" prepare --path "$work/twin" --path "$work/twin" --size 1M
check "what a refused write had made is gone" [ ! -e "$work/twin" ]
# A write that was cut off leaves a file that nobody takes for whole.
expect 0 "" "$n" run --path "$work/part" --rw randwrite --size 64M --block 4K --threads 1 \
    --iodepth 1 --ramp 0s --window 1s --limit-thread 400K
expect 1 "part was begun and never written to its end|holes" "$n" run --path "$work/part" --window 1s

# A flipped byte is found, with its exact offset; every block is counted.
cp "$work/a" "$work/flipped"
printf '\377' | dd of="$work/flipped" bs=1 seek=5242887 conv=notrunc status=none
printf '\377' | dd of="$work/flipped" bs=1 seek=7000001 conv=notrunc status=none
for engine in aio uring sync; do
    once --path "$work/flipped" --engine $engine --threads 3 --iodepth 1 --block 256K --verify
    check "$engine: status 1 for a wrong byte, not $rc" [ $rc = 1 ]
    holds "$rec" 'r["status"] == "failed" and r["verify"]["blocks_wrong"] == 2
        and r["verify"]["blocks_checked"] == 32'
    # Word 5242880 with salt 1 is 0x500001, little-endian: its eighth byte is 0.
    holds "$rec" 'r["verify"]["first_wrong"] == {"path": r["files"][0]["path"],
        "offset": 5242887, "expected": 0, "found": 255}'
done

# A run that is refused leaves no new file behind, which the next one would take for somebody's.
expect 1 "there is no node 999" "$n" run --path "$work/fresh" --rw write --size 1M --cpus node:999
expect 1 "60000 threads" "$n" run --path "$work/fresh" --rw write --size 1M --threads 60000 --iodepth 999
expect 1 "8 PiB are to be written, and .* are free" \
    "$n" run --path "$work/fresh" --rw write --size 8P --threads 1 --iodepth 1
expect 1 "8 PiB are to be written, and .* are free" "$n" prepare --path "$work/fresh" --size 8P
check "nothing is left of a refused run" [ "$(echo "$work"/fresh*)" = "$work/fresh*" ]

# Rates. 8 I/Os of 1 MiB at 4 MiB/s a thread: a thread's fourth begins 0.75 s after its first.
load --path "$work/a" --amount 8M --threads 2 --iodepth 4 --limit-thread 4M
holds "$rec" '0.7e9 < w["window_ns"] < 30e9 and w["throughput"]["ios"] == 8'
load --path "$work/a" --amount 8M --threads 2 --iodepth 4 --limit 4M
holds "$rec" '1.4e9 < w["window_ns"] < 30e9 and w["throughput"]["ios"] == 8'
# Open loop: 1000 I/Os at 500 a second, of two threads: each thread's last is due after 1.996 s.
for engine in aio uring sync; do
    load --path "$work/a" --rw randread --block 4K --iops 500 --threads 2 --iodepth 1 --amount 4000K \
        --engine $engine
    check "$engine --iops: status 0, not $rc" [ $rc = 0 ]
    holds "$rec" 'w["throughput"]["ios"] == 1000 and 1.99e9 <= w["window_ns"] < 30e9'
done
expect 2 "--iops: is a rate already" "$n" run --path "$work/a" --iops 5 --limit 1M
expect 2 "--windows: a run with an amount is one window" "$n" run --path "$work/a" --once --windows 2
expect 2 "--mix-read-percent: is a share of a write" "$n" run --path "$work/a" --mix-read-percent 5
expect 2 "--verify: nothing is read" "$n" run --path "$work/a" --rw write --verify
expect 1 "is a directory.*--files N" "$n" run --path "$work/d"

# Preallocated space has blocks, but nobody wrote it.
if fallocate -l 4M "$work/prealloc" 2>/dev/null; then
    "$n" run --path "$work/prealloc" --threads 1 --iodepth 1 --ramp 0s --window 1s --json >"$rec" 2>"$work/err"
    # tmpfs tells neither holes nor extents of what it allocated; a disk's file system does.
    tree=$(df --output=fstype "$work" | tail -1)
    [ "$tree" = tmpfs ] || check "preallocated space is refused" grep -q "never written" "$work/err"
fi
disk=$(mktemp /var/tmp/numaload-test.XXXXXX)
if fallocate -l 4M "$disk" && [ "$(df --output=fstype "$disk" | tail -1)" != tmpfs ]; then
    expect 1 "allocated and never written|holes" "$n" run --path "$disk" --window 1s --direct no
fi
rm -f "$disk"
