#!/usr/bin/env bash
# Ctrl-C: in the ramp nothing was measured; in a window what was measured is kept and marked.
. "$(dirname "$0")/lib.sh"
"$numaload" prepare --path "$work/data" --size 8M >/dev/null || exit 1
load=("$numaload" run --path "$work/data" --threads 2 --iodepth 2)

# interrupt AFTER SIGNAL...: starts the load in the background, sends the signals, returns the status.
interrupt() {
    local after=$1 pid
    shift
    "${load[@]}" "$@" --json --record "$work/saved.json" >"$work/r.json" 2>"$work/err" &
    pid=$!
    sleep "$after"
    kill -INT $pid 2>/dev/null
    wait $pid
}

interrupt 1 --ramp 60s
check "status 1 after SIGINT in the ramp, not $?" [ $? = 1 ]
valid_record "$work/r.json"
holds "$work/r.json" 'r["status"] == "failed" and r["windows"] == []'
holds "$work/r.json" 'any("nothing was measured" in n["text"] for n in r["notes"])'

interrupt 2 --ramp 100ms --window 60s
rc=$?
check "status 3 after SIGINT in the window, not $rc" [ $rc = 3 ]
valid_record "$work/r.json"
holds "$work/r.json" 'r["status"] == "cut-short" and r["cut_short"] and w["cut_short"]'
holds "$work/r.json" '0.5e9 < w["window_ns"] < 30e9 and w["throughput"]["bytes"] > 0'
holds "$work/r.json" 'abs(w["throughput"]["bytes_per_s"] * w["window_ns"] / 1e9
    / w["throughput"]["bytes"] - 1) < 1e-6'
check "the record was saved too" cmp -s "$work/r.json" "$work/saved.json"

# A whole window before the one that was cut is whole.
interrupt 2 --ramp 0s --window 1s --windows 60
holds "$work/r.json" 'len(r["windows"]) >= 2 and not r["windows"][0]["cut_short"]
    and r["windows"][-1]["cut_short"]'

# SIGTERM is the same; the program ends by itself within seconds.
"${load[@]}" --ramp 0s --window 60s --json >"$work/r.json" 2>"$work/err" &
pid=$!
sleep 1
kill -TERM $pid
wait $pid
rc=$?
check "status 3 after SIGTERM, not $rc" [ $rc = 3 ]

# One that comes about when the last window ends: too late to shorten anything, but not so late that
# the record is lost. Whenever it comes, there is a record, and it says what the exit status says.
for after in 0.95 1 1.02 1.04 1.06 1.1; do
    rm -f "$work/saved.json"
    interrupt $after --ramp 0s --window 1s
    rc=$?
    check "$after s: status $rc is the record's" [ -s "$work/saved.json" -a \
        $rc = "$(field "$work/saved.json" 'r["exit_status"]')" ]
done
