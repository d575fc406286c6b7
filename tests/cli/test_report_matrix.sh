#!/usr/bin/env bash
# What 'numaload report' says of good and bad folders of a matrix.
. "$(dirname "$0")/lib.sh"

data=$source_dir/tests/data/published
folder=$work/m
mkdir "$folder"
/usr/bin/python3 - "$data/t3-b-none.json" "$folder" <<'PY'
import copy, json, sys

base, folder = json.load(open(sys.argv[1])), sys.argv[2]
cells = [{"cpus": c} for c in ("node:0", "node:1")]
run = 0
for block in range(1, 6):
    for i, cell in enumerate(cells):
        run += 1
        r = copy.deepcopy(base)
        r["started_at"] = "2026-09-01T00:%02d:00Z" % run
        r["profile"].update(cell)
        r["host"]["boot_id"] = "b"
        rate = 1e9 * (40 + 4 * i + block * block % 3 / 10)
        r["windows"][0]["throughput"]["bytes_per_s"] = rate
        r["matrix"] = {"series": "0123456789abcdef", "cell": cell, "run": run, "attempt": 1,
                       "repeat": block, "block": block, "order": i + 1, "warmup": False,
                       "boot": 1, "mount": 1}
        json.dump(r, open("%s/run-%04d.json" % (folder, run), "w"))
plan = {"schema": "numaload-plan", "schema_version": 1, "series": "0123456789abcdef",
        "axes": [{"key": "cpus", "values": ["node:0", "node:1"]}], "cells": cells,
        "baseline": cells[0], "order": "blocks", "seed": 3, "precision": None,
        "expect": [{"name": "cost", "line": 9, "statement":
                    "mean(bytes_per_s, cpus=node:1) / mean(bytes_per_s, cpus=node:0) >= 1.05"}]}
json.dump(plan, open(folder + "/plan.json", "w"))
PY

statement() {
    /usr/bin/python3 - "$folder/plan.json" "$1" <<'PY'
import json, sys
p = json.load(open(sys.argv[1]))
p["expect"][0]["statement"] = sys.argv[2]
json.dump(p, open(sys.argv[1], "w"))
PY
}

cross="mean(bytes_per_s, cpus=node:1) / mean(bytes_per_s, cpus=node:0)"
expect 0 'numaload: matrix of 2 cells, 10 runs' "$numaload" report "$folder"
expect 0 'node1 faster by 10 % \(1?[0-9.]+-10' "$numaload" report "$folder"
expect 0 'cost reproduced: 1\.0' "$numaload" report "$folder"
expect 0 '' "$numaload" report --check "$folder"
statement "$cross >= 1.2"
expect 1 'cost not reproduced: 1\.0' "$numaload" report --check "$folder"
expect 0 '' "$numaload" report "$folder"
statement "$cross within 0.01 % of 1.0998"
expect 125 'cost undecided: 1\.0' "$numaload" report --check "$folder"
statement "mean(bytes_per_s, cpus=node:5) >= 1"
expect 2 'plan\.json:9: expectation '\''cost'\'': no cell has cpus=node:5; there is node:0, node:1' "$numaload" report "$folder"
statement "$cross >= 1.05"

# JSON is as its schema says; the header of CSV does not depend on what is read
"$numaload" report --format json "$folder" >"$work/matrix.json"
"$numaload" report --format json --runs "$folder" "$data" >"$work/runs.json"
"$numaload" report --format json --matrix "$data" >"$work/published.json"
"$numaload" report --format json --runs "$data" >"$work/side.json"
"$numaload" report --format json --matrix "$data"/t3-*.json >"$work/t3.json"
"$numaload" compare --format json --force "$folder" "$folder" >"$work/compare.json"
check "the reports are not as report-schema.json says" /usr/bin/python3 \
    "$source_dir/tests/schema_check.py" "$work/matrix.json" "$work/runs.json" \
    "$work/published.json" "$work/compare.json" "$work/side.json" \
    "$work/t3.json"
# T3 as numbers: with perf lock 25 GB/s for 45.5, and 19 times the free_fastpath in A
check "the published perturbation in JSON" /usr/bin/python3 - "$work/t3.json" \
    "$work/side.json" "$work/matrix.json" <<'PY'
import json, sys
matrix, runs, none = (json.load(open(f)) for f in sys.argv[1:])
of_a = [p["ratios"] for p in matrix["matrix"]["perturbation"]
        if p["cell"]["cpus"] == "unpinned" and p["cell"]["cq"] == "node:0"]
instruments = {r["run"]: (r["instrument"], r["counters"].get("free_slowpath")) for r in runs["runs"]}
of_a += [p["ratios"] for p in runs["perturbation"] if instruments[p["without"]][1] == 85039753]
assert len(of_a) == 2, (matrix["matrix"]["perturbation"], runs["perturbation"])
for ratios in of_a:
    assert abs(ratios["bytes_per_s"] - 25 / 45.5) < 0.001, ratios
    assert abs(ratios["slab.free_fastpath"] - 655917745 / 34906233) < 1e-6, ratios
    assert ratios["slab.alloc_slowpath"] is None, "0 without the instrument has no ratio"
    assert abs(ratios["idle_percent"] - 3.60 / 31.46) < 1e-6, ratios
