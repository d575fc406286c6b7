#!/usr/bin/env bash
# Two folders side by side: what differs, what must not be compared.
. "$(dirname "$0")/lib.sh"
data=$source_dir/tests/data/published

# make FOLDER FACTOR [PYTHON]: two cells, three boots of two blocks; r and w can be changed.
make() {
    mkdir -p "$1"
    /usr/bin/python3 - "$data/t3-b-none.json" "$1" "$2" "${3:-}" <<'PY'
import copy, json, sys

base, folder, factor, change = json.load(open(sys.argv[1])), sys.argv[2], float(sys.argv[3]), sys.argv[4]
run = 0
for block in range(6):
    for i, cpus in enumerate(("node:0", "node:1")):
        run += 1
        r = copy.deepcopy(base)
        w = r["windows"][0]
        r["profile"]["cpus"] = cpus
        r["host"]["boot_id"] = "%s %d" % (folder, block // 2)
        r["started_at"] = "2026-09-01T%02d:%02d:00Z" % (block, i)
        w["throughput"]["bytes_per_s"] = factor * 1e9 * (40 + 4 * i + (run * 7 % 5) / 100)
        exec(change)
        json.dump(r, open("%s/run-%02d.json" % (folder, run), "w"))
PY
}

make "$work/a" 1
make "$work/b" 1.1
make "$work/same" 1.0001
make "$work/counters" 1 'w["slab"]["counters"]["new_one"] = {"total": 5}'
expect 0 "node0 faster by 10" "$numaload" compare "$work/a" "$work/b"
expect 0 "node1 faster by 1?[0-9.]+ %.* all cells faster by" "$numaload" compare "$work/a" "$work/b"
expect 0 "over 3 boots a side" "$numaload" compare "$work/a" "$work/b"
expect 0 "node0 slower by" "$numaload" compare "$work/b" "$work/a"
expect 0 "node0 no difference larger than" "$numaload" compare "$work/a" "$work/same"
expect 0 '"schema": "numaload-compare"' "$numaload" compare --format json "$work/a" "$work/b"
expect 0 "# numaload: B against A" "$numaload" compare --format=markdown "$work/a" "$work/b"
expect 0 "</html>" "$numaload" compare --format html "$work/a" "$work/b"
"$numaload" compare --format csv "$work/a" "$work/b" >"$work/csv" 2>"$work/err"
"$numaload" compare --format csv "$work/a" "$work/counters" >"$work/csv-sets" 2>"$work/err-sets"
check "the CSV" /usr/bin/python3 - "$work/csv" "$work/csv-sets" <<'PY'
import csv, sys
rows, sets = (list(csv.DictReader(open(f, newline=""))) for f in sys.argv[1:])
rate = {r["cell"]: r for r in rows if r["figure"] == "bytes_per_s"}
assert list(rate) == ["node0", "node1"], list(rate)
for r in rate.values():
    ratio = float(r["b_median"]) / float(r["a_median"])
    assert abs(float(r["b_over_a"]) - 1.1) < 0.001 and abs(ratio - 1.1) < 0.001, r
    assert float(r["b_over_a_low"]) <= float(r["b_over_a"]) <= float(r["b_over_a_high"]), r
    assert (r["a_runs"], r["b_runs"]) == ("6", "6") and r["words"].startswith("faster by 10"), r
frees = [r for r in rows if r["figure"] == "slab_per_gib.free_fastpath"]
assert len(frees) == 2 and all(float(r["b_over_a"]) == 1 and r["p"] == "" for r in frees), frees
assert all(None not in r and None not in r.values() for r in rows), "a line with another number of fields"
share = [r for r in rows if r["figure"] == "remote_free_share"]
assert all(abs(float(r["a_median"]) - 2814 / (2814 + 119984226)) < 1e-9 for r in share), share
# other sets of counters are not compared
assert {r["figure"] for r in sets} == {"bytes_per_s", "idle_percent"}, sets
PY
check "the doubt is a warning" grep -q "^numaload: warning: the counters are not compared" "$work/err-sets"
"$numaload" compare "$work/a" "$work/b" >"$work/text"
check "wider than a mail" awk 'length > 72 { exit 1 }' "$work/text"

# boots that are so unlike each other that an interval over two of them says nothing
make "$work/unlike" 1 'r["host"]["boot_id"] = folder + str(block // 3); w["throughput"]["bytes_per_s"] *= 1 + block // 3'
expect 0 "too few .* node0 2 boots: too few for an interval \(ratio 1\.4" \
    "$numaload" compare "$work/a" "$work/unlike"
expect 0 "node0 6 .* too few .* Two boots: .* \(too few\)" "$numaload" report "$work/unlike"
"$numaload" report --format json "$work/unlike" >"$work/unlike.json"
check "the numbers stay in JSON" /usr/bin/python3 - "$work/unlike.json" <<'PY'
import json, sys
for cell in json.load(open(sys.argv[1]))["matrix"]["cells"]:
    i = cell["mean_interval"]
    assert i["low"] == 0 and i["high"] > 2 * cell["mean_bytes_per_s"] and i["tells"] is False, i
PY

make "$work/other" 1 'r["host"]["cpu_model"] = "another"'
expect 2 "another CPU: Intel.* and another; --force" "$numaload" compare "$work/a" "$work/other"
expect 0 "!! another CPU" "$numaload" compare --force "$work/a" "$work/other"
make "$work/load" 1 'r["profile"]["threads"] = 8'
expect 2 "another threads|another number|threads: 160 and 8" "$numaload" compare "$work/a" "$work/load"
expect 0 "counters are not compared, the sets differ; only B has new_one" \
    "$numaload" compare "$work/a" "$work/counters"
make "$work/one" 1.1 'r["host"]["boot_id"] = "x"'
expect 0 "one side is one boot: what differs may be the boot" \
    "$numaload" compare "$work/a" "$work/one"
make "$work/mixed" 1 'r["host"]["kernel_release"] = "7.9" if run == 3 else "7.3.0-rc1"'
expect 0 "!! in B: the runs have different kernels" "$numaload" compare "$work/a" "$work/mixed"
make "$work/half" 1 'w["throughput"]["bytes"] //= 2' # as many events for half the data
expect 0 "free_fastpath +2.0+ +2.0+" "$numaload" compare "$work/a" "$work/half"
make "$work/cells" 1 'r["profile"]["cpus"] = "cpus:%d" % i'
expect 1 "no cell in common: A has node0, B has cpus 0" "$numaload" compare "$work/a" "$work/cells"

expect 2 "name two folders" "$numaload" compare "$work/a"
expect 2 "unknown option '--x'" "$numaload" compare --x "$work/a" "$work/b"
expect 2 "none of text, markdown, csv, json, html" "$numaload" compare --format xml "$work/a" "$work/b"
mkdir "$work/empty"
expect 1 "holds no records" "$numaload" compare "$work/a" "$work/empty"
expect 0 "usage: numaload compare" "$numaload" compare --help
