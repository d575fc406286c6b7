#!/usr/bin/env bash
# What numaload itself costs: instructions of one I/O, counted by callgrind, which no other load of
# the machine changes. The difference of two runs leaves start and end out.
command -v valgrind >/dev/null || {
    echo "skipped: no valgrind"
    exit 77
}
. "$(dirname "$0")/lib.sh"
bench=$(dirname "$numaload")/tests/numaload-bench
[ -x "$bench" ] || {
    echo "skipped: no bench build (it needs io_uring and libaio)"
    exit 77
}
! grep -q "^NUMALOAD_SANITIZE:STRING=." "$(dirname "$numaload")/CMakeCache.txt" 2>/dev/null || {
    echo "skipped: a build with sanitizers does not run under valgrind"
    exit 77
}

# instructions ENGINE IOS: of the process that loads; the other one only waits for it
instructions() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$bench" run --path nothing \
        --engine "$1" --rw randread --block 4K --threads 1 --iodepth 64 --ramp 0s --window 600s \
        --amount $(($2 * 4))K 2>&1 | sed -n 's/.*Collected : \([0-9]*\).*/\1/p' | sort -n | tail -n 1
}

# Everything that runs in user space: clock, submit, ring, histogram, the next offset.
for engine in null nop; do
    few=$(instructions $engine 50000)
    many=$(instructions $engine 100000)
    each=$(((many - few) / 50000))
    echo "$each instructions an I/O, engine $engine"
    check "more than 120 instructions an I/O, engine $engine: $each" [ "$each" -le 120 ]
    check "a plausible count, engine $engine: $each" [ "$each" -ge 20 ]
done