for p in runs["perturbation"]:
    assert instruments[p["run"]][0] == "perf-lock" and instruments[p["without"]][0] == "none", p
assert none["matrix"]["perturbation"] == []
PY
"$numaload" report --format csv "$folder" | head -1 >"$work/head"
"$numaload" report --format csv --runs "$folder" | head -1 | cmp "$work/head" - ||
    check "the header of CSV differs" false

# cells without a figure leave a gap in the plots, and do not break them
"$numaload" report --format html --matrix "$data" >"$work/published.html"
check "a plot of the published cells failed" bash -c '! grep -q "gnuplot failed" "$0"' \
    "$work/published.html"

# side by side on request, and a check needs expectations
expect 0 'Throughput by placement' "$numaload" report --runs "$folder"
expect 2 '' "$numaload" report --runs --check "$folder"
expect 2 'there is no \[expect\] section' "$numaload" report --check "$data/t3-a-none.json"

# bad records are named and left out; the rest is reported
echo '{"schema": "numaload-record", "schema_version": 2}' >"$folder/run-0011.json"
head -c 3000 "$folder/run-0001.json" >"$folder/run-0012.json"
sed 's/119984226/-5/' "$folder/run-0001.json" >"$folder/run-0013.json"
sed 's/119984226/NaN/' "$folder/run-0001.json" >"$folder/run-0014.json"
expect 0 'matrix of 2 cells, 10 runs' "$numaload" report "$folder"
expect 0 'run-0011\.json" is a record of schema version 2; this program reads version 1' "$numaload" report "$folder"
expect 0 'run-0012\.json" is not JSON' "$numaload" report "$folder"
expect 0 'run-0013\.json": counter free_fastpath of window 1 is negative' "$numaload" report "$folder"
expect 0 'run-0014\.json" is not JSON' "$numaload" report "$folder"

# no matrix at all
mkdir "$work/empty"
expect 1 'holds no records' "$numaload" report "$work/empty"
cp "$folder/plan.json" "$work/empty"
expect 1 'holds no records' "$numaload" report "$work/empty"
mkdir "$work/bad"
cp "$folder/run-0001.json" "$work/bad"
echo '{"schema": "numaload-plan", "schema_version": 9}' >"$work/bad/plan.json"
expect 0 'is not a plan that this program reads: schema numaload-plan, version 9' "$numaload" report "$work/bad"
echo '{' >"$work/bad/plan.json"
expect 0 'plan\.json" is not JSON' "$numaload" report "$work/bad"
rm "$work/bad/plan.json"
expect 0 'Throughput' "$numaload" report "$work/bad" # one record: the report of that run

# statements of a profile, over records that have no plan
printf '[expect]\nlocal = median(remote_free_share, cpus=node:0) <= 0.001\n' >"$work/e.ini"
expect 0 'local reproduced: 0\.0000235' "$numaload" report --check --expect "$work/e.ini" "$folder"
expect 0 'local undecided: 0\.0000235; a cell with a single run' \
    "$numaload" report --expect "$work/e.ini" "$data/t3-a-none.json" "$data/t3-b-none.json"
printf '[expect]\n\nlocal = median(remote_share) < 1\n' >"$work/e.ini"
expect 2 "e.ini:3: expectation 'local': unknown metric 'remote_share'" \
    "$numaload" report --expect "$work/e.ini" "$folder"
printf '[run]\n' >"$work/e.ini"
expect 2 'e.ini has no \[expect\] section' "$numaload" report --expect "$work/e.ini" "$folder"
expect 125 'cross_cost undecided: 1\.09' "$numaload" report --check --format text \
    --expect "$source_dir/profiles/published.ini" "$data"

# the signature of the lab, of records as the lab makes them
mkdir "$work/lab"
/usr/bin/python3 - "$data/t3-b-none.json" "$work/lab" <<'PY'
import json, sys

r, folder = json.load(open(sys.argv[1])), sys.argv[2]
cells = [("node:0", "node:0"), ("node:0", "node:1"), ("node:1", "node:1")]
for run in range(9):
    (cpus, unbound), w = cells[run % 3], r["windows"][0]
    r["profile"].update({"cpus": cpus, "unbound": unbound})
    w["derived"].update({"remote_free_share": 0.004 if cpus == unbound else 0.991,
                         "alloc_per_page": 1.001})
    w["throughput"]["bytes_per_s"] = 26e6 + run * 7 % 4 * 1e6
    json.dump(r, open("%s/%d.json" % (folder, run), "w"))
PY
for answer in "remote_frees reproduced: 0.99" "local_frees reproduced: 0.004" \
    "one_a_page reproduced: 1.001" "cross_cost undecided"; do
    expect 125 "$answer" "$numaload" report --check --expect "$source_dir/profiles/lab.ini" \
        "$work/lab"
done
