#!/usr/bin/env bash
# Kernels without the counters, and caches that are not what their name says: unavailable is said,
# and is never 0. The trees are replayed through --sysroot.
. "$(dirname "$0")/lib.sh"
"$numaload" prepare --path "$work/data" --size 4M >/dev/null || exit 1
tree=$work/tree
slab=$tree/sys/kernel/slab
cp -r "$source_dir/tests/data/trees/one-node" "$tree"
mkdir -p "$slab" "$tree/proc"
cp /proc/meminfo "$tree/proc/meminfo"
load=("$numaload" run --path "$work/data" --threads 2 --iodepth 2 --ramp 0s --window 1s
    --sysroot "$tree" --engine uring --json)

run() {
    "${load[@]}" "$@" >"$work/r.json" 2>"$work/err"
    rc=$?
    valid_record "$work/r.json"
}

# No such cache at all.
run
check "status 0 without the cache, not $rc" [ $rc = 0 ]
holds "$work/r.json" 'w["slab"]["available"] is False and "nfs_page" in w["slab"]["reason"]'
holds "$work/r.json" 'w["derived"]["remote_free_share"] is None'
holds "$work/r.json" 'len(w["derived"]["remote_free_share_reason"]) > 10'

# A cache on a kernel without CONFIG_SLUB_STATS.
mkdir -p "$slab/:0000128"
mv "$slab/:0000128" "$slab/nfs_page"
echo 128 >"$slab/nfs_page/object_size"
run
holds "$work/r.json" 'w["slab"]["available"] is False and "SLUB_STATS" in w["slab"]["reason"]'

# With counters; a replayed tree stands still, so every difference is a true 0.
echo "7 C0=3 C1=4" >"$slab/nfs_page/free_fastpath"
echo "0" >"$slab/nfs_page/free_slowpath"
echo 60 >"$slab/nfs_page/sheaf_capacity"
run
holds "$work/r.json" 'w["slab"]["available"] is True and w["slab"]["sheaf_capacity"] == 60'
holds "$work/r.json" 'w["slab"]["counters"]["free_fastpath"]["total"] == 0'
holds "$work/r.json" '"alloc_fastpath" not in w["slab"]["counters"]'

# Merged: a link to a cache with other names. Refused, with the sharers and the remedy.
mv "$slab/nfs_page" "$slab/:0000128"
ln -s :0000128 "$slab/nfs_page"
ln -s :0000128 "$slab/bio-96"
run
check "status 1 for a merged cache, not $rc" [ $rc = 1 ]
check "the sharer and the remedy are named" grep -Eq "bio-96.*slab_nomerge" "$work/err"
run --allow-merged
check "status 0 for a merged cache that is allowed, not $rc" [ $rc = 0 ]
holds "$work/r.json" 'w["slab"]["merged"] is True and "bio-96" in w["slab"]["shared_with"]'

# A recorded tree can be read, not run on.
run --cpus cpus:0
check "binding on a recorded tree is refused, status $rc" [ $rc != 0 ]
