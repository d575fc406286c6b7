#!/usr/bin/env bash
# Kernels that cannot give the counters: a merged cache, and Debian's own kernel without them.
# Exit status 77 when this machine cannot run the lab.
. "$(dirname "$0")/../cli/lib.sh"
lab=$source_dir/tools/lab
name=kernels$$
trap '"$lab" down --name $name >/dev/null 2>&1; finish' EXIT
load=("$numaload" run "$source_dir/profiles/lab.ini" --path /mnt/nfs/data --iodepth 2 --window 3s --ramp 1s)

in_lab() {
    "$lab" run --name $name -- "$@"
}

# Merged: refused by name, allowed on request.
"$lab" up --name $name --slab-merge --out "$work/out.d" || exit $?
in_lab "$numaload" prepare --path /mnt/export/data --size 64M >/dev/null || exit 1
expect 1 "nfs_page.*merged.*slab_nomerge" in_lab "${load[@]}"
in_lab "${load[@]}" --allow-merged --record "$work/out.d/r.json" >/dev/null 2>"$work/err"
check "merged and allowed: $(cat "$work/err")" [ $? = 0 ]
valid_record "$work/out.d/r.json"
holds "$work/out.d/r.json" 'w["slab"]["merged"] is True'

# An ordinary user reads what is readable; the counters need root and are unavailable, not 0. The
# source may lie in a home that is closed to others.
in_lab install -m 644 "${load[2]}" /tmp/lab.ini
load=("$numaload" run /tmp/lab.ini "${load[@]:3}")
in_lab setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all \
    "${load[@]}" --json >"$work/r.json" 2>"$work/err"
check "as an ordinary user: $(cat "$work/err")" [ $? = 0 ]
valid_record "$work/r.json"
holds "$work/r.json" 'w["slab"]["available"] is False and "root" in w["slab"]["reason"]'
expect 1 "unbound.*root" in_lab setpriv --reuid 65534 --regid 65534 --clear-groups \
    --inh-caps=-all --bounding-set=-all "${load[@]}" --unbound node:0
"$lab" down --name $name

# Debian's kernel: everything but the counters.
load=("$numaload" run "$source_dir/profiles/lab.ini" "${load[@]:3}")
"$lab" up --name $name --kernel stock --out "$work/out.d" || exit $?
in_lab "$numaload" prepare --path /mnt/export/data --size 64M >/dev/null || exit 1
in_lab "${load[@]}" --allow-merged --json >"$work/r.json" 2>"$work/err"
check "stock kernel: $(cat "$work/err")" [ $? = 0 ]
valid_record "$work/r.json"
holds "$work/r.json" 'w["slab"]["available"] is False and "SLUB_STATS" in w["slab"]["reason"]'
holds "$work/r.json" 'w["throughput"]["bytes"] > 0 and w["cpu"]["available"] is True'
