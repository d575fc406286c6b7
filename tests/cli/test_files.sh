#!/usr/bin/env bash
# Files that cannot be read as asked, and files that end before a block does.
. "$(dirname "$0")/lib.sh"
# A copy where an ordinary user may run it.
cp "$numaload" "$work/numaload" && chmod 755 "$work/numaload"
n=$work/numaload
"$n" prepare --path "$work/data" --size 8M >/dev/null || exit 1
short=(--threads 2 --iodepth 2 --ramp 0s --window 1s)

expect 1 "no such file; .*numaload prepare" "$n" run --path "$work/none"
expect 1 "is a directory, not a file" "$n" run --path "$work"
: >"$work/empty"
expect 1 "empty is empty: nothing to read" "$n" run --path "$work/empty"
expect 1 "has 8 MiB, less than one block of 16 MiB" "$n" run --path "$work/data" --block 16M
expect 1 "--size: 1 GiB asked for, but .* has only 8 MiB" "$n" run --path "$work/data" --size 1G
truncate -s 8M "$work/holes"
expect 1 "has 8 MiB but only 0 B on storage: holes" "$n" run --path "$work/holes" "${short[@]}"
expect 0 "all " "$n" run --path "$work/holes" --allow-sparse "${short[@]}"

cp "$work/data" "$work/secret" && chmod 600 "$work/secret"
expect 1 "secret: no permission to read it" as_user "$n" run --path "$work/secret"
# An ordinary user reads what is readable; what needs root is named as unavailable.
expect 0 "bytes_per_s" as_user "$n" run --path "$work/data" "${short[@]}" --json
expect 1 "unbound.*root" as_user "$n" run --path "$work/data" "${short[@]}" --unbound cpus:0

# 2.5 MiB in blocks of 1 MiB: the last read of a lap brings 0.5 MiB, and every byte counts.
head -c 2621440 "$work/data" >"$work/odd"
for engine in aio uring sync; do
    depth=2
    [ $engine = sync ] && depth=1
    "$n" run --path "$work/odd" --engine $engine --threads 1 --iodepth $depth --ramp 0s \
        --window 1s --json >"$work/odd.json" 2>/dev/null
    check "$engine reads a file that ends within a block" [ $? = 0 ]
    valid_record "$work/odd.json"
    holds "$work/odd.json" '(lambda s, b: 0 < s["launch_to_threads_ns"] and s["launch_to_threads_ns"]
        + b["fault_in_ns"] < s["launch_to_ready_ns"] < 60e9
        and 0 <= s["ready_to_first_io_ns"] <= s["ready_to_all_io_ns"] < 60e9)(
        r["setup"], r["buffers"])'
    expect 0 "start-up .*: buffers .*; first I/O .* later" "$n" report "$work/odd.json"
    # Laps of three reads: whole laps bring 2.5 MiB, and up to two reads belong to a begun lap.
    holds "$work/odd.json" '(lambda t: 0 <= t["bytes"] - t["ios"] // 3 * 2621440
        - t["ios"] % 3 * 1048576 + (t["ios"] % 3 == 3) <= 0)(r["whole_run"]["throughput"])'
done

# Part of a file in whole blocks: what is read is what is counted.
"$n" run --path "$work/odd" --size 1536K --engine sync --threads 1 --ramp 0s --window 1s --json \
    >"$work/part.json" 2>/dev/null
