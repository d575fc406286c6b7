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

# SIGTERM and a hangup are the same; the program ends by itself within seconds.
for signal in TERM HUP; do
    rm -f "$work/saved.json"
    "${load[@]}" --ramp 0s --window 60s --record "$work/saved.json" >"$work/out" 2>"$work/err" &
    pid=$!
    sleep 1
    kill -$signal $pid
    wait $pid
    rc=$?
    check "status 3 after SIG$signal, not $rc" [ $rc = 3 ]
    valid_record "$work/saved.json"
    holds "$work/saved.json" 'r["status"] == "cut-short" and w["throughput"]["bytes"] > 0'
done

# hang_up FILE COMMAND...: a hangup comes once FILE is there; the status is in $rc.
hang_up() {
    local began=$1 pid
    shift
    "$@" >"$work/out" 2>"$work/err" &
    pid=$!
    until [ -e "$began" ] || ! kill -0 $pid 2>/dev/null; do sleep 0.1; done
    sleep 0.5
    kill -HUP $pid
    rc=0
    wait $pid || rc=$?
}

# Under nohup it stays ignored.
hang_up /proc/self nohup "${load[@]}" --ramp 0s --window 2s --record "$work/saved.json"
check "status 0 under nohup, not $rc" [ $rc = 0 ]
holds "$work/saved.json" 'r["status"] == "valid" and w["window_ns"] >= 2e9'

# A matrix keeps what it has, and the command of place exec gets the hangup.
printf '[run]\npath = %s\nthreads = 2\niodepth = 2\nramp = 0s\nwindow = 60s\n[matrix]\nblock = 4K, 8K\nwarmup = 0\n' \
    "$work/data" >"$work/m.ini"
hang_up "$work/m/log" "$numaload" matrix "$work/m.ini" --folder "$work/m" --settle-max 0
check "status 3 of a matrix after SIGHUP, not $rc" [ $rc = 3 ]
check "it says how to go on" grep -q "interrupted: the same command goes on" "$work/err"
hang_up "$work/running" "$numaload" place exec --record "$work/place.json" -- \
    sh -c 'trap "echo caught; exit 7" HUP; : >"$0"; while :; do sleep 0.1; done' "$work/running"
check "the command of place exec has the last word: $rc" [ $rc = 7 ]
check "its record is kept" grep -q '"command_exit_status": 7' "$work/place.json"
hang_up "$work/ran" nohup "$numaload" place exec -- sh -c ': >"$0"; sleep 1; exit 5' "$work/ran"
check "place exec under nohup goes on: $rc" [ $rc = 5 ]

# One that comes about when the last window ends: too late to shorten anything, but not so late that
# the record is lost. Whenever it comes, there is a record, and it says what the exit status says.
for after in 0.95 1 1.02 1.04 1.06 1.1; do
    rm -f "$work/saved.json"
    interrupt $after --ramp 0s --window 1s
    rc=$?
    check "$after s: status $rc is the record's" [ -s "$work/saved.json" -a \
        $rc = "$(field "$work/saved.json" 'r["exit_status"]')" ]
done
