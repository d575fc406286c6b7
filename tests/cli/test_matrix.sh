#!/usr/bin/env bash
# A matrix on a local file: whatever ends it, the same command goes on, and each run is counted once.
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1
"$numaload" prepare --path "$work/data" --size 8M >/dev/null || exit 1
cat >m.ini <<'EOF'
[run]
engine = sync
threads = 1
ramp = 0s
window = 300ms
slab = kmalloc-512
allow-merged = yes
[matrix]
block = 64K, 256K, 1M
direct = yes, no
exclude = block=1M direct=no
repeats = 2
pause = 0s
settle-max = 0
[expect]
same: mean(bytes_per_s, block=1M) / mean(bytes_per_s, block=64K) >= 0.0001
EOF
matrix=("$numaload" matrix m.ini --path "$work/data")

# whole FOLDER: the plan's runs, each with exactly one valid record, in the cell the plan says.
whole() {
    check "$1: not every run of the plan is there exactly once" /usr/bin/python3 -c '
import glob, json, sys
plan = json.load(open(sys.argv[1] + "/plan.json"))
seen = {}
for f in glob.glob(sys.argv[1] + "/run-*.json"):
    r = json.load(open(f))
    m = r["matrix"]
    assert m["series"] == plan["series"] and not m["warmup"]
    assert m["cell"] == plan["cells"][plan["runs"][m["run"] - 1]["cell"]], f
    for key, value in m["cell"].items():
        if key == "block":
            assert r["profile"]["block_bytes"] == {"64K": 65536, "256K": 262144, "1M": 1048576}[value]
    if r["status"] == "valid":
        seen[m["run"]] = seen.get(m["run"], 0) + 1
want = [r["run"] for r in plan["runs"] if not r["optional"]]
assert sorted(seen) == want and set(seen.values()) == {1}, seen
assert len(plan["cells"]) == 5 and len(want) == 5 * plan["repeats"]
' "$1"
    for f in "$1"/plan.json "$1"/run-*.json "$1"/warmup-*.json; do valid_record "$f"; done
}

expect 0 "5 cells x 2 repeats = 10 runs.* 1 boot 1 .* 10 boot 1 " "${matrix[@]}" --dry-run --order-seed 7
check "a dry run leaves nothing" [ ! -e m.matrix ]
expect 0 "warm-up.*run 10 of 10" "${matrix[@]}"
whole m.matrix
check "one warm-up" [ "$(ls m.matrix/warmup-*.json | wc -l)" = 1 ]
check "the statement is in the plan word for word" /usr/bin/python3 -c '
import json
assert json.load(open("m.matrix/plan.json"))["expect"] == [{"name": "same", "line": 16, "statement":
    "mean(bytes_per_s, block=1M) / mean(bytes_per_s, block=64K) >= 0.0001"}]'
# Nothing is missing: nothing is run.
expect 0 "10 runs are there already" "${matrix[@]}"
check "no second warm-up" [ "$(ls m.matrix/*.json | wc -l)" = 12 ]

# Another profile is refused with what differs; more repeats are not another profile.
expect 2 "profile threads was 1 and is 2.*--new-series" "${matrix[@]}" --threads 2
expect 0 "10 runs are there already.*run 15 of 15" "${matrix[@]}" --repeats 3
whole m.matrix
# One repeat leaves the statement undecided, and the status is the report's.
expect 125 "is now in .m.matrix.old-1.*run 5 of 5" "${matrix[@]}" --threads 2 --new-series --repeats 1
whole m.matrix
whole m.matrix.old-1

# A truncated and a foreign record are set aside by name, and their runs are made again.
head -c 1000 m.matrix/run-0002.json >cut && mv cut m.matrix/run-0002.json
cp m.matrix.old-1/run-0003.json m.matrix/run-0003.json
expect 125 "set aside .m.matrix/run-0002.json. as run-0002.json.corrupt.*belongs to series" \
    "${matrix[@]}" --threads 2 --repeats 1
