#!/usr/bin/env bash
# Instruments that look on during the windows: any command, and perf where it can be used.
. "$(dirname "$0")/lib.sh"
"$numaload" prepare --path "$work/data" --size 16M >/dev/null || exit 1
run=("$numaload" run --path "$work/data" --engine aio --direct no --threads 1 --iodepth 2
    --block 64K --ramp 0s --window 1s --windows 1 --limit 100M)

# ---- a command: started and ended at the edges ----
expect 0 "" "${run[@]}" --record "$work/a.json" --instrument 'cmd:echo looking; exec sleep 987'
valid_record "$work/a.json"
holds "$work/a.json" 'r["instrument"]["name"] == "cmd:echo looking; exec sleep 987"'
holds "$work/a.json" 'r["instrument"]["exit_status"] == 128 + 2 and
    not r["instrument"]["switched_at_edges"]'
holds "$work/a.json" '0 <= r["instrument"]["on_before_ns"] and "lock" not in w'
holds "$work/a.json" 'r["profile"]["instrument"].startswith("cmd:")'
check "the command's output" grep -qx looking "$work/a.instrument.txt"
check "the command has ended" test -z "$(pgrep -f 'sleep 98[7]')"

# ---- what is no run under an instrument ----
expect 3 "ended before the window did.*b.instrument.txt" "${run[@]}" --record "$work/b.json" \
    --instrument 'cmd:true'
holds "$work/b.json" 'r["status"] == "invalid" and len(r["windows"]) == 1'
expect 3 "ended before the window did" "${run[@]}" --record "$work/c.json" \
    --instrument 'cmd:no-such-program'
check "the shell's message" grep -q "not found" "$work/c.instrument.txt"
expect 2 "beside the record; give --record" "${run[@]}" --instrument 'cmd:sleep 987'
expect 2 "perf-lok.* is not one of: none perf-lock" "${run[@]}" --instrument perf-lok
expect 2 "instrument" "${run[@]}" --instrument cmd:

# One that SIGINT does not end is ended all the same when the program dies.
"${run[@]}" --window 60s --record "$work/d.json" \
    --instrument 'cmd:trap "" INT; while :; do sleep 0.123; done' >/dev/null 2>&1 &
pid=$!
for _ in $(seq 100); do
    pgrep -f 'trap "" IN[T]; while' >/dev/null && break
    sleep 0.1
done
kill -9 $pid
wait $pid 2>/dev/null
for _ in $(seq 50); do
    pgrep -f 'trap "" IN[T]; while' >/dev/null || break
    sleep 0.1
done
check "the command outlives the program" test -z "$(pgrep -f 'trap "" IN[T]; while')"

# ---- perf: switched at the edges, in the same window as everything else ----
if perf stat -a -- true >/dev/null 2>&1; then
    expect 0 "" "${run[@]}" --record "$work/e.json" --instrument perf-stat
    valid_record "$work/e.json"
    holds "$work/e.json" 'r["instrument"]["switched_at_edges"]'
    check "perf's table" grep -q "cpu-clock" "$work/e.instrument.txt"
fi
if perf lock record -a -g -o "$work/perf.data" -- sleep 0.1 >/dev/null 2>&1; then
    expect 0 "" "${run[@]}" --record "$work/f.json" --instrument perf-lock
    valid_record "$work/f.json"
    holds "$work/f.json" 'r["instrument"]["switched_at_edges"]'
    holds "$work/f.json" '(w["lock"]["available"] and w["lock"]["instrument"] == "perf-lock"
        and w["lock"]["contentions"] == sum(w["lock"]["by_caller"].values()))
        or w["lock"]["reason"] != ""'
    check "no data file is left" test ! -e "$work/f.instrument.data"
    expect 0 "" "${run[@]}" --record "$work/g.json" --instrument perf-lock --windows 2
    holds "$work/g.json" 'not w["lock"]["available"] and w["lock"]["reason"] != ""'
fi
