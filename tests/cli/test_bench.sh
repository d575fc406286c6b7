#!/usr/bin/env bash
# The bench driver: its figures on known texts, its adapters on programs that stand in for peers, and
# what looks on at a start. Nothing is timed.
. "$(dirname "$0")/lib.sh"
here=$source_dir/tests/bench
expect 0 "OK" /usr/bin/python3 "$here/test_driver.py"
expect 0 "usage: bench .*get_t_io_uring" "$here/bench" --help
expect 2 'no bench "frobnicate"; there are: all peers' "$here/bench" frobnicate

first_io=$(dirname "$numaload")/tests/first_io
[ -x "$first_io" ] || exit 0
expect 2 "usage: first_io" "$first_io" 0 true
expect 1 "true ended or took more than 300 s with 0 of 1 threads at I/O" "$first_io" 1 true
sanitized && exit 0
"$numaload" prepare --path "$work/data" --size 16M >/dev/null
for engine in aio uring; do
    # The run would take 10 minutes; it is ended at its first I/Os.
    expect 0 '"first_s": [0-9.]+, "all_s": [0-9.]+' "$first_io" 3 "$numaload" run --path \
        "$work/data" --engine $engine --threads 3 --block 64K --iodepth 2 --ramp 0s --window 600s
done