check "both are kept" [ -s m.matrix/run-0002.json.corrupt ] && [ -s m.matrix/run-0003.json.corrupt ]
whole m.matrix

# kill -9 of the program, at any moment: the same command goes on.
for after in 0.7 1.4; do
    "${matrix[@]}" --folder killed >/dev/null 2>&1 &
    pid=$!
    sleep $after
    kill -9 $pid
    wait $pid 2>/dev/null
done
expect 0 "run 10 of 10" "${matrix[@]}" --folder killed
whole killed

# Ctrl-C ends the run in hand early; it is kept and not counted. Two at once are refused.
"${matrix[@]}" --folder stopped --window 3s >out1 2>&1 &
pid=$!
sleep 1.5
expect 1 "another 'numaload matrix' \(pid $pid\)" "${matrix[@]}" --folder stopped --window 3s
kill -INT $pid
wait $pid
rc=$?
check "status 3 after SIGINT, not $rc: $(cat out1)" [ $rc = 3 ]
check "it says how to go on" grep -q "the same command goes on" out1

# A disk that fills in the middle: what is measured is safe, and it goes on when there is room.
if [ "$(id -u)" = 0 ] && mkdir small && mount -t tmpfs -o size=1200k none small 2>/dev/null; then
    expect 1 "No space left on device.*run the same command|disk is full.*run the same command" \
        "${matrix[@]}" --folder small/m --repeats 3
    check "every record in the full folder is whole" /usr/bin/python3 -c '
import glob, json
assert [json.load(open(f)) for f in glob.glob("small/m/run-*.json")]'
    mount -o remount,size=30m small
    expect 0 "runs are there already.*run 15 of 15" "${matrix[@]}" --folder small/m --repeats 3
    whole small/m
    umount small
else
    echo "no tmpfs of its own: a full disk is not tested"
fi

# What is wrong is said before anything runs.
sed 's/^block = .*/block = 1M, 64K, 3/' m.ini >bad.ini
expect 2 "block=3.*not a multiple of 512" "$numaload" matrix bad.ini --path "$work/data"
expect 2 "no profile" "$numaload" matrix --path "$work/data"
expect 2 "no axis" "$numaload" matrix "$source_dir/profiles/local.ini" --path "$work/data"
expect 0 "6 cells x 6 repeats = 36 runs.*3 boots" "$numaload" matrix \
    "$source_dir/profiles/published.ini" --path "$work/data" --dry-run
# A profile with these sections still serves a single run.
expect 0 "GB/s" "$numaload" run m.ini --path "$work/data" --block 64K

# A word that this machine cannot give: nothing is run, and the line is named.
sed 's/^direct = .*/cpus = unpinned, node:77/; /^exclude/d; /^\[expect/,$d' m.ini >place.ini
expect 1 "cell block=64K cpus=node:77: place.ini:[0-9]+: cpus = node:77: there is no node 77" \
    "$numaload" matrix place.ini --path "$work/data"
check "nothing was begun" [ ! -e place.matrix ]
expect 0 "warning: cell .*node 77.*6 cells" "$numaload" matrix place.ini --path "$work/data" --dry-run

# --json: one document on stdout, whatever the end.
one_document() {
    check "stdout is not one document with $1" /usr/bin/python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
assert d["schema"] == "numaload-matrix" and not d["complete"], d
assert eval(sys.argv[2]), d' "$work/out" "$1"
}
expect 1 "node 77" "$numaload" matrix place.ini --path "$work/data" --json
one_document '"no node 77" in d["error"] and d["exit_status"] == 1'
expect 2 "unknown" "$numaload" matrix m.ini --json --bloc 1
one_document '"bloc" in d["error"] and d["exit_status"] == 2'
expect 1 "warm-up failed" "$numaload" matrix m.ini --path "$work/none" --folder none --json
one_document '"warm-up failed" in d["error"]'