holds "$work/part.json" '(lambda t: t["bytes"] == t["ios"] * 1048576 > 0)(r["whole_run"]["throughput"])'
holds "$work/part.json" 'r["profile"]["iodepth"] == 1'
if command -v strace >/dev/null; then
    strace -f -qq -e trace=pread64 -o "$work/trace" "$n" run --path "$work/odd" --size 2049K \
        --block 1M --engine sync --threads 2 --ramp 0s --window 1s --json >"$work/part.json" \
        2>/dev/null
    read_bytes=$(awk '/pread64/ && $NF ~ /^[0-9]+$/ && $NF + 0 > 65536 { sum += $NF }
        END { printf "%.0f", sum }' "$work/trace")
    holds "$work/part.json" "r['whole_run']['throughput']['bytes'] == $read_bytes"
fi

# Several files: the blocks of all are counted through. A lap is 3 + 8 reads and 10.5 MiB; with 3
# threads each has its own part of them, across the files' ends.
for engine in aio uring sync; do
    "$n" run --path "$work/odd" --path "$work/data" --engine $engine --threads 3 --iodepth 1 \
        --ramp 0s --window 1s --json >"$work/two.json" 2>/dev/null
    check "$engine reads two files" [ $? = 0 ]
    valid_record "$work/two.json"
    holds "$work/two.json" '[f["bytes"] for f in r["files"]] == [2621440, 8388608]'
    holds "$work/two.json" 'r["profile"]["path"] == [f["path"] for f in r["files"]]'
    # Of the first thread's 4 blocks one is short, of the others' 4 and 3 none.
    holds "$work/two.json" '(lambda x: all(b % 1048576 == 0 for b in x[1:])
        and x[0] / 1048576 % 3.5 in (0, 1, 2, 2.5))(r["whole_run"]["threads"]["bytes"])'
done

# A file that shrinks while it is read: the run fails, and says where.
cp "$work/data" "$work/shrinking"
(sleep 3; truncate -s 1M "$work/shrinking") &
expect 1 "shrinking: end of file at offset .*truncated" "$n" run --path "$work/shrinking" \
    --threads 1 --iodepth 2 --ramp 0s --window 60s
wait

# prepare leaves what is not its own alone.
echo precious >"$work/mine"
expect 1 "mine is there already and was not written by numaload" "$n" prepare --path "$work/mine" \
    --size 1M
check "prepare overwrote a file" grep -q precious "$work/mine"
expect 2 "prepare needs --path FILE and --size SIZE" "$n" prepare --path "$work/x"
expect 2 "--window has no meaning for 'numaload prepare'" "$n" prepare --window 1s
expect 0 "1 MiB written" "$n" prepare --path "$work/data" --size 1M --salt 7
check "word 3 of the pattern is its offset plus the salt" \
    [ "$(od -An -t u8 -j 24 -N 8 "$work/data" | tr -d ' ')" = 31 ]

# A run that is refused leaves no empty file behind.
expect 1 "refused is shorter than size, and a mix reads it" "$n" run --path "$work/refused" --rw write \
    --mix-read-percent 30 --size 1M
check "a refused run made its file" [ ! -e "$work/refused" ]

# A shorter one than before, which ends within a block.
"$n" prepare --path "$work/shorter" --size 3M >/dev/null
expect 0 "1.50 MiB written" "$n" prepare --path "$work/shorter" --size 1536K
check "the end of a shorter file is missing" [ "$(stat -c %s "$work/shorter")" = 1572864 ]
rm "$work/shorter" "$work/shorter.numaload"

# One that was cut off can be done again.
"$n" prepare --path "$work/cut" --size 1G >/dev/null 2>&1 &
pid=$!
for _ in $(seq 200); do [ ! -s "$work/cut" ] || break; sleep 0.01; done
kill -9 $pid
wait $pid 2>/dev/null
check "a file is there that prepare did not finish" [ -s "$work/cut" ]
expect 0 "1 MiB written" "$n" prepare --path "$work/cut" --size 1M
expect 0 "all " "$n" run --path "$work/cut" "${short[@]}"
rm "$work/cut"

# A record from a pipe is read like one from a file.
"$n" run --path "$work/data" "${short[@]}" --record "$work/saved.json" >/dev/null 2>&1
"$n" report "$work/saved.json" >"$work/from-file"
expect 0 "GB/s" sh -c "cat '$work/saved.json' | '$n' report /dev/stdin"
check "a report from a pipe is that of the file" cmp -s "$work/out" "$work/from-file"

# A block device is named as what it is, not after the file system of its node.
if loop=$(losetup --direct-io=off -f --show "$work/data" 2>/dev/null); then
    "$n" run --path "$loop" --block 4K "${short[@]}" --json >"$work/block.json" 2>/dev/null
    losetup -d "$loop"
    valid_record "$work/block.json"
    holds "$work/block.json" 'r["files"][0]["filesystem"] == "block device"'
fi

# A record that cannot be saved is not half there.
expect 1 "No such file|not a directory" "$n" run --path "$work/holes" --allow-sparse "${short[@]}" \
    --record "$work/none/r.json"
