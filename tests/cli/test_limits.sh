#!/usr/bin/env bash
# Limits of the machine: named with the numbers, before the wait.
. "$(dirname "$0")/lib.sh"
cp "$numaload" "$work/numaload" && chmod 755 "$work/numaload"
n=$work/numaload
"$n" prepare --path "$work/data" --size 4M >/dev/null || exit 1
short=(--threads 2 --iodepth 2 --ramp 0s --window 1s)

max=$(cat /proc/sys/fs/aio-max-nr)
expect 1 "fs.aio-max-nr is $max .*sysctl fs.aio-max-nr=" "$n" run --path "$work/data" \
    --engine aio --threads $((max / 16384 + 1)) --iodepth 16384 --block 512
expect 1 "buffers: .* need .* of memory, .* are available" "$n" run --path "$work/data" \
    --engine uring --threads 60000 --iodepth 64

# 4 x 1 MiB do not fit into 64 KiB of locked memory: the run goes on without registered buffers and
# says so. Root is not bound by the limit.
as_user bash -c 'ulimit -l 64; exec "$@"' sh "$n" run --path "$work/data" --engine uring \
    "${short[@]}" --json >"$work/memlock.json" 2>"$work/err"
rc=$?
if grep -q "seccomp\|io_uring_disabled" "$work/err"; then
    echo "io_uring is forbidden to ordinary users here: registered buffers not tested"
else
    check "a low memlock limit is survived" [ $rc = 0 ]
    valid_record "$work/memlock.json"
    holds "$work/memlock.json" 'r["engine"]["feature_threads"]["registered_buffers"] == 0'
    holds "$work/memlock.json" 'any("RLIMIT_MEMLOCK is 64 KiB" in n["text"] for n in r["notes"])'
fi