# An axis with one value is allowed, and noticed.
cat >one.ini <<'INI'
[run]
engine = sync
threads = 1
ramp = 0s
window = 200ms
slab = kmalloc-512
allow-merged = yes
[matrix]
block = 64K
repeats = 3
order = sequential
pause = 0s
settle-max = 0
warmup = 0
INI
one=("$numaload" matrix one.ini --path "$work/data")
expect 0 "note: one.ini:9: the axis block has one value.*run 3 of 3" "${one[@]}"
# Two cells in the order that is written.
sed -i 's/^block = .*/block = 256K, 64K/' one.ini
expect 0 "run 6 of 6" "${one[@]}" --folder sequential
check "runs are not in the order of the profile" /usr/bin/python3 -c '
import glob, json
runs = [json.load(open(f)) for f in sorted(glob.glob("sequential/run-*.json"))]
assert [r["matrix"]["cell"]["block"] for r in runs] == ["256K", "64K"] * 3
assert [r["matrix"]["order"] for r in runs] == [1, 2] * 3
at = [r["started_at"] for r in runs]
assert at == sorted(at)'

# Precision: a width that no file system keeps leads to repeats-max, a wide one ends before it.
expect 0 "run 10 of" "${one[@]}" --folder narrow --precision 0.0001% --repeats-max 5
check "10 runs up to repeats-max" [ "$(ls narrow/run-*.json | wc -l)" = 10 ]
expect 0 "run 6 of 6" "${one[@]}" --folder wide --precision 99% --repeats-max 40
check "a wide interval does not end it early" [ "$(ls wide/run-*.json | wc -l)" -lt 80 ]

# Boots: each share ends with a status of its own, and goes on in the next boot only.
expect 4 "2 of 6 runs are in .*reboot and run the same command" "${one[@]}" --folder boots --boots 3
expect 4 "2 of 6 runs are in .*reboot" "${one[@]}" --folder boots --boots 3 --json
one_document 'd["counted"] == 2 and d["wanted"] == 6 and d["exit_status"] == 4'
# Another boot is one with another id.
if [ "$(id -u)" = 0 ]; then
    for boot in 2 3; do
        echo "00000000-0000-4000-8000-00000000000$boot" >boot_id
        expect $((boot == 3 ? 0 : 4)) "run $((boot * 2)) of 6" unshare -m sh -c '
            mount --bind boot_id /proc/sys/kernel/random/boot_id && exec "$@"' sh \
            "${one[@]}" --folder boots --boots 3
    done
    check "runs of a boot are its own" /usr/bin/python3 -c '
import glob, json
runs = [json.load(open(f)) for f in sorted(glob.glob("boots/run-*.json"))]
assert [r["matrix"]["boot"] for r in runs] == [1, 1, 2, 2, 3, 3]
assert len({r["host"]["boot_id"] for r in runs}) == 3'
fi

# The rule of quiet: the level is that of the first look (the lab has a machine to make busy).
expect 0 "run 2 of 2" "${one[@]}" --folder settle --repeats 1 --settle-max 1s
holds settle/run-0001.json 'r["matrix"]["settle"]["settled"] is True'
holds settle/run-0001.json 'r["matrix"]["settle"]["level_idle_percent"]
    == r["matrix"]["settle"]["idle_percent"]'

# Ctrl-C ends the run in hand; the same command makes it again and goes on to the end.
"${one[@]}" --folder resumed --repeats 1 --window 2s >out1 2>&1 &
pid=$!
sleep 1
kill -INT $pid
wait $pid
rc=$?
check "status $rc after SIGINT, not 3" [ $rc = 3 ]
expect 0 "run 2 of 2" "${one[@]}" --folder resumed --repeats 1 --window 2s
check "each run has one valid record" /usr/bin/python3 -c '
import glob, json
valid = [r["matrix"]["run"] for r in map(lambda f: json.load(open(f)), glob.glob("resumed/run-*.json"))
         if r["status"] == "valid"]
assert sorted(valid) == [1, 2], valid'

# A file that is not there fails the warm-up, and the matrix with it.
expect 1 "warm-up failed" "$numaload" matrix m.ini --path "$work/none" --folder none
