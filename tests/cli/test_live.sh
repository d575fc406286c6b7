#!/usr/bin/env bash
# --live on terminals of several sizes and through every way to end, and --livecsv into files, full
# disks and pipes. A Python script plays the terminal.
. "$(dirname "$0")/lib.sh"
"$numaload" prepare --path "$work/data" --size 16M >/dev/null || exit 1
run=("$numaload" run --path "$work/data" --engine uring --direct no --threads 2 --iodepth 4
    --block 64K --ramp 0s --limit 100M)
terminal() { /usr/bin/python3 "$source_dir/tests/cli/pty_live.py" "$@" >"$work/t.json"; }
# seen EXPRESSION: about the terminal, as t.
seen() {
    checks=$((checks + 1))
    /usr/bin/python3 -c '
import json, sys
t = json.load(open(sys.argv[1]))
text = "\n".join(t["last"])
ok = eval(" ".join(sys.argv[2].split()))
if not ok:
    print(json.dumps(t, indent=1))
sys.exit(not ok)' "$work/t.json" "$1" || fail "terminal: $1"
}
restored='t["entered"] and t["left"] and t["cursor"] and not t["unknown"]'

# ---- sizes ----
terminal 80 24 -- "${run[@]}" --window 3s --live --record "$work/live.json"
seen "$restored and t['exit'] == 0"
seen 't["widest"] < 80 and t["lowest"] < 24'
seen '"throughput" in text and "latency" in text and "p99" in text'
seen '"2 running" in text and "node0" in text and "window 1 of 1" in text'
seen '"Throughput" in t["plain"]'
valid_record "$work/live.json"
holds "$work/live.json" 'r["live"]["screen"] and r["live"]["ticks"] >= 2 and r["live"]["cpu_ns"] > 0'
holds "$work/live.json" 'r["live"]["csv"] is None'

terminal 40 10 -- "${run[@]}" --window 3s --live
seen "$restored and t['exit'] == 0"
seen 't["widest"] < 40 and t["lowest"] < 10'
seen '"throughput" in text and "latency" in text and "2 running" in text'

terminal 100 30 --resize 30 6 1.5 -- "${run[@]}" --window 4s --live
seen "$restored and t['exit'] == 0"
seen 't["widest"] < 30 and t["lowest"] < 6 and "throughput" in text'

# An amount has no end in time: the line says what was moved.
terminal 80 24 -- "${run[@]}" --amount 8M --limit 2M
seen 't["exit"] == 0 and "moved in 1 s: " in t["plain"]'

# ---- ways to end ----
for name in SIGINT SIGHUP; do
    terminal 80 24 --signal "$name" 1.2 -- "${run[@]}" --window 30s --live
    seen "$restored and t['exit'] == 3 and t['seconds'] < 25"
done
for name in SIGKILL SIGSEGV; do
    terminal 80 24 --signal "$name" 1.2 -- "${run[@]}" --window 30s --live
    seen "$restored and t['exit'] != 0"
done
terminal 80 24 --signal SIGTSTP 1.2 --signal SIGCONT 2 -- "${run[@]}" --window 4s --live
seen "$restored and t['exit'] is not None and '2 running' in text"
terminal 80 24 -- "${run[@]}" --window 1s --live --block 32M
seen 't["exit"] == 1 and not (t["entered"] and not t["left"])'
# What was said meanwhile stands on the ordinary screen afterwards.
terminal 80 24 -- "${run[@]}" --window 3s --live --livecsv /dev/full
seen "$restored and 'No space left on device' in t['plain']"

# ---- no terminal ----
expect 0 "live: standard error is not a terminal" "${run[@]}" --window 2s --live
terminal 80 24 -- env TERM=dumb "${run[@]}" --window 2s --live
seen 't["exit"] == 0 and not t["entered"]'

# ---- values ----
"${run[@]}" --window 3s --livecsv "$work/v.csv" --json >"$work/r.json" 2>/dev/null
valid_record "$work/r.json"
checks=$((checks + 1))
/usr/bin/python3 - "$work/v.csv" "$work/r.json" <<'PY' || fail "values of --livecsv"
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1])))
r = json.load(open(sys.argv[2]))
assert r["live"]["csv_lines"] == len(rows) >= 3 and r["live"]["csv_error"] is None, r["live"]
times = [0.0] + [float(x["time_s"]) for x in rows]
assert times == sorted(times)
# Each byte is counted once: the lines add up to the whole run (what ended after the last is less
# than a tenth).
total = sum(float(x["bytes_per_s"]) * (b - a) for x, a, b in zip(rows, times, times[1:]))
whole = r["whole_run"]["throughput"]["bytes"]
assert 0.9 * whole <= total <= 1.01 * whole, (total, whole)
nodes = [k for k in rows[0] if k.startswith("node") and k.endswith("_bytes_per_s")]
assert nodes and set(rows[0]) >= {"phase", "window", "ios_per_s", "latency_p50_ns",
                                  "latency_p99_ns", "outstanding_ios", "threads_running"}
for x in rows:
    by_node = sum(float(x[k]) for k in nodes)
    assert abs(by_node - float(x["bytes_per_s"])) <= 0.01 * float(x["bytes_per_s"]) + 1, x
    if x["phase"] == "window":
        assert x["window"] == "1" and 0 < int(x["latency_p50_ns"]) <= int(x["latency_p99_ns"])
        assert int(x["threads_running"]) == 2
PY

# A full disk and a reader that goes away cost lines, not the run.
"${run[@]}" --window 2s --livecsv /dev/full --record "$work/full.json" >/dev/null 2>"$work/err"
check "a full disk changes the exit status" test $? = 0
check "a full disk is not named" grep -q "livecsv /dev/full: No space left.*run goes on" "$work/err"
check "a full disk is named more than once" test "$(grep -c livecsv "$work/err")" = 1
holds "$work/full.json" 'r["status"] == "valid" and r["live"]["csv_lines"] == 0'
holds "$work/full.json" '"No space left" in r["live"]["csv_error"]'
mkfifo "$work/pipe"
expect 1 "nobody reads this pipe" "${run[@]}" --window 1s --livecsv "$work/pipe"
head -n 2 "$work/pipe" >"$work/head" &
sleep 0.5
expect 0 "livecsv .*its reader is gone.*run goes on" "${run[@]}" --window 5s --livecsv "$work/pipe"
check "the reader of a pipe got no lines" grep -q "^time_s,phase" "$work/head"
# Nobody reads: the pipe fills or holds what there is; the run ends in its time all the same.
sleep 60 <"$work/pipe" &
sleeper=$!
sleep 0.5
expect 0 "Throughput" "${run[@]}" --window 2s --livecsv "$work/pipe"
kill $sleeper
expect 1 "livecsv /no/such/dir/x: No such file" "${run[@]}" --livecsv /no/such/dir/x
expect 2 "livecsv: is the file under load" "${run[@]}" --livecsv "$work/data"
